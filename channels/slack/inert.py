"""Model text made unable to ping anybody, and Slack's own link notation turned into Markdown's.

Slack obeys its `<...>` tokens in a `markdown` block as well; an entity is decoded for display and not read again as a
token, but not inside a link's address (measured on a live workspace: github.com/PostHog/posthog/pull/95054). In
`mrkdwn` only `&`, `<` and `>` are escaped (docs.slack.dev/messaging/formatting-message-text); a backslash escapes
nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

ZERO_WIDTH = "\u200b"

# Only what would notify: code is otherwise kept to the byte.
_LIVE = re.compile(r"<(?=!(?:channel|here|everyone|group|subteam)\b|@[UWB][A-Z0-9])", re.IGNORECASE)
# By default Slack links no bare names (`parse` none), but a client or a copied text may; an address stays as it is.
_BARE = re.compile(r"(?<![\w/@.])@(?=(?:channel|here|everyone|group)\b)", re.IGNORECASE)
_SLACK_LINK = re.compile(
    r"(?:<|&lt;)((?:https?://|mailto:)[^\s|<>&]*(?:&(?!gt;)[^\s|<>&]*)*)(?:\|([^<>\n]{0,300}?))?(?:>|&gt;)"
)
_ANGLED = re.compile(r"(\]\()<(https?://[^<>\n]{0,2000})>")
_BRACKET = re.compile(r"(\\*)<")
_BACKTICKS = re.compile(r"`+")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def cleaned(text: str) -> str:
    """Text that UTF-8 can carry, lines ending in a newline."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return _SURROGATES.sub("\ufffd", text)


def escaped(text: str) -> str:
    """Literal text for `mrkdwn`: the reader sees exactly this, and nobody is notified."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _BARE.sub(f"@{ZERO_WIDTH}", text)


def inert_code(code: str) -> str:
    """Code for a `markdown` block: an invisible character in what would be a mention, all else unchanged."""
    return _LIVE.sub(f"<{ZERO_WIDTH}", code)


def inert_prose(text: str) -> str:
    """One paragraph of Markdown for a `markdown` block, with its code spans kept."""
    return "".join(
        inert_code(piece) if is_code else _inert(as_markdown_links(piece)) for piece, is_code in _code_spans(text)
    )


def with_markdown_links(paragraph: str) -> str:
    """Slack's `<url|label>` outside code spans as Markdown."""
    return "".join(piece if is_code else as_markdown_links(piece) for piece, is_code in _code_spans(paragraph))


def as_markdown_links(text: str) -> str:
    """Slack's `<url|label>`, Markdown's `<url>`, both also with escaped brackets, as `[label](url)`."""
    text = _ANGLED.sub(lambda found: found[1] + _address(found[2]), text)
    return _SLACK_LINK.sub(_link, text)


def _link(found: re.Match[str]) -> str:
    label = found[2] or found[1].removeprefix("mailto:")
    label = label.replace("[", "\\[").replace("]", "\\]")
    return f"[{label}]({_address(found[1])})"


def _address(url: str) -> str:
    return url.replace(" ", "%20").replace("(", "%28").replace(")", "%29")


def _inert(prose: str) -> str:
    # A backslash before the entity would show it: \& is an ampersand.
    prose = _BRACKET.sub(lambda found: found[1][: len(found[1]) // 2 * 2] + "&lt;", prose)
    return _BARE.sub(f"@{ZERO_WIDTH}", prose)


def _code_spans(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and whether each is a code span: a run of backticks to the next run of the same length."""
    runs = [found.span() for found in _BACKTICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)
    position = index = 0
    while index < len(runs):
        start, end = runs[index]
        same = later[end - start]
        while same and same[-1] <= index:
            same.pop()
        is_escaped = start > 0 and text[start - 1] == "\\"
        if same and not is_escaped:
            yield text[position:start], False
            index = same[-1]
            position = runs[index][1]
            yield text[start:position], True
        index += 1
    yield text[position:], False
