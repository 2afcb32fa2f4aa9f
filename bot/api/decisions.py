"""What a person did with a card, in one line: for the terminal, the chat and the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DID = {
    "approved": "approved",
    "denied": "denied",
    "changes": "asked for changes",
    "edited": "edited what would run",
    "happened": "said that it happened",
    "again": "wants it run again",
    "skip": "left it",
}
_TRIED = {
    "approved": "to approve",
    "approve": "to approve",
    "denied": "to deny",
    "deny": "to deny",
    "changes": "to ask for changes",
    "edited": "to edit",
    "edit": "to edit",
    "ask": "to ask again",
}


def told(data: Mapping[str, Any]) -> str:
    """The line of a journal row of kind `decision`."""
    by, verdict, reason = data.get("by"), str(data.get("verdict")), str(data.get("reason") or "")
    if verdict == "refused":
        return f"{by} tried {_TRIED.get(str(data.get('tried')), 'to decide')} and was refused: {reason}"
    many = len(data.get("call_ids") or ())
    what = f" {many} items" if many > 1 and verdict in {"approved", "denied"} else ""
    more = f" ({data['vote']} so far, which is not enough yet)" if "vote" in data else ""
    return f"{by} {_DID.get(verdict, verdict)}{what}{more}" + (f": {reason}" if reason else "")


def notable(data: Mapping[str, Any]) -> bool:
    """Whether a row says more than the card itself, which shows its verdict and by whom that is."""
    return bool(data.get("verdict") in {"refused", "edited"} or "vote" in data or data.get("reason"))
