"""What people do in the workspace and what they see; each deed reaches the app as Slack brings it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.servers.slack.deliveries import Delivery, HttpCaller, Kind, Sockets
from tests.servers.slack.modals import filled
from tests.servers.slack.rooms import shown_view
from tests.servers.slack.world import Assistant, Channel, File, Json, Message, Modal, User, World


class Deeds:
    """`deliveries` is everything that was brought to the app, in order."""

    def __init__(self, world: World, sockets: Sockets, http: HttpCaller) -> None:
        self.world = world
        self.sockets = sockets
        self.http = http
        self.deliveries: list[Delivery] = []
        self.response_urls: dict[str, tuple[float, int]] = {}
        self._bringing: set[asyncio.Task[None]] = set()
        world.told = self._tell

    @property
    def bot_user(self) -> str:
        return self.world.bot_user

    # --- the place ----------------------------------------------------------------------------------------------------

    def person(self, name: str, *, team: str = World.team, is_guest: bool = False, grid: bool = False) -> str:
        """A new person's id; of another company with another team, `W…` in an Enterprise Grid."""
        user_id = self.world.new_id("W" if grid else "U")
        self.world.users[user_id] = User(user_id=user_id, name=name, team=team, is_guest=is_guest)
        return user_id

    def robot(self, name: str) -> str:
        """Another app's bot; what it says has a `bot_id`."""
        user_id = self.person(name)
        self.world.users[user_id].is_bot = True
        return user_id

    def room(self, name: str, *people: str, private: bool = False, with_bot: bool = True) -> str:
        """A new channel's id."""
        members = {*people, *([self.bot_user] if with_bot else [])}
        channel = Channel(channel_id=self.world.new_id("C"), name=name, kind="channel", members=members)
        channel.kind = "group" if private else "channel"
        channel.is_shared = any(self.world.users[user].team != self.world.team for user in people)
        self.world.channels[channel.channel_id] = channel
        return channel.channel_id

    def removes_bot(self, user: str, channel: str) -> None:
        """Somebody takes the bot out of a channel."""
        self.world.channels[channel].members.discard(self.bot_user)
        self.event({"type": "channel_left", "channel": channel, "actor_id": user, "event_ts": self.world.new_ts()})

    def archives(self, user: str, channel: str) -> None:
        self.world.channels[channel].is_archived = True
        self.event({"type": "channel_archive", "channel": channel, "user": user, "event_ts": self.world.new_ts()})

    # --- saying -------------------------------------------------------------------------------------------------------

    def says(
        self, user: str, channel: str, text: str, *, thread: str | None = None, files: Sequence[File] = ()
    ) -> Message:
        """A message as Slack's client sends it; `text` in Slack's notation, a mention of the bot being `<@U0BOT>`."""
        message = Message(channel=channel, ts=self.world.new_ts(), user=user, text=text, thread=thread)
        message.files = list(files)
        return self._post(message)

    def broadcasts(self, user: str, channel: str, text: str, *, thread: str) -> Message:
        """A reply that is also sent to the channel."""
        message = Message(channel=channel, ts=self.world.new_ts(), user=user, text=text, thread=thread)
        message.subtype, message.is_broadcast = "thread_broadcast", True
        return self._post(message)

    def writes(self, user: str, text: str, *, thread: str | None = None, files: Sequence[File] = ()) -> Message:
        """A direct message to the bot."""
        return self.says(user, self.world.direct(user).channel_id, text, thread=thread, files=files)

    def joins(self, user: str, channel: str) -> Message:
        """A message that Slack itself writes; nobody can reply to it."""
        self.world.channels[channel].members.add(user)
        text = f"<@{user}> has joined the channel"
        return self._post(
            Message(channel=channel, ts=self.world.new_ts(), user=user, text=text, subtype="channel_join")
        )

    def file(self, owner: str, name: str, content: bytes, *, media_type: str = "text/csv", stub: bool = False) -> File:
        """A file to say something with; a stub is one of another company."""
        file = File(file_id=self.world.new_id("F"), name=name, owner=owner, content=content, media_type=media_type)
        file.is_stub = stub
        self.world.files[file.file_id] = file
        return file

    def edits(self, user: str, message: Message, text: str) -> None:
        """Somebody changes a message; a mention in it arrives again, with `edited`."""
        previous = self.world.describe(message)
        message.before.append(message.text)
        message.text, message.edited_by = text, user
        channel = self.world.channels[message.channel]
        self.world.changed(channel, message, previous)
        self._mention(channel, message)

    def deletes(self, message: Message) -> None:
        self.world.remove(self.world.channels[message.channel], message)

    def reacts(self, user: str, message: Message, name: str) -> None:
        message.reactions.setdefault(name, []).append(user)
        item = {"type": "message", "channel": message.channel, "ts": message.ts}
        event = {"type": "reaction_added", "user": user, "reaction": name, "item": item, "item_user": message.user}
        self.event({**event, "event_ts": self.world.new_ts()})

    def opens_assistant(self, user: str, *, from_channel: str | None = None) -> Message:
        """The agent's own thread begins; the first message of it is the app's."""
        channel = self.world.direct(user)
        root = Message(channel=channel.channel_id, ts=self.world.new_ts(), user=self.bot_user, text="", is_bot=True)
        channel.messages[root.ts] = root
        context = {"channel_id": from_channel, "team_id": self.world.team} if from_channel else {}
        thread = {"user_id": user, "channel_id": channel.channel_id, "thread_ts": root.ts, "context": context}
        self.event({"type": "assistant_thread_started", "assistant_thread": thread, "event_ts": self.world.new_ts()})
        return root

    # --- pressing -----------------------------------------------------------------------------------------------------

    async def press(self, user: str, message: Message, label: str, *, number: int = 0) -> Delivery:
        """Press the button (or choose the option) that reads `label`; `number` tells equal ones apart."""
        found = [(block, element, option) for block, element in message.elements() for option in _named(element, label)]
        assert found, f"{label!r} is not among {message.buttons} of {message.shown!r}"
        block, element, option = found[number]
        action: Json = {"type": element["type"], "block_id": block["block_id"], "action_id": element["action_id"]}
        action |= {"text": element.get("text"), "action_ts": self.world.new_ts()}
        action |= {"selected_option": option} if option else {"value": element.get("value", "")}
        channel = self.world.channels[message.channel]
        container = {"type": "message", "message_ts": message.ts, "channel_id": channel.channel_id}
        container |= {"thread_ts": message.thread} if message.thread else {}
        return await self._interact(
            user,
            {
                "type": "block_actions",
                "container": {**container, "is_ephemeral": message.only_for is not None},
                "channel": {"id": channel.channel_id, "name": channel.name},
                "message": self.world.describe(message),
                "state": {"values": {}},
                "response_url": self._response_url(user),
                "actions": [action],
            },
        )

    def stops(self, user: str, message: Message) -> None:
        """The stop button that Slack itself shows while an agent works in a thread; it ends the stream at once
        (docs.slack.dev/reference/events/agent_session_stopped)."""
        assert message.stream is not None, "nothing is being streamed there"
        message.stream.is_open = False
        event: Json = {"type": "agent_session_stopped", "channel": message.channel, "thread_ts": message.thread}
        event |= {"user": user, "streaming_message_ts": [message.ts], "event_ts": self.world.new_ts()}
        self.event(event)

    async def submit(
        self, user: str, modal: Modal, values: Mapping[str, str | list[str] | None] | None = None
    ) -> Delivery:
        """Fill in fields by label and send; the modal closes unless the app says otherwise."""
        assert self.world.modals.get(modal.view_id) is modal, "the modal is closed"
        view = {**modal.view, "state": filled(modal.view, values or {})}
        delivery = await self._interact(user, {"type": "view_submission", "view": view, "response_urls": []})
        if delivery.answer is not None:
            self._after_submission(modal, delivery.answer)
        return delivery

    async def closes(self, user: str, modal: Modal) -> None:
        """Cancel; the app hears of it only if it asked for that."""
        del self.world.modals[modal.view_id]
        if modal.view.get("notify_on_close"):
            await self._interact(user, {"type": "view_closed", "view": modal.view, "is_cleared": False})

    async def command(self, user: str, channel: str, command: str, text: str = "") -> Delivery:
        """A slash command; Slack offers none in threads."""
        return await self.bring(
            "slash_commands",
            {
                "token": "verification",
                "team_id": self.world.team,
                "team_domain": "home",
                "channel_id": channel,
                "channel_name": self.world.channels[channel].name,
                "user_id": user,
                "user_name": self.world.users[user].name,
                "command": command,
                "text": text,
                "api_app_id": self.world.app_id,
                "is_enterprise_install": "false",
                "response_url": self._response_url(user),
                "trigger_id": self.world.trigger(user),
            },
        )

    # --- seeing -------------------------------------------------------------------------------------------------------

    def messages(self, channel: str) -> list[Message]:
        """Everything in a channel, threads included, in order."""
        return list(self.world.channels[channel].messages.values())

    def thread(self, channel: str, ts: str) -> list[Message]:
        """The replies under a message."""
        return [message for message in self.messages(channel) if message.thread == ts and message.ts != ts]

    def answers(self, channel: str) -> list[Message]:
        """What the bot wrote in a channel."""
        return [message for message in self.messages(channel) if message.is_bot]

    def direct(self, user: str) -> str:
        """The id of a person's direct messages with the bot."""
        return self.world.direct(user).channel_id

    def whispers(self, user: str) -> list[Message]:
        """What only this person was shown."""
        return [message for message in self.world.ephemerals if message.only_for == user]

    def modal(self, user: str) -> Modal:
        """The modal in front of a person."""
        mine = [modal for modal in self.world.modals.values() if modal.user == user]
        assert mine, "no modal is open"
        return mine[-1]

    def has_modal(self, user: str) -> bool:
        return any(modal.user == user for modal in self.world.modals.values())

    def assistant(self, channel: str, ts: str) -> Assistant:
        """What was set in an assistant's thread."""
        return self.world.assistants.get((channel, ts), Assistant())

    async def until(self, what: Callable[[], bool]) -> None:
        """Until something can be seen; looked at after every call of the app."""
        while not what():
            self.world.stirred.clear()
            await self.world.stirred.wait()

    # --- bringing -----------------------------------------------------------------------------------------------------

    def event(self, event: Json, *, event_id: str | None = None, team: str | None = None, **outer: Any) -> None:
        """Bring any event to the app, in the background."""
        payload = self.envelope(event)
        payload |= {"event_id": event_id or payload["event_id"], "team_id": team or self.world.team, **outer}
        self.bring_later(Delivery(kind="events_api", payload=payload))

    def envelope(self, event: Json) -> Json:
        """An event with what Slack wraps around it."""
        is_shared = bool((found := self.world.channels.get(str(event.get("channel")))) and found.is_shared)
        return {
            "token": "verification",
            "team_id": self.world.team,
            "api_app_id": self.world.app_id,
            "type": "event_callback",
            "event_id": self.world.new_id("Ev"),
            "event_time": int(self.world.now()),
            "authorizations": [{"team_id": self.world.team, "user_id": self.bot_user, "is_bot": True}],
            "is_ext_shared_channel": is_shared,
            "event": event,
            "context_team_id": self.world.team,
        }

    def again(self, delivery: Delivery) -> None:
        """The same once more, as when a connection changes."""
        self.bring_later(Delivery(kind=delivery.kind, payload=delivery.payload))

    async def bring(self, kind: Kind, payload: Json) -> Delivery:
        """Bring something and wait for the answer, as the person does."""
        delivery = Delivery(kind=kind, payload=payload)
        self.deliveries.append(delivery)
        await self._bring(delivery)
        return delivery

    def bring_later(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        task = asyncio.get_running_loop().create_task(self._bring(delivery))
        self._bringing.add(task)
        task.add_done_callback(self._bringing.discard)

    async def acked(self) -> None:
        """Until the app has taken everything, or Slack has given up."""
        while self._bringing:
            await asyncio.gather(*self._bringing)

    async def stop_bringing(self) -> None:
        for task in list(self._bringing):
            task.cancel()
        await asyncio.gather(*self._bringing, return_exceptions=True)

    async def _bring(self, delivery: Delivery) -> None:
        await (self.http if self.http.request_url else self.sockets).bring(delivery)

    def _tell(self, event: Json, channel: Channel) -> None:
        """The app hears only of conversations that it is in."""
        if self.bot_user in channel.members:
            self.event(event)

    def _post(self, message: Message) -> Message:
        channel = self.world.channels[message.channel]
        assert message.user in channel.members, f"{message.user} is not in {channel.name}"
        for file in message.files:
            file.shared_in.add(channel.channel_id)
        self.world.post(channel, message)
        self._mention(channel, message)
        return message

    def _mention(self, channel: Channel, message: Message) -> None:
        """A mention arrives a second time, as an event of its own; in direct messages there is none."""
        if channel.kind == "im" or f"<@{self.bot_user}" not in message.text or self.bot_user not in channel.members:
            return
        event = {**self.world.message_event(message), "type": "app_mention"}
        self.event({name: value for name, value in event.items() if name not in {"channel_type", "subtype"}})

    async def _interact(self, user: str, payload: Json) -> Delivery:
        person = self.world.users[user]
        who = {"id": user, "username": person.name, "name": person.name, "team_id": person.team}
        home = {"id": self.world.team, "domain": "home"}
        return await self.bring(
            "interactive",
            {
                "user": who,
                "team": home,
                "api_app_id": self.world.app_id,
                "token": "verification",
                "enterprise": None,
                "is_enterprise_install": False,
                "trigger_id": self.world.trigger(user),
                **payload,
            },
        )

    def _after_submission(self, modal: Modal, answer: Json) -> None:
        match answer.get("response_action"):
            case "errors":
                fields = {block["block_id"] for block in modal.view["blocks"]}
                assert answer["errors"].keys() <= fields, f"errors of fields that are not there: {answer['errors']}"
                modal.errors = answer["errors"]
            case "update":
                modal.view = shown_view(self.world, answer["view"], view_id=modal.view_id)
            case None | "clear":
                self.world.modals.pop(modal.view_id, None)
            case other:
                raise AssertionError(f"unknown response_action {other}")

    def _response_url(self, user: str) -> str:
        ticket = uuid.uuid4().hex
        self.response_urls[ticket] = (self.world.now(), 0)
        return f"{self.world.url}/response/{user}/{ticket}"


def _named(element: Json, label: str) -> list[Json | None]:
    """The element itself if it reads so, or the options that do."""
    if element["type"] == "button":
        return [None] if element["text"]["text"] == label else []
    return [option for option in element.get("options", []) if option["text"]["text"] == label]
