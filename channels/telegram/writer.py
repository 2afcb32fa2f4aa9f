"""Writes blocks of text one after the other and notes where each format begins and ends; pure."""

from __future__ import annotations

from dataclasses import dataclass

from channels.telegram.text import Kind, Rendered, Span, blank

BULLET = "• "
_STYLES = frozenset({"bold", "italic", "strikethrough"})
# A common space at the beginning of a message is cut away by Telegram.
_STEP = "\u00a0" * 3


@dataclass(slots=True)
class _Open:
    kind: Kind
    url: str | None
    start: int | None = None


class Writer:
    """Keeps to the nesting that Telegram accepts (core.telegram.org/bots/api#formatting-options): no format inside
    itself, nothing inside code, no code inside a style or a link."""

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._spans: list[Span] = []
        self._open: list[_Open] = []
        self._ignored: list[Kind] = []  # begun inside themselves
        self._newlines = 0
        self._fresh = True  # at the beginning of a line
        self._lists = 0
        self._marks: list[str] = []  # the list item that begins, not yet written

    @property
    def at_item(self) -> bool:
        """Whether the next text is the first of a list item."""
        return bool(self._marks)

    def begin_block(self) -> None:
        """A new paragraph, list, table or code; in a list it only begins a new line."""
        if not self._marks:
            self._separate(1 if self._lists else 2)

    def begin_list(self) -> None:
        """A list, one step further in than the one around it."""
        self._flush_marks()
        self._lists += 1

    def end_list(self) -> None:
        """The list is over."""
        self._lists -= 1

    def begin_item(self, mark: str) -> None:
        """A list item; its mark is written in front of its first text."""
        self._separate(1)
        self._marks.append(mark)

    def mark_item(self, box: str) -> None:
        """The item is a task: a box replaces the bullet and follows a number."""
        mark = self._marks.pop()
        self._marks.append(box if mark == BULLET else mark + box)

    def end_item(self) -> None:
        """The item is over, also an empty one."""
        self._flush_marks()

    def begin(self, kind: Kind, url: str | None = None) -> None:
        """A format begins with the next text."""
        if any(opened.kind == kind for opened in self._open):
            self._ignored.append(kind)
        else:
            self._open.append(_Open(kind, url))

    def end(self, kind: Kind) -> None:
        """A format ends with the last text."""
        if kind in self._ignored:
            self._ignored.remove(kind)
            return
        opened = next(opened for opened in reversed(self._open) if opened.kind == kind)
        self._open.remove(opened)
        self._close(opened)

    def write(self, text: str) -> None:
        """Text in the formats that are open."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self._break(1)
            if line:
                self._put_in_line(line, styled=True)

    def code(self, text: str) -> None:
        """Inline code: no style reaches across it, and inside a link it is text."""
        if any(opened.kind == "text_link" for opened in self._open):
            self.write(text)
            return
        self._interrupt_styles()
        start = self._put_in_line(text, styled=False)
        self._add(Span(kind="code", start=start, end=self.length))

    def pre(self, text: str, language: str | None) -> None:
        """A block of code, to the byte; lines of a list are not moved in."""
        if blank(text):
            return
        if self._marks:
            self._flush_marks()
            self._separate(1)
        self._put("\n" * self._newlines)
        self._newlines = 0
        self._start_formats(styled=False)
        start = self.length
        self._put(text)
        self._fresh = False
        self._add(Span(kind="pre", start=start, end=self.length, language=language))

    def finished(self) -> Rendered:
        """All that was written."""
        spans = sorted(self._spans, key=lambda span: (span.start, -span.end))
        return Rendered(text="".join(self._pieces), spans=tuple(spans))

    def _separate(self, newlines: int) -> None:
        if self.length:
            self._newlines = max(self._newlines, newlines)
            self._fresh = True

    def _break(self, newlines: int) -> None:
        if self.length:
            self._newlines += newlines
        self._fresh = True

    def _put_in_line(self, text: str, *, styled: bool) -> int:
        """Write into the line, after what it begins with; where the text starts."""
        self._put("\n" * self._newlines)
        self._newlines = 0
        if self._marks:
            self._put_marks()
        elif self._fresh and self._lists:
            self._put(_STEP * self._lists)
        self._fresh = False
        self._start_formats(styled=styled)
        start = self.length
        self._put(text)
        return start

    def _flush_marks(self) -> None:
        if self._marks:
            self._put("\n" * self._newlines)
            self._newlines = 0
            self._put_marks()
            self._fresh = False

    def _put_marks(self) -> None:
        self._start_formats(styled=False)
        self._put(_STEP * (self._lists - 1))
        for mark in self._marks:
            self._put(mark)
        self._marks.clear()

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)

    def _start_formats(self, *, styled: bool) -> None:
        for opened in self._open:
            if opened.start is None and (styled or opened.kind not in _STYLES):
                opened.start = self.length

    def _interrupt_styles(self) -> None:
        for opened in self._open:
            if opened.kind in _STYLES:
                self._close(opened)
                opened.start = None

    def _close(self, opened: _Open) -> None:
        if opened.start is not None:
            self._add(Span(kind=opened.kind, start=opened.start, end=self.length, url=opened.url))

    def _add(self, span: Span) -> None:
        if span.start < span.end:
            self._spans.append(span)
