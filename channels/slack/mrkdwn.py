"""Model text as Slack's older `mrkdwn`, for cards, edits and when blocks are refused.

docs.slack.dev/messaging/formatting-message-text: `*bold*`, `_italic_`, `~strike~`, `<url|label>`, quotes by a leading
`>`; no nesting of a marker in itself, no escaping of markers, no headings, tables or languages of code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.tree import SyntaxTreeNode

from channels.slack.inert import ZERO_WIDTH, cleaned, escaped, with_markdown_links
from channels.slack.markdown import Parser
from channels.slack.parts import Block, joined, parts, utf8_bytes

SECTION_LIMIT = 3_000
"""Characters of a section's text (docs.slack.dev/reference/block-kit/blocks/section-block). Counted in bytes here, for
chat.update's 4,000 are reported in both units."""
PARSED_CHARACTERS = 100_000
"""A longer text is sent as it is, because laying it out would hold up everybody."""

_MARKERS = {"strong": "*", "em": "_", "s": "~"}
_BULLETS = ("•", "◦", "▪")
_INDENT = "    "
_FENCE = "```"


def mrkdwn(text: str) -> str:
    """The whole text, uncut."""
    return joined(_blocks(cleaned(text)))


def mrkdwn_parts(text: str, limit: int = SECTION_LIMIT) -> list[str]:
    """The text in parts of at most `limit` bytes; nothing for a blank text."""
    return parts(_blocks(cleaned(text)), limit, utf8_bytes)


def code_parts(text: str, limit: int = SECTION_LIMIT) -> list[str]:
    """Any text as it is, in blocks of code of at most `limit` bytes."""
    return parts([_code_block(cleaned(text))], limit, utf8_bytes)


def _blocks(text: str) -> Sequence[Block]:
    if len(text) > PARSED_CHARACTERS:
        return [Block(lines=tuple(escaped(text).split("\n")))]
    return list(_children(SyntaxTreeNode(_PARSER.parse(text)), 0))


def _parser() -> MarkdownIt:
    """Reads Slack's own links, too."""

    def slack_links(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.content = with_markdown_links(token.content)

    parser = Parser()
    parser.core.ruler.before("inline", "slack_links", slack_links)
    return parser


_PARSER = _parser()


def _children(node: SyntaxTreeNode, depth: int) -> Iterator[Block]:
    for child in node.children:
        yield from _block(child, depth)


def _block(node: SyntaxTreeNode, depth: int) -> Iterator[Block]:
    match node.type:
        case "heading":
            yield Block(lines=tuple(_styled("*", _inline(node, ("*",))).split("\n")))
        case "bullet_list" | "ordered_list":
            yield from _list(node, depth)
        case "blockquote":
            yield from map(_quoted, _children(node, depth))
        case "fence" | "code_block":
            yield _code_block(node.content)
        case "table":
            yield _table(node)
        case "hr":
            yield Block(lines=("─" * 12,))
        case _:
            yield Block(lines=tuple(_inline(node).split("\n")))


def _list(node: SyntaxTreeNode, depth: int) -> Iterator[Block]:
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
    for position, item in enumerate(node.children):
        marker = f"{first + position}." if node.type == "ordered_list" else _BULLETS[min(depth, len(_BULLETS) - 1)]
        yield from _item(item, marker, depth, is_first=position == 0)


def _item(item: SyntaxTreeNode, marker: str, depth: int, *, is_first: bool) -> Iterator[Block]:
    gap = "\n\n" if is_first and depth == 0 else "\n"
    blocks = list(_children(item, depth + 1))
    if not blocks or blocks[0].head or _is_item(blocks[0]):
        yield Block(lines=(f"{_INDENT * depth}{marker}",), gap=gap)
    else:
        first, *blocks = blocks
        lines = [f"{_INDENT * depth}{marker} {first.lines[0]}", *(_deeper(line, depth) for line in first.lines[1:])]
        yield replace(first, lines=tuple(lines), gap=gap)
    for block in blocks:
        lines = list(block.lines) if block.head or _is_item(block) else [_deeper(line, depth) for line in block.lines]
        yield replace(block, lines=tuple(lines), gap="\n")


def _deeper(line: str, depth: int) -> str:
    return f"{_INDENT * (depth + 1)}{line}" if line else line


def _is_item(block: Block) -> bool:
    return block.lines[0].startswith(_INDENT)


def _quoted(block: Block) -> Block:
    """Code stands beside the quotation: a fence between quotation marks shows them."""
    return block if block.head else replace(block, lines=tuple(f"> {line.removeprefix('> ')}" for line in block.lines))


def _code_block(text: str) -> Block:
    return Block(lines=_code(text), head=_FENCE, tail=_FENCE, verbatim=True)


def _code(text: str) -> tuple[str, ...]:
    """Three backticks would end the block, and nothing escapes them."""
    text = text.removesuffix("\n").replace(_FENCE, ZERO_WIDTH.join(_FENCE))
    return tuple(_entities(text).split("\n"))


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _table(node: SyntaxTreeNode) -> Block:
    """Columns in a fixed-width font; the header stands above every part."""
    rows = [[_plain(cell) for cell in row.children] for part in node.children for row in part.children]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    rule = "  ".join("─" * width for width in widths)
    head, *body = [_code(line)[0] for line in lines]
    return Block(lines=tuple(body), head=f"{_FENCE}\n{head}\n{rule}", tail=_FENCE, verbatim=True)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _plain(node: SyntaxTreeNode) -> str:
    """The words alone."""
    if node.type in {"text", "code_inline", "image"}:
        return node.content
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    return "".join(map(_plain, node.children))


def _inline(node: SyntaxTreeNode, opened: tuple[str, ...] = ()) -> str:
    """The text of a node whose surroundings have opened some markers; a marker is not opened twice."""
    text, was_styled = "", False
    for child in node.children:
        piece, is_styled = _piece(child, opened)
        if text and piece and ((was_styled and _clings(piece[0])) or (is_styled and _clings(text[-1]))):
            text += ZERO_WIDTH
        text += piece
        was_styled = is_styled if piece else was_styled
    return text


def _clings(character: str) -> bool:
    """Whether a marker beside it would be shown instead of obeyed: Slack wants the edge of a word there."""
    return character.isalnum() or character > "\x7f" or character in "*_~`"


def _piece(node: SyntaxTreeNode, opened: tuple[str, ...]) -> tuple[str, bool]:
    match node.type:
        case "text":
            return escaped(node.content), False
        case "softbreak" | "hardbreak":
            return "\n", False
        case "code_inline":
            return f"`{_entities(node.content.replace('`', 'ˋ'))}`", True
        case "link" | "image":
            return _link(node), False
        case "strong" | "em" | "s" if (marker := _MARKERS[node.type]) not in opened:
            return _styled(marker, _inline(node, (*opened, marker))), True
        case _:
            return _inline(node, opened), False


def _styled(marker: str, text: str) -> str:
    """Each line by itself: a marker does not reach over a line's end."""
    return "\n".join(f"{marker}{line.strip()}{marker}" if line.strip() else "" for line in text.split("\n"))


def _link(node: SyntaxTreeNode) -> str:
    url = str(node.attrs.get("href") or node.attrs.get("src") or "")
    address = _entities(url.replace("|", "%7C").replace("<", "%3C").replace(">", "%3E"))
    label = re.sub(r"\s+", " ", _plain(node)).strip()
    if not url:
        return escaped(label)
    if not label or label in {url, url.removeprefix("mailto:")}:
        return f"<{address}>"
    return f"<{address}|{escaped(label.replace('|', '│'))}>"
