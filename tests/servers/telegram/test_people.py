"""What people do reaches the bot as Telegram sends it, and they see what it did."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
import telegram
from aiohttp import web

from tests import reference
from tests.servers.telegram.conftest import Client, Seconds
from tests.servers.telegram.formats import cut
from tests.servers.telegram.people import Sent
from tests.servers.telegram.schema import schema
from tests.servers.telegram.server import FakeTelegram, Fault


async def test_an_update_stays_until_a_higher_offset_is_asked_for(tg: FakeTelegram, client: Client) -> None:
    """Asked again it comes again; a negative offset keeps only the last ones."""
    ann = tg.user("Ann")
    chat = tg.private(ann)
    for text in ("one", "two", "three"):
        tg.says(ann, chat, text)
    first = await client.call("getUpdates", limit=2)
    assert [update["message"]["text"] for update in first] == ["one", "two"]
    assert await client.call("getUpdates", limit=2) == first
    rest = await client.call("getUpdates", offset=first[0]["update_id"] + 1)
    assert [update["message"]["text"] for update in rest] == ["two", "three"]
    last = await client.call("getUpdates", offset=-1)
    assert [update["message"]["text"] for update in last] == ["three"]


async def test_a_poll_waits_for_something_to_happen(tg: FakeTelegram, client: Client) -> None:
    """A long poll ends with the first update."""
    ann = tg.user("Ann")
    poll = asyncio.create_task(client.call("getUpdates", timeout=30))
    await tg.until(lambda: tg.calls)
    tg.says(ann, tg.private(ann), "hi")
    assert [update["message"]["text"] for update in await poll] == ["hi"]


async def test_two_pollers_and_a_webhook_conflict(tg: FakeTelegram, client: Client) -> None:
    """The first of two polls is ended with 409; with a webhook set every poll is."""
    first = asyncio.create_task(client.refused("getUpdates", timeout=30))
    await tg.until(lambda: tg.calls)
    second = asyncio.create_task(client.call("getUpdates", timeout=30))
    assert (await first).startswith("409 Conflict: terminated by other getUpdates request")
    tg.says(tg.user("Ann"), tg.private(tg.user("Ann")), "hi")
    assert len(await second) == 1
    await client.call("setWebhook", url="http://127.0.0.1:9/never")
    assert "while webhook is active" in await client.refused("getUpdates")
    await client.call("deleteWebhook", drop_pending_updates=True)
    assert await client.call("getUpdates") == []


async def test_a_webhook_gets_each_update_until_it_says_yes(tg: FakeTelegram, client: Client) -> None:
    """TGU-12: with the secret in a header; anything but 2xx is delivered again, in order."""
    got: list[tuple[str, str]] = []

    async def take(request: web.Request) -> web.Response:
        update = await request.json()
        got.append((request.headers["X-Telegram-Bot-Api-Secret-Token"], update["message"]["text"]))
        return web.Response(status=500 if len(got) == 1 else 200)

    app = web.Application()
    app.router.add_post("/hook", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await client.call("setWebhook", url=f"http://127.0.0.1:{runner.addresses[0][1]}/hook", secret_token="s3cret")
    ann = tg.user("Ann")
    tg.says(ann, tg.private(ann), "one")
    tg.says(ann, tg.private(ann), "two")
    await tg.account.updates.delivered()
    assert got == [("s3cret", "one"), ("s3cret", "one"), ("s3cret", "two")]
    assert (await client.call("getWebhookInfo"))["last_error_message"].endswith("500")
    await tg.account.updates.close()
    await runner.cleanup()


async def test_a_press_is_answered_once_and_in_time(tg: FakeTelegram, client: Client, seconds: Seconds) -> None:
    """The person sees the answer; a second one, or one after 15 seconds, is refused."""
    ann = tg.user("Ann")
    chat = tg.private(ann)
    keyboard = {"inline_keyboard": [[{"text": "Approve", "callback_data": "t:1"}]]}
    await client.call("sendMessage", chat_id=chat.chat_id, text="card", reply_markup=keyboard)
    card = tg.from_bot(chat)[0]
    press = asyncio.create_task(tg.press(ann, card, "Approve"))
    [update] = await client.call("getUpdates", timeout=10)
    query = update["callback_query"]
    assert (query["data"], query["from"]["id"], query["message"]["text"]) == ("t:1", ann.user_id, "card")
    assert "MESSAGE_TOO_LONG" in await client.refused(
        "answerCallbackQuery", callback_query_id=query["id"], text="x" * 201
    )
    await client.call("answerCallbackQuery", callback_query_id=query["id"], text="done", show_alert=True)
    answer = await press
    assert (answer.text, answer.alert) == ("done", True)
    assert "query is too old" in await client.refused("answerCallbackQuery", callback_query_id=query["id"])
    late = asyncio.create_task(tg.press(ann, card, "Approve", old=True))
    [late_update] = await client.call("getUpdates", offset=update["update_id"] + 1, timeout=10)
    assert late_update["callback_query"]["message"]["date"] == 0
    seconds.now += 16
    late_id = late_update["callback_query"]["id"]
    assert "query is too old" in await client.refused("answerCallbackQuery", callback_query_id=late_id)
    late.cancel()
    with pytest.raises(AssertionError, match="no button 'Deny'"):
        await tg.press(ann, card, "Deny")


async def test_a_forced_reply_says_what_it_answers(tg: FakeTelegram, client: Client) -> None:
    """The reply interface opens, and what is written there carries the question, also in privacy mode."""
    ann = tg.user("Ann")
    group = tg.group("Ops", ann)
    ask = {"force_reply": True, "selective": True, "input_field_placeholder": "Why?"}
    too_long = {**ask, "input_field_placeholder": "x" * 65}
    assert "placeholder" in await client.refused("sendMessage", chat_id=group.chat_id, text="?", reply_markup=too_long)
    await client.call("sendMessage", chat_id=group.chat_id, text="Why not?", reply_markup=ask)
    [question] = tg.from_bot(group)
    assert question.force_reply == ask
    tg.says(ann, group, "too expensive", reply_to=question)
    [update] = await client.call("getUpdates")
    assert update["message"]["reply_to_message"]["message_id"] == question.message_id


async def test_a_draft_is_stopped(tg: FakeTelegram, client: Client) -> None:
    """The stop button is there when the bot allowed it, and tells which draft it was."""
    ann = tg.user("Ann")
    chat = tg.private(ann)
    await client.call("sendMessageDraft", chat_id=chat.chat_id, draft_id=8, text="so far")
    with pytest.raises(AssertionError, match="no stop button"):
        tg.stops(chat)
    await client.call("sendMessageDraft", chat_id=chat.chat_id, draft_id=8, text="so far", can_stop=True)
    assert tg.stops(chat).text == "so far"
    assert tg.draft(chat) is None
    [update] = await client.call("getUpdates")
    assert update["stopped_message_generation"]["draft_id"] == 8
    await client.call("getUpdates", offset=update["update_id"] + 1, allowed_updates=["message"])
    await client.call("sendMessageDraft", chat_id=chat.chat_id, draft_id=9, text="on", can_stop=True)
    tg.stops(chat)
    assert await client.call("getUpdates") == []


async def test_privacy_mode_shows_little_of_a_group(tg: FakeTelegram, client: Client) -> None:
    """TGG-08: commands, replies to the bot and service messages; all of it to an administrator or without the mode."""
    ann = tg.user("Ann")
    group = tg.group("Ops", ann, bot="left")
    tg.says(ann, group, "before you came")
    tg.adds_bot(ann, group)
    await client.call("sendMessage", chat_id=group.chat_id, text="hello")
    for text in ("chat", "@signoff_bot mention", "/status", "/status@Signoff_Bot", "/status@other_bot"):
        tg.says(ann, group, text)
    tg.says(ann, group, "a reply", reply_to=tg.from_bot(group)[0])
    tg.adds_bot(ann, group, "administrator")
    tg.says(ann, group, "all")
    updates = await client.call("getUpdates")
    texts = [update["message"].get("text") for update in updates if "message" in update]
    assert texts == [None, "/status", "/status@Signoff_Bot", "a reply", "all"]
    assert [
        update["my_chat_member"]["new_chat_member"]["status"] for update in updates if "my_chat_member" in update
    ] == [
        "member",
        "administrator",
    ]
    assert (await client.call("getMe"))["can_read_all_group_messages"] is False


async def test_threads_of_topics_and_of_replies(tg: FakeTelegram, client: Client) -> None:
    """TGG-05, TGG-07: a thread is a topic only when it says so, in groups and in private chats."""
    ann = tg.user("Ann")
    tg.account.privacy = False
    plain, forum, chat = tg.group("Ops", ann), tg.group("Forum", ann, forum=True), tg.private(ann)
    question = tg.says(ann, plain, "question")
    tg.says(ann, plain, "answer", reply_to=question)
    deploys, own = tg.topic(forum, "Deploys"), tg.topic(chat, "Own")
    tg.says(ann, forum, "general")
    tg.says(ann, forum, "in a topic", topic=deploys)
    tg.says(ann, chat, "in mine", topic=own)
    messages = [update["message"] for update in await client.call("getUpdates")]
    assert [(message.get("message_thread_id"), message.get("is_topic_message")) for message in messages] == [
        (None, None),
        (question.message_id, None),
        (None, None),
        (deploys.thread_id, True),
        (own.thread_id, True),
    ]
    refusal = await client.refused(
        "sendMessage", chat_id=plain.chat_id, message_thread_id=question.message_id, text="a"
    )
    assert "message thread not found" in refusal
    await client.call("sendMessage", chat_id=forum.chat_id, message_thread_id=deploys.thread_id, text="here")
    assert [message.text for message in tg.from_bot(forum, deploys)] == ["here"]


async def test_everything_people_send(tg: FakeTelegram, client: Client) -> None:
    """Albums, edits, forwards, pastes, posts of channels and of nobody; each as the reference describes it."""
    ann, bob = tg.user("Ann"), tg.user("Bob", "bob")
    chat, group, channel = tg.private(ann), tg.group("Ops", ann), tg.channel("News")
    tg.account.privacy = False
    album = tg.sends(ann, chat, Sent(kind="photo", caption="first"), Sent(kind="photo"))
    [voice] = tg.sends(ann, chat, Sent(kind="voice", name=None, content=b"ogg"))
    hello = tg.says(ann, chat, "😀 @bob see https://e.org and /help")
    tg.edits(hello, "changed")
    tg.forwards(ann, tg.says(bob, tg.private(bob), "theirs"), chat)
    pieces = tg.pastes(ann, chat, "🙂" * 2500)
    tg.says_as_channel(channel, group, "as a channel")
    tg.says_as_anonymous_admin(group, "as the group")
    tg.posts(channel, "a post")
    updates = await client.call("getUpdates", timeout=1)
    messages = [update["message"] for update in updates if "message" in update]
    assert {message["media_group_id"] for message in messages[:2]} == {album[0].album}
    assert voice.file is not None
    assert messages[2]["voice"]["file_id"] == voice.file.file_id
    found = [
        (entity["type"], cut(messages[3]["text"], entity["offset"], entity["length"]))
        for entity in messages[3]["entities"]
    ]
    assert found == [("mention", "@bob"), ("url", "https://e.org"), ("bot_command", "/help")]
    assert [update["edited_message"]["text"] for update in updates if "edited_message" in update] == ["changed"]
    assert messages[5]["forward_origin"]["sender_user"]["id"] == bob.user_id
    assert [len(piece.text) for piece in pieces] == [2048, 452]
    assert [message["from"]["username"] for message in messages[-2:]] == ["Channel_Bot", "GroupAnonymousBot"]
    assert "from" not in updates[-1]["channel_post"]
    path = (await client.call("getFile", file_id=voice.file.file_id))["file_path"]
    async with client.http.get(f"{tg.base_file_url}{tg.token}/{path}") as answer:
        assert await answer.read() == b"ogg"


async def test_the_library_understands_the_server(tg: FakeTelegram) -> None:
    """python-telegram-bot, with its forms and uploads, gets objects it can read and errors it knows."""
    ann = tg.user("Ann")
    chat, group = tg.private(ann), tg.group("Ops", ann, bot="administrator")
    tg.says(ann, chat, "/start now")
    async with telegram.Bot(tg.token, base_url=tg.base_url, base_file_url=tg.base_file_url) as bot:
        [update] = await bot.get_updates(timeout=1)
        assert update.message is not None
        assert update.message.parse_entities() == {update.message.entities[0]: "/start"}
        bold = telegram.MessageEntity("bold", 0, 3)
        sent = await bot.send_message(chat.chat_id, "🙂 x", entities=[bold])
        assert sent.entities == (bold,)
        with pytest.raises(telegram.error.BadRequest, match=r"(?i)can't parse entities"):
            await bot.send_message(chat.chat_id, "<p>x", parse_mode="HTML")
        document = await bot.send_document(
            chat.chat_id, b"bytes", filename="a.txt", caption="*hi*", parse_mode="MarkdownV2"
        )
        assert document.document is not None
        assert bytes(await (await document.document.get_file()).download_as_bytearray()) == b"bytes"
        media = [
            telegram.InputMediaDocument(b"1", filename="1.txt"),
            telegram.InputMediaDocument(b"2", filename="2.txt"),
        ]
        assert len(await bot.send_media_group(chat.chat_id, media)) == 2
        await bot.do_api_request("sendRichMessage", {"chat_id": chat.chat_id, "rich_message": {"html": "<h1>a</h1>"}})
        assert [user.user.id for user in await bot.get_chat_administrators(group.chat_id)] == [ann.user_id, bot.id]
        assert (await bot.get_chat(group.chat_id)).title == "Ops"
        assert (await bot.get_chat_member(group.chat_id, bot.id)).status == "administrator"
        await bot.set_my_commands([("stop", "Stop")], scope=telegram.BotCommandScopeChat(chat.chat_id))
    assert [message.text for message in tg.from_bot(chat)] == ["🙂 x", "hi", "", "", "a"]
    assert list(tg.account.commands) == [f"chat:{chat.chat_id}"]
    assert tg.refusals == [
        'sendMessage: Bad Request: can\'t parse entities: Unsupported start tag "p" at byte offset 0'
    ]


@pytest.mark.skipif(not reference.TELEGRAM.exists(), reason=reference.MISSING)
async def test_calls_are_held_against_the_reference(tg: FakeTelegram, client: Client) -> None:
    """An unknown parameter, a wrong type and an unknown field inside an object are refused; a later field is known."""
    chat = tg.private(tg.user("Ann"))
    expected: list[tuple[dict[str, Any], str]] = [
        ({"text": "a", "reply_to_message_id": 1}, "sendMessage.reply_to_message_id is unknown"),
        ({"text": "a", "entities": [{"type": "bold", "offset": "0", "length": 1}]}, "offset is no Integer"),
        ({"text": "a", "reply_parameters": {"id": 1}}, "reply_parameters.message_id is missing"),
        ({}, "sendMessage.text is missing"),
    ]
    for values, wrong in expected:
        assert wrong in await client.refused("sendMessage", chat_id=chat.chat_id, **values)
    known = schema()
    assert known is not None
    assert known.check("Update", {"update_id": 1, "message": {"message_id": 1}}) == ["Update.message.date is missing"]


async def test_a_hanging_call_never_answers(tg: FakeTelegram) -> None:
    """TGU-08: as a connection that died without a word."""
    tg.will("getUpdates", Fault(hang=True))
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.1)) as http:
        with pytest.raises(TimeoutError):
            await http.get(f"{tg.base_url}{tg.token}/getUpdates")
