"""Changes config.yaml and .env as a person would in an editor: what is not meant stays as it is, comments included."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from agent.errors import ConfigError

_KEY = re.compile(r"\s*([^\s#])")


def with_block(text: str, parent: str, key: str, lines: list[str]) -> str:
    """The text with the block `parent.key` written anew; `lines` are its own, without indentation.

    ConfigError when the parent is written on one line, where nothing can be put into.
    """
    rows = text.splitlines()
    found = next((number for number, row in enumerate(rows) if re.match(rf"{parent}\s*:", row)), None)
    block = [f"  {key}:", *(f"    {line}" for line in lines)]
    if found is None:
        return "\n".join([*rows, *([""] if rows and rows[-1] else []), f"{parent}:", *block]) + "\n"
    if not re.fullmatch(rf"{parent}\s*:\s*(#.*)?", rows[found]):
        raise ConfigError(f"{parent}: is written on one line; put each of its keys on a line of its own.")
    end = _end(rows, found + 1, 1)
    old = next((n for n in range(found + 1, end) if re.match(rf"  {key}\s*:", rows[n])), None)
    if old is None:
        return "\n".join([*rows[: found + 1], *block, *rows[found + 1 :]]) + "\n"
    return "\n".join([*rows[:old], *block, *rows[_end(rows, old + 1, 3) :]]) + "\n"


def with_variable(text: str, name: str, value: str) -> str:
    """A .env with a variable set; the line it had is replaced."""
    line = f"{name}={value}"
    rows = text.splitlines()
    kept = [line if re.match(rf"\s*(export\s+)?{name}\s*=", row) else row for row in rows]
    return "\n".join(kept if line in kept else [*rows, line]) + "\n"


def write(path: Path, text: str, mode: int) -> None:
    """Replace a file in one go; a process that dies leaves the old or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        os.fchmod(handle, mode)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _end(rows: list[str], start: int, indent: int) -> int:
    """Where a block ends whose lines are indented by at least so much; comments and blank lines behind it are not its
    own."""
    end = start
    for number in range(start, len(rows)):
        first = _KEY.match(rows[number])
        if first is None:
            continue
        if first.start(1) < indent:
            break
        end = number + 1
    return end
