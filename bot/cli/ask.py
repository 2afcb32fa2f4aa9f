"""`ask`: one task from the terminal, with its progress and its approvals at the prompt."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Annotated, Literal

import typer

from agent import cards
from agent.command_texts import waits
from agent.decisions import number_of
from agent.domain import (
    OPERATOR,
    TERMINAL,
    Address,
    Approval,
    IncomingFile,
    IncomingMessage,
    Outcome,
    Verdict,
)
from agent.errors import BadInput
from agent.ports.store import Accepted, TaskState
from agent.previews import visible
from bot.api import approvals as api
from bot.api.approvals import Decision
from bot.api.shapes import filled
from bot.api.viewer import terminal
from bot.app import working
from bot.cli import display
from bot.cli.options import DEFAULT_CONFIG, ConfigPath
from bot.cli.tasks import entries, print_outcome
from bot.config import load_config
from bot.logs import start_logging
from bot.services import Services, connected

DONE, FAILED, WAITING = 0, 1, 3
OVERTAKEN = frozenset({"already_decided", "card_changed"})
"""Why a press does nothing because somebody else was faster: what they said counts, and what they wrote is shown."""


def ask(
    prompt: Annotated[str, typer.Argument(metavar="REQUEST")],
    file: Annotated[list[Path] | None, typer.Option("--file", metavar="FILE", help="Send it along.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Go on in the conversation of that name.")] = None,
    approve: Annotated[
        Literal["ask", "deny"], typer.Option(help="At an approval: ask here, or deny and let the agent go on.")
    ] = "ask",
    config: ConfigPath = DEFAULT_CONFIG,
) -> int:
    """Ask for something and follow it; exit 0 done, 1 failed, 3 waiting for approval."""
    settings = load_config(config)
    start_logging(settings.bot.log.model_copy(update={"level": "error"}), settings.secrets())
    files = [_read(path) for path in file or ()]

    async def work() -> int:
        async with connected(settings) as services, working(services, _say_taken_over):
            accepted = await _accepted(services, prompt, files, session)
            print(f"task {accepted.task_id}", flush=True)
            if accepted.behind is not None:
                print(waits(accepted.behind), flush=True)
            return await _follow(services, accepted.task_id, approve)

    return asyncio.run(work())


def _say_taken_over() -> None:
    print("The server has stopped; this command runs the task itself.", flush=True)


async def _accepted(services: Services, prompt: str, files: Sequence[IncomingFile], session: str | None) -> Accepted:
    run = secrets.token_hex(8)
    address = Address(channel="cli", conversation=session or f"ask-{run}")
    message = IncomingMessage(
        dedup_key=f"cli:{run}",
        address=address,
        sender=OPERATOR.name,
        text=prompt,
        origin="cli",
        received_at=services.clock.now(),
        files=tuple(files),
        reply_to=(address,),
    )
    return await services.reception.say(message, services.people.operator)


async def _follow(services: Services, task_id: int, approve: Literal["ask", "deny"]) -> int:
    """Show what happens and decide what is asked, until the task ends or nobody is here to decide."""
    terminal = Terminal()
    seen = 0
    while True:
        async for entry in entries(services.store, task_id, after=seen):
            seen = entry.seq
            if line := display.entry_line(entry):
                print(line, flush=True)
        state = await services.store.load(task_id)
        if state.task.status in TERMINAL:
            await print_outcome(services, state)
            return DONE if state.task.status == "done" else FAILED
        if not await _decided(services, state, approve, terminal):
            await print_outcome(services, state)
            return WAITING


async def _decided(services: Services, state: TaskState, approve: Literal["ask", "deny"], terminal: Terminal) -> bool:
    """Decide the open cards of a waiting task; False when nobody did."""
    people = await services.people.by_name()
    for card in state.approvals:
        if card.status != "open":
            continue
        try:
            if approve == "deny":
                await _press(services, card, "denied", reason="denied by --approve deny")
                continue
            drawn = cards.card(card, state.task, people, number_of(state, card.approval_id))
            print(f"\n{cards.text(card, drawn, 'terminal')}", flush=True)
            if not await _answered(services, card, terminal):
                return False
        except BadInput as error:
            print(error)
            if error.code not in OVERTAKEN:
                return False
    return True


async def _answered(services: Services, card: Approval, terminal: Terminal) -> bool:
    if card.kind == "outcome":
        return await _told(services, card, terminal)
    several = len(card.items) > 1
    each = "[e]ach, " if several else ""
    answer = await terminal.line(f"Approve? [y]es, [n]o, {each}[c]hanges, [l]ater: ")
    match answer[:1].lower():
        case "y":
            await _press(services, card, "approved")
        case "n":
            await _press(services, card, "denied", reason=await terminal.line("Reason: "))
        case "c":
            await _press(services, card, "changes", reason=await terminal.line("What should be different? "))
        case "e" if several:
            for call in card.items:
                answer = await terminal.line(visible(f"{call.item}. {call.title}? [y]es, [n]o: "))
                verdict: Verdict = "approved" if answer[:1].lower() == "y" else "denied"
                await _press(services, card, verdict, items=(call.item or 0,))
        case _:
            return False
    return True


async def _told(services: Services, card: Approval, terminal: Terminal) -> bool:
    """What a person knows about an effect that may have happened."""
    answer = await terminal.line("What happened? [h]appened, [a]gain: run it once more, [s]kip, [l]ater: ")
    outcomes: dict[str, Outcome] = {"h": "happened", "a": "again", "s": "skip"}
    outcome = outcomes.get(answer[:1].lower())
    if outcome is None:
        return False
    await _press(services, card, "approved", outcome=outcome)
    return True


async def _press(
    services: Services,
    card: Approval,
    verdict: Verdict,
    *,
    items: tuple[int, ...] = (),
    reason: str = "",
    outcome: Outcome | None = None,
) -> None:
    decision = filled(
        Decision, verdict=verdict, items=list(items), reason=reason, outcome=outcome, revision=card.revision
    )
    await api.press(services, terminal(services.people, services.workspaces), card.approval_id, decision)


class Terminal:
    """Reads lines from stdin without holding up the event loop."""

    def __init__(self) -> None:
        self._unread = b""

    async def line(self, question: str) -> str:
        """Ask and return the answer, stripped; empty at the end of the input."""
        print(question, end="", flush=True)
        while b"\n" not in self._unread:
            if not (piece := await self._piece()):
                break
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        if not sys.stdin.isatty():
            print()
        return line.decode(errors="replace").strip()

    async def _piece(self) -> bytes:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            piece = os.read(sys.stdin.fileno(), 4096)
            loop.call_soon_threadsafe(_settle, answer, piece)

        # A daemon: Ctrl-C must end the program while the thread still waits for a line.
        Thread(target=read, daemon=True).start()
        return await answer


def _settle(answer: asyncio.Future[bytes], piece: bytes) -> None:
    if not answer.done():
        answer.set_result(piece)


def _read(path: Path) -> IncomingFile:
    if path.exists() and not path.is_file():  # a device has no end
        raise BadInput(f"--file {path}: is no file.")
    try:
        return IncomingFile(name=path.name, content=path.read_bytes())
    except OSError as error:
        raise BadInput(f"--file {path}: cannot be read: {error.strerror}.") from None
