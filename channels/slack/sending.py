"""What leaves for Slack: answers, cards and their verdicts, files, and what a task is doing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog

from agent.domain import TERMINAL, Address
from agent.errors import ChannelError, DeliveryRefused
from agent.ports.channels import Outgoing, Shown
from agent.ports.clock import Clock
from agent.ports.files import Blobs
from agent.ports.platform import Members
from channels.slack import attempt, cards, live, messages
from channels.slack.attempt import THREAD_GONE, Attempt
from channels.slack.calls import Calls, SlackRefused
from channels.slack.directory import Directory
from channels.slack.events import CHANNEL
from channels.slack.live import Live
from channels.slack.messages import Message, Sent
from channels.slack.reactions import Reactions
from channels.slack.requester import requester
from channels.slack.uploads import Upload, Uploads, reason

log = structlog.get_logger()

_NO_EDITS = frozenset({"cant_update_message", "edit_window_closed"})


class Rows(attempt.Parts, live.Rows, Protocol):
    """What is written down about what was sent."""


class Sender:
    """Sends over the Web API: ChannelUnavailable, DeliveryRefused."""

    def __init__(
        self, calls: Calls, directory: Directory, rows: Rows, blobs: Blobs, members: Members, clock: Clock
    ) -> None:
        self._calls = calls
        self._directory = directory
        self._rows = rows
        self._members = members
        self._live = Live(calls, directory, rows, members, clock)
        self._reactions = Reactions(calls, directory)
        self._uploads = Uploads(calls, blobs)

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send and return where it lies, as `channel:ts`, of a card one for each of its messages; None when there was
        nothing to send."""
        begun = await self._begin(outgoing)
        send = self._text if outgoing.card is None else self._card
        try:
            sent_as = await send(begun, outgoing)
        except SlackRefused as error:
            await self._tell_requester(begun, outgoing, error)
            raise
        self._react(outgoing)
        return sent_as

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Redraw a card where it was sent; one that was deleted stays so."""
        if outgoing.card is None:
            return
        begun = await self._begin(outgoing)
        drawn = cards.messages(outgoing.card, outgoing.text, request=await self._request(outgoing))
        for number, (message, place) in enumerate(zip(drawn, sent_as.split(), strict=False)):
            await self._redraw(begun, f"verdict {number}", message, messages.sent(place))
        await self._full_copy(begun, outgoing)
        self._react(outgoing)

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show what a task is doing."""
        self._reactions.show(shown.task)
        await self._live.progress(to, shown)

    async def close(self) -> None:
        """Show nothing more."""
        await self._live.stop()
        await self._reactions.close()

    async def _begin(self, outgoing: Outgoing) -> Attempt:
        channel = await self._directory.channel(outgoing.delivery.to.conversation)
        begun = Attempt(self._calls, self._rows, outgoing, channel)
        if outgoing.may_have_arrived:
            await begun.look()
        return begun

    def _react(self, outgoing: Outgoing) -> None:
        if outgoing.task is not None:
            self._reactions.show(outgoing.task)

    # --- answers and notices ---

    async def _text(self, begun: Attempt, outgoing: Outgoing) -> str | None:
        is_reply = outgoing.delivery.kind == "reply"
        parts = messages.written(outgoing.text) if is_reply else messages.notice(outgoing.text)
        await self._end_showing(begun, outgoing, parts if is_reply else [])
        places = [await begun.post(str(number), part) for number, part in enumerate(parts)]
        files = {
            str(artifact.artifact_id): (artifact.name, partial(self._uploads.of, artifact))
            for artifact in outgoing.artifacts
        }
        await self._attach(begun, files)
        return str(places[-1]) if places else None

    async def _end_showing(self, begun: Attempt, outgoing: Outgoing, answer: Sequence[Message]) -> None:
        """When a task waits or has ended, what showed it ends; at best in its answer."""
        task, to = outgoing.task, outgoing.delivery.to
        if task is None or not (task.status in TERMINAL or task.status == "waiting_approval"):
            return
        show = await self._live.close(task, to)
        if show is None:
            await self._live.clear(task, to, frozenset(begun.arrived.values()))
            return
        if answer and "0" not in begun.arrived:
            part, tag = str(answer[0].blocks[0]["text"]), messages.metadata(begun.delivery_id, "0")
            place = await self._live.finish(show, outgoing.text, part, tag)
            if place is not None:
                begun.came("0", str(place))
                await begun.note()
        items = outgoing.approval.items if outgoing.approval else ()
        await self._live.leave(show, outgoing.text if answer else "", frozenset(call.call_id for call in items))

    async def _tell_requester(self, begun: Attempt, outgoing: Outgoing, error: SlackRefused) -> None:
        """What cannot be said where it was asked is said to whoever asked, alone; only that there is a card, whose
        buttons are for others."""
        task, to = outgoing.task, outgoing.delivery.to
        user = await requester(task, self._members) if task else None
        if user is None or user == to.conversation or outgoing.delivery.kind not in {"reply", "approval"}:
            return
        said = f"I could not write this in {CHANNEL}:{to.conversation}. {error}"
        parts = messages.written(outgoing.text) if outgoing.card is None else messages.written(outgoing.card.title)
        try:
            begun.channel, begun.thread = await self._directory.channel(user), None
            for number, part in enumerate([*messages.notice(said), *parts]):
                await begun.post(f"alone-{number}", part)
        except DeliveryRefused as refused:
            log.info("requester_not_told", delivery=begun.delivery_id, reason=str(refused))

    # --- cards ---

    async def _card(self, begun: Attempt, outgoing: Outgoing) -> str | None:
        if outgoing.card is None:
            return None
        drawn = cards.messages(outgoing.card, outgoing.text, request=await self._request(outgoing))
        await self._end_showing(begun, outgoing, ())
        places = [await begun.post(str(number), message) for number, message in enumerate(drawn)]
        await self._full_copy(begun, outgoing)
        return " ".join(map(str, places))

    async def _redraw(self, begun: Attempt, name: str, message: Message, place: Sent) -> None:
        """Always with blocks: without them Slack may keep the old ones, buttons included."""
        where = {"channel": place.channel, "ts": place.ts}
        try:
            await self._calls.call("chat.update", text=message.text, blocks=list(message.blocks), **where)
        except SlackRefused as error:
            log.info("card_not_redrawn", delivery=begun.delivery_id, code=error.code)
            if error.code in _NO_EDITS and name not in begun.arrived:
                await begun.post_plain(name, message)
            elif error.code.startswith(("invalid_blocks", "msg_")):
                await self._calls.call("chat.update", text=message.plain[-1], blocks=[], **where)

    async def _full_copy(self, begun: Attempt, outgoing: Outgoing) -> None:
        """What a card has no room for, as a file; of what is shown anew, a new one."""
        copy = cards.full_copy(outgoing.card) if outgoing.card else None
        if copy is None:
            return
        name, text = copy
        if outgoing.delivery.kind == "settle" and not outgoing.may_have_arrived:
            await begun.look()
        if name in begun.files:
            return

        async def load() -> Upload:
            return Upload(name=name, content=text.encode(errors="replace"))

        await self._attach(begun, {"card": (name, load)})

    async def _request(self, outgoing: Outgoing) -> str:
        """A link to what was asked for, when the card is shown somewhere else."""
        task = outgoing.task
        asked = next((to for to in task.reply_to if to.channel == CHANNEL), None) if task else None
        if task is None or task.message_id is None or asked is None or asked == outgoing.delivery.to:
            return ""
        try:
            channel = await self._directory.channel(asked.conversation)
            link = await self._calls.call("chat.getPermalink", channel=channel, message_ts=task.message_id)
        except ChannelError as error:
            log.info("request_not_linked", reason=str(error))
            return ""
        return str(link["permalink"])

    # --- files ---

    async def _attach(self, begun: Attempt, files: Mapping[str, tuple[str, Callable[[], Awaitable[Upload]]]]) -> None:
        """Put files into the thread, in one message; what cannot be put there is named, and nothing else repeated."""
        ready: list[tuple[str, str]] = []
        problems: list[str] = []
        for key, (name, load) in files.items():
            try:
                ready.append((await self._brought(begun, f"upload-{key}", load), name))
            except DeliveryRefused as error:
                problems.append(f"{name} could not be attached: {reason(error)}.")
        if ready and "files" not in begun.arrived and begun.files.isdisjoint(file_id for file_id, _ in ready):
            try:
                await self._share(begun, ready)
            except DeliveryRefused as error:
                names = ", ".join(name for _, name in ready)
                problems.append(f"{names} could not be attached: {reason(error)}.")
            else:
                begun.came("files", begun.channel)
        if problems:
            await begun.post("problems", messages.notice("\n".join(problems))[0])

    async def _brought(self, begun: Attempt, part: str, load: Callable[[], Awaitable[Upload]]) -> str:
        if part not in begun.arrived:
            begun.came(part, await self._uploads.bring(await load()))
            await begun.note()
        return begun.arrived[part]

    async def _share(self, begun: Attempt, files: list[tuple[str, str]]) -> None:
        try:
            await self._uploads.share(files, begun.channel, begun.thread)
        except SlackRefused as error:
            if error.code not in THREAD_GONE or begun.thread is None:
                raise
            await self._uploads.share(files, begun.channel, None)
