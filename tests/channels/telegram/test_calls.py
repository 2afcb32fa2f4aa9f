"""What Telegram's refusals mean, and what becomes of a call that got no answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from telegram.error import TelegramError

from agent.errors import ChannelUnavailable, DeliveryRefused, DeliveryUnsure, NotFound
from channels.telegram.calls import Calls, Conflicting, Kind, Refused, TokenRefused, meant
from channels.telegram.connection import Answered, Http, Unanswered
from channels.telegram.state import BotState
from tests.channels.telegram.conftest import QUICK, Site
from tests.servers.telegram.server import Fault
from tests.servers.telegram.world import Chat


@pytest.fixture
async def calls(site: Site) -> AsyncIterator[Calls]:
    calls = Calls(site.settings(), BotState(site.folder / "telegram"), QUICK)
    yield calls
    await calls.close()


def private(site: Site) -> Chat:
    return site.tg.private(site.tg.user("Ann"))


async def send(calls: Calls, chat: Chat, text: str = "Hello", *, repeatable: bool = False) -> None:
    await calls.to_chat(str(chat.chat_id), lambda chat_id: calls.bot.send_message(chat_id, text), repeatable=repeatable)


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("message is not modified: specified new message content is the same", "unchanged"),
        ("message to edit not found", "message_gone"),
        ("message can't be edited", "message_gone"),
        ("message to be replied not found", "reply_gone"),
        ("message thread not found", "thread_gone"),
        ("TOPIC_CLOSED", "thread_gone"),
        ("message is too long", "too_long"),
        ("can't parse entities: unexpected end", "bad_format"),
        ("not enough rights to send text messages to the chat", "no_rights"),
        ("chat not found", "chat_gone"),
        ("query is too old and response timeout expired or query ID is invalid", "query_too_old"),
        ("file is too big", "file_too_big"),
        ("invalid file_id", "no_such_file"),
        ("BUTTON_DATA_INVALID", "other"),
    ],
)
def test_a_bad_request_has_a_kind(description: str, kind: Kind) -> None:
    """By its words, which are all that Telegram gives."""
    error = meant(Answered(400, f"Bad Request: {description}", {}), repeatable=False)
    assert isinstance(error, Refused)
    assert error.kind == kind
    assert description in str(error)


@pytest.mark.parametrize(
    ("error", "repeatable", "expected"),
    [
        (Answered(401, "Unauthorized", {}), False, TokenRefused),
        (Answered(404, "Not Found", {}), False, TokenRefused),
        (Answered(403, "Forbidden: bot was blocked by the user", {}), False, DeliveryRefused),
        (Answered(409, "Conflict", {}), False, Conflicting),
        (Answered(413, "Request Entity Too Large", {}), False, DeliveryRefused),
        (Answered(429, "Too Many Requests", {}), False, ChannelUnavailable),
        (Answered(500, "Internal Server Error", {}), False, ChannelUnavailable),
        (Answered(502, "Bad Gateway", {}), False, ChannelUnavailable),
        (Answered(504, "Gateway Timeout", {}), False, DeliveryUnsure),
        (Answered(504, "Gateway Timeout", {}), True, ChannelUnavailable),
        (Unanswered("No answer", sent=True), False, DeliveryUnsure),
        (Unanswered("No answer", sent=True), True, ChannelUnavailable),
        (Unanswered("No connection", sent=False), False, ChannelUnavailable),
        (TelegramError("a mistake of the library's"), False, DeliveryRefused),
    ],
)
def test_every_error_says_what_happens_next(error: TelegramError, repeatable: bool, expected: type[Exception]) -> None:
    """Retry, give up, or do not repeat by itself."""
    assert type(meant(error, repeatable=repeatable)) in {expected, *expected.__subclasses__()}


@pytest.mark.parametrize("seconds", [7, 7.5])
def test_a_wait_is_taken_as_it_is_said(seconds: float) -> None:
    """TGE-12: whatever type the library makes of it, it is so many seconds."""
    error = meant(Answered(429, "Too Many Requests", {"retry_after": seconds}), repeatable=False)
    assert isinstance(error, ChannelUnavailable)
    assert error.retry_after == seconds


async def test_a_chat_that_got_too_much_is_left_alone(site: Site, calls: Calls) -> None:
    """TGE-03: nothing is sent to it before its time; another chat does not wait."""
    crowded, calm = private(site), private(site)
    site.tg.will("sendMessage", Fault(status=429, retry_after=1))
    for _ in range(4):
        with pytest.raises(ChannelUnavailable) as error:
            await send(calls, crowded)
        assert error.value.retry_after
    await send(calls, calm)
    assert len(site.tg.called("sendMessage")) == 2
    asked = time.monotonic()
    await asyncio.sleep(1.01)
    await send(calls, crowded)
    assert time.monotonic() - asked < 5
    assert [message.text for message in site.tg.from_bot(crowded)] == ["Hello"]


async def test_a_lost_answer_is_not_sent_again(site: Site, calls: Calls) -> None:
    """TGE-09: it may have arrived, and here it has."""
    chat = private(site)
    site.tg.will("sendMessage", Fault(cut="after"))
    with pytest.raises(DeliveryUnsure):
        await send(calls, chat)
    assert len(site.tg.from_bot(chat)) == 1


async def test_an_answer_that_does_not_come_is_not_waited_for(site: Site, calls: Calls) -> None:
    """TGE-09: the same when it takes too long; an edit can be made again."""
    chat = private(site)
    site.tg.will("sendMessage", Fault(hang=True), Fault(hang=True))
    calls._http._pace = type(QUICK)(answer=0.1, connect=0.1)  # noqa: SLF001 - not to wait for seconds
    with pytest.raises(DeliveryUnsure):
        await send(calls, chat)
    with pytest.raises(ChannelUnavailable):
        await send(calls, chat, repeatable=True)


async def test_what_never_left_is_sent_again(site: Site) -> None:
    """TGE-10: without a connection nothing can have arrived."""
    chat = private(site)
    calls = Calls(site.settings(base_url="http://127.0.0.1:9/bot"), BotState(site.folder / "telegram"), QUICK)
    with pytest.raises(ChannelUnavailable, match="cannot be reached"):
        await send(calls, chat)
    await calls.close()


async def test_a_person_who_blocked_the_bot_is_not_written_to_again(site: Site, calls: Calls) -> None:
    """TGU-10: refused for them, sent to the others."""
    first, second = private(site), private(site)
    assert first.person is not None
    site.tg.blocks(first.person)
    with pytest.raises(Refused, match="blocked"):
        await send(calls, first)
    await send(calls, second)
    assert [message.text for message in site.tg.from_bot(second)] == ["Hello"]


async def test_a_message_to_a_group_of_before_goes_to_the_one_of_now(site: Site, calls: Calls) -> None:
    """TGG-19: the new id is learned from the refusal, used at once and kept."""
    ann = site.tg.user("Ann")
    group = site.tg.group("Ops", ann, kind="group")
    after = site.tg.migrates(group)
    await send(calls, group)
    assert BotState(site.folder / "telegram").chat_id(str(group.chat_id)) == after.chat_id
    site.tg.calls.clear()
    await send(calls, group, "Again")
    assert [message.text for message in site.tg.from_bot(after)] == ["Hello", "Again"]
    assert len(site.tg.called("sendMessage")) == 1


async def test_a_method_that_the_server_does_not_know_is_asked_for_once(site: Site, calls: Calls) -> None:
    """An old self-hosted server answers 404, which is not about the token then."""
    chat = private(site)
    site.tg.account.newer = False
    for _ in range(2):
        with pytest.raises(Refused) as error:
            await calls.newer(str(chat.chat_id), "sendRichMessage", {"rich_message": {"html": "<b>x</b>"}})
        assert error.value.kind == "unknown_method"
    site.tg.account.newer = True
    with pytest.raises(Refused):
        await calls.newer(str(chat.chat_id), "sendRichMessage", {"rich_message": {"html": "<b>x</b>"}})
    assert site.tg.called("sendRichMessage") == []


async def test_a_token_that_was_revoked_says_nothing_of_a_method(site: Site, calls: Calls) -> None:
    """401 at runtime is about the token; once there is a good one again, rich messages are, too."""
    chat = private(site)
    await calls.me()
    site.tg.will("sendRichMessage", Fault(status=401, description="Unauthorized"))
    with pytest.raises(TokenRefused):
        await calls.newer(str(chat.chat_id), "sendRichMessage", {"rich_message": {"html": "<b>x</b>"}})
    assert await calls.newer(str(chat.chat_id), "sendRichMessage", {"rich_message": {"html": "<b>x</b>"}})


async def test_half_a_character_is_sent_as_something(site: Site, calls: Calls) -> None:
    """A lone surrogate is no UTF-8; it would fail with each attempt."""
    chat = private(site)
    await calls.to_chat(str(chat.chat_id), lambda chat_id: calls.bot.send_message(chat_id, "a\ud83d b\ud83d\ude00"))
    assert site.tg.from_bot(chat)[0].text == "a\ufffd b😀"


async def test_a_newer_method_gives_its_json(site: Site, calls: Calls) -> None:
    """As it came, for what the library has no class for."""
    chat = private(site)
    sent = await calls.newer(str(chat.chat_id), "sendRichMessage", {"rich_message": {"html": "<b>x</b>"}})
    assert sent["message_id"] == site.tg.from_bot(chat)[0].message_id
    assert site.tg.refusals == []


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"{}", b"[]", b'{"ok":true}', b"\xff"])
async def test_an_answer_that_is_none_is_no_crash(body: bytes) -> None:
    """A proxy in between may say anything."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    async with TestServer(app) as server:
        http = Http(QUICK)
        with pytest.raises(Unanswered):
            await http.post(str(server.make_url("/botX/getMe")))
        await http.shutdown()


async def test_a_file_that_is_not_there(site: Site) -> None:
    """Is named."""
    channel = site.channel()
    with pytest.raises(NotFound, match="no-such-file"):
        await channel.download("no-such-file")
    await channel.stop()
