"""Shows in its conversations what a task is doing while this process runs it: best effort, never state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog

from agent.domain import COLLECTED, Address
from agent.errors import ChannelError, ChannelUnavailable
from agent.live import Live
from agent.ports.channels import Channel, Shown
from agent.run import Run
from agent.steps import steps

log = structlog.get_logger()

PAUSE_SECONDS = 0.25
"""At most four times a second, task and place; a channel may be slower."""
QUIET_SECONDS = 4.0
"""After which a channel is told the same again, for signs of life that fade by themselves: Telegram's in 5 s
(https://core.telegram.org/bots/api#sendchataction)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Showing:
    """Tells the channels of a run's conversations about it, each at its own speed: a slow one gets the newest.

    A call that a channel has begun is let go to its end, also when the run has ended before: what it makes on the
    platform must be known under its id.
    """

    channels: Mapping[str, Channel]
    live: Live
    _under_way: dict[tuple[int, Address], asyncio.Task[None]] = field(default_factory=dict, init=False, repr=False)

    @asynccontextmanager
    async def of(self, run: Run) -> AsyncIterator[None]:
        """Show a run while the block lasts."""
        places = {to for to in run.state.task.reply_to if self._shows(to)}
        showing = [asyncio.create_task(self._show(run, to), name=f"show {to.channel}") for to in places]
        try:
            yield
        finally:
            for task in showing:
                task.cancel()
            if showing:
                await asyncio.wait(showing)

    async def close(self) -> None:
        """Give up what is still under way."""
        calls = list(self._under_way.values())
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)

    def _shows(self, to: Address) -> bool:
        channel = None if to.channel in COLLECTED else self.channels.get(to.channel)
        return channel is not None and "streaming" in channel.features

    async def _show(self, run: Run, to: Address) -> None:
        task_id, text, written = run.key.task_id, "", run.written
        if (earlier := self._under_way.get((task_id, to))) is not None:  # from before the task waited for a person
            await asyncio.wait({earlier})
        with self.live.follow(task_id) as follower:
            while (pause := await self._told(run, to, text)) is not None:
                await asyncio.sleep(pause)
                news = await follower.next(QUIET_SECONDS)
                if news is not None and (news.text or news.entries > written):
                    # What was written before the journal grew is in there.
                    text, written = news.text, news.entries

    async def _told(self, run: Run, to: Address, text: str) -> float | None:
        """Tell the newest state; how long to wait before the next, None after a mistake of the channel."""
        state = run.state
        shown = Shown(task=state.task, steps=steps(state.entries, state.task.status), text=text)
        call = asyncio.create_task(self.channels[to.channel].progress(to, shown), name=f"progress {to.channel}")
        key = state.task.task_id, to
        self._under_way[key] = call
        call.add_done_callback(partial(self._ended, key))
        await asyncio.wait({call})
        error = None if call.cancelled() else call.exception()
        if isinstance(error, ChannelUnavailable):
            return max(PAUSE_SECONDS, error.retry_after or 0)
        return PAUSE_SECONDS if error is None or isinstance(error, ChannelError) else None

    def _ended(self, key: tuple[int, Address], call: asyncio.Task[None]) -> None:
        del self._under_way[key]
        error = None if call.cancelled() else call.exception()
        if isinstance(error, ChannelError):
            log.debug("progress_not_shown", channel=key[1].channel, reason=str(error))
        elif error is not None:
            log.error("progress_failed_unexpectedly", channel=key[1].channel, exc_info=error)
