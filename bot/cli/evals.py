"""`eval`: run the scripted evals of a checkout."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from agent.errors import BadInput
from bot.cli.options import DEFAULT_CONFIG, AsJson, ConfigPath

CHECKOUT = Path(__file__).resolve().parents[2]


def evaluate(
    *,
    real: Annotated[str | None, typer.Option(metavar="MODEL", help="Ask this model of the configuration.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only the cases with this tag.")] = None,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> int:
    """Run the scripted evals and print a table; exit 1 on any miss."""
    if not (CHECKOUT / "evals" / "runner.py").is_file():
        raise BadInput("The evals are not part of an installation; run them from a checkout of the repository.")
    sys.path.insert(0, str(CHECKOUT))
    return int(import_module("evals.runner").main(real=real, tag=tag, as_json=as_json, config=config))
