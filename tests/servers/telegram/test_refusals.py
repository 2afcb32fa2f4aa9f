"""The fake refuses what Telegram refuses, in its words."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.servers.telegram import limits
from tests.servers.telegram.conftest import Client, Seconds
from tests.servers.telegram.people import Sent
from tests.servers.telegram.server import FakeTelegram, Fault


def entity(kind: str, offset: int, length: int) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length}


def buttons(*data: str, rows: int = 1) -> dict[str, Any]:
    row = [{"text": "Go", "callback_data": one} for one in data]
    return {"inline_keyboard": [row] * rows}


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\x00\x00\x00"


TEXTS = [
    ({"text": "x" * 4097}, "message is too long"),
    ({"text": "🙂" * 2049}, "message is too long"),
    ({"text": " \n\u200b"}, "message text is empty"),
    ({"text": "\ud83d"}, "strings must be encoded in UTF-8"),
    ({"text": "a.", "parse_mode": "MarkdownV2"}, "can't parse entities: Character '.' is reserved"),
    ({"text": "_a", "parse_mode": "MarkdownV2"}, "Can't find end of Italic entity at byte offset 0"),
    ({"text": "<h4>a</h4>", "parse_mode": "HTML"}, 'Unsupported start tag "h4" at byte offset 0'),
    ({"text": "é<b>a</i>", "parse_mode": "HTML"}, 'Unmatched end tag at byte offset 6, expected "</b>"'),
    ({"text": "a < b", "parse_mode": "HTML"}, "can't parse entities: Unclosed start tag at byte offset 2"),
    ({"text": "a", "parse_mode": "Markdown"}, "unsupported parse_mode"),
    ({"text": "a", "entities": [entity("bold", 0, 2)]}, "ends after the end of the text"),
    ({"text": "🙂", "entities": [entity("bold", 0, 1)]}, "in a middle of a UTF-16 symbol"),
    ({"text": "a b", "entities": [entity("bold", 1, 1)]}, "covers nothing that can be seen"),
    ({"text": "abc", "entities": [entity("bold", 0, 2), entity("italic", 1, 2)]}, "cross each other"),
    ({"text": "abc", "entities": [entity("bold", 1, 1), entity("bold", 0, 1)]}, "entities are not sorted"),
    ({"text": "abc", "entities": [entity("pre", 0, 3), entity("bold", 0, 1)]}, "bold must not be inside pre"),
    ({"text": "abc", "entities": [entity("bold", 0, 3), entity("code", 0, 1)]}, "code must not be inside bold"),
    ({"text": "a", "entities": [{**entity("text_link", 0, 1), "url": "javascript:a"}]}, "text_link has the url"),
    ({"text": "a", "reply_markup": buttons("x" * 65)}, "BUTTON_DATA_INVALID"),
    ({"text": "a", "reply_markup": buttons("я" * 33)}, "BUTTON_DATA_INVALID"),
    ({"text": "a", "reply_markup": buttons("")}, "BUTTON_DATA_INVALID"),
    ({"text": "a", "reply_markup": buttons(*["x"] * 9)}, "reply markup is too long"),
    ({"text": "a", "reply_markup": buttons("x", rows=101)}, "reply markup is too long"),
    ({"text": "a", "reply_parameters": {"message_id": 99}}, "message to be replied not found"),
    ({"text": "a", "message_thread_id": 7}, "message thread not found"),
    ({"text": "a", "surprise": 1}, "surprise"),
    ({"text": 1}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("values", "description"), TEXTS)
async def test_a_message_that_telegram_refuses(
    tg: FakeTelegram, client: Client, values: dict[str, Any], description: str
) -> None:
    """Length in UTF-16, parse modes, entities, buttons in bytes, threads: 400 with the reason, and nothing is sent."""
    chat = tg.private(tg.user("Ann"))
    refusal = await client.refused("sendMessage", chat_id=chat.chat_id, **values)
    assert refusal.startswith("400 Bad Request: ")
    assert description in refusal
    assert tg.messages(chat) == []
    assert len(tg.refusals) == 1


async def test_what_just_fits_is_taken(tg: FakeTelegram, client: Client) -> None:
    """The limits themselves are allowed, and spaces around a text are cut away as Telegram does."""
    chat = tg.private(tg.user("Ann"))
    for text in ("x" * 4096, "🙂" * 2048, "  a \n"):
        await client.call("sendMessage", chat_id=chat.chat_id, text=text, reply_markup=buttons("x" * 64))
    assert [message.text for message in tg.messages(chat)] == ["x" * 4096, "🙂" * 2048, "a"]
    many = [entity("bold", place, 1) for place in range(0, 240, 2)]
    await client.call("sendMessage", chat_id=chat.chat_id, text="ab" * 120, entities=many)
    assert len(tg.messages(chat)[-1].entities) == limits.ENTITIES


async def test_edits_of_nothing_new_of_others_and_of_what_is_gone(tg: FakeTelegram, client: Client) -> None:
    """Each is a 400 of its own kind."""
    ann = tg.user("Ann")
    chat = tg.private(ann)
    theirs = tg.says(ann, chat, "hi")
    sent = await client.call("sendMessage", chat_id=chat.chat_id, text="a", reply_markup=buttons("x"))
    here = {"chat_id": chat.chat_id, "message_id": sent["message_id"]}
    same = await client.refused("editMessageText", **here, text="a ", reply_markup=buttons("x"))
    assert "message is not modified" in same
    assert "message is not modified" in await client.refused(
        "editMessageReplyMarkup", **here, reply_markup=buttons("x")
    )
    assert (await client.call("editMessageText", **here, text="a"))["message_id"] == sent["message_id"]
    assert tg.from_bot(chat)[0].labels == []
    foreign = await client.refused("editMessageText", chat_id=chat.chat_id, message_id=theirs.message_id, text="b")
    assert "message can't be edited" in foreign
    tg.deletes(tg.from_bot(chat)[0])
    assert "message to edit not found" in await client.refused("editMessageText", **here, text="c")


async def test_places_where_the_bot_may_not_write(tg: FakeTelegram, client: Client) -> None:
    """403 for people and groups that do not want it, 400 for chats and topics that are not there."""
    ann, bob, eve = tg.user("Ann"), tg.user("Bob"), tg.user("Eve")
    blocked, cold = tg.private(ann), tg.private(bob, started=False)
    tg.blocks(ann)
    kicked = tg.group("Ops", eve, bot="kicked")
    forum = tg.group("Forum", eve, forum=True)
    closed, gone = tg.topic(forum, "closed"), tg.topic(forum, "gone")
    closed.closed = gone.deleted = True
    expected: list[tuple[dict[str, Any], str]] = [
        ({"chat_id": 1}, "400 Bad Request: chat not found"),
        ({"chat_id": blocked.chat_id}, "403 Forbidden: bot was blocked by the user"),
        ({"chat_id": cold.chat_id}, "403 Forbidden: bot can't initiate conversation with a user"),
        ({"chat_id": kicked.chat_id}, "403 Forbidden: bot was kicked from the supergroup chat"),
        ({"chat_id": forum.chat_id, "message_thread_id": 1}, "400 Bad Request: message thread not found"),
        ({"chat_id": forum.chat_id, "message_thread_id": gone.thread_id}, "400 Bad Request: message thread not found"),
        ({"chat_id": forum.chat_id, "message_thread_id": closed.thread_id}, "400 Bad Request: TOPIC_CLOSED"),
    ]
    for values, refusal in expected:
        assert await client.refused("sendMessage", **values, text="a") == refusal


async def test_a_group_that_moved_says_where_to(tg: FakeTelegram, client: Client) -> None:
    """TGG-19: the refusal carries the new id, and the old chat tells it, too."""
    ann = tg.user("Ann")
    group = tg.group("Ops", ann, kind="group")
    after = tg.migrates(group)
    status, body = await client.raw("sendMessage", chat_id=group.chat_id, text="a")
    assert (status, body["parameters"]) == (400, {"migrate_to_chat_id": after.chat_id})
    moved = [update["message"] for update in await client.call("getUpdates")]
    assert [message.get("migrate_to_chat_id") for message in moved] == [after.chat_id, None]
    assert moved[1]["migrate_from_chat_id"] == group.chat_id


@pytest.mark.parametrize(("kind", "allowed", "wait"), [("private", 20, 20), ("group", 20, 60)])
async def test_too_much_is_flood(
    tg: FakeTelegram, client: Client, seconds: Seconds, kind: str, allowed: int, wait: int
) -> None:
    """20 messages and edits a minute in a group, a burst in a private chat; other chats are not held up."""
    ann = tg.user("Ann")
    chat = tg.private(ann) if kind == "private" else tg.group("Ops", ann)
    first = await client.call("sendMessage", chat_id=chat.chat_id, text="0")
    for number in range(1, allowed):
        await client.call("editMessageText", chat_id=chat.chat_id, message_id=first["message_id"], text=str(number))
    status, body = await client.raw("sendMessage", chat_id=chat.chat_id, text="more")
    assert (status, body["parameters"]) == (429, {"retry_after": wait})
    seconds.now += 1
    await client.call("sendMessage", chat_id=tg.private(tg.user("Bob")).chat_id, text="a")
    seconds.now += wait
    await client.call("sendMessage", chat_id=chat.chat_id, text="more")


async def test_files_that_are_too_large(tg: FakeTelegram, client: Client, tmp_path: Path) -> None:
    """TGF-01, TGF-03: 20 MB down, 50 MB up with an HTML page as the answer; a local server has other limits."""
    ann = tg.user("Ann")
    chat = tg.private(ann)
    status, page = await client.upload("sendDocument", chat_id=chat.chat_id, document=("a.zip", bytes(51_100_000)))
    assert (status, page[:6]) == (413, "<html>")
    [message] = tg.sends(ann, chat, Sent(content=b"small", size_bytes=21_000_000))
    stored = message.file
    assert stored is not None
    assert await client.refused("getFile", file_id=stored.file_id) == "400 Bad Request: file is too big"
    tg.account.local = tmp_path
    path = (await client.call("getFile", file_id=stored.file_id))["file_path"]
    assert Path(path).read_bytes() == b"small"


@pytest.mark.parametrize(("width", "height", "fits"), [(5000, 5000, True), (7000, 5400, False), (30, 900, False)])
async def test_photos_have_sides(tg: FakeTelegram, client: Client, width: int, height: int, fits: bool) -> None:
    """TGF-05: width and height together at most 10,000, one at most twenty times the other."""
    chat = tg.private(tg.user("Ann"))
    status, body = await client.upload("sendPhoto", chat_id=chat.chat_id, photo=("a.png", png(width, height)))
    assert status == (200 if fits else 400)
    assert fits or body["description"] == "Bad Request: PHOTO_INVALID_DIMENSIONS"


@pytest.mark.parametrize(
    ("kinds", "caption", "refusal"),
    [
        (["document"], "", "an album must include 2-10 items"),
        (["document"] * 11, "", "an album must include 2-10 items"),
        (["document", "photo"], "", "can't be mixed"),
        (["document"] * 2, "x" * 1025, "caption is too long"),
        (["document"] * 10, "x" * 1024, ""),
    ],
)
async def test_albums(tg: FakeTelegram, client: Client, kinds: list[str], caption: str, refusal: str) -> None:
    """TGF-10: two to ten of one kind, captions of 1024 units; a refused album sends nothing."""
    chat = tg.private(tg.user("Ann"))
    media = [{"type": kind, "media": f"attach://f{number}"} for number, kind in enumerate(kinds)]
    media[0]["caption"] = caption
    files = {f"f{number}": (f"{number}.png", png(9, 9)) for number in range(len(kinds))}
    status, body = await client.upload("sendMediaGroup", chat_id=chat.chat_id, media=json.dumps(media), **files)
    assert refusal in body.get("description", "")
    assert (status, len(tg.messages(chat))) == ((400, 0) if refusal else (200, len(kinds)))


async def test_drafts(tg: FakeTelegram, client: Client, seconds: Seconds) -> None:
    """Private chats only, a number that is not zero, 30 seconds, and gone when the message is sent."""
    ann = tg.user("Ann")
    chat, group = tg.private(ann), tg.group("Ops", ann)
    assert "private chats only" in await client.refused("sendMessageDraft", chat_id=group.chat_id, draft_id=1)
    assert "non-zero" in await client.refused("sendMessageDraft", chat_id=chat.chat_id, draft_id=0)
    await client.call("sendMessageDraft", chat_id=chat.chat_id, draft_id=1, text="")
    await client.call("sendMessageDraft", chat_id=chat.chat_id, draft_id=1, text="so far", can_stop=True)
    draft = tg.draft(chat)
    assert draft is not None
    assert draft.texts == ["", "so far"]
    seconds.now += 31
    assert tg.draft(chat) is None
    await client.call("sendRichMessageDraft", chat_id=chat.chat_id, draft_id=2, rich_message={"html": "<h1>a</h1>"})
    assert (tg.draft(chat) or draft).text == "a"
    await client.call("sendMessage", chat_id=chat.chat_id, text="whole")
    assert tg.draft(chat) is None


@pytest.mark.parametrize(
    ("html", "why"),
    [
        ("<h1>a</h2>", "unmatched end tag"),
        ("<h1>a", "can't find end tag"),
        ("<h7>a</h7>", 'unsupported start tag "h7"'),
        ("<thead></thead>", 'unsupported start tag "thead"'),
        ("<table><td>a</td></table>", '"td" inside "table"'),
        ("<p>&copy;</p>", "unsupported entity"),
        ("<p onclick=x>a</p>", "attributes"),
        ("<p> </p>", "empty"),
        ("<p>" + "x" * 32_769 + "</p>", "too long"),
        ("<ul>" + "<li>a</li>" * 500 + "</ul>", "too many blocks"),
        ("<blockquote>" * 17 + "a" + "</blockquote>" * 17, "too deeply"),
        ("<table><tr>" + "<td>a</td>" * 21 + "</tr></table>", "too many columns"),
    ],
)
async def test_rich_messages(tg: FakeTelegram, client: Client, html: str, why: str) -> None:
    """Tags, attributes, named entities, nesting and every limit of rich messages."""
    chat = tg.private(tg.user("Ann"))
    assert why in await client.refused("sendRichMessage", chat_id=chat.chat_id, rich_message={"html": html})


async def test_a_server_from_before_them_knows_no_rich_messages(tg: FakeTelegram, client: Client) -> None:
    """404, as for every method it never heard of."""
    chat = tg.private(tg.user("Ann"))
    tg.account.newer = False
    for method in (*limits.NEWER_METHODS, "sendTelepathy"):
        assert await client.refused(method, chat_id=chat.chat_id) == "404 Not Found: method not found"
    sent = await client.call("sendMessage", chat_id=chat.chat_id, text="a")
    here = {"chat_id": chat.chat_id, "message_id": sent["message_id"]}
    assert "400" in await client.refused("editMessageText", **here, rich_message={"html": "<h1>a</h1>"})


async def test_setting_up(tg: FakeTelegram, client: Client) -> None:
    """Commands, actions, reactions and secrets are checked."""
    chat = tg.private(tg.user("Ann"))
    message = tg.says(tg.user("Ann"), chat, "hi")
    here = {"chat_id": chat.chat_id, "message_id": message.message_id}
    expected: list[tuple[str, dict[str, Any], str]] = [
        ("setMyCommands", {"commands": [{"command": "Stop", "description": "x"}]}, "BOT_COMMAND_INVALID"),
        ("setMyCommands", {"commands": [{"command": "stop", "description": ""}]}, "BOT_COMMAND_DESCRIPTION_INVALID"),
        ("setMyCommands", {"commands": [], "scope": {"type": "chat"}}, ""),
        ("sendChatAction", {"chat_id": chat.chat_id, "action": "thinking"}, "wrong parameter action in request"),
        ("setMessageReaction", {**here, "reaction": [{"type": "emoji", "emoji": "🧨"}]}, "REACTION_INVALID"),
        ("setWebhook", {"url": "https://e.org", "secret_token": "a b"}, "secret token contains unallowed characters"),
    ]
    for method, values, refusal in expected:
        assert refusal in await client.refused(method, **values)
    await client.call("setMessageReaction", **here, reaction=[{"type": "emoji", "emoji": "👀"}])
    assert message.reactions == ["👀"]
    await client.call("setMyCommands", commands=[{"command": "stop", "description": "Stop"}])
    assert list(tg.account.commands) == ["default"]


async def test_a_wrong_token_is_unauthorized(tg: FakeTelegram, client: Client) -> None:
    """401, whatever the method."""
    async with client.http.get(f"{tg.base_url}1:wrong/getMe") as answer:
        assert answer.status == 401
        assert (await answer.json())["description"] == "Unauthorized"


async def test_ordered_faults(tg: FakeTelegram, client: Client) -> None:
    """The next calls go wrong as ordered: refused, or cut before or after they took effect."""
    chat = tg.private(tg.user("Ann"))
    tg.will("sendMessage", Fault(status=500), Fault(retry_after=9), Fault(cut="before"), Fault(cut="after"))
    assert await client.refused("sendMessage", chat_id=chat.chat_id, text="1") == "500 Internal Server Error"
    status, body = await client.raw("sendMessage", chat_id=chat.chat_id, text="2")
    assert (status, body["parameters"]) == (429, {"retry_after": 9})
    for text in ("3", "4"):
        with pytest.raises(aiohttp.ClientError):
            await client.raw("sendMessage", chat_id=chat.chat_id, text=text)
    assert [message.text for message in tg.messages(chat)] == ["4"]
