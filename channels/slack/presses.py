"""Buttons and forms in Slack: pressed, opened, sent."""

from __future__ import annotations

import structlog

from agent.domain import TERMINAL, Address
from agent.errors import BadInput, NotFound
from agent.ports.channels import ChannelMessage, ChannelPress, Chat, Receipt
from agent.ports.clock import Clock
from agent.ports.store import Store
from channels.slack import actions, events, forms
from channels.slack.calls import Calls, Json, SlackRefused
from channels.slack.directory import Directory
from channels.slack.events import CHANNEL, record, records, text
from channels.slack.whispers import Whispers

log = structlog.get_logger()

PRESSED_TOO_LATE = "Slack gives a form three seconds to open, which were over. Press the button again."


class Presses:
    """Takes interactions; what is said to one is for its person alone."""

    def __init__(
        self, chat: Chat, rows: Store, directory: Directory, calls: Calls, whispers: Whispers, clock: Clock
    ) -> None:
        self._chat = chat
        self._rows = rows
        self._directory = directory
        self._calls = calls
        self._whispers = whispers
        self._clock = clock

    async def take(self, payload: Json) -> Json | None:
        """Make an interaction durable; what Slack is answered."""
        match text(payload, "type"):
            case "block_actions":
                for action in records(payload, "actions"):
                    await self._acted(payload, action)
            case "view_submission":
                return await self._submitted(payload)
        return None

    async def _acted(self, payload: Json, action: Json) -> None:
        user, place = text(record(payload, "user"), "id"), _place(payload)
        if text(record(payload, "channel"), "id").startswith("D"):
            self._directory.note_direct(user, text(record(payload, "channel"), "id"))
        value = text(action, "value")
        match actions.kind(text(action, "action_id")):
            case actions.FORM:
                await self._open(payload, place, value)
            case actions.PRESS:
                key = events.key(payload, text(record(payload, "channel"), "id"), f"press:{text(action, 'action_ts')}")
                self._tell(user, place, await self._chat.press(await self._press(payload, place, key, value)))
            case actions.STOP:
                await self._stop(payload, action, place)

    async def _open(self, payload: Json, place: Address, value: str) -> None:
        """Nothing slow may come before the form: its trigger lives for three seconds."""
        user = text(record(payload, "user"), "id")
        try:
            view = forms.modal(await self._chat.form(f"{CHANNEL}:{user}", value), place)
            await self._calls.call("views.open", trigger_id=text(payload, "trigger_id"), view=view)
        except BadInput as error:
            self._whispers.tell(user, place, str(error))
        except SlackRefused as error:
            late = error.code in {"expired_trigger_id", "exchanged_trigger_id", "trigger_expired"}
            self._whispers.tell(user, place, PRESSED_TOO_LATE if late else str(error))

    async def _submitted(self, payload: Json) -> Json | None:
        view = record(payload, "view")
        found = forms.sent(view)
        if found is None:
            return None
        value, place, fields = found
        key = events.key(payload, "view", forms.fingerprint(view))
        receipt = await self._chat.press(await self._press(payload, place, key, value, fields))
        if receipt.outcome.startswith("refused") and receipt.said:
            return forms.complaint(view, receipt.said)
        self._tell(text(record(payload, "user"), "id"), place, receipt)
        return None

    async def _stop(self, payload: Json, action: Json, place: Address) -> None:
        """The word /stop, but only for the task that the button belongs to."""
        user = record(payload, "user")
        value = text(action, "value")
        try:
            task = (await self._rows.load(int(value) if value.isdecimal() else 0)).task
        except NotFound:
            return
        if task.status in TERMINAL:
            self._whispers.tell(text(user, "id"), place, f"Task {task.task_id} has ended.")
            return
        me = await self._directory.me()
        await self._chat.receive(
            ChannelMessage(
                dedup_key=events.key(payload, place.conversation, f"stop:{text(action, 'action_ts')}"),
                address=place,
                identity=f"{CHANNEL}:{text(user, 'id')}",
                text="/stop",
                received_at=self._clock.now(),
                company=events.company(user, me),
            )
        )

    async def _press(
        self, payload: Json, place: Address, key: str, value: str, fields: dict[str, str] | None = None
    ) -> ChannelPress:
        user = record(payload, "user")
        return ChannelPress(
            dedup_key=key,
            address=place,
            identity=f"{CHANNEL}:{text(user, 'id')}",
            value=value,
            pressed_at=self._clock.now(),
            fields=fields or {},
            company=events.company(user, await self._directory.me()),
        )

    def _tell(self, user: str, place: Address, receipt: Receipt) -> None:
        if receipt.said:
            self._whispers.tell(user, place, receipt.said)


def _place(payload: Json) -> Address:
    """Where the button is, as the card's delivery named it."""
    container = record(payload, "container")
    channel = text(container, "channel_id") or text(record(payload, "channel"), "id")
    thread = text(container, "thread_ts") or text(record(payload, "message"), "thread_ts")
    return events.address(text(record(payload, "user"), "id"), channel, thread)
