"""What can be pressed on a card, the forms behind it, and what a press means. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agent import texts
from agent.decisions import UNDECIDED
from agent.domain import Approval, ButtonPress, Call, Edit, Member, Verdict
from agent.errors import BadInput, Conflict
from agent.ports.channels import Button, ChannelPress, Form, FormField, Tone

Verb = Literal["approve", "deny", "changes", "edit", "happened", "again", "skip", "ask"]
"""`again` runs an unknown effect once more; `ask` has what expired proposed anew."""

VERDICTS: Mapping[Verb, Verdict] = {
    "approve": "approved",
    "deny": "denied",
    "changes": "changes",
    "happened": "approved",
    "again": "approved",
    "skip": "approved",
}
_VALUE = re.compile(r"([A-Za-z0-9_-]{1,32}):([0-9]{1,9}):([a-z]+)(?::([0-9]{1,4}))?")
LONG = 80
"""Characters from which on a text is edited in several lines."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """What a button carries: at most 64 bytes, the limit of a Telegram button
    (https://core.telegram.org/bots/api#inlinekeyboardbutton)."""

    token: str
    revision: int
    verb: Verb
    item: int | None = None

    def __str__(self) -> str:
        item = "" if self.item is None else f":{self.item}"
        return f"{self.token}:{self.revision}:{self.verb}{item}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AskAgain:
    """Have an expired card proposed again."""

    approval_id: int


def parse(value: str) -> Value:
    """What a pressed button carries; BadInput for what no button of ours does."""
    found = _VALUE.fullmatch(value)
    verb = next((verb for verb in get_args(Verb) if found and verb == found[3]), None)
    if found and verb:
        item = int(found[4]) if found[4] else None
        return Value(token=found[1], revision=int(found[2]), verb=verb, item=item)
    raise BadInput("This button is not from Signoff, or from a version that is gone. Look at the card again.")


def card_buttons(approval: Approval) -> tuple[Button, ...]:
    """What decides all that waits on a card, or asks again for one that expired."""
    if approval.status == "expired":
        return (_button(approval, "Ask again", "ask"),)
    waiting = [call for call in approval.items if call.status in UNDECIDED]
    if approval.kind == "outcome":
        return tuple(_outcomes(approval, None))
    if len(approval.items) == 1:
        return (*item_buttons(approval, waiting[0]), _button(approval, "Request changes…", "changes", form=True))
    return (
        _button(approval, f"Approve all ({len(waiting)})", "approve", tone="good"),
        _button(approval, "Deny all…", "deny", tone="bad", form=True),
        _button(approval, "Request changes…", "changes", form=True),
    )


def item_buttons(approval: Approval, call: Call) -> tuple[Button, ...]:
    """What decides one item of a card; the only one is decided with the card."""
    item = call.item if len(approval.items) > 1 else None
    if approval.kind == "outcome":
        return tuple(_outcomes(approval, item))
    return (
        _button(approval, "Approve", "approve", item, tone="good"),
        _button(approval, "Deny…", "deny", item, tone="bad", form=True),
        _button(approval, "Edit…", "edit", call.item, form=True),
    )


def form(approval: Approval, value: Value) -> Form:
    """What a button asks for before it does anything; Conflict when the card shows something else by now."""
    if approval.status != "open":
        raise Conflict(texts.already_decided(approval), code="already_decided")
    if value.revision != approval.revision:
        raise Conflict(texts.card_changed(approval), code="card_changed")
    where = f"approval {approval.approval_id}" + (
        f", item {value.item}" if value.item and len(approval.items) > 1 else ""
    )
    match value.verb:
        case "deny":
            reason = FormField(name="reason", label="Reason", multiline=True, required=False)
            return Form(value=str(value), title=f"Deny {where}", fields=(reason,), submit="Deny")
        case "changes":
            wish = FormField(name="reason", label="What should be different?", multiline=True)
            return Form(value=str(value), title=f"Changes to {where}", fields=(wish,), submit="Request changes")
        case "edit":
            fields = tuple(_fields(_item(approval, value)))
            return Form(value=str(value), title=f"Edit {where}", fields=fields, submit="Show the new card")
        case _:
            raise BadInput("This button acts at once; it has no form.")


def meant(approval: Approval, value: Value, press: ChannelPress, presser: Member) -> ButtonPress | Edit | AskAgain:
    """What a press does. Where a channel has no forms, a denial comes without a reason; the others are refused."""
    if value.verb == "ask":
        return AskAgain(approval_id=approval.approval_id)
    if value.verb == "edit":
        call = _item(approval, value)
        return Edit(
            dedup_key=press.dedup_key,
            editor=presser,
            edited_at=press.pressed_at,
            approval_id=approval.approval_id,
            item=call.item or 1,
            arguments=edited_arguments(call, press.fields),
            revision=value.revision,
        )
    return ButtonPress(
        dedup_key=press.dedup_key,
        presser=presser,
        verdict=VERDICTS[value.verb],
        pressed_at=press.pressed_at,
        token=approval.token,
        approval_id=approval.approval_id,
        revision=value.revision,
        items=() if value.item is None else (value.item,),
        reason=press.fields.get("reason", "").strip(),
        outcome=value.verb if value.verb in {"happened", "again", "skip"} else None,
    )


def edited_arguments(call: Call, fields: Mapping[str, str]) -> str:
    """The arguments of a call with what a form sent in their place: texts as they are, anything else as JSON."""
    arguments = json.loads(call.arguments)
    for name in arguments.keys() & fields.keys():
        arguments[name] = _value(name, arguments[name], fields[name])
    return json.dumps(arguments, ensure_ascii=False)


def _button(
    approval: Approval, label: str, verb: Verb, item: int | None = None, *, tone: Tone = "plain", form: bool = False
) -> Button:
    value = Value(token=approval.token, revision=approval.revision, verb=verb, item=item)
    return Button(label=label, value=str(value), tone=tone, form=form)


def _outcomes(approval: Approval, item: int | None) -> Iterator[Button]:
    yield _button(approval, "It happened", "happened", item)
    yield _button(approval, "Run it again", "again", item, tone="bad")
    yield _button(approval, "Leave it", "skip", item)


def _item(approval: Approval, value: Value) -> Call:
    call = next((call for call in approval.items if call.item == value.item), None)
    if call is None:
        raise BadInput(texts.unknown_item(approval, value.item or 0), code="unknown_item", field="items")
    return call


def _fields(call: Call) -> Iterator[FormField]:
    """One for each argument: a text as it is, anything else as JSON."""
    for name, value in json.loads(call.arguments).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        long = len(text) > LONG or "\n" in text
        yield FormField(name=name, label=name, value=text, multiline=long, required=not isinstance(value, str))


def _value(name: str, now: Any, text: str) -> Any:
    if isinstance(now, str):
        # A form sends every line end as CRLF (https://blog.whatwg.org/newline-normalizations-in-form-submission).
        return text if "\r" in now else text.replace("\r\n", "\n")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{name}: write the value as JSON ({error.msg} at {error.pos}).", code="bad_arguments", field=name
        ) from None
