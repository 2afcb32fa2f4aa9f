"""Forms as Telegram has them: a message that asks for an answer, and the answer read. Pure.

Which button a message asks for stands in the message itself, as a link that only the bot writes: what a model or a
person writes never becomes a `tg:` link of the bot's. So an answer is understood by any process, also after a restart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.errors import BadInput
from agent.ports.channels import Form, FormField
from channels.telegram.text import MESSAGE_UNITS, blank, sound, units
from channels.telegram.updates import Sender

PLACEHOLDER = 64
"""Characters of the hint in the input field (core.telegram.org/bots/api#forcereply)."""
NONE = frozenset({"-", "–", "—"})
"""What stands for an answer that need not be given."""

_LINK = re.compile(r"tg://resolve/?\?domain=(?P<bot>\w+)&signoff=(?P<value>[A-Za-z0-9_:-]{1,64})")
_LINE = re.compile(r"\s*(?P<name>[^\s:]{1,64})\s*:[ \t]?(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is sent. `title` and `values` are where those stand in `text`: offset and length in UTF-16 units; the title
    carries `link`, the values are as they would be typed. `file`: the values, when a message has no room for them."""

    text: str
    title: tuple[int, int]
    link: str
    placeholder: str
    values: tuple[int, int] | None = None
    file: str | None = None
    person: Sender | None = None
    """Whom it is for, by whose name `text` begins, where others read along."""


def question(form: Form, bot: str, person: Sender | None = None) -> Question:
    """Asks for what a form asks for."""
    head = f"{person.name}, " if person else ""
    fields = _ordered(form.fields)
    lines = f"{head}{form.title}\n{_how(fields)}"
    asked = Question(
        text=lines,
        title=(units(head), units(form.title)),
        link=f"tg://resolve?domain={bot}&signoff={form.value}",
        placeholder=(fields[0].label if len(fields) == 1 else "name: value")[:PLACEHOLDER],
        person=person,
    )
    shown = sound(_shown(fields))
    if blank(shown):
        return asked
    whole = f"{lines}\n\n{shown}"
    if units(whole) > MESSAGE_UNITS:
        return replace(asked, file=shown)
    return replace(asked, text=whole, values=(units(lines) + 2, units(shown)))


def asked_by(links: Sequence[str], bot: str) -> str | None:
    """The button that a message of the bot's asks for; None when it is no question."""
    found = (_LINK.fullmatch(link) for link in links)
    return next((one["value"] for one in found if one and one["bot"].lower() == bot.lower()), None)


def answered(form: Form, text: str) -> Mapping[str, str]:
    """The fields that an answer fills; BadInput says how to write it."""
    fields = _ordered(form.fields)
    if len(fields) == 1:
        none = _optional(fields[0]) and text.strip() in NONE
        return {fields[0].name: "" if none else text}
    by_name = {field.name: field for field in fields}
    given: dict[str, str] = {}
    rest = text
    while rest.strip():
        found = _LINE.fullmatch(rest)
        field = by_name.get(found["name"]) if found else None
        if found is None or field is None or field.name in given:
            raise BadInput(
                "Begin each line with the name of what should be different and a colon, such as "
                f"{fields[0].name}: …; the names are {', '.join(by_name)}. A value of several lines comes last."
            )
        if field.multiline:
            return {**given, field.name: found["value"].removeprefix("\n")}
        given[field.name], _, rest = found["value"].partition("\n")
    return given


def _ordered(fields: Sequence[FormField]) -> list[FormField]:
    """Those of one line first, because a long one takes all that follows."""
    return sorted(fields, key=lambda field: field.multiline)


def _how(fields: Sequence[FormField]) -> str:
    if len(fields) > 1:
        return (
            "Answer this message with what should be different, a line for each: name: value. "
            "What you do not name stays; a value of several lines comes last."
        )
    [field] = fields
    label = field.label if field.label.endswith("?") else f"{field.label}:"
    return f"Answer this message. {label}{' (- for none)' if _optional(field) else ''}"


def _optional(field: FormField) -> bool:
    return not field.required and not field.value


def _shown(fields: Sequence[FormField]) -> str:
    """As it would be typed; empty when there is nothing there yet."""
    if not any(field.value for field in fields):
        return ""
    if len(fields) == 1:
        return fields[0].value
    return "\n".join(f"{field.name}:{_separator(field)}{field.value}" for field in fields)


def _separator(field: FormField) -> str:
    return "\n" if field.multiline else " "
