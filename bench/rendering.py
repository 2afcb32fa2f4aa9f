"""G15: how long one answer keeps the event loop while it is made into messages for Telegram."""

from __future__ import annotations

import time
from collections.abc import Mapping

from bench.fleet import Fleet
from bench.report import Check, Row
from channels.telegram.markdown import MARKDOWN_CHARACTERS, render
from channels.telegram.rich import rich
from channels.telegram.text import split

# What people ask for, what is laid out most slowly, and what was made to be slow.
_PIECES: Mapping[str, str] = {
    "prose": "Some **bold** words, `code` and [a link](https://example.com/a) in a paragraph of text.\n\n",
    "lists": "- [x] one **b**\n  1. two `c`\n",
    "table": "| a `b` | c |\n|---|--:|\n| d | e |\n| f | g |\n\n",
    "brackets": "![[",
    "quotes": "> > > > > > > > > > > > > > > > > > x\n",
}


async def measure(fleet: Fleet) -> list[Row]:
    """The longest answer that is laid out, of each kind, and one of a megabyte."""
    texts = {name: piece * (MARKDOWN_CHARACTERS // len(piece)) for name, piece in _PIECES.items()}
    texts["1 MB"] = _PIECES["prose"] * (1_000_000 // len(_PIECES["prose"]))
    seconds = {name: min(_seconds(text) for _ in range(fleet.size(5, 2))) for name, text in texts.items()}
    checks = [Check(figure=max(seconds.values()), unit="s", goal=1)]
    return [Row(goal="G15", measure="CPU s of an answer's messages", values=seconds, checks=checks)]


def _seconds(markdown: str) -> float:
    began = time.process_time()
    split(render(markdown))
    rich(markdown)
    return time.process_time() - began
