"""What the model wrote as a text with formats; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.telegram.grid import grid, lost_cells
from channels.telegram.text import Kind, Rendered, sound
from channels.telegram.writer import BULLET, Writer

MARKDOWN_CHARACTERS = 50_000
"""A longer answer is shown as it is: laying it out could hold up everybody, and it has 13 messages already."""
_STYLES: dict[str, Kind] = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_BOX = re.compile(r"\[([ xX])\](?: |$)")
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")


class _Parser(MarkdownIt):
    """Markdown as models write it: no HTML of its own, `---` is always a rule, and nothing is a definition."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable(["table", "strikethrough"])
        # A definition shows nothing, so `[TODO]: ask` would be lost; a line under a text would make it a heading.
        self.disable(["reference", "lheading"])

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """Every link is taken for one: `live_link` decides what becomes of it."""
        return True


@cache
def _parser() -> _Parser:
    return _Parser()


def parse(markdown: str) -> list[Token] | None:
    """The tokens of a text; None when it is to be shown as it is."""
    if len(markdown) > MARKDOWN_CHARACTERS:
        return None
    parser = _parser()
    tokens = parser.parse(markdown)
    # Below its deepest level the parser leaves text out.
    deepest = int(parser.options["maxNesting"]) - 1
    return None if any(token.level >= deepest for token in tokens) else tokens


def render(markdown: str) -> Rendered:
    """The text a person sees and how it is formatted: headings bold, tables aligned, links only to the web."""
    markdown = sound(markdown)
    tokens = parse(markdown)
    if tokens is None:
        return Rendered(text=markdown)
    return _Renderer(markdown).render(tokens)


def live_link(url: str) -> bool:
    """Whether a link may be live: to the web, not to a person (`tg://user`) or a script.

    A host without a dot is none for Telegram, which then drops the link without a word.
    """
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() in ("http", "https") and "." in (parts.hostname or "").strip(".")
    except ValueError:
        return False


def language(token: Token) -> str | None:
    """The language of a fence, if it could be one."""
    word = token.info.split(maxsplit=1)
    return word[0] if word and _LANGUAGE.fullmatch(word[0]) else None


def task_box(inline: Token) -> re.Match[str] | None:
    """The `[ ]` or `[x]` with which the text of a task begins."""
    return _BOX.match(inline.content)


def broken_lines(text: str) -> list[str]:
    """A text at the `<br>` that models write into cells."""
    return _BREAK.split(text)


class _Renderer:
    def __init__(self, markdown: str) -> None:
        self._lines = markdown.split("\n")
        self._writer = Writer()

    def render(self, tokens: Sequence[Token]) -> Rendered:
        remaining = iter(tokens)
        for token in remaining:
            if token.type == "table_open":
                self._table(token, list(takewhile(lambda inner: inner.type != "table_close", remaining)))
            else:
                self._block(token)
        return self._writer.finished()

    def _block(self, token: Token) -> None:
        writer = self._writer
        match token.type:
            case "blockquote_open":
                writer.begin_block()
                writer.begin("blockquote")
            case "blockquote_close":
                writer.end("blockquote")
            case "heading_open":
                writer.begin_block()
                writer.begin("bold")
            case "heading_close":
                writer.end("bold")
            case "paragraph_open":
                writer.begin_block()
            case "inline":
                self._text(token)
            case _:
                self._list_or_leaf(token)

    def _list_or_leaf(self, token: Token) -> None:
        writer = self._writer
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                writer.begin_block()
                writer.begin_list()
            case "bullet_list_close" | "ordered_list_close":
                writer.end_list()
            case "list_item_open":
                writer.begin_item(f"{token.info}{token.markup} " if token.info else BULLET)
            case "list_item_close":
                writer.end_item()
            case "fence" | "code_block":
                writer.begin_block()
                writer.pre(token.content.removesuffix("\n"), language(token))
            case "hr":
                writer.begin_block()
                writer.write("---")

    def _text(self, inline: Token) -> None:
        children = inline.children or []
        box = task_box(inline) if self._writer.at_item else None
        if box is not None and children[0].type == "text":
            self._writer.mark_item("☐ " if box[1] == " " else "☑ ")
            children[0].content = children[0].content[box.end() :]
        write_inline(self._writer, children)

    def _table(self, table: Token, tokens: Sequence[Token]) -> None:
        self._writer.begin_block()
        first, last = table.map or (0, 0)
        if lost_cells(tokens, self._lines):
            self._writer.pre("\n".join(self._lines[first:last]), None)
        else:
            self._writer.pre(grid(tokens, plain), None)


def plain(inline: Token) -> str:
    """The text of a cell in one line, its links written out."""
    writer = Writer()
    write_inline(writer, inline.children or [], live=lambda _: False)
    return " ".join(writer.finished().text.split())


def write_inline(writer: Writer, tokens: Sequence[Token], live: Callable[[str], bool] = live_link) -> None:
    """Words with their formats; a link that is not `live` is written out behind its label."""
    links: list[_Link] = []
    for token in tokens:
        match token.type:
            case "text":
                writer.write("\n".join(broken_lines(token.content)))
            case "softbreak" | "hardbreak":
                writer.write("\n")
            case "code_inline":
                writer.code(token.content)
            case "link_open":
                links.append(_Link(writer, str(token.attrGet("href") or ""), live, written=token.info == "auto"))
            case "link_close":
                links.pop().close()
            case "image":
                _name_picture(writer, token, live, inside_link=bool(links))
            case _ if token.tag in _STYLES:
                (writer.begin if token.nesting > 0 else writer.end)(_STYLES[token.tag])


def _name_picture(writer: Writer, image: Token, live: Callable[[str], bool], *, inside_link: bool) -> None:
    """A picture is named and linked to: Telegram cannot show it inside a text."""
    label = image.content or "picture"
    if inside_link:
        writer.write(label)
        return
    link = _Link(writer, str(image.attrGet("src") or ""), live, written=False)
    writer.write(label)
    link.close()


class _Link:
    """A link being written; `written`: its label is the address already."""

    def __init__(self, writer: Writer, url: str, live: Callable[[str], bool], *, written: bool) -> None:
        self._writer = writer
        self._url = url
        self._live = live(url)
        self._written = written
        self._began_at = writer.length
        if self._live:
            writer.begin("text_link", url)

    def close(self) -> None:
        writer = self._writer
        if self._live:
            if writer.length == self._began_at:
                writer.write(self._url)
            writer.end("text_link")
        elif self._url and not self._written:
            writer.write(" (")
            # As code, because Telegram makes links of bare tg:// addresses by itself.
            writer.code(self._url)
            writer.write(")")
