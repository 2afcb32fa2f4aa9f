"""`approvals`, `approve`, `deny`, `changes`, `edit`: what waits for a person, and what the operator says to it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from agent import cards
from agent.decisions import number_of
from agent.domain import Approval, Outcome, Verdict
from agent.errors import BadInput, NotFound
from agent.ids import MAX_ID
from agent.previews import visible
from bot.api import approvals as api
from bot.api.approvals import Decision, NewArguments
from bot.api.shapes import filled
from bot.api.tasks import ask_again as propose_again
from bot.api.viewer import Viewer, terminal
from bot.cli import display
from bot.cli.options import DEFAULT_CONFIG, AsJson, ConfigPath
from bot.config import Config, load_config
from bot.logs import start_logging
from bot.services import Services, connected

MOST = 1_000
"""Cards that are listed at once."""
ApprovalId = Annotated[int, typer.Argument(metavar="ID", min=1, max=MAX_ID)]
Items = Annotated[list[int] | None, typer.Option("--item", metavar="N", help="Only this item; repeat it for several.")]


def approvals(*, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """List what waits for a person, and what would be done."""

    async def work() -> None:
        async with connected(_settings(config)) as services:
            viewer = terminal(services.people, services.workspaces)
            if as_json:
                page = await api.list_approvals(services, viewer, "open", page_size=MOST)
                display.print_json({"approvals": [display.as_json(card) for card in page.approvals[::-1]]})
                return
            found = [await _text(services, card) for card in await api.cards(services, viewer, "open", page_size=MOST)]
        print("\n\n".join(found[::-1]) or "Nothing waits for an approval.")

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


def changes(
    approval_id: ApprovalId,
    reason: Annotated[str, typer.Option(help="What should be different; the agent reads it and proposes anew.")],
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Have a card proposed differently: nothing of it runs, and the agent reads why."""
    asyncio.run(_decide(config, approval_id, "changes", None, reason=reason))


def edit(
    approval_id: ApprovalId,
    argument: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE", help="A new value; @FILE reads it from a file. Repeat it for several arguments."
        ),
    ],
    item: Annotated[int, typer.Option(metavar="N", help="Which item of the card.")] = 1,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Change what an item would do, and show the card as it is then; `approve` runs it."""

    async def work() -> None:
        async with connected(_settings(config)) as services:
            viewer = terminal(services.people, services.workspaces)
            now, revision = await _now(services, viewer, approval_id, item)
            arguments = {**now, **dict(_argument(text, now) for text in argument)}
            new = filled(NewArguments, item=item, arguments=arguments, revision=revision)
            await api.edit(services, viewer, approval_id, new)
            print(await _text(services, await api.visible_approval(services, viewer, approval_id)))

    asyncio.run(work())


def _settings(path: Path) -> Config:
    """The configuration; what is refused is told in one line, and not in the log besides."""
    settings = load_config(path)
    start_logging(settings.bot.log.model_copy(update={"level": "error"}), settings.secrets())
    return settings


async def _now(services: Services, viewer: Viewer, approval_id: int, item: int) -> tuple[dict[str, Any], int | None]:
    """The arguments of an item and the revision of its card; none of what is not there, which the edit itself says."""
    try:
        shown = await api.show_approval(services, viewer, approval_id)
    except NotFound:
        return {}, None
    return next((one.arguments for one in shown.items if one.item == item), {}), shown.revision


def _argument(text: str, now: dict[str, Any]) -> tuple[str, Any]:
    """NAME=VALUE. What is a text now stays one; anything else is written as JSON."""
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"--argument {text}: write NAME=VALUE, or NAME=@FILE to read the value from a file.")
    if value.startswith("@"):
        if Path(value[1:]).exists() and not Path(value[1:]).is_file():  # a device has no end
            raise BadInput(f"--argument {name}: {value[1:]} is no file.")
        try:
            value = Path(value[1:]).read_bytes().decode()  # with the line ends that the file has
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"--argument {name}: {value[1:]} cannot be read as UTF-8 text: {error}.") from None
    if isinstance(now.get(name, ""), str):
        return name, value
    try:
        return name, json.loads(value)
    except json.JSONDecodeError as error:
        raise BadInput(f"--argument {name}: write the value as JSON ({error.msg} at {error.pos}).") from None


async def _text(services: Services, card: Approval) -> str:
    """A card as the terminal shows it."""
    state = await services.store.load(card.task_id)
    people = await services.people.by_name()
    return cards.text(card, cards.card(card, state.task, people, number_of(state, card.approval_id)), "terminal")


async def _decide(
    config: Path,
    approval_id: int,
    verdict: Verdict,
    items: list[int] | None,
    *,
    outcome: Outcome | None = None,
    reason: str = "",
) -> None:
    async with connected(_settings(config)) as services:
        viewer = terminal(services.people, services.workspaces)
        decision = filled(Decision, verdict=verdict, items=items or [], reason=reason, outcome=outcome)
        button = api.button(services, viewer, approval_id, decision)
        await api.decided(services, viewer, button)
        row = await services.store.received(button.dedup_key)
        print(visible(row.said if row else ""))


async def _ask_again(config: Path, approval_id: int) -> None:
    async with connected(_settings(config)) as services:
        task = await propose_again(services, terminal(services.people, services.workspaces), approval_id)
        print(f"Task {task.task_id} proposes it again: see `tasks {task.task_id}`.")
