"""Runs an analysis and takes the JSON block out of its text, as a model or a person's script would."""

from __future__ import annotations

import json
from typing import Any

from tools.tables.analysis import Question, analyze


def reported(text: str | bytes, path: str = "t.csv", question: Question | None = None) -> dict[str, Any]:
    """The facts about a table."""
    content = text.encode() if isinstance(text, str) else text
    report = analyze(content, path, question or Question())
    head, block = report.split("\n\n```json\n")
    assert head
    assert block.endswith("\n```")
    facts: dict[str, Any] = json.loads(block.removesuffix("\n```"))
    return facts
