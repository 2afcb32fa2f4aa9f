"""Formats given as entities, checked as strictly as they are documented.

Telegram repairs some of it without a word (it sorts, and cuts what crosses); a client that relies on that shows
something else than it meant, so it is refused here: core.telegram.org/bots/api#formatting-options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.servers.telegram import limits
from tests.servers.telegram.refusal import bad_request, cannot_parse

Entity = dict[str, Any]
STYLES = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
BLOCKS = frozenset({"blockquote", "expandable_blockquote"})
CODE = frozenset({"pre", "code"})
GIVEN = STYLES | BLOCKS | CODE | {"text_link", "text_mention", "custom_emoji", "date_time"}
FOUND = frozenset({"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"})
"""What Telegram finds by itself; given by a bot it is ignored."""
_DETECTED = [
    ("url", re.compile(r"\b(?:https?|tg)://[^\s<>]+[^\s<>.,;:!?)]")),
    ("email", re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w")),
    ("mention", re.compile(r"(?<![\w@/])@[A-Za-z]\w{2,31}\b")),
    ("bot_command", re.compile(r"(?<![\w/@<>])/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?\b(?!/)")),
    ("hashtag", re.compile(r"(?<!\w)#[^\W\d]\w*")),
]
_INVISIBLE = dict.fromkeys(map(ord, "\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2800\u3164\ufeff"))


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2


def cut(text: str, offset: int, length: int) -> str:
    """The words of an entity; half a surrogate pair raises UnicodeDecodeError."""
    return text.encode("utf-16-le")[2 * offset : 2 * (offset + length)].decode("utf-16-le")


def is_empty(text: str) -> bool:
    """Whether there is nothing to see."""
    return not text.translate(_INVISIBLE).strip()


def detected(text: str, given: Sequence[Entity] = ()) -> list[Entity]:
    """The given entities, and what Telegram finds by itself outside code and links; in order."""
    taken = [
        (entity["offset"], entity["offset"] + entity["length"]) for entity in given if entity["type"] not in STYLES
    ]
    found: list[Entity] = []
    for kind, pattern in _DETECTED:
        for match in pattern.finditer(text):
            start, end = units(text[: match.start()]), units(text[: match.end()])
            if all(end <= first or last <= start for first, last in taken):
                taken.append((start, end))
                found.append({"type": kind, "offset": start, "length": end - start})
    return sorted([*given, *found], key=lambda entity: (entity["offset"], -entity["length"]))


def checked(text: str, entities: Any) -> list[Entity]:
    """The entities that take effect; Refused when one does not fit the text or the others."""
    if not isinstance(entities, list) or not all(isinstance(entity, dict) for entity in entities):
        raise cannot_parse("expected an Array of MessageEntity")
    for entity in entities:
        _check_alone(text, entity)
    kept = [entity for entity in entities if entity["type"] in GIVEN]
    _check_together(kept)
    return kept[: limits.ENTITIES]


def _check_alone(text: str, entity: Entity) -> None:
    kind, offset, length = entity.get("type"), entity.get("offset"), entity.get("length")
    if kind not in GIVEN | FOUND:
        raise cannot_parse(f"unsupported entity type {kind!r}")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length <= 0:
        raise cannot_parse(f"entity {kind} has offset {offset} and length {length}")
    if offset + length > units(text):
        raise cannot_parse(f"entity beginning at UTF-16 offset {offset} ends after the end of the text")
    try:
        words = cut(text, offset, length)
    except UnicodeDecodeError:
        raise cannot_parse(
            f"entity beginning at UTF-16 offset {offset} begins or ends in a middle of a UTF-16 symbol"
        ) from None
    if is_empty(words):
        raise cannot_parse(f"entity {kind} at UTF-16 offset {offset} covers nothing that can be seen")
    if kind == "text_link" and not re.match(r"(https?|tg|mailto|tel):", str(entity.get("url")), re.IGNORECASE):
        raise cannot_parse(f"text_link has the url {entity.get('url')!r}")


def _check_together(entities: Sequence[Entity]) -> None:
    begins = [(entity["offset"], -entity["length"]) for entity in entities]
    if begins != sorted(begins):
        raise cannot_parse("entities are not sorted")
    around: list[Entity] = []
    for entity in entities:
        around = [outer for outer in around if entity["offset"] < outer["offset"] + outer["length"]]
        for outer in around:
            if entity["offset"] + entity["length"] > outer["offset"] + outer["length"]:
                raise cannot_parse(f"{outer['type']} and {entity['type']} cross each other")
            _check_nesting(outer["type"], entity["type"])
        around.append(entity)


def _check_nesting(outer: str, inner: str) -> None:
    """ "pre and code entities can't contain other entities, and can't be in a style"; quotes do not nest."""
    code_in_format = inner in CODE and outer not in BLOCKS
    if outer in CODE or code_in_format or outer == inner or (outer in BLOCKS and inner in BLOCKS):
        raise cannot_parse(f"{inner} must not be inside {outer}")


def message_text(text: str, entities: list[Entity], limit: int = limits.TEXT_UNITS) -> tuple[str, list[Entity]]:
    """The text as it is shown: spaces around it cut away as Telegram does; Refused when empty or too long."""
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise bad_request("strings must be encoded in UTF-8")
    if is_empty(text):
        raise bad_request("message text is empty")
    if units(text) > limit:
        raise bad_request("message is too long")
    return _trimmed(text, entities)


def _trimmed(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    first = entities[0]["offset"] if entities else units(text)
    cut_away = min(len(text) - len(text.lstrip(" \n")), first)
    shown = text[cut_away:].rstrip(" \n")
    size = units(shown)
    moved = []
    for entity in entities:
        offset = entity["offset"] - cut_away
        length = min(entity["length"], size - offset)
        if length > 0:
            moved.append({**entity, "offset": offset, "length": length})
    return shown, moved
