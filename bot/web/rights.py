"""What whoever looks at a card may do with it, and whom it waits for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent import texts
from agent.decisions import UNDECIDED
from agent.domain import ApproverRule
from agent.policy import is_requester
from bot.api.approvals import ApprovalView, ItemView
from bot.api.viewer import Viewer

NAMES_SHOWN = 6
"""How many of those who may decide are named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """The numbers of the items that somebody may decide, of those whose approval by them would count, and whether they
    may ask for changes."""

    decide: Sequence[int | None] = ()
    approve: Sequence[int | None] = ()
    wish: bool = False


def rights(viewer: Viewer, card: ApprovalView) -> Rights:
    """What this viewer may do."""
    name = viewer.member.name
    if card.status != "open" or "approvals:decide" not in viewer.scopes:
        return Rights()
    mine = [item for item in card.items if name in item.able]
    return Rights(
        decide=[item.item for item in mine],
        approve=[item.item for item in mine if name in _approvers(item) and name not in item.votes and _possible(item)],
        wish=card.kind == "change" and (bool(mine) or is_requester(viewer.member, card.requester)),
    )


def waits(card: ApprovalView, but: Sequence[int | None] = ()) -> Iterator[str]:
    """Whom an open card waits for, leaving out some items: a sentence, or one for each group that differs in that."""
    items: dict[str, list[str]] = {}
    for item in card.items:
        if item.status in UNDECIDED and item.item not in but:
            items.setdefault(_who(item, card.requester), []).append(str(item.item))
    for sentence, numbers in items.items():
        some = len(items) > 1 or but
        which = f"{'Item' if len(numbers) == 1 else 'Items'} {', '.join(numbers)}: " if some else ""
        yield which + sentence


def _writer(item: ItemView) -> str | None:
    """Who wrote what would run and may not approve it."""
    asked = item.rule.other and item.rule.quorum == 1
    return item.edited_by if asked and item.arguments != item.original else None


def _approvers(item: ItemView) -> list[str]:
    """Those whose approval counts."""
    return [name for name in item.able if name != _writer(item)]


def _possible(item: ItemView) -> bool:
    return len(_approvers(item)) >= max(item.rule.quorum, 1)


def _who(item: ItemView, requester: str) -> str:
    rule = item.rule
    if not _possible(item):
        groups = tuple(tuple(group) for group in rule.groups)
        asked = ApproverRule(groups=groups, other=rule.other, quorum=rule.quorum)
        return texts.who_decides(asked, _approvers(item), requester, _writer(item))
    left = [name for name in _approvers(item) if name not in item.votes]
    missing = rule.quorum - len(item.votes)
    shown = left if len(left) <= NAMES_SHOWN else [*left[: NAMES_SHOWN - 1], f"{len(left) - NAMES_SHOWN + 1} others"]
    names = " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
    return f"Waits for {names if missing == 1 else f'{missing} of {names}'}.{_but(item, requester)}"


def _but(item: ItemView, requester: str) -> str:
    """Who may not, although they are named."""
    if not item.rule.other:
        return ""
    writer = _writer(item)
    who = (
        f"Neither {requester}, who asked, nor {writer}, who edited it, may"
        if writer
        else f"{requester}, who asked, may not"
    )
    return f" {who}."
