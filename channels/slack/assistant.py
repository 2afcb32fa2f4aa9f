"""The agent's own threads in Slack: what may be asked there, and what a thread is called.

docs.slack.dev/ai/developing-ai-apps
"""

from __future__ import annotations

from collections import OrderedDict

from channels.slack.calls import Calls
from channels.slack.events import Opened, Said

PROMPTS = (
    {"title": "Summarise the files here", "message": "Summarise the files in this workspace"},
    {"title": "Put a table together", "message": "Put the totals of all invoices into a table"},
    {"title": "See what goes on", "message": "/status"},
    {"title": "See what I can write", "message": "/help"},
)
"""At most four (docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts)."""
TITLE = 80
"""Characters of the first request that a thread is named after."""
REMEMBERED = 1_000


class Assistant:
    """Suggests what to ask, and names a thread after what was asked first."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._unnamed: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def greet(self, thread: Opened) -> None:
        """After somebody opened it; ChannelError."""
        self._unnamed[thread.channel, thread.thread] = None
        if len(self._unnamed) > REMEMBERED:
            self._unnamed.popitem(last=False)
        await self._calls.call(
            "assistant.threads.setSuggestedPrompts",
            channel_id=thread.channel,
            thread_ts=thread.thread,
            prompts=list(PROMPTS),
        )

    def is_unnamed(self, said: Said) -> bool:
        """Whether this is the first message in such a thread; asked once."""
        place = (said.channel, said.address.thread or "")
        if place not in self._unnamed:
            return False
        del self._unnamed[place]
        return True

    async def name(self, said: Said, text: str) -> None:
        """Call the thread what was asked in it; ChannelError."""
        line = " ".join(text.split())
        title = line if len(line) <= TITLE else f"{line[: TITLE - 1]}…"
        await self._calls.call(
            "assistant.threads.setTitle", channel_id=said.channel, thread_ts=said.address.thread, title=title
        )
