"""A card as Slack's blocks. Pure.

What a card shows stands in `rich_text`, whose words are read as they are: no markup, no mention, no way out of a piece
of code. Limits: docs.slack.dev/reference/block-kit/blocks (50 blocks; 25 buttons in a row; 3,000 characters of a text);
12,000 characters of a message, and less by how many blocks they are in (github.com/slackapi/bolt-js/issues/2867).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.ports.channels import Button, Card, CardItem
from agent.previews import shorten
from channels.slack.actions import action_id
from channels.slack.messages import PLAIN_LIMIT, Json, Message, summary
from channels.slack.mrkdwn import code_parts

ROWS = 6
"""Items of a message that are shown with their previews."""
LISTED = 40
"""Items of a message that are listed by their titles."""
MOST_ROWS = 24
"""Items from which on they are only listed: four messages of buttons are as many as a person goes through."""
PREVIEW = 2_800
PREVIEWS = 5_400
"""Characters of one preview, and of all of a message."""
LINE = 200
"""Characters of an item's title."""
WORDS = 1_000
"""Characters of a note or a footer."""

_STYLES = {"good": {"style": "primary"}, "bad": {"style": "danger"}, "plain": {}}


def messages(card: Card, text: str, *, request: str = "") -> list[Message]:
    """A card, in as many messages as its number of items asks for, whatever becomes of them.

    `text` is the card in plain words, for when Slack refuses the blocks; `request` is where what was asked for stands,
    if that is elsewhere.
    """
    groups = _groups(card.items)
    plain = tuple(code_parts(f"{text}\n{_IN_SLACK}" if card.buttons else text, PLAIN_LIMIT))
    words = summary(f"{card.title}: {'; '.join(item.title for item in card.items)}")
    made = []
    for number, items in enumerate(groups):
        blocks = [*(_head(card, request) if number == 0 else ()), *_items(card, items)]
        blocks += _foot(card) if number == len(groups) - 1 else ()
        made.append(Message(text=words, blocks=tuple(blocks), plain=plain))
    return made


def full_copy(card: Card) -> tuple[str, str] | None:
    """The name and the text of a file with every item, if an open card does not show them whole."""
    room = _room(len(_groups(card.items)[0]))
    is_listed = len(card.items) > MOST_ROWS
    cut = (is_listed or len(item.preview) > room or len(_title(card, item)) > LINE for item in card.items)
    if not card.open or not any(cut):
        return None
    whole = "\n\n".join(f"{_title(card, item)}\n\n{item.preview}" for item in card.items)
    return _copy_name(card), f"{card.title}\n{card.request}\n\n{whole}\n"


_SINGLE = "A single item, by its number: mention me, and write /approve {0} 3 or /deny {0} 3 reason."
_IN_SLACK = "(Slack keeps what begins with / for itself: mention me before it.)"


def _groups(items: Sequence[CardItem]) -> list[Sequence[CardItem]]:
    size = ROWS if len(items) <= MOST_ROWS else LISTED
    return [items[start : start + size] for start in range(0, len(items), size)]


def _room(items: int) -> int:
    return min(PREVIEW, PREVIEWS // max(items, 1))


def _head(card: Card, request: str) -> Iterator[Json]:
    yield {"type": "header", "text": _plain(_cut(card.title, 150))}
    yield {"type": "context", "elements": [_plain(_cut(card.request, WORDS))]}
    if request:
        yield {"type": "context", "elements": [{"type": "mrkdwn", "text": f"<{request}|Where it was asked for>"}]}
    if card.note:
        yield _words(_cut(card.note, WORDS))


def _foot(card: Card) -> Iterator[Json]:
    if card.open:
        words = [card.footer] if len(card.items) <= MOST_ROWS else [card.footer, _SINGLE.format(card.approval_id)]
        yield {"type": "context", "elements": [_plain(_cut(one, WORDS)) for one in words]}
    else:
        yield _rich(_section(_cut(card.footer, WORDS), bold=True))
    yield from _buttons(card.buttons)


def _items(card: Card, items: Sequence[CardItem]) -> Iterator[Json]:
    if len(card.items) > MOST_ROWS:
        lines = (_cut(_title(card, item), LINE) for item in items)
        yield _rich(_section("\n".join(lines)))
        return
    for item in items:
        yield _rich(_section(_cut(_title(card, item), LINE), bold=True), *_preview(card, item, _room(len(items))))
        yield from _buttons(item.buttons)


def _preview(card: Card, item: CardItem, room: int) -> Iterator[Json]:
    if item.preview:
        text = shorten(item.preview, room, f"the file {_copy_name(card)}")
        yield {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}


def _title(card: Card, item: CardItem) -> str:
    number = f"{item.number}. " if len(card.items) > 1 else ""
    return f"{number}{item.title}" + (f" ({item.verdict})" if item.verdict else "")


def _copy_name(card: Card) -> str:
    edited = f"-edit-{card.revision - 1}" if card.revision > 1 else ""
    return f"approval-{card.approval_id}{edited}.txt"


def _buttons(buttons: Sequence[Button]) -> Iterator[Json]:
    if buttons:
        yield {"type": "actions", "elements": [_button(one) for one in buttons]}


def _button(button: Button) -> Json:
    return {
        "type": "button",
        "action_id": action_id(button),
        "text": _plain(button.label),
        "value": button.value,
        **_STYLES[button.tone],
    }


def _words(text: str) -> Json:
    return {"type": "section", "text": _plain(text)}


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}


def _rich(*elements: Json) -> Json:
    return {"type": "rich_text", "elements": list(elements)}


def _section(text: str, *, bold: bool = False) -> Json:
    style = {"style": {"bold": True}} if bold else {}
    return {"type": "rich_text_section", "elements": [{"type": "text", "text": text, **style}]}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
