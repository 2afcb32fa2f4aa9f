"""The composition root: which channels there are, and in which order everything starts and stops."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

import structlog

from agent.domain import Hook
from agent.errors import ChannelError
from agent.outbox import Outbox
from agent.ports.channels import Channel
from agent.ports.clock import Clock
from agent.ports.platform import Make
from agent.worker import Worker
from bot.api import access
from bot.config import Config
from bot.engine import running
from bot.entrance.door import Door
from bot.server import Health, Server
from bot.services import Services, connected
from bot.site import Site
from bot.web.refusals import errors_as_pages
from channels.callback import Callback
from channels.console import Console
from channels.outcomes import Outcomes
from channels.webhook import Webhook, new_token, token_sha256
from storage.runner_lock import RunnerLock
from storage.schema import HEAD

log = structlog.get_logger()

SHORT_GRACE_SECONDS = 1.0
"""For a command that ran tasks only because no server did: whoever waits for the prompt does not wait for them."""

LOCK_SECONDS = 2.0
"""How often a command that follows a task looks whether the server is still there."""

DEMO_HOOK = "demo"
DEMO_REQUEST = '{"text": "Summarise the invoices and quotes in this folder"}'
DEMO_WAIT_SECONDS = 5
"""Long enough for the demo to come to its approval, so that the answer names it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class App:
    """A running Signoff; `greeting` are the lines for whoever started it."""

    services: Services
    server: Server
    worker: Worker
    outbox: Outbox
    url: str
    greeting: Sequence[str]


@asynccontextmanager
async def started(config: Config, clock: Clock | None = None, *chats: Make) -> AsyncIterator[App]:
    """Run everything until the block ends, then drain; ConfigError when something cannot start. `chats` are chat
    platforms beside those of the configuration."""
    async with connected(config, clock) as services:
        health = Health(listings=services.store)
        channels = _channels(services, health, chats)
        site = Site(services)
        door = Door(services, site.routes)
        around = [errors_as_pages(site.refusal)] if config.channels.console.enabled else []
        server = Server(health, channels.values(), max_body=config.bot.http.max_body, door=door, around=around)
        with _only_runner(services):
            await _warn(services)
            port = await server.start(config.bot.http.host, config.bot.http.port)
            try:
                await _start(channels, health)
                grace_seconds = config.bot.grace_seconds
                async with running(services, channels, grace_seconds=grace_seconds) as (worker, outbox):
                    url = services.url("", port)
                    greeting = await _greeting(services, url)
                    try:
                        yield App(
                            services=services,
                            server=server,
                            worker=worker,
                            outbox=outbox,
                            url=url,
                            greeting=greeting,
                        )
                    finally:
                        health.draining = True
            finally:
                for channel in channels.values():
                    await channel.stop()
                site.close()
                await server.close()


@asynccontextmanager
async def working(services: Services, taken_over: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
    """Run tasks while the block lasts, unless a server on the same data does; `taken_over` is called when that ends."""
    lock = RunnerLock(services.config.bot.data_dir)
    if not services.embedded or lock.try_acquire():
        async with _at_work(services, lock):
            yield
        return
    waiting = asyncio.create_task(_work_when_free(services, lock, taken_over), name="take over")
    try:
        yield
    finally:
        waiting.cancel()
        await asyncio.wait([waiting])


async def _work_when_free(services: Services, lock: RunnerLock, taken_over: Callable[[], None]) -> None:
    """Twice in a row must the lock be free: a server that is being restarted comes first."""
    while True:
        await asyncio.sleep(LOCK_SECONDS)
        if not lock.try_acquire():
            continue
        lock.release()
        await asyncio.sleep(LOCK_SECONDS)
        if lock.try_acquire():
            taken_over()
            async with _at_work(services, lock):
                await asyncio.Event().wait()  # until the block has ended


@asynccontextmanager
async def _at_work(services: Services, lock: RunnerLock) -> AsyncIterator[None]:
    channels = _channels(services, Health(listings=services.store))
    try:
        async with running(services, channels, grace_seconds=SHORT_GRACE_SECONDS):
            yield
    finally:
        for channel in channels.values():
            await channel.stop()
        lock.release()


async def upgrade(config: Config) -> str:
    """Bring the database to this version's schema and return its revision."""
    async with connected(config):
        return HEAD


@contextmanager
def _only_runner(services: Services) -> Iterator[None]:
    """One process at a time runs on a data directory; on PostgreSQL any number may."""
    lock = RunnerLock(services.config.bot.data_dir)
    if services.embedded:
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


async def _warn(services: Services) -> None:
    """Tell of what the policies probably do not mean."""
    for hole in (await services.survey()).holes():
        log.warning("policy_hole_found", hole=hole.text)


def _channels(services: Services, health: Health, chats: Sequence[Make] = ()) -> dict[str, Channel]:
    """Every channel that is enabled; a new one is a new entry here, a chat platform one in `bot/chat.py`."""
    settings = services.config.channels
    store, clock = services.store, services.clock
    outcomes = Outcomes(store, services.config.bot.http.public_url)
    callback = Callback(store, outcomes, clock, allow_private=settings.webhook.allow_private_callbacks)
    channels: list[Channel] = [callback]
    if settings.console.enabled:
        channels.append(Console())
    if settings.webhook.enabled:
        channels.append(Webhook(services.inbox, store, outcomes, store.doorbell, services.blobs, clock))
    if chats or settings.chats():
        from bot.chat import enabled, platform  # noqa: PLC0415 - with the models of `/v1`, which other starts do not need

        given = platform(services, health.report)
        channels += [make(given) for make in (*enabled(services), *chats)]
    return {channel.name: channel for channel in channels}


async def _start(channels: Mapping[str, Channel], health: Health) -> None:
    """A channel that is down does not keep the others from working; `/readyz` names it."""
    for name, channel in channels.items():
        try:
            await channel.start()
        except ChannelError as error:
            health.report(name, str(error))


async def _greeting(services: Services, url: str) -> list[str]:
    """A login link for the operator, and a ready-made request to the demo hook, whose token is new at each start: only
    its hash is kept."""
    channels = services.config.channels
    lines = [f"console: {url}{await access.login_path(services)}"] if channels.console.enabled else []
    if not channels.webhook.enabled:
        return lines
    token = new_token()
    hook = await services.store.hook(DEMO_HOOK) or Hook(name=DEMO_HOOK, token_sha256="")
    await services.store.save_hook(replace(hook, token_sha256=token_sha256(token)))
    command = [
        "curl",
        "-sS",
        f"{url}/hooks/{DEMO_HOOK}?wait={DEMO_WAIT_SECONDS}",
        *("-H", f"Authorization: Bearer {token}"),
        *("-H", "Content-Type: application/json"),
        *("-d", DEMO_REQUEST),
    ]
    return [*lines, f"webhook: {shlex.join(command)}"]
