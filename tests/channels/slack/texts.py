"""Texts that nobody thought of, and who would be notified by one."""

from __future__ import annotations

import re

from hypothesis import strategies as st

TOKEN = re.compile(r"<(?:!(?:channel|here|everyone|group|subteam)|@[UWB][A-Z0-9])")
BARE = re.compile(r"(?<![\w/@.])@(?:channel|here|everyone)\b")

SNIPPETS = [
    *"*_~`#>|-[]()<>&\\!@ \n",
    "```\n", "```py\n", "~~~\n", "    ", "\n\n", "1. ", "- ", "> ", "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "**bold**", "[l](https://e.org)", "<https://e.org|l>", "&lt;https://e.org|l&gt;", "<!here>",
    "<!channel|x>", "<@U1>", "@everyone", "&lt;!here&gt;", "<!subteam^S1|@ops>", "word", "中文", "🙂", "e\u0301",
    "👩\u200d👩\u200d👧", "\ud83d", "\r\n", "\0",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=10), max_size=60).map("".join)


def words(text: str) -> str:
    """The text without white space, which cutting may change."""
    return re.sub(r"\s", "", text)


def notifies(text: str) -> bool:
    """Whether somebody is notified: by a token anywhere, by a bare name where there is no code."""
    return bool(TOKEN.search(text) or ("`" not in text and "    " not in text and BARE.search(text)))
