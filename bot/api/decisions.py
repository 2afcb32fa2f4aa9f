"""What a person did with a card, in one line: for the terminal, the chat and the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_DID = {
    "approved": "approved{}",
    "denied": "denied{}",
    "changes": "asked for changes",
    "edited": "edited{}",
    "happened": "said that{} happened",
    "again": "wants{} run again",
    "skip": "left{} as it is",
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
    which = _which(data.get("items") or ())
    if verdict == "refused":
        return f"{by} tried {_TRIED.get(str(data.get('tried')), 'to decide')}{which} and was refused: {reason}"
    more = f" ({data['vote']} so far, which is not enough yet)" if "vote" in data else ""
    did = _DID.get(verdict, verdict).format(which)
    return f"{by} {did}{more}" + (f": {reason}" if reason else "")


def notable(data: Mapping[str, Any]) -> bool:
    """Whether a row says more than the card itself, which shows its verdict and by whom that is."""
    return bool(data.get("verdict") in {"refused", "edited"} or "vote" in data or data.get("reason"))


def _which(items: Sequence[int]) -> str:
    """Rows of older versions do not say it."""
    return f" {'item' if len(items) == 1 else 'items'} {', '.join(map(str, items))}" if items else ""
