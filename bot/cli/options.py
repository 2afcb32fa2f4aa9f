"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigPath = Annotated[
    Path, typer.Option("--config", envvar="SIGNOFF_CONFIG", help="The configuration file.", metavar="PATH")
]
DEFAULT_CONFIG = Path("config.yaml")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
