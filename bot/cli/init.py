"""`init`: a configuration for a new folder, and the way to a chat platform, step by step."""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agent.errors import BadInput, ConfigError, NotFound
from agent.previews import visible
from bot.api import people
from bot.api.viewer import terminal
from bot.cli.options import DEFAULT_CONFIG, ConfigPath
from bot.config import Config, load_config
from bot.config_edit import with_block, with_variable, write
from bot.services import connected

SECRET, OPEN = 0o600, 0o644
"""File modes."""


class Dialogue:
    """Asks at the terminal; what is not asked there comes from the environment."""

    def say(self, text: str) -> None:
        """A line or some."""
        print(visible(text), flush=True)

    def ask(self, question: str, default: str = "") -> str:
        """A line; the default at the end of the input."""
        try:
            return input(f"{question}{f' [{default}]' if default else ''}: ").strip() or default
        except EOFError:
            return default

    def secret(self, question: str, name: str) -> str:
        """A secret: the variable of this name, else typed without being shown."""
        if given := os.environ.get(name, "").strip():
            self.say(f"{name} is set; it is used.")
            return given
        typed = getpass.getpass(f"{question}: ") if sys.stdin.isatty() else self.ask(question)
        if not typed.strip():
            raise BadInput(f"Nothing was given for {name}; set it in the environment or type it.")
        return typed.strip()


Steps = Callable[["Setup"], Coroutine[Any, Any, None]]


class Setup:
    """A configuration that is being made, and what its steps need."""

    def __init__(self, file: Path, dialogue: Dialogue) -> None:
        self.file = file
        self.dialogue = dialogue
        self.environment = file.parent / ".env"

    def keep(self, platform: str, lines: list[str], secrets: dict[str, str]) -> Config:
        """Write the platform's block and its secrets; what cannot be loaded then is put back."""
        before = self.file.read_text(encoding="utf-8")
        hidden = self.environment.read_text(encoding="utf-8") if self.environment.exists() else None
        changed = hidden or ""
        for name, value in secrets.items():
            changed = with_variable(changed, name, value)
        after = with_block(before, "channels", platform, lines)
        write(self.environment, changed, SECRET)
        write(self.file, after, OPEN)
        try:
            return load_config(self.file, {**os.environ, **secrets})
        except ConfigError:
            write(self.file, before, OPEN)
            if hidden is None:
                self.environment.unlink()
            else:
                write(self.environment, hidden, SECRET)
            raise

    async def link(self, config: Config, identity: str) -> None:
        """Let a person be known by an identity; a new one becomes admin and approver."""
        name = self.dialogue.ask("Your name, as others should read it (empty: nobody is linked)")
        if not name:
            self.dialogue.say("Nobody is linked yet; `signoff people link NAME CHANNEL:ID` does it later.")
            return
        async with connected(config) as services:
            viewer = terminal(services.people, services.workspaces)
            known = await services.people.known_as(identity)
            if known is not None:
                self.dialogue.say(f"{identity} is {known.name} already.")
                return
            try:
                await services.people.member(name)
            except NotFound:
                await people.add_person(services, viewer, people.NewPerson(name=name, roles=["admin", "approver"]))
            await people.link(services, viewer, name, people.NewLink(identity=identity))
        self.dialogue.say(f"{name} is known as {identity}.")


def init(
    platform: Annotated[Literal["slack", "telegram"] | None, typer.Argument(metavar="[slack|telegram]")] = None,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Make a config.yaml, or connect a chat platform: what to click, the tokens tried, the configuration written."""
    setup = Setup(config.resolve(), Dialogue())
    try:
        if not setup.file.exists():
            _begin(setup)
        elif platform is None:
            setup.dialogue.say(
                f"{setup.file} is there already; `signoff init slack` or `init telegram` adds a platform."
            )
        if platform is not None:
            load_config(setup.file, dict(os.environ))
            asyncio.run(_steps(platform)(setup))
    except KeyboardInterrupt:
        raise BadInput("Stopped; nothing more was changed. The same command begins again.") from None


def _steps(platform: str) -> Steps:
    """A new platform is a new entry here."""
    if platform == "slack":
        from bot.cli import init_slack  # noqa: PLC0415 - only what is set up is loaded

        return init_slack.steps
    from bot.cli import init_telegram  # noqa: PLC0415

    return init_telegram.steps


def _begin(setup: Setup) -> None:
    """A configuration for a folder that has none."""
    dialogue = setup.dialogue
    dialogue.say(f"There is no {setup.file} yet; a few questions make one.")
    folder = dialogue.ask("The folder to work on", "./workspace")
    model = dialogue.ask("The model, PROVIDER/MODEL (empty: the demo model, which needs no key)")
    if model and "/" not in model:
        raise BadInput(f"{model!r} is no model: write PROVIDER/MODEL, such as deepseek/deepseek-chat.")
    secrets = (
        {"LLM_API_KEY": dialogue.secret(f"The API key of {model.partition('/')[0]}", "LLM_API_KEY")} if model else {}
    )
    (setup.file.parent / folder).mkdir(parents=True, exist_ok=True)
    text = _FIRST.format(folder=folder)
    if model:
        text += _MODEL.format(model=model)
        hidden = setup.environment.read_text(encoding="utf-8") if setup.environment.exists() else ""
        write(setup.environment, with_variable(hidden, "LLM_API_KEY", secrets["LLM_API_KEY"]), SECRET)
    write(setup.file, text, OPEN)
    load_config(setup.file, {**os.environ, **secrets})
    dialogue.say(
        f"{setup.file} is written. `signoff run` starts it; `signoff init slack` or `init telegram` adds a chat."
    )


_FIRST = """\
# Signoff's configuration; every key is explained in the config.yaml of the repository.
bot: {{data_dir: ./data}}

channels:
  console: {{enabled: true}}
  webhook: {{enabled: true}}

workspaces:
  main:
    path: {folder}
    channels: ["console:*", "cli:*", "webhook:*", "slack:*", "telegram:*"]
"""
_MODEL = """
agent:
  model: default
  models:
    default: {{model: {model}, api_key: "${{LLM_API_KEY}}"}}
"""
