"""One message that is edited while a task works, where there are no streams."""

from __future__ import annotations

from agent.ports.clock import Clock
from channels.slack import drawing
from channels.slack.drawing import Drawn
from channels.slack.messages import Sent
from channels.slack.pace import PacedCalls
from channels.slack.shows import Show

QUIET_SECONDS = 3.0
"""Without a step or a word, after which it is said that it is worked on."""


class Edited:
    """Draws shows as messages with a button that stops the task."""

    def __init__(self, calls: PacedCalls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock

    async def draw(self, show: Show) -> float:
        """Draw the newest; 0, or the seconds until there is room for it."""
        look = drawing.status(show.newest)
        is_early = show.is_empty and self._clock.now().timestamp() - show.first_at < QUIET_SECONDS
        if show.message is None and is_early:
            return 0
        if show.message is not None and show.looked is not None and look == drawing.status(show.looked):
            return 0
        if wait := self._calls.take("chat.update"):  # a first message counts like an edit
            return wait
        content = {"text": look.text, "blocks": list(look.blocks)}
        if show.message is not None:
            await self._calls.call("chat.update", channel=show.message.channel, ts=show.message.ts, **content)
        else:
            thread = {"thread_ts": show.to.thread} if show.to.thread else {}
            answer = await self._calls.call("chat.postMessage", channel=show.channel, **thread, **content)
            show.message = Sent(channel=str(answer["channel"]), ts=str(answer["ts"]))
        show.drawn = Drawn(steps={step.call_id: step for step in show.newest.steps})
        return 0

    async def end(self, show: Show) -> None:
        """Leave the steps; without any nothing stays."""
        if show.message is None:
            return
        where = {"channel": show.message.channel, "ts": show.message.ts}
        if not show.drawn.steps:
            await self._calls.try_call("chat.delete", **where)
            return
        blocks = list(drawing.closed(list(show.drawn.steps.values())))
        await self._calls.try_call("chat.update", text="The steps so far.", blocks=blocks, **where)
