"""What a SKILL.md must look like (https://agentskills.io/specification). Pure; what is broken is refused."""

from __future__ import annotations

import re
from typing import Any

import yaml

from agent.errors import ToolFailed
from agent.previews import visible

DESCRIPTION_CHARACTERS = 1_024
NAME_CHARACTERS = 64

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MARK = "---"
# The safe loader also lets through what Python says about numbers and dates that cannot be, and about depth.
_YAML_ERRORS = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def decoded(content: bytes, path: str) -> str:
    """The text of a skill's file; ToolFailed unless it is UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ToolFailed(f"{path} is not UTF-8 text.") from None


def description(text: str, folder_name: str) -> str:
    """The description out of the header, on one line; ToolFailed says what is wrong with the header."""
    head, _ = _split(text)
    values = _values(head)
    name, said = values.get("name"), values.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > NAME_CHARACTERS:
        raise ToolFailed("`name` must be lower-case letters, digits and single hyphens, at most 64 characters.")
    if name != folder_name:
        raise ToolFailed(f"`name` is {name!r} but the folder is {folder_name!r}; make them the same.")
    if not isinstance(said, str) or not said.strip():
        raise ToolFailed("`description` must be text that says what the skill is for; put it into quotes.")
    line = visible(" ".join(said.split()))
    if len(line) > DESCRIPTION_CHARACTERS:
        raise ToolFailed(f"`description` has {len(line):,} characters, more than {DESCRIPTION_CHARACTERS:,}.")
    return line


def body(text: str) -> str:
    """What follows the header."""
    return _split(text)[1].strip()


def _split(text: str) -> tuple[str, str]:
    lines = text.splitlines()
    marks = [number for number, line in enumerate(lines) if line.rstrip() == _MARK]
    if not marks or marks[0] != 0 or len(marks) < 2:
        raise ToolFailed("it must begin with a header of YAML between two lines of `---`.")
    return "\n".join(lines[1 : marks[1]]), "\n".join(lines[marks[1] + 1 :])


def _values(head: str) -> dict[Any, Any]:
    try:
        values = yaml.safe_load(head)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else "?"
        raise ToolFailed(
            f"line {line} is not valid YAML ({error.problem}); put text with a colon or brackets into quotes."
        ) from None
    except _YAML_ERRORS as error:
        raise ToolFailed(f"the header is not valid YAML ({type(error).__name__}).") from None
    if not isinstance(values, dict):
        raise ToolFailed("the header must hold `name:` and `description:`.")
    return values
