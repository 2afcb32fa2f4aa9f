"""A card as messages with buttons. Pure.

What a card shows is sent with entities, never as markup: nothing in it can end a piece of code or become a link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from agent.ports.channels import Button, Card, CardItem, Tone
from agent.previews import shorten
from channels.telegram.text import MESSAGE_UNITS, Kind, Part, Rendered, Span, blank, caption, split, units

ROWS = 8
"""Items of a message that have buttons of their own, a row each: a keyboard has 8 buttons in a row and 100 in all
(telegram.constants.InlineKeyboardMarkupLimit)."""
MOST_ROWS = 24
"""Items from which on they are only listed: three messages of buttons are as many as a person goes through."""
LISTED = 40
"""Items of a message that are listed by their titles."""
LINE, SHORT_LINE, WORDS = 160, 60, 450
"""UTF-16 units of a title, of a title in a list, and of the request, the note or the footer: together they leave some
170 for each of `ROWS` previews."""

# core.telegram.org/bots/api#inlinekeyboardbutton; an app that does not know styles shows none.
_STYLES: dict[Tone, str | None] = {"good": "success", "bad": "danger", "plain": None}


@dataclass(frozen=True, kw_only=True, slots=True)
class CardMessage:
    """A message of a card; `rows` are its buttons."""

    part: Part
    rows: tuple[tuple[Button, ...], ...]

    @property
    def keyboard(self) -> InlineKeyboardMarkup | None:
        """The buttons as the library takes them; None takes those away that are there."""
        rows = [
            [
                InlineKeyboardButton(button.label, callback_data=button.value, style=_STYLES[button.tone])
                for button in row
            ]
            for row in self.rows
        ]
        return InlineKeyboardMarkup(rows) if rows else None


def messages(card: Card) -> list[CardMessage]:
    """A card, in as many messages as its number of items asks for, whatever becomes of them."""
    groups = _groups(card.items)
    made = []
    for number, items in enumerate(groups):
        is_last = number == len(groups) - 1
        words = _Words()
        if number == 0:
            _head(card, words)
        tail = _foot(card) if is_last else _Words()
        _items(card, items, words, room=MESSAGE_UNITS - words.units - tail.units - 2)
        words.add_all(tail)
        own = [_numbered(item) for item in items if item.buttons] if len(card.items) <= MOST_ROWS else []
        made.append(CardMessage(part=words.part, rows=(*own, *(_pairs(card.buttons) if is_last else ()))))
    return made


def full_copy(card: Card) -> tuple[str, str] | None:
    """The name and the text of a file with every item, if an open card does not show them whole."""
    shown = "\n".join(message.part.text for message in messages(card))
    whole = all(_preview(item) in shown and item.title in shown for item in card.items)
    if not card.open or whole:
        return None
    items = "\n\n".join(f"{_title(card, item)}\n\n{item.preview}" for item in card.items)
    return _copy_name(card), f"{card.title}\n{card.request}\n\n{items}\n"


@dataclass(slots=True)
class _Words:
    """Pieces of text, each with a format or none."""

    pieces: list[tuple[str, Kind | None, str | None]] = field(default_factory=list)

    def add(self, text: str, kind: Kind | None = None, language: str | None = None) -> None:
        self.pieces.append((text, kind, language))

    def add_all(self, words: _Words) -> None:
        self.pieces += words.pieces

    @property
    def units(self) -> int:
        return sum(units(text) for text, _, _ in self.pieces)

    @property
    def part(self) -> Part:
        spans, at = [], 0
        for text, kind, language in self.pieces:
            if kind is not None and not blank(text):
                spans.append(Span(kind=kind, start=at, end=at + len(text), language=language))
            at += len(text)
        text = "".join(piece for piece, _, _ in self.pieces)
        [part] = split(Rendered(text=text, spans=tuple(spans)))
        return part


def _groups(items: Sequence[CardItem]) -> list[Sequence[CardItem]]:
    size = ROWS if len(items) <= MOST_ROWS else LISTED
    return [items[start : start + size] for start in range(0, len(items), size)]


def _head(card: Card, words: _Words) -> None:
    words.add(_cut(card.title, LINE), "bold")
    words.add(f"\n{_cut(card.request, WORDS)}\n")
    if card.note:
        words.add(_cut(card.note, WORDS), "italic")
        words.add("\n")
    words.add("\n")


def _foot(card: Card) -> _Words:
    words = _Words()
    words.add("\n\n")
    words.add(_cut(card.footer, WORDS), None if card.open else "bold")
    if card.buttons and len(card.items) > MOST_ROWS:
        number = card.approval_id
        words.add(f"\nA single item: /approve {number} N, or /deny {number} N reason.")
    return words


def _items(card: Card, items: Sequence[CardItem], words: _Words, room: int) -> None:
    """The items, whose previews share the room there is."""
    if len(card.items) > MOST_ROWS:
        words.add("\n".join(_cut(_title(card, item), SHORT_LINE) for item in items))
        return
    titles = [_cut(_title(card, item), LINE) for item in items]
    each = (room - sum(units(title) + 4 for title in titles)) // len(items)
    for item, title in zip(items, titles, strict=True):
        words.add("" if item is items[0] else "\n\n")
        words.add(title, "bold")
        if not blank(item.preview):
            words.add("\n")
            language = "diff" if item.preview.startswith("--- ") else None
            words.add(_fitting(_preview(item), each, f"the file {_copy_name(card)}"), "pre", language)


def _preview(item: CardItem) -> str:
    """Without the end of its last line, which would only be a gap."""
    return item.preview.removesuffix("\n")


def _fitting(text: str, room: int, full_copy: str) -> str:
    """A preview in so many UTF-16 units, of which a character has two at most."""
    return shorten(text, room if units(text) <= room or text.isascii() else room // 2, full_copy)


def _title(card: Card, item: CardItem) -> str:
    number = f"{item.number}. " if len(card.items) > 1 else ""
    return f"{number}{item.title}" + (f" ({item.verdict})" if item.verdict else "")


def _copy_name(card: Card) -> str:
    edited = f"-edit-{card.revision - 1}" if card.revision > 1 else ""
    return f"approval-{card.approval_id}{edited}.txt"


def _numbered(item: CardItem) -> tuple[Button, ...]:
    """The buttons of an item say which: they stand below the whole message."""
    return tuple(
        Button(label=f"{item.number}. {button.label}", value=button.value, tone=button.tone, form=button.form)
        for button in item.buttons
    )


def _pairs(buttons: Sequence[Button]) -> Iterator[tuple[Button, ...]]:
    for start in range(0, len(buttons), 2):
        yield tuple(buttons[start : start + 2])


def _cut(text: str, limit: int) -> str:
    if units(text) <= limit:
        return text
    first, _ = caption(Rendered(text=text), limit - 1)
    return f"{first.text.rstrip()}…"
