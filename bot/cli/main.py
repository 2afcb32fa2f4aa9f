"""The entry of the command line: finds the command, imports only what it needs, turns errors into one line."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from agent.errors import SignoffError
from bot.logs import LogSettings, start_logging

COMMANDS = {
    "run": "bot.cli.serve:run",
    "ask": "bot.cli.ask:ask",
    "tasks": "bot.cli.tasks:tasks",
    "cancel": "bot.cli.tasks:cancel",
    "export": "bot.cli.tasks:export",
    "approvals": "bot.cli.approvals:approvals",
    "approve": "bot.cli.approvals:approve",
    "deny": "bot.cli.approvals:deny",
    "changes": "bot.cli.approvals:changes",
    "edit": "bot.cli.approvals:edit",
    "webhooks": "bot.cli.webhooks:webhooks",
    "people": "bot.cli.people:people",
    "login-link": "bot.cli.tokens:login_link",
    "init": "bot.cli.init:init",
    "check": "bot.cli.check:check",
    "db": "bot.cli.db:db",
    "eval": "bot.cli.evals:evaluate",
}
"""Each command's module and function, imported when it is used: `run` must not pay for tables and prompts."""

EPILOG = "Every command takes --config PATH (or $SIGNOFF_CONFIG, else ./config.yaml) and --debug (shows tracebacks)."
_USAGE_ERROR = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])
"""Every refusal of bad options; typer exports only this one of the family."""


class Commands(TyperGroup):
    """The group of all commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, as the help lists them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them."""
        if cmd_name not in COMMANDS:
            return None
        entry = _imported(COMMANDS[cmd_name])
        if isinstance(entry, typer.Typer):
            return typer.main.get_group(entry)
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(cmd_name)(entry)
        return typer.main.get_command(single)


def _imported(entry: str) -> Any:
    """A command's function. Imports make many objects and no garbage, so the collector only loses time on them:
    it is held off meanwhile (an eighth of the start), and never looks at them again."""
    module, _, function = entry.partition(":")
    gc.disable()
    try:
        return getattr(import_module(module), function)
    finally:
        gc.freeze()
        gc.enable()


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 failed, 2 bad usage or configuration, 3 waiting for approval."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    start_logging(LogSettings(level="warning"), ())  # until a command has read what the configuration says
    commands = Commands(name="signoff", help="Works on your files and asks first.", epilog=EPILOG)
    commands.rich_markup_mode = None
    try:
        code = commands.main(arguments, prog_name="signoff", standalone_mode=False)
    except (SignoffError, _USAGE_ERROR) as error:
        if debug:
            raise
        message = f"{error.format_message()} See --help." if isinstance(error, _USAGE_ERROR) else str(error)
        print(f"signoff: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(2)
    sys.exit(code)
