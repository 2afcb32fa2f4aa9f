"""`db`: the database's schema."""

from __future__ import annotations

import asyncio

import typer

from bot.app import upgrade
from bot.cli.options import DEFAULT_CONFIG, ConfigPath
from bot.config import load_config

db = typer.Typer(help="The database's schema.", add_completion=False, rich_markup_mode=None)


@db.callback()
def _group() -> None:
    """Without it typer takes a group of one command for that command."""


@db.command("upgrade")
def upgrade_(config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Bring the schema to what this version needs; does nothing when it is."""
    print(f"The database is at revision {asyncio.run(upgrade(load_config(config)))}.")
