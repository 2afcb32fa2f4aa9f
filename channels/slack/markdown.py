"""Model text for `markdown` blocks: standard Markdown that pings nobody, in parts that Slack takes.

docs.slack.dev/reference/block-kit/blocks/markdown-block: 12,000 characters for all markdown blocks of one payload.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.slack.inert import cleaned, inert_code, inert_prose
from channels.slack.parts import Block, joined, parts, utf16_units

MARKDOWN_LIMIT = 12_000
SCHEMES = frozenset({"http", "https", "mailto"})
"""Where a link may lead."""

_INFO = re.compile(r"[\w+#.-]*")
_REGIONS = frozenset({"fence", "code_block", "table_open"})


class Parser(MarkdownIt):
    """Markdown without HTML of its own."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable(["table", "strikethrough"])

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        try:
            return urlsplit(url.strip()).scheme.lower() in SCHEMES
        except ValueError:
            return False


# Only where code and tables begin and end: reading what is inside the lines is the slow part.
_STRUCTURE = Parser().disable(["inline", "text_join"])


def markdown(text: str) -> str:
    """The whole text, uncut."""
    return joined(_blocks(cleaned(text)))


def markdown_parts(text: str, limit: int = MARKDOWN_LIMIT) -> list[str]:
    """The text of one `markdown` block after the other, one a message; nothing for a blank text."""
    return parts(_blocks(cleaned(text), limit), limit, utf16_units)


def _blocks(text: str, limit: int = MARKDOWN_LIMIT) -> Iterator[Block]:
    lines = text.split("\n")
    tokens = [token for token in _STRUCTURE.parse(text) if token.type in _REGIONS and token.map]
    done = 0
    for token in tokens:
        start, end = token.map or (0, 0)
        yield from _paragraphs(lines, done, start)
        yield _region(token, lines[start:end], limit, gap=_gap(lines, start))
        done = end
    yield from _paragraphs(lines, done, len(lines))


def _gap(lines: list[str], start: int) -> str:
    return "\n\n" if start == 0 or not lines[start - 1].strip() else "\n"


def _paragraphs(lines: list[str], start: int, end: int) -> Iterator[Block]:
    blank = [index for index in range(start, end) if not lines[index].strip()]
    for before, after in pairwise([start - 1, *blank, end]):
        if after - before > 1:
            text = inert_prose("\n".join(lines[before + 1 : after]))
            yield Block(lines=tuple(text.split("\n")), gap=_gap(lines, before + 1))


def _region(token: Token, lines: list[str], limit: int, *, gap: str) -> Block:
    if token.type == "table_open":
        rows = [inert_prose(line) for line in lines]
        return Block(lines=tuple(rows[2:]), head="\n".join(rows[:2]), gap=gap)
    code = [inert_code(line) for line in lines]
    if token.type == "code_block":
        return Block(lines=tuple(code), gap=gap, verbatim=True)
    return _fence(token, code, limit, gap=gap)


def _fence(token: Token, lines: list[str], limit: int, *, gap: str) -> Block:
    prefix = lines[0][: lines[0].index(token.markup)]
    last = lines[-1].strip(" >\t")
    is_closed = len(lines) > 1 and last.startswith(token.markup) and not last.strip(token.markup[0])
    body = lines[1 : len(lines) - is_closed]
    mark = token.markup if token.markup.startswith("`") else _backticks(body)
    if prefix.isspace() and sum(map(utf16_units, lines)) > limit:
        # It will be cut: the next message knows nothing of the list around it, where this much space means code.
        body = [line[len(prefix) :] if line[: len(prefix)].isspace() else line for line in body]
        prefix = ""
    info = _INFO.match(token.info.strip())
    tail = re.sub(r"[^>\s]", " ", prefix) + mark
    return Block(lines=tuple(body), head=prefix + mark + (info[0] if info else ""), tail=tail, gap=gap, verbatim=True)


def _backticks(body: list[str]) -> str:
    longest = max((len(run) for line in body for run in re.findall("`+", line)), default=0)
    return "`" * max(3, longest + 1)
