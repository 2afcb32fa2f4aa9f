"""`approvals`, `approve`, `deny`: what waits for a person, and the operator's decision."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from agent import texts
from agent.domain import Outcome, Verdict
from agent.previews import visible
from bot.api import approvals as api
from bot.api.approvals import Decision
from bot.api.shapes import filled
from bot.api.tasks import ask_again as propose_again
from bot.api.viewer import terminal
from bot.cli import display
from bot.cli.options import DEFAULT_CONFIG, LARGEST_ID, AsJson, ConfigPath
from bot.config import load_config
from bot.services import connected

MOST = 1_000
"""Cards that are listed at once."""
ApprovalId = Annotated[int, typer.Argument(metavar="ID", min=1, max=LARGEST_ID)]
Items = Annotated[list[int] | None, typer.Option("--item", metavar="N", help="Only this item; repeat it for several.")]


def approvals(*, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """List what waits for a person, and what would be done."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            viewer = terminal(services.people, services.workspaces)
            found = (await api.cards(services, viewer, "open", page_size=MOST))[::-1]
        if as_json:
            display.print_json({"approvals": [display.as_json(api.approval_view(card)) for card in found]})
            return
        for card in found:
            print(f"{visible(texts.card(card))}\n")
        if not found:
            print("Nothing waits for an approval.")

    asyncio.run(work())


def approve(
    approval_id: ApprovalId,
    item: Items = None,
    outcome: Annotated[Outcome | None, typer.Option(help="For a card that asks whether something happened.")] = None,
    config: ConfigPath = DEFAULT_CONFIG,
    *,
    ask_again: Annotated[bool, typer.Option("--ask-again", help="Have what expired proposed again.")] = False,
) -> None:
    """Approve everything a card asks for, or some of its items."""
    if ask_again:
        asyncio.run(_ask_again(config, approval_id))
        return
    asyncio.run(_decide(config, approval_id, "approved", item, outcome=outcome))


def deny(
    approval_id: ApprovalId,
    item: Items = None,
    reason: Annotated[str, typer.Option(help="Told to the agent, which goes on without it.")] = "",
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Deny everything a card asks for, or some of its items."""
    asyncio.run(_decide(config, approval_id, "denied", item, reason=reason))


async def _decide(
    config: Path,
    approval_id: int,
    verdict: Verdict,
    items: list[int] | None,
    *,
    outcome: Outcome | None = None,
    reason: str = "",
) -> None:
    async with connected(load_config(config)) as services:
        viewer = terminal(services.people, services.workspaces)
        decision = filled(Decision, verdict=verdict, items=items or [], reason=reason, outcome=outcome)
        print(visible(texts.verdict(await api.press(services, viewer, approval_id, decision))))


async def _ask_again(config: Path, approval_id: int) -> None:
    async with connected(load_config(config)) as services:
        task = await propose_again(services, terminal(services.people, services.workspaces), approval_id)
        print(f"Task {task.task_id} proposes it again: see `tasks {task.task_id}`.")
