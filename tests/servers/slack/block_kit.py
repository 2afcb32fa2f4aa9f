"""Which blocks Slack takes: kinds, fields, lengths, and what they may be together. Only what is listed is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.servers.slack.limits import maximum
from tests.servers.slack.shapes import Check, array, boolean, both, complaint, integer, one_of, record, string, variant

Json = dict[str, Any]


def text(longest: int, *kinds: str) -> Check:
    fields = {
        "plain_text": record({"text": string(longest, shortest=1)}, {"emoji": boolean}),
        "mrkdwn": record({"text": string(longest, shortest=1)}, {"verbatim": boolean}),
    }
    return variant({kind: fields[kind] for kind in kinds or fields})


def plain(longest: int) -> Check:
    return text(longest, "plain_text")


CONFIRM = record(
    {
        "title": plain(maximum("confirm.title")),
        "text": text(maximum("confirm.text")),
        "confirm": plain(maximum("confirm.button")),
        "deny": plain(maximum("confirm.button")),
    },
    {"style": one_of("primary", "danger")},
)
OPTION = record(
    {"text": text(maximum("option.text")), "value": string(maximum("option.value"), shortest=1)},
    {"description": text(maximum("option.description"))},
)
_ACTION = {"action_id": string(maximum("action_id"), shortest=1)}
_PLACEHOLDER = {"placeholder": plain(maximum("placeholder"))}
_FOCUS = {"focus_on_load": boolean}
_INPUT = maximum("plain_text_input")
_FEEDBACK = record(
    {"text": plain(maximum("button.text")), "value": string(maximum("button.value"), shortest=1)},
    {"accessibility_label": string(maximum("button.accessibility_label"))},
)
BUTTON = record(
    {"text": plain(maximum("button.text"))},
    {
        **_ACTION,
        "url": string(maximum("button.url"), shortest=1),
        "value": string(maximum("button.value"), shortest=1),
        "style": one_of("primary", "danger"),
        "confirm": CONFIRM,
        "accessibility_label": string(maximum("button.accessibility_label"), shortest=1),
    },
)
SELECT = record(
    {"options": array(OPTION, maximum("select.options"))},
    {**_ACTION, **_PLACEHOLDER, **_FOCUS, "initial_option": OPTION, "confirm": CONFIRM},
)
OVERFLOW = record({"options": array(OPTION, maximum("overflow.options"))}, {**_ACTION, "confirm": CONFIRM})
CHECKBOXES = record(
    {"options": array(OPTION, maximum("choice.options"))},
    {**_ACTION, **_FOCUS, "initial_options": array(OPTION, maximum("choice.options")), "confirm": CONFIRM},
)
RADIO = record(
    {"options": array(OPTION, maximum("choice.options"))},
    {**_ACTION, **_FOCUS, "initial_option": OPTION, "confirm": CONFIRM},
)
TEXT_INPUT = record(
    {},
    {
        **_ACTION,
        **_PLACEHOLDER,
        **_FOCUS,
        "initial_value": string(_INPUT),
        "multiline": boolean,
        "min_length": integer(0, _INPUT),
        "max_length": integer(1, _INPUT),
    },
)
IMAGE_ELEMENT = record(
    {
        "image_url": string(maximum("image.url"), shortest=1),
        "alt_text": string(maximum("image.alt_text"), shortest=1),
    }
)
ACTIVE = {"button": BUTTON, "static_select": SELECT, "overflow": OVERFLOW, "checkboxes": CHECKBOXES}
INPUTS = {"plain_text_input": TEXT_INPUT, "static_select": SELECT, "checkboxes": CHECKBOXES, "radio_buttons": RADIO}
CONTEXT_ELEMENTS = {
    "plain_text": plain(maximum("text")),
    "mrkdwn": text(maximum("text"), "mrkdwn"),
    "image": IMAGE_ELEMENT,
}
CONTEXT_ACTIONS = {
    "feedback_buttons": record({"positive_button": _FEEDBACK, "negative_button": _FEEDBACK}, _ACTION),
    "icon_button": record(
        {"icon": string(shortest=1), "text": plain(maximum("button.text"))},
        {**_ACTION, "value": string(maximum("button.value")), "confirm": CONFIRM},
    ),
}
RICH_TEXT_PARTS = ("rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted")
_ID = {"block_id": string(maximum("block_id"), shortest=1)}


def _any_object(value: Any, pointer: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield complaint("must be an object", pointer)


def _typed(*kinds: str) -> Check:
    return variant(dict.fromkeys(kinds, _any_object))


def _section_has_words(value: Json, pointer: str) -> Iterator[str]:
    if "text" not in value and "fields" not in value:
        yield complaint("missing required field: text or fields", pointer)


RICH_TEXT = record({"elements": array(_typed(*RICH_TEXT_PARTS), 1_000)}, _ID)
TASK_CARD = record(
    {
        "task_id": string(shortest=1),
        "title": string(shortest=1),
        "status": one_of("pending", "in_progress", "complete", "error"),
    },
    {**_ID, "details": RICH_TEXT, "output": RICH_TEXT, "sources": array(_any_object, 100, least=0)},
)
BLOCKS: dict[str, Check] = {
    "section": both(
        record(
            {},
            {
                **_ID,
                "text": text(maximum("section.text")),
                "fields": array(text(maximum("section.field")), maximum("section.fields")),
                "accessory": variant({**ACTIVE, "image": IMAGE_ELEMENT, "radio_buttons": RADIO}),
                "expand": boolean,
            },
        ),
        _section_has_words,
    ),
    "divider": record({}, _ID),
    "header": record({"text": plain(maximum("header.text"))}, _ID),
    "context": record({"elements": array(variant(CONTEXT_ELEMENTS), maximum("context.elements"))}, _ID),
    "context_actions": record({"elements": array(variant(CONTEXT_ACTIONS), maximum("context_actions.elements"))}, _ID),
    "actions": record(
        {"elements": array(variant({**ACTIVE, "radio_buttons": RADIO}), maximum("actions.elements"))}, _ID
    ),
    "markdown": record({"text": string(maximum("markdown.text"), shortest=1)}, _ID),
    "image": record(
        {
            "image_url": string(maximum("image.url"), shortest=1),
            "alt_text": string(maximum("image.alt_text"), shortest=1),
        },
        {**_ID, "title": plain(maximum("image.title"))},
    ),
    "rich_text": RICH_TEXT,
    "table": record(
        {
            "rows": array(
                array(_typed("raw_text", "rich_text", "raw_number"), maximum("table.columns")), maximum("table.rows")
            )
        },
        {**_ID, "column_settings": array(_any_object, maximum("table.columns"))},
    ),
    "task_card": TASK_CARD,
    "plan": record({"title": string(shortest=1)}, {**_ID, "tasks": array(TASK_CARD, 50, least=0)}),
}
MODAL_BLOCKS: dict[str, Check] = {
    **{kind: BLOCKS[kind] for kind in ("section", "divider", "header", "context", "actions", "image", "rich_text")},
    "input": record(
        {"label": plain(maximum("input.label")), "element": variant(INPUTS)},
        {**_ID, "hint": plain(maximum("input.hint")), "optional": boolean, "dispatch_action": boolean},
    ),
}
_MESSAGE = array(variant(BLOCKS), maximum("message.blocks"), least=0)


def message_problems(blocks: Any) -> list[str]:
    """Why Slack answers `invalid_blocks`; nothing when it takes them."""
    return [*_MESSAGE(blocks, "/blocks"), *(together(blocks) if isinstance(blocks, list) else [])]


def together(blocks: list[Any]) -> Iterator[str]:
    """What single blocks do not show: ids used twice, more than one table, too much text in it."""
    known = [block for block in blocks if isinstance(block, dict)]
    ids = Counter(block["block_id"] for block in known if "block_id" in block)
    yield from (complaint(f"`block_id` {name} already exists", "/blocks") for name, count in ids.items() if count > 1)
    for index, block in enumerate(known):
        actions = Counter(found["action_id"] for found in elements(block) if "action_id" in found)
        twice = [name for name, count in actions.items() if count > 1]
        yield from (complaint(f"`action_id` {name} already exists", f"/blocks/{index}") for name in twice)
    tables = [block for block in known if block.get("type") == "table"]
    if len(tables) > maximum("message.tables"):
        yield complaint("only one table is allowed", "/blocks")
    if sum(len(words) for table in tables for words in strings(table)) > maximum("table.text"):
        yield complaint("too many characters in a table", "/blocks")


def too_long(blocks: list[Json]) -> bool:
    """Whether Slack answers `msg_blocks_too_long`: the text of all blocks together."""
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    whole = sum(len(words) for block in blocks for words in strings(block))
    return markdown > maximum("message.markdown") or whole > maximum("message.all_text")


def elements(block: Json) -> list[Json]:
    """The interactive elements of a block."""
    found = [*block.get("elements", []), block.get("accessory"), block.get("element")]
    return [element for element in found if isinstance(element, dict)]


def strings(value: Any, name: str = "") -> Iterator[str]:
    """Every text in a block that a person reads."""
    if isinstance(value, str):
        if name in {"text", "title", "alt_text", "details", "output"}:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, name)


_PING = re.compile(r"<!(?:channel|here|everyone|group|subteam\^[A-Z0-9]+)(?:\|[^>]*)?>|<@[UWB][A-Z0-9]+(?:\|[^>]*)?>")


def pings(content: str, blocks: list[Json]) -> list[str]:
    """The tokens by which a message would notify somebody; plain_text obeys none."""
    texts = [content]
    for block in blocks:
        texts += strings(block) if block["type"] == "markdown" else _mrkdwn(block)
    return [token for words in texts for token in _PING.findall(words)]


def _mrkdwn(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if value.get("type") == "mrkdwn":
            yield value["text"]
        for inner in value.values():
            yield from _mrkdwn(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _mrkdwn(inner)
