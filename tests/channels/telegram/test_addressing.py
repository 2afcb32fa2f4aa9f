"""Which messages are meant for the bot, who they are from and where they belong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from agent.commands import WORDS
from agent.domain import Address
from channels.telegram import menu
from channels.telegram.settings import Groups
from tests.channels.telegram.conftest import Site
from tests.servers.telegram.people import Sent
from tests.servers.telegram.server import Fault
from tests.servers.telegram.world import Chat, Key, Message, User

Says = Callable[[Site, User, Chat], object]


def text(words: str) -> Says:
    return lambda site, user, chat: site.tg.says(user, chat, words)


def answer(site: Site, user: User, chat: Chat) -> object:
    return site.tg.says(user, chat, "And by month?", reply_to=site.card(chat))


def automatic(site: Site, user: User, chat: Chat) -> object:
    """What Telegram copies from a channel into its discussion group."""
    message = site.tg.says_as_channel(site.tg.channel("News"), chat, "@signoff_bot buy now")
    site.tg.account.updates.pending[-1]["message"]["is_automatic_forward"] = True
    return message


@pytest.mark.parametrize(
    ("says", "groups", "heard"),
    [
        pytest.param(text("Nice weather"), "mention", False, id="company"),
        pytest.param(text("Nice weather"), "reply", False, id="company, reply"),
        pytest.param(text("Nice weather"), "all", True, id="company, all"),
        pytest.param(text("@signoff_bot sum it up"), "mention", True, id="mention"),
        pytest.param(text("😀 @Signoff_Bot sum it up"), "mention", True, id="TGG-12 mention behind an emoji"),
        pytest.param(text("@signoff_bots ping, mail@signoff_bot.io"), "mention", False, id="TGG-11 no mention"),
        pytest.param(text("/status"), "mention", True, id="a word"),
        pytest.param(text("/status@SIGNOFF_bot"), "mention", True, id="TGG-10 a word for us"),
        pytest.param(text("/status@Other_Bot"), "all", False, id="TGG-10 a word for another bot"),
        pytest.param(text("/ban"), "mention", False, id="another bot's word"),
        pytest.param(text("/ban@signoff_bot"), "mention", True, id="a word we do not have, for us"),
        pytest.param(answer, "mention", False, id="an answer, mention"),
        pytest.param(answer, "reply", True, id="an answer, reply"),
        pytest.param(automatic, "all", False, id="a channel's own posts"),
    ],
)
async def test_what_a_group_says(site: Site, says: Says, groups: Groups, heard: bool) -> None:
    """By entity, by word, by answer, or all, as the settings say."""
    ann = site.tg.user("Ann")
    group = site.tg.group("Ops", ann, bot="administrator")
    says(site, ann, group)
    site.tg.says(ann, group, "@signoff_bot done")
    async with site.running(groups=groups):
        await site.ears.until(lambda: site.ears.heard and site.ears.heard[-1].text == "done")
    assert len(site.ears.heard) == 1 + heard
    assert not any(message.direct for message in site.ears.heard)


async def test_a_mention_is_taken_out_of_the_words(site: Site) -> None:
    """And a word reads as everywhere, without the name of the bot."""
    ann = site.tg.user("Ann")
    group = site.tg.group("Ops", ann, bot="administrator")
    async with site.running():
        site.tg.says(ann, group, "@signoff_bot, sum it up")
        site.tg.says(ann, group, "/deny@signoff_bot 12 too much")
        first, second = await site.ears.hears(2)
    assert (first.text, second.text) == ("sum it up", "/deny 12 too much")


async def test_a_topic_is_a_conversation_of_its_own(site: Site) -> None:
    """General has no number; a topic's messages answer its first one without meaning it."""
    ann = site.tg.user("Ann")
    forum = site.tg.group("Ops", ann, forum=True, bot="administrator")
    topic = site.tg.topic(forum, "Invoices")
    async with site.running(groups="reply"):
        site.tg.says(ann, forum, "@signoff_bot one")
        site.tg.says(ann, forum, "@signoff_bot two", topic=topic)
        site.tg.says(ann, forum, "not for you", topic=topic)
        site.tg.says(ann, forum, "@signoff_bot three", topic=topic)
        heard = await site.ears.hears(3)
    conversation = str(forum.chat_id)
    assert [message.address for message in heard] == [
        Address(channel="telegram", conversation=conversation),
        Address(channel="telegram", conversation=conversation, thread=str(topic.thread_id)),
        Address(channel="telegram", conversation=conversation, thread=str(topic.thread_id)),
    ]
    assert [message.text for message in heard] == ["one", "two", "three"]


async def test_topics_of_private_chats_are_followed(site: Site) -> None:
    """TGG-07: is_topic_message counts there, too."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    topic = site.tg.topic(chat, "Invoices")
    async with site.running():
        site.tg.says(ann, chat, "one", topic=topic)
        [message] = await site.ears.hears()
    assert message.address.thread == str(topic.thread_id)


async def test_a_chain_of_answers_is_no_topic(site: Site) -> None:
    """TGG-05: it has a thread id, which may not be sent to."""
    ann = site.tg.user("Ann")
    group = site.tg.group("Ops", ann, bot="administrator")
    async with site.running():
        first = site.tg.says(ann, group, "@signoff_bot one")
        second = site.tg.says(ann, group, "@signoff_bot two", reply_to=first)
        heard = await site.ears.hears(2)
    assert second.thread_id == first.message_id
    assert [message.address.thread for message in heard] == [None, None]


async def test_an_edited_message_is_explained_and_not_run_again(site: Site) -> None:
    """TGG-14, TGG-15: once, in the chat, as an answer to it."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    async with site.running():
        message = site.tg.says(ann, chat, "Sum it pu")
        await site.ears.hears()
        site.tg.edits(message, "Sum it up")
        site.tg.edits(message, "Sum it up!")
        await site.tg.until(lambda: site.tg.from_bot(chat))
        site.tg.says(ann, chat, "Next")
        await site.ears.hears(2)
    [said] = site.tg.from_bot(chat)
    assert "do not follow changes" in said.text
    assert said.reply_to is message
    assert [one.text for one in site.ears.heard] == ["Sum it pu", "Next"]


async def test_an_edit_of_what_was_not_for_us_is_no_request(site: Site) -> None:
    """TGG-15: also one that mentions the bot only now, and one of a stranger's is not spoken to."""
    ann, eve = site.tg.user("Ann"), site.tg.user("Eve")
    site.ears.strangers.add(f"telegram:{eve.user_id}")
    group = site.tg.group("Ops", ann, eve, bot="administrator")
    async with site.running():
        company = site.tg.says(ann, group, "Nice weather")
        strange = site.tg.says(eve, group, "@signoff_bot hello")
        await site.ears.hears()
        site.tg.edits(company, "@signoff_bot nice weather")
        site.tg.edits(strange, "@signoff_bot hi")
        site.tg.says(ann, group, "@signoff_bot next")
        heard = await site.ears.hears(2)
    assert [message.text for message in heard] == ["hello", "next"]
    assert site.tg.from_bot(group) == []


async def test_forwards_are_quoted(site: Site) -> None:
    """No word in them counts, and the model reads whose they are."""
    ann, ben = site.tg.user("Ann"), site.tg.user("Ben")
    chat = site.tg.private(ann)
    theirs = site.tg.says(ben, site.tg.group("Ops", ben, bot="left"), "/approve 12")
    async with site.running():
        site.tg.forwards(ann, theirs, chat)
        [message] = await site.ears.hears()
    assert message.quoted
    assert message.text == "Forwarded from Ben:\n\n/approve 12"


async def test_an_answer_brings_along_what_it_answers(site: Site) -> None:
    """Text and file of somebody else's message; what the bot said itself is in the conversation already."""
    ann, ben = site.tg.user("Ann"), site.tg.user("Ben")
    group = site.tg.group("Ops", ann, ben, bot="administrator")
    async with site.running():
        [theirs] = site.tg.sends(ben, group, Sent(name="sales.csv", caption="Q1\nof all"))
        site.tg.says(ann, group, "@signoff_bot what is the best month?", reply_to=theirs)
        site.tg.says(ann, group, "@signoff_bot why?", reply_to=site.card(group))
        first, second = await site.ears.hears(2)
    assert first.text == "In answer to what Ben wrote:\n> Q1\n> of all\n\nwhat is the best month?"
    assert [file.name for file in first.awaited_files] == ["sales.csv"]
    assert not first.quoted
    assert (second.text, second.awaited_files) == ("why?", ())


async def test_a_word_in_an_answer_is_still_a_word(site: Site) -> None:
    """Nothing is put in front of it, and no file makes a request of it."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    async with site.running():
        [file] = site.tg.sends(ann, chat, Sent(name="a.csv"))
        site.tg.says(ann, chat, "/status", reply_to=file)
        _, word = await site.ears.hears(2)
    assert (word.text, word.awaited_files) == ("/status", ())


async def test_start_shows_the_help(site: Site) -> None:
    """What a client sends when somebody opens the bot, whatever a link adds to it."""
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "/start")
        site.tg.says(ann, site.tg.private(ann), "/start from-a-link")
        heard = await site.ears.hears(2)
    assert [message.text for message in heard] == ["/help", "/help"]


async def test_who_hides_behind_a_group_or_channel_is_nobody(site: Site) -> None:
    """TGG-16, TGB-13: their user ids are everybody's, so the id of the chat they write as counts; a press carries the
    person's own."""
    ann = site.tg.user("Ann")
    group = site.tg.group("Ops", ann, bot="administrator")
    news = site.tg.channel("News")
    card = site.card(group, Key(label="Approve", data="token:1:approve"))
    async with site.running():
        site.tg.says_as_anonymous_admin(group, "@signoff_bot one")
        site.tg.says_as_channel(news, group, "@signoff_bot two")
        site.tg.posts(news, "@signoff_bot three")
        heard = await site.ears.hears(3)
        await site.tg.press(ann, card, "Approve")
    assert [message.identity for message in heard] == [
        f"telegram:{group.chat_id}", f"telegram:{news.chat_id}", f"telegram:{news.chat_id}",
    ]  # fmt: skip
    assert [press.identity for press in site.ears.pressed] == [f"telegram:{ann.user_id}"]


async def test_other_bots_are_not_listened_to(site: Site) -> None:
    """Two that talk to each other would never end."""
    ann = site.tg.user("Ann")
    other = site.tg.user("Other", "other_bot")
    other.is_bot = True
    group = site.tg.group("Ops", ann, bot="administrator")
    async with site.running(groups="all"):
        site.tg.says(other, group, "@signoff_bot hello")
        site.tg.says(ann, group, "Hello")
        [message] = await site.ears.hears()
    assert message.text == "Hello"


async def test_a_group_that_became_a_supergroup_stays_the_same_conversation(site: Site) -> None:
    """TGG-18: under the name it had first, also after a restart; the two notices of it do no harm."""
    ann = site.tg.user("Ann")
    group = site.tg.group("Ops", ann, kind="group", bot="administrator")
    async with site.running():
        site.tg.says(ann, group, "@signoff_bot one")
        await site.ears.hears()
        after = site.tg.migrates(group)
        site.tg.says(ann, after, "@signoff_bot two")
        await site.ears.hears(2)
        await site.confirmed()
    async with site.running() as channel:
        site.tg.says(ann, after, "@signoff_bot three")
        heard = await site.ears.hears(3)
        await channel.send(site.outgoing(group))
    assert {message.address.conversation for message in heard} == {str(group.chat_id)}
    assert [message.text for message in site.tg.from_bot(after)] == ["Hello."]
    assert site.tg.refusals == []


async def test_notices_of_the_platform_are_no_requests(site: Site) -> None:
    """Somebody joins, a topic is opened: nobody asked for anything."""
    ann = site.tg.user("Ann")
    group = site.tg.group("Ops", ann, bot="left")
    async with site.running(groups="all"):
        site.tg.adds_bot(ann, group, "administrator")
        site.tg.says(ann, group, "Hello")
        [message] = await site.ears.hears()
    assert message.text == "Hello"


async def test_the_privacy_mode_is_explained(site: Site) -> None:
    """TGG-08: a line at the start, with what to do."""
    with capture_logs() as logs:
        async with site.running():
            await site.tg.until(lambda: site.tg.called("getUpdates"))
    [entry] = [entry for entry in logs if entry["event"] == "telegram_privacy_mode_on"]
    assert "/setprivacy" in entry["remedy"]


async def test_the_menu_has_every_word(site: Site) -> None:
    """With descriptions, in private chats and in groups; those that only work alone are not offered in groups."""
    async with site.running():
        await site.tg.until(lambda: site.tg.called("getUpdates"))
    commands = site.tg.account.commands
    assert {one["command"] for one in commands["all_private_chats"]} == set(WORDS) == menu.words()
    assert {one["command"] for one in commands["all_group_chats"]} == set(WORDS) - {"pair", "workspace"}
    assert site.tg.refusals == []


async def test_a_menu_that_cannot_be_set_keeps_nothing_from_working(site: Site) -> None:
    """It only helps people type."""
    ann = site.tg.user("Ann")
    site.tg.will("setMyCommands", Fault(status=500))
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "Hello")
        await site.ears.hears()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"sticker": {"file_id": "s", "file_unique_id": "u", "type": "regular", "width": 1, "height": 1,
                      "is_animated": False, "is_video": False}}, "a sticker"),
        ({"location": {"latitude": 52.5, "longitude": 13.4}}, "a place"),
        ({"dice": {"emoji": "🎲", "value": 3}}, "a die"),
        ({"contact": {"phone_number": "1", "first_name": "Ben"}}, "a contact"),
        ({"rich_message": {"blocks": []}}, "a message with tables"),
    ],
)  # fmt: skip
async def test_what_holds_no_words_is_told_so(site: Site, content: dict[str, Any], named: str) -> None:
    """Instead of a request that is empty; in a group only whoever answers the bot is told."""
    ann = site.tg.user("Ann")
    chat, group = site.tg.private(ann), site.tg.group("Ops", ann, bot="administrator")
    async with site.running(groups="all"):
        for where in (group, chat):
            sent = Message(message_id=0, chat=where, sender=ann, service=content)
            site.tg.account.add(sent)
            site.tg.account.updates.add("message", sent.as_json())
        await site.tg.until(lambda: site.tg.from_bot(chat))
        await site.confirmed()
    [told] = site.tg.from_bot(chat)
    assert named in told.text
    assert told.reply_to is sent
    assert site.tg.from_bot(group) == []
    assert site.ears.heard == []
