"""The loop, the gate and the worker with tools of a test's own, over a real store and a real model server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.approvals import Approvals
from agent.arrivals import Arrivals
from agent.asking import Asking
from agent.budget import BudgetSettings
from agent.domain import OPERATOR, Address, ButtonPress, IncomingMessage, Outcome
from agent.edits import Drafts
from agent.effects import Effects
from agent.gate import Gate
from agent.inbox import TaskInbox
from agent.live import Live
from agent.llm.models import ConfiguredModels
from agent.llm.settings import ModelSettings
from agent.loop import Loop
from agent.people import People
from agent.policy import PolicySettings
from agent.ports.channels import Channel
from agent.ports.clock import Clock
from agent.ports.listings import ApprovalSelection
from agent.ports.store import TaskState
from agent.progress import ProgressSettings
from agent.rules import Rules
from agent.showing import Showing
from agent.tool import Arguments, Tool, ToolContext, schema
from agent.worker import Worker, WorkerSettings
from bot.clock import SystemClock
from storage.blobs import FileBlobs
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tests.servers.llm import FakeLLM
from tools.workspace.directory import WorkspaceDirectory

Work = Callable[[], Coroutine[Any, Any, str]]
RULES = Rules(agent=PolicySettings(), workspaces={}, stricter={}, people={})
TERMINAL_ADDRESS = Address(channel="cli", conversation="operator")


class NoArguments(Arguments):
    """A tool that takes nothing."""


def tool(name: str, work: Work, capability: str = "execute") -> Tool:
    """A tool whose effect cannot be read back from files."""

    async def run(context: ToolContext, arguments: NoArguments) -> str:
        return await work()

    return Tool(name=name, description=name, parameters=NoArguments, capability=capability, run=run)


@dataclass(kw_only=True)
class Engine:
    """One process's worth of the product, without its servers."""

    store: SqlStore
    worker: Worker
    approvals: Approvals
    inbox: TaskInbox
    model: FakeLLM
    live: Live
    registry: dict[str, Tool]

    async def accept(self, text: str = "go", key: str = "1", conversation: str = "operator") -> int:
        """Put a request on the queue."""
        message = IncomingMessage(
            dedup_key=f"test:{key}",
            address=replace(TERMINAL_ADDRESS, conversation=conversation),
            sender="operator",
            text=text,
            origin="cli",
            received_at=self.store.clock.now(),
            reply_to=(TERMINAL_ADDRESS,),
            workspace="office",
        )
        return (await self.inbox.accept(message)).task_id

    async def run(self, task_id: int) -> TaskState:
        """Run whatever is runnable; the task as it is then."""
        await self.worker.run_until_idle()
        return await self.store.load(task_id)

    async def model_asked(self, times: int = 1) -> None:
        """Wait until the model server got so many requests."""
        for _ in range(1000):
            if len(self.model.requests) >= times:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"the model was asked {len(self.model.requests)} times, not {times}")

    async def decide(self, outcome: Outcome | None = None) -> None:
        """Approve the only open card, or say what happened."""
        [card] = await self.store.approvals(which=ApprovalSelection(status="open"))
        now = self.store.clock.now()
        press = ButtonPress(
            dedup_key=f"press:{card.token}:{outcome}",
            presser=OPERATOR,
            verdict="approved",
            pressed_at=now,
            token=card.token,
            outcome=outcome,
        )
        await self.approvals.decide(press)


@asynccontextmanager
async def engine(
    home: Path,
    *tools: Tool,
    clock: Clock | None = None,
    owner: str = "one",
    channels: Sequence[Channel] = (),
    vision: bool = False,
) -> AsyncIterator[Engine]:
    """Wire everything over the database in `home`; `vision`: the model sees pictures."""
    clock = clock or SystemClock()
    (home / "office").mkdir(exist_ok=True)
    model = FakeLLM()
    await model.start()
    store = await open_store(home / "rows.sqlite3", clock=clock)
    settings = ModelSettings(model="openai/fake", api_base=model.base_url, vision=vision)
    models = ConfiguredModels({"fake": settings}, clock)
    workspaces = WorkspaceDirectory({"office": str(home / "office")}, {}, private_folder=str(home / "private"))
    registry = {each.name: each for each in tools}
    inbox = TaskInbox(store=store, workspaces=workspaces)
    people = People([], SqlRoster(store.database))
    drafts = Drafts(registry=registry, workspaces=workspaces, clock=clock)
    approvals = Approvals(store=store, inbox=inbox, people=people, drafts=drafts, clock=clock)
    loop = _loop(store, models, _gate(home, registry, workspaces, people, clock), people, channels)
    worker = Worker(WorkerSettings(owner=owner), store=store, loop=loop, approvals=approvals, clock=clock)
    try:
        yield Engine(
            store=store, worker=worker, approvals=approvals, inbox=inbox, model=model, live=loop.live, registry=registry
        )
    finally:
        await worker.drain(0)
        await loop.showing.close()
        await models.close()
        await store.close()
        await model.close()


def _gate(home: Path, registry: dict[str, Tool], workspaces: WorkspaceDirectory, people: People, clock: Clock) -> Gate:
    effects = Effects(
        registry=registry,
        workspaces=workspaces,
        blobs=FileBlobs(home / "blobs"),
        clock=clock,
        progress=ProgressSettings(),
    )
    return Gate(effects=effects, rules=RULES, asking=Asking(people=people, to={}, channels=()))


def _loop(store: SqlStore, models: ConfiguredModels, gate: Gate, people: People, channels: Sequence[Channel]) -> Loop:
    async def system_prompt(state: TaskState) -> str:
        return "You are a test."

    live, named, clock = Live(), {channel.name: channel for channel in channels}, gate.effects.clock
    return Loop(
        store=store,
        models=models,
        gate=gate,
        live=live,
        clock=clock,
        model="fake",
        steps=20,
        tools=[schema(each) for each in gate.effects.registry.values()],
        budget=BudgetSettings(),
        arrivals=Arrivals(channels=named, workspaces=gate.effects.workspaces, clock=clock, most_bytes=2**20),
        showing=Showing(channels=named, live=live),
        people=people,
        system_prompt=system_prompt,
    )
