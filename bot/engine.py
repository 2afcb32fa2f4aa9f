"""What works on tasks: the loop with its tools, the worker, the outbox, and the removal of what is old."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import date
from zoneinfo import ZoneInfo

import structlog

from agent import prompt
from agent.arrivals import Arrivals
from agent.asking import Asking
from agent.domain import UNATTENDED
from agent.effects import Effects
from agent.errors import StorageError
from agent.gate import Gate
from agent.loop import Loop
from agent.memory import Memory
from agent.outbox import Outbox
from agent.ports.channels import Channel
from agent.ports.files import WorkspaceFiles
from agent.ports.store import TaskState
from agent.showing import Showing
from agent.tool import in_thread, schema
from agent.worker import Worker, WorkerSettings
from bot.services import Services
from storage.retention import Retention

log = structlog.get_logger()

TIDY_SECONDS = 3600.0


@asynccontextmanager
async def running(
    services: Services, channels: Mapping[str, Channel], *, grace_seconds: float
) -> AsyncIterator[tuple[Worker, Outbox]]:
    """Worker, outbox and upkeep while the block lasts; then a drain."""
    if services.embedded:
        # Nobody else runs here, so whatever is marked as running was left by a process that died.
        await services.store.requeue()
    showing = Showing(channels=channels, live=services.live)
    worker = _worker(services, channels, showing)
    outbox = Outbox(services.store, channels, services.people, services.clock)
    upkeep = asyncio.create_task(_keep_tidy(services), name="upkeep")
    worker.start()
    outbox.start()
    try:
        yield worker, outbox
    finally:
        services.inbox.draining = True
        upkeep.cancel()
        await worker.drain(grace_seconds)
        await outbox.stop()
        await showing.close()


def _worker(services: Services, channels: Mapping[str, Channel], showing: Showing) -> Worker:
    agent = services.config.agent
    asking = Asking(people=services.people, to=services.config.asked_at(), channels=channels)
    effects = Effects(
        registry=services.registry,
        workspaces=services.workspaces,
        blobs=services.blobs,
        clock=services.clock,
        progress=agent.progress,
    )
    loop = Loop(
        store=services.store,
        models=services.models,
        gate=Gate(effects=effects, rules=services.rules, asking=asking),
        live=services.live,
        clock=services.clock,
        model=agent.model,
        steps=agent.steps,
        tools=[schema(tool) for tool in services.registry.values()],
        budget=agent.budget,
        people=services.people,
        arrivals=Arrivals(
            channels=channels,
            workspaces=services.workspaces,
            clock=services.clock,
            most_bytes=services.config.bot.http.max_upload,
        ),
        showing=showing,
        system_prompt=_system_prompt(services),
    )
    settings = WorkerSettings(owner=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}", limit=agent.workers)
    return Worker(settings, store=services.store, loop=loop, approvals=services.approvals, clock=services.clock)


def _system_prompt(services: Services) -> Callable[[TaskState], Awaitable[str]]:
    memory = Memory()
    zone = ZoneInfo(services.config.bot.timezone)

    def rendered(files: WorkspaceFiles, today: date, *, unattended: bool) -> str:
        return prompt.system(
            workspace=files.name,
            skills=services.skills.catalogue(files).text,
            memory=memory.text(files, today),
            unattended=unattended,
        )

    async def system_prompt(state: TaskState) -> str:
        files = services.workspaces.open(state.task.workspace)
        today = services.clock.now().astimezone(zone).date()
        return await in_thread(rendered, files, today, unattended=state.task.origin in UNATTENDED)

    return system_prompt


async def _keep_tidy(services: Services) -> None:
    """Remove what is older than `storage.retention` allows, now and then."""
    retention = Retention(
        settings=services.config.storage.retention,
        database=services.store.database,
        blobs=services.blobs,
        clock=services.clock,
    )
    while True:
        await services.clock.sleep(TIDY_SECONDS)
        try:
            removed = await retention.sweep()
        except StorageError as error:
            log.error("retention_failed", reason=str(error))  # noqa: TRY400 - the reason says it all
        else:
            log.info("old_rows_removed", tasks=removed.tasks, keys=removed.keys, blobs=removed.blobs)
