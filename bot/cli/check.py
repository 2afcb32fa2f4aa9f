"""`check`: what works, and what to do about the rest."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from agent.errors import ModelError, SignoffError
from bot.api.policy import PolicyView, PowerRule, WorkspacePolicy, show_policy
from bot.api.viewer import terminal
from bot.cli import display
from bot.cli.options import DEFAULT_CONFIG, AsJson, ConfigPath
from bot.config import Config, load_config
from bot.services import Services, connected, skill_source
from tools.workspace.guard import Workspace


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do when it does not work."""

    name: str
    ok: bool
    message: str


def check(
    *,
    online: Annotated[
        bool, typer.Option("--online", help="Also call each model in use and each chat platform.")
    ] = False,
    policy: Annotated[bool, typer.Option("--policy", help="Show who may do what and who decides instead.")] = False,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> int:
    """Look at configuration, database, channels, models and workspaces; exit 1 when something does not work."""
    settings = load_config(config)
    if policy:
        return _policy(settings, as_json=as_json)
    findings = [Finding("configuration", True, str(config.resolve())), *_static(settings)]
    findings += asyncio.run(_live(settings, online=online))
    if as_json:
        rows = [{"name": finding.name, "ok": finding.ok, "message": finding.message} for finding in findings]
        display.print_json({"checks": rows})
    else:
        rows_ = [(finding.name, "ok" if finding.ok else "FAILS", finding.message) for finding in findings]
        display.print_table(("what", "", "says"), rows_)
    return 0 if all(finding.ok for finding in findings) else 1


def _static(config: Config) -> Iterator[Finding]:
    skills = skill_source(config)
    for name, workspace in config.workspaces.items():
        ok = os.access(workspace.path, os.R_OK | os.W_OK | os.X_OK)
        problem = "cannot be written by this user; check owner and mode"
        yield Finding(f"workspace {name}", ok, f"{workspace.path}{'' if ok else f' {problem}'}")
        problems = skills.catalogue(Workspace(name, str(workspace.path))).problems
        yield Finding(f"skills of {name}", not problems, "; ".join(problems) or "all can be read")


async def _live(config: Config, *, online: bool) -> list[Finding]:
    try:
        async with connected(config) as services:
            return [finding async for finding in _running(services, online=online)]
    except SignoffError as error:
        return [Finding("database", False, str(error))]


async def _running(services: Services, *, online: bool) -> AsyncIterator[Finding]:
    config = services.config
    where = "PostgreSQL" if config.storage.url else str(config.bot.data_dir)
    yield Finding("database", True, where)
    if config.channels.console.enabled:
        yield Finding("channel console", True, f"{services.url('/')} (`signoff login-link NAME` lets a person in)")
    if config.channels.webhook.enabled:
        count = len(await services.store.hooks())
        hooks = f"{count} {'hook' if count == 1 else 'hooks'}"
        yield Finding("channel webhook", True, f"{hooks} at {services.url('/hooks/NAME')}")
    async for finding in _chats(services, online=online):
        yield finding
    holes = (await services.survey()).holes()
    told = (
        f"{len(holes)} {'hole' if len(holes) == 1 else 'holes'}; `signoff check --policy` tells"
        if holes
        else "no holes"
    )
    yield Finding("policy", not any(hole.blocks for hole in holes), told)
    for name in config.models_in_use():
        model = config.agent.models[name].model
        if not online:
            yield Finding(f"model {name}", True, f"{model} (not called; --online does)")
            continue
        try:
            await services.models.probe(name)
        except ModelError as error:
            yield Finding(f"model {name}", False, f"{model}: {error}")
        else:
            yield Finding(f"model {name}", True, f"{model} answered")


def _policy(config: Config, *, as_json: bool) -> int:
    """Who may do what; 1 when something can never be approved."""
    shown, blocks = asyncio.run(_looked_up(config))
    if as_json:
        display.print_json(display.as_json(shown))
    else:
        _print_policy(shown)
    return int(blocks)


async def _looked_up(config: Config) -> tuple[PolicyView, bool]:
    async with connected(config) as services:
        blocks = any(hole.blocks for hole in (await services.survey()).holes())
        return await show_policy(services, terminal(services.people, services.workspaces)), blocks


def _print_policy(shown: PolicyView) -> None:
    for workspace in shown.workspaces:
        print(f"{_title(workspace)}:")
        rows = [
            (power.power, _says(power.attended), _says(power.unattended), ", ".join(power.tools))
            for power in workspace.powers
        ]
        display.print_table(("power", "when a person asks", "by itself (webhook, schedule)", "tools"), rows)
        print()
    if shown.stricter:
        print("Stricter:")
        display.print_table(("where", "power", ""), [(one.place, one.power, _says(one.rule)) for one in shown.stricter])
        print()
    print("\n".join(["Holes:", *(f"- {hole}" for hole in shown.holes)]) if shown.holes else "No holes.")


def _says(rule: PowerRule) -> str:
    names = f": {', '.join(rule.able) or 'no such person'}" if rule.verdict == "ask" else ""
    return rule.says + names


def _title(workspace: WorkspacePolicy) -> str:
    if workspace.workspace is None:
        return "Any other workspace (private ones)"
    where = f", asked at {', '.join(workspace.asked_at)}" if workspace.asked_at else ""
    return f"Workspace {workspace.workspace}{where}"


async def _chats(services: Services, *, online: bool) -> AsyncIterator[Finding]:
    """The chat platforms that are enabled; a new one is a new entry here."""
    channels = services.config.channels
    for name in channels.chats():
        if not online:
            yield Finding(f"channel {name}", True, "enabled (not asked; --online does)")
    if online and channels.slack.enabled:
        from channels.slack import setup as slack  # noqa: PLC0415 - only what is enabled is loaded

        async for one in slack.looked_at(channels.slack, services.clock):
            yield Finding(one.name, one.ok, one.message)
    if online and channels.telegram.enabled:
        from channels.telegram import setup as telegram  # noqa: PLC0415
        from channels.telegram.state import BotState  # noqa: PLC0415

        state = BotState(services.config.bot.data_dir / "telegram" / channels.telegram.bot_id)
        async for one in telegram.looked_at(channels.telegram, state):
            yield Finding(one.name, one.ok, one.message)
