"""Shows in its conversations what a task is doing while this process runs it: best effort, never state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from agent.domain import COLLECTED, Address
from agent.errors import ChannelError
from agent.live import Follower, Live
from agent.ports.channels import Channel, Shown
from agent.run import Run
from agent.steps import steps

log = structlog.get_logger()

PAUSE_SECONDS = 0.25
"""At most four times a second and task; a channel may be slower."""
QUIET_SECONDS = 5.0
"""After which a channel is told the same again, for signs of life that fade by themselves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Showing:
    """Tells the channels of a run's conversations about it, each at its own speed: a slow one gets the newest."""

    channels: Mapping[str, Channel]
    live: Live

    @asynccontextmanager
    async def of(self, run: Run) -> AsyncIterator[None]:
        """Show a run while the block lasts."""
        places = [to for to in run.state.task.reply_to if self._shows(to)]
        if not places:
            yield
            return
        showing = [asyncio.create_task(self._show(run, to), name=f"show {to.channel}") for to in places]
        try:
            yield
        finally:
            for task in showing:
                task.cancel()
            await asyncio.wait(showing)

    def _shows(self, to: Address) -> bool:
        channel = None if to.channel in COLLECTED else self.channels.get(to.channel)
        return channel is not None and "streaming" in channel.features

    async def _show(self, run: Run, to: Address) -> None:
        text, told = "", len(run.state.entries)
        with self.live.follow(run.key.task_id) as follower:
            while True:
                await self._told(run, to, text)
                await asyncio.sleep(PAUSE_SECONDS)
                news = await self._news(follower)
                if len(run.state.entries) != told:
                    text, told = "", len(run.state.entries)  # what was written so far has become a turn
                text = news or text

    async def _news(self, follower: Follower) -> str:
        progress = await follower.next(QUIET_SECONDS)
        return progress.text if progress else ""

    async def _told(self, run: Run, to: Address, text: str) -> None:
        state = run.state
        shown = Shown(task=state.task, steps=steps(state.entries, state.task.status), text=text)
        try:
            await self.channels[to.channel].progress(to, shown)
        except ChannelError as error:
            log.debug("progress_not_shown", channel=to.channel, reason=str(error))
