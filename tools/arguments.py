"""Kinds of parameters that several tools have."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from agent.errors import ToolFailed
from tools.workspace.paths import normal


def _normal(path: str) -> str:
    try:
        return normal(path)
    except ToolFailed as error:
        raise ValueError(str(error)) from error  # pydantic adds the argument's name


WorkspacePath = Annotated[str, AfterValidator(_normal)]
"""A path in its one spelling, so that what is shown, hashed, written and published is the same file."""
