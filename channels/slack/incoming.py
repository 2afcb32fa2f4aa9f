"""What a person wrote in Slack, as the model reads it.

Slack sends `&`, `<` and `>` as entities, everywhere and once, so that what still stands in angle brackets is its own:
mentions, channels, links (docs.slack.dev/messaging/formatting-message-text#retrieving-messages).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TOKEN = re.compile(r"<([^<>\n]{1,4000})>")
_PERSON = re.compile(r"<@([A-Z0-9]+)(?:\|[^<>\n]{0,200})?>")
# Code is where the backticks are; what is inside a token is not looked at.
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_ENTITY = re.compile("&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}


def mentioned(text: str) -> tuple[str, ...]:
    """The ids of the people that a text mentions (U…, in an Enterprise Grid also W…), each once, in order."""
    return tuple(dict.fromkeys(_PERSON.findall(text)))


def readable(text: str, *, names: Mapping[str, str], bot: str) -> str:
    """The text in plain words: `names` are names by id, `bot` is the bot's own id, whose leading mention is dropped."""
    text = re.sub(rf"\A(?:\s*<@{re.escape(bot)}(?:\|[^<>\n]{{0,200}})?>[\s:,]*)+", "", text)
    shown: list[str] = []
    done = 0
    for code in _CODE.finditer(text):
        shown += [_resolved(text[done : code.start()], names, in_code=False), _resolved(code[0], names, in_code=True)]
        done = code.end()
    shown.append(_resolved(text[done:], names, in_code=False))
    return "".join(shown).strip().replace("\0", "")


def _resolved(text: str, names: Mapping[str, str], *, in_code: bool) -> str:
    shown = _TOKEN.split(text)  # every second one is the inside of a token
    shown[::2] = map(_decoded, shown[::2])
    shown[1::2] = [_decoded(_token(token, names, in_code=in_code)) for token in shown[1::2]]
    return "".join(shown)


def _token(token: str, names: Mapping[str, str], *, in_code: bool) -> str:
    target, _, label = token.partition("|")
    match target[:1]:
        case "@":
            return f"@{names.get(target[1:]) or label.removeprefix('@') or target[1:]}"
        case "#":
            return f"#{label or names.get(target[1:]) or target[1:]}"
        case "!":
            return _special(target, label)
        case _:
            return _link(target, label, in_code=in_code)


def _link(target: str, label: str, *, in_code: bool) -> str:
    """Markdown, or what was typed: in code, and where Slack made the link by itself."""
    if label and (in_code or target.startswith(("mailto:", "tel:"))):
        return label
    is_bare = not label or target.partition("//")[2] == label
    return target if is_bare else f"[{label}]({target})"


def _special(target: str, label: str) -> str:
    """`<!here>`, `<!subteam^S1|@ops>`, `<!date^1392734382^{date}|18 Feb>`."""
    word = target[1:].partition("^")[0]
    if word == "date":
        return label or target
    return f"@{(label or word).removeprefix('@')}"


def _decoded(text: str) -> str:
    """Once: what a person typed as `&lt;` arrives as `&amp;lt;`."""
    return _ENTITY.sub(lambda found: _CHARACTERS[found[1]], text)
