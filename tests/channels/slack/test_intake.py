"""What becomes of messages, over both ways in."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.domain import Address, AwaitedFile
from agent.errors import StorageError
from agent.ports.channels import ChannelMessage, Receipt
from channels.slack.intake import MENTION_IN_EDIT, NOT_FOLLOWED
from tests.channels.slack.rig import Desk, Rig, rigged
from tests.storage.given import received

both_modes = pytest.mark.parametrize("mode", ["socket", "http"])


async def heard(rig: Rig, chat: Desk) -> list[ChannelMessage]:
    await rig.slack.acked()
    assert all(delivery.is_taken for delivery in rig.slack.deliveries)
    return chat.heard


@both_modes
async def test_a_mention_is_one_message(tmp_path: Path, mode: str) -> None:
    """Its two events have one key; the bot's name is gone, its thread is its own, its id is kept."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode=mode) as rig:
        request = rig.slack.says(rig.ann, rig.ops, f"{rig.bot} check a &amp; b with <@{rig.bob}>")
        first, second = await heard(rig, chat)
    assert first.dedup_key == second.dedup_key == f"slack:A0SIGNOFF:T0HOME:{rig.ops}:{request.ts}"
    assert first.text == "check a & b with @bob"
    assert first.address == Address(channel="slack", conversation=rig.ops, thread=request.ts)
    assert (first.identity, first.shown_name, first.direct) == (f"slack:{rig.ann}", "ann", False)
    assert (first.message_id, first.company) == (request.ts, None)


@both_modes
async def test_a_direct_message_goes_by_the_person(tmp_path: Path, mode: str) -> None:
    """Like everything that is sent to a person; a thread in it is a conversation of its own."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode=mode) as rig:
        root = rig.slack.writes(rig.ann, "hello")
        rig.slack.writes(rig.ann, "more", thread=root.ts)
        plain, threaded = sorted(await heard(rig, chat), key=lambda message: message.text, reverse=True)[::-1]
    assert (plain.text, plain.address.thread, plain.direct) == ("hello", None, True)
    assert threaded.address == Address(channel="slack", conversation=rig.ann, thread=root.ts)
    assert threaded.direct


async def test_a_reply_belongs_to_the_threads_first_message(tmp_path: Path) -> None:
    """SLE-17: everything about it goes to the root of the thread, not below the reply."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        root = rig.slack.says(rig.bob, rig.ops, "we have a problem")
        reply = rig.slack.says(rig.ann, rig.ops, f"{rig.bot} help", thread=root.ts)
        message = (await heard(rig, chat))[0]
    assert (message.address.thread, message.message_id) == (root.ts, reply.ts)


async def test_uploads_and_broadcasts_are_messages(tmp_path: Path) -> None:
    """SLE-15, SLF-11: a file, also without a word; a reply that is sent to the channel, too."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        file = rig.slack.file(rig.ann, "a.csv", b"1,2")
        rig.slack.writes(rig.ann, "", files=[file])
        await rig.slack.acked()
        root = rig.slack.says(rig.ann, rig.ops, "one")
        rig.slack.broadcasts(rig.ann, rig.ops, f"{rig.bot} two", thread=root.ts)
        alone, broadcast, _ = await heard(rig, chat)
    assert alone.text == ""
    assert alone.awaited_files == (AwaitedFile(channel="slack", reference=file.file_id, name="a.csv", size_bytes=3),)
    assert (broadcast.text, broadcast.address.thread) == ("two", root.ts)


async def test_a_file_of_another_company_gets_its_name(tmp_path: Path) -> None:
    """SLF-08: the event has only an id; where Slack does not tell more in time, the id is the name."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        file = rig.slack.file(rig.ann, "a.csv", b"1,2", stub=True)
        rig.slack.writes(rig.ann, "see", files=[file])
        await rig.slack.acked()
        rig.slack.api.scopes.discard("files:read")
        rig.slack.writes(rig.ann, "see", files=[file])
        named, unnamed = await heard(rig, chat)
    assert [(found.name, found.size_bytes) for found in named.awaited_files] == [("a.csv", 3)]
    assert [(found.name, found.size_bytes) for found in unnamed.awaited_files] == [(file.file_id, None)]


async def test_what_is_not_said_to_the_bot_is_not_heard(tmp_path: Path) -> None:
    """Other people's talk, another bot, what Slack itself writes, and SLE-09, the bot's own words."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        robot = rig.slack.robot("ci")
        rig.slack.world.channels[rig.ops].members.add(robot)
        rig.slack.says(rig.ann, rig.ops, "lunch?")
        rig.slack.says(robot, rig.ops, f"{rig.bot} build failed")
        rig.slack.joins(rig.slack.person("cid"), rig.ops)
        own = f"{rig.bot} I say"
        rig.slack.event({"type": "message", "user": "U0", "bot_id": "B0BOT", "text": own, "ts": "1.0", "channel": "D1"})
        rig.slack.event({"type": "message", "user": rig.slack.bot_user, "text": own, "ts": "1.0", "channel": "D1"})
        rig.slack.event(
            {"type": "message", "user": "U0", "app_id": "A0SIGNOFF", "text": "x", "ts": "1.0", "channel": "D"}
        )
        assert await heard(rig, chat) == []


async def test_another_bot_may_be_let_in(tmp_path: Path) -> None:
    """By its id, never by `*`."""
    for allow, times in ((["U00000004"], 2), (["*"], 0)):
        folder = tmp_path / str(times)
        folder.mkdir()
        chat = Desk()
        async with rigged(folder, chat, allow=allow) as rig:
            robot = rig.slack.robot("ci")
            assert robot == "U00000004"
            rig.slack.world.channels[rig.ops].members.add(robot)
            rig.slack.says(robot, rig.ops, f"{rig.bot} build failed")
            assert len(await heard(rig, chat)) == times


async def test_edits_and_deletions_make_nothing(tmp_path: Path) -> None:
    """SLE-13, SLE-14: an edited mention is no second request; its author is told, others' edits are left alone."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        request = rig.slack.says(rig.ann, rig.ops, f"{rig.bot} check")
        other = rig.slack.says(rig.bob, rig.ops, "lunch?")
        await rig.slack.acked()
        key = chat.heard[0].dedup_key
        await rig.store.receive(received(kind="message", outcome="task", who=rig.ann, dedup_key=key))
        rig.slack.edits(rig.ann, request, f"{rig.bot} check all")
        rig.slack.edits(rig.bob, other, "lunch at one?")
        await rig.slack.until(lambda: bool(rig.slack.whispers(rig.ann)))
        rig.slack.deletes(request)
        assert len(await heard(rig, chat)) == 2
        [told] = rig.slack.whispers(rig.ann)
        assert (told.shown, told.thread, rig.slack.whispers(rig.bob)) == (NOT_FOLLOWED, request.ts, [])


async def test_a_mention_that_is_added_later_is_explained(tmp_path: Path) -> None:
    """The message was not for the bot when it was sent."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        message = rig.slack.says(rig.ann, rig.ops, "check")
        rig.slack.edits(rig.ann, message, f"{rig.bot} check")
        assert await heard(rig, chat) == []
        await rig.slack.until(lambda: bool(rig.slack.whispers(rig.ann)))
        assert rig.slack.whispers(rig.ann)[0].shown == MENTION_IN_EDIT


async def test_people_of_other_companies_are_marked(tmp_path: Path) -> None:
    """SLA-10, SLA-13: by their team; an id of an Enterprise Grid is an id like another."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        stranger, grid = rig.slack.person("eve", team="T0EXT"), rig.slack.person("wil", grid=True)
        room = rig.slack.room("shared", rig.ann, stranger, grid)
        for who in (stranger, grid, rig.ann):
            rig.slack.says(who, room, f"{rig.bot} hello <@{grid}>")
            await rig.slack.acked()
    companies = {message.identity: message.company for message in chat.heard}
    assert companies == {f"slack:{stranger}": "T0EXT", f"slack:{grid}": None, f"slack:{rig.ann}": None}
    assert {message.text for message in chat.heard} == {"hello @wil"}
    assert grid.startswith("W")


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("mention", ["a", "a"]),
        ("thread", ["a", "a", "reply"]),
        ("all", ["a", "a", "reply", "elsewhere", "chat"]),
    ],
)
async def test_how_much_is_listened_to(tmp_path: Path, groups: str, said: list[str]) -> None:
    """`groups`: mentions; also replies in threads the bot takes part in; also everything else."""
    chat = Desk()
    async with rigged(tmp_path, chat, groups=groups) as rig:
        root = rig.slack.says(rig.ann, rig.ops, f"{rig.bot} a")
        other = rig.slack.says(rig.ann, rig.ops, "chat") if groups == "all" else None
        await rig.slack.acked()
        await rig.store.new_session(chat.heard[0].address, "demo", "")
        rig.slack.says(rig.ann, rig.ops, "reply", thread=root.ts)
        await rig.slack.acked()
        root = other or rig.slack.says(rig.bob, rig.ops, "chat")
        rig.slack.says(rig.ann, rig.ops, "elsewhere", thread=root.ts)
        found = await heard(rig, chat)
    assert sorted(message.text for message in found) == sorted(said)


async def test_strangers_who_talk_to_others_are_let_alone(tmp_path: Path) -> None:
    """Only who is let in is overheard; whoever speaks to the bot gets an answer."""
    chat = Desk(admitted=False)
    async with rigged(tmp_path, chat, groups="all") as rig:
        rig.slack.says(rig.ann, rig.ops, "lunch?")
        rig.slack.says(rig.ann, rig.ops, f"{rig.bot} lunch?")
        assert [message.text for message in await heard(rig, chat)] == ["lunch?", "lunch?"]


@pytest.mark.parametrize(
    ("typed", "text"), [("help", "/help"), ("", "/help"), ("deny 12 no", "/deny 12 no"), ("Tidy up", "Tidy up")]
)
async def test_a_slash_command_is_a_word_or_a_request(tmp_path: Path, typed: str, text: str) -> None:
    """SLE-21: in threads, where Slack has no commands, the same words stand behind a mention. A request is confirmed:
    nobody else saw it."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        delivery = await rig.slack.command(rig.ann, rig.ops, "/signoff", typed)
        again = await rig.slack.command(rig.ann, rig.slack.direct(rig.ann), "/signoff", typed)
    company, alone = chat.heard
    assert (company.text, company.address) == (text, Address(channel="slack", conversation=rig.ops))
    assert (alone.address, alone.direct) == (Address(channel="slack", conversation=rig.ann), True)
    assert delivery.answer == {"response_type": "ephemeral", "text": "Noted, as task 1."}
    assert again.is_taken
    assert company.dedup_key != alone.dedup_key


async def test_a_command_where_the_bot_is_not_says_so(tmp_path: Path) -> None:
    """Its answer could be read by nobody."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        room = rig.slack.room("other", rig.ann, with_bot=False)
        delivery = await rig.slack.command(rig.ann, room, "/signoff", "help")
    assert "/invite" in str(delivery.answer)
    assert chat.heard == []


async def test_an_assistants_thread_has_prompts_and_a_title(tmp_path: Path) -> None:
    """It is named after the first request in it, whatever Slack says to that."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        root = rig.slack.opens_assistant(rig.ann)
        await rig.slack.acked()
        await rig.slack.until(lambda: bool(rig.slack.assistant(root.channel, root.ts).prompts))
        rig.slack.writes(rig.ann, "check the invoices", thread=root.ts)
        await rig.slack.until(lambda: bool(rig.slack.assistant(root.channel, root.ts).title))
        rig.slack.writes(rig.ann, "and the quotes", thread=root.ts)
        await rig.slack.acked()
        assert rig.slack.assistant(root.channel, root.ts).title == "check the invoices"
        titles = [call for call in rig.slack.api.calls if call.method == "assistant.threads.setTitle"]
        assert len(titles) == 1


async def test_a_workspace_that_the_app_is_installed_in_besides_is_another(tmp_path: Path) -> None:
    """SLE-07: its people are others, also one whose id is that of somebody we know; nothing there is ours."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        event = {"type": "message", "user": rig.ann, "text": "hello", "ts": "1.0", "channel": rig.slack.direct(rig.ann)}
        other = {"team_id": "T2", "enterprise_id": None, "user_id": "U2BOT", "is_bot": True}
        home = {**other, "team_id": rig.slack.world.team}
        rig.slack.event(event, team="T2", authorizations=[other])
        await rig.slack.acked()
        assert chat.heard == []
        rig.slack.event({**event, "ts": "2.0"}, authorizations=[other, home])
        rig.slack.event({**event, "ts": "3.0"}, authorizations=[])
        assert len(await heard(rig, chat)) == 2


@both_modes
async def test_slacks_own_stop_button_is_the_word(tmp_path: Path, mode: str) -> None:
    """For the thread that it stands in, by whoever pressed it; Slack is told that nothing goes on there."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode=mode) as rig:
        root = rig.slack.says(rig.ann, rig.ops, "hello")
        place = {"channel": rig.ops, "thread_ts": root.ts}
        event = {"type": "agent_session_stopped", "user": rig.bob, "streaming_message_ts": [], **place}
        rig.slack.event({**event, "event_ts": "7.0"})
        rig.slack.event({"type": "agent_session_stopped", "channel": rig.ops})
        [message] = await heard(rig, chat)
        await rig.slack.until(lambda: rig.slack.assistant(rig.ops, root.ts).session == "active")
    assert (message.text, message.identity) == ("/stop", f"slack:{rig.bob}")
    assert (message.address.conversation, message.address.thread) == (rig.ops, root.ts)


async def test_what_was_sent_along_is_told_apart(tmp_path: Path) -> None:
    """A forwarded message is quoted below what its sender writes."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        shared = {"is_share": True, "text": "/approve 1\nsee &lt;a&gt;", "author_name": "Bob"}
        place = {"channel": rig.slack.direct(rig.ann), "ts": "1.0"}
        along = [shared, {"text": "a link's preview"}]
        rig.slack.event({"type": "message", "user": rig.ann, "text": "what is this?", "attachments": along, **place})
        [message] = await heard(rig, chat)
    assert message.text == "what is this?\n\nForwarded message:\n> /approve 1\n> see <a>"


class Failing(Desk):
    """Fails once with an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.errors = [error]

    async def receive(self, message: ChannelMessage) -> Receipt:
        if self.errors:
            raise self.errors.pop()
        return await super().receive(message)


@both_modes
@pytest.mark.parametrize("error", [StorageError("gone"), RuntimeError("a mistake")], ids=["storage", "unexpected"])
async def test_what_failed_comes_again_and_is_taken(tmp_path: Path, mode: str, error: Exception) -> None:
    """SLE-03, SLE-06: not acknowledged, so Slack repeats it, marked as a repetition, and it is taken then."""
    chat = Failing(error)
    async with rigged(tmp_path, chat, mode=mode) as rig:
        rig.slack.sockets.redelivery_seconds = 0.2
        rig.slack.writes(rig.ann, "hello")
        [message] = await heard(rig, chat)
        assert message.text == "hello"
        assert rig.slack.deliveries[0].attempts == 2


async def test_two_apps_and_two_workspaces_have_keys_of_their_own(tmp_path: Path) -> None:
    """SLE-07: whatever ids Slack gives the events."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        event = {"type": "message", "user": rig.ann, "text": "x", "ts": "1.0", "channel": rig.slack.direct(rig.ann)}
        rig.slack.event(event, event_id="Ev1")
        rig.slack.event(event, event_id="Ev1", team="T2")
        rig.slack.event(event, event_id="Ev1", api_app_id="A2")
        rig.slack.event(event, event_id="Ev2")
        keys = [message.dedup_key for message in await heard(rig, chat)]
    assert len(keys) == 4
    assert len(set(keys)) == 3
