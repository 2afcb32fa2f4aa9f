"""An approval as people see it: the card that channels draw, and the same as plain text with the words that decide it.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from agent import texts
from agent.buttons import card_buttons, item_buttons
from agent.decisions import UNDECIDED, approvers, was_edited, writer
from agent.domain import Address, Approval, ApproverRule, Call, Member, Task
from agent.policy import electors
from agent.ports.channels import Card, CardItem
from agent.previews import visible

Place = Literal["chat", "terminal"]
"""Where a card is read as text: the words that decide it differ."""
REQUEST_SHOWN = 200
"""Characters of the request that a card shows."""


def place(to: Address) -> Place:
    """Which words are understood there."""
    return "terminal" if to.channel == "cli" else "chat"


def card(approval: Approval, task: Task, people: Mapping[str, Member], number: int = 1) -> Card:
    """An approval with nothing hidden in it. `people` is everybody there is, `number` which card of its task it is."""
    view = _View(approval, task, people)
    return Card(
        approval_id=approval.approval_id,
        revision=approval.revision,
        open=approval.status == "open",
        title=texts.card_title(approval, number),
        request=visible(f"{task.requester}: {_line(task.prompt)}"),
        note=visible("\n".join(filter(None, (approval.note, *map(_edited, approval.items))))),
        items=tuple(view.item(call) for call in approval.items),
        footer=visible(view.footer()),
        buttons=card_buttons(approval) if view.decidable or approval.status == "expired" else (),
    )


def text(approval: Approval, drawn: Card, where: Place, *, again: bool = False) -> str:
    """A card as plain text. `again`: whoever reads it has read it before, so it shows what changed since."""
    lines = [drawn.title, drawn.request]
    if drawn.note:
        lines.append(drawn.note)
    for call, item in zip(approval.items, drawn.items, strict=True):
        head = f"{item.number}. {item.title}" if len(drawn.items) > 1 else item.title
        lines += ["", f"{head} ({item.verdict})" if item.verdict else head]
        if drawn.open and call.status in UNDECIDED and (not again or was_edited(call)):
            lines.append(item.preview)
    lines += ["", drawn.footer]
    if drawn.buttons:
        lines.append(texts.how_to_decide(approval, where))
    return "\n".join(lines)


def reminder(approval: Approval, drawn: Card, where: Place) -> str:
    """A line or two that bring an open card to mind."""
    titles = "; ".join(item.title for item in drawn.items)
    return f"Reminder: {drawn.title}: {titles}\n{drawn.footer}\n{texts.how_to_decide(approval, where)}"


class _View:
    """An approval beside the people who may decide it today."""

    def __init__(self, approval: Approval, task: Task, people: Mapping[str, Member]) -> None:
        self._approval = approval
        self._task = task
        self._able = {
            call.call_id: electors(call.rule, people, task.requester) if call.rule else [] for call in approval.items
        }
        self._waiting = [call for call in approval.items if call.status in UNDECIDED]

    @property
    def decidable(self) -> bool:
        """Whether somebody may decide something."""
        return self._approval.status == "open" and any(self._able[call.call_id] for call in self._waiting)

    def item(self, call: Call) -> CardItem:
        own = self.decidable and len(self._approval.items) > 1 and call.status in UNDECIDED
        return CardItem(
            number=call.item or 1,
            title=visible(call.title),
            preview=visible(call.preview),
            verdict=visible(self._verdict(call)),
            buttons=item_buttons(self._approval, call) if own else (),
        )

    def _verdict(self, call: Call) -> str:
        if call.status in UNDECIDED and self._approval.status == "open":
            votes = [name for name in call.votes if name in self._able[call.call_id]]
            return texts.votes(votes, call.rule.quorum) if votes and call.rule else ""
        return texts.item_verdict(self._approval, call)

    def footer(self) -> str:
        """Who may decide until when, or what became of it."""
        if self._approval.status != "open":
            return texts.card_verdict(self._approval)
        by_rule: dict[tuple[ApproverRule, str | None], list[Call]] = {}
        for call in self._waiting:
            by_rule.setdefault((call.rule or ApproverRule(), writer(call)), []).append(call)
        parts = list(self._asked(by_rule))
        return "\n".join([*parts, f"Until {self._approval.expires_at:%Y-%m-%d %H:%M} UTC."])

    def _asked(self, by_rule: Mapping[tuple[ApproverRule, str | None], list[Call]]) -> Iterator[str]:
        for (rule, wrote), calls in by_rule.items():
            able = approvers(calls[0], self._able[calls[0].call_id])
            numbers = ", ".join(str(call.item) for call in calls)
            what = f"{'Item' if len(calls) == 1 else 'Items'} {numbers}: " if len(by_rule) > 1 else ""
            yield what + texts.who_decides(rule, able, self._task.requester, wrote)


def _edited(call: Call) -> str:
    return texts.edited_item(call) if was_edited(call) else ""


def _line(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= REQUEST_SHOWN else f"{line[: REQUEST_SHOWN - 1]}…"
