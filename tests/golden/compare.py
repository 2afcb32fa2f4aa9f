"""Compares with what a person has looked at once: the files beside this one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def assert_golden(name: str, value: Any) -> None:
    """The value as JSON is the file's. `GOLDEN=write` writes the file instead; then look at the difference in git."""
    path = FOLDER / f"{name}.json"
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run with GOLDEN=write and look at git diff"
