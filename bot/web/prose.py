"""Text as people read it on a page: model text as HTML that can do nothing, times in a person's zone."""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from agent.previews import visible

SCHEMES = frozenset({"http", "https", "mailto"})
"""Where a link may lead; everything else stays text."""
MARKDOWN_CHARACTERS = 100_000
"""A longer text is shown as it is, because laying it out would hold up everybody."""

# Persian, Hindi and joined emoji are written with them; between ASCII characters they only hide something.
_JOINERS = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
_KEPT = {"\u200c": "\ue200", "\u200d": "\ue201"}
_UNMARKED = str.maketrans({"\ue200": "\ufffd", "\ue201": "\ufffd"})
_RESTORED = str.maketrans({mark: joiner for joiner, mark in _KEPT.items()})


def readable(text: str) -> str:
    """Text with what cannot be seen made visible, except joiners where a script needs them."""
    if text.isascii() or not _JOINERS.search(text):
        return visible(text)
    kept = _JOINERS.sub(lambda found: _KEPT[found[0]], text.translate(_UNMARKED))
    return visible(kept).translate(_RESTORED)


class _Parser(MarkdownIt):
    """Markdown without HTML of its own."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False, "breaks": True})
        self.enable(["table", "strikethrough"])

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        try:
            return urlsplit(url.strip()).scheme.lower() in SCHEMES
        except ValueError:
            return False


class Markdown:
    """Makes HTML of Markdown that anybody may have written: links lead to web and mail, pictures are only named."""

    def __init__(self) -> None:
        self._parser = _Parser()

    def __call__(self, text: str) -> Markup:
        shown = readable(text)
        if len(shown) > MARKDOWN_CHARACTERS:
            return Markup("<pre>{}</pre>").format(shown)
        tokens = self._parser.parse(shown)
        for token in tokens:
            for child in token.children or ():
                _tame(child)
        html = self._parser.renderer.render(tokens, self._parser.options, {})
        return Markup(html)  # noqa: S704 - HTML is off, so the parser has escaped whatever it was given


def _tame(token: Token) -> None:
    if token.type == "link_open":
        token.attrSet("rel", "noopener noreferrer nofollow")
        token.attrSet("target", "_blank")
    elif token.type == "image":
        # Loading it would tell its server who reads this.
        token.content = f"[picture: {token.content} {token.attrGet('src')}]"
        token.type, token.tag, token.children = "text", "", None


def moment(at: datetime | None, zone: str, now: datetime | None = None) -> Markup:
    """A time in a person's zone: the hour today, else the day, too; the whole of it in the tooltip."""
    if at is None:
        return Markup("")
    local = at.astimezone(ZoneInfo(zone))
    today = now is not None and local.date() == now.astimezone(ZoneInfo(zone)).date()
    text = f"{local:%H:%M}" if today else f"{local:%Y-%m-%d %H:%M}"
    whole = f"{local:%A, %d %B %Y, %H:%M:%S} {zone}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.isoformat(), whole, text)
