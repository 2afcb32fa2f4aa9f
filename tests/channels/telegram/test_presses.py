"""Buttons, questions and the stop button."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.errors import BadInput, Conflict, StorageError
from agent.ports.channels import Form, FormField, Receipt
from tests.channels.telegram.conftest import Site
from tests.channels.telegram.test_forms import EDIT, REASON
from tests.servers.telegram.people import Sent
from tests.servers.telegram.server import Fault
from tests.servers.telegram.world import Key, Message

APPROVE = Key(label="Approve", data="token:1:approve")
DENY = Key(label="Deny…", data="token:1:deny")
CHANGE = Key(label="Edit…", data="token:1:edit:1")


async def test_a_press_is_answered_with_the_verdict(site: Site) -> None:
    """By the person's own id and once, however the rest of the chat is doing."""
    ann = site.tg.user("Ann")
    forum = site.tg.group("Ops", ann, forum=True, bot="administrator")
    topic = site.tg.topic(forum, "Invoices")
    card = site.card(forum, APPROVE)
    card.thread_id, card.in_topic = topic.thread_id, True
    site.ears.receipts.append(Receipt(outcome="decided", said="Approval 12: approved by Ann."))
    async with site.running():
        answer = await site.tg.press(ann, card, "Approve")
    [press] = site.ears.pressed
    assert (answer.text, answer.alert) == ("Approval 12: approved by Ann.", False)
    assert (press.identity, press.value) == (f"telegram:{ann.user_id}", "token:1:approve")
    assert (press.address.conversation, press.address.thread) == (str(forum.chat_id), str(topic.thread_id))
    assert dict(press.fields) == {}


async def test_a_refused_press_is_told_in_an_alert(site: Site) -> None:
    """TGB-03: whoever may not decide reads why, and the card stays as it is."""
    ben = site.tg.user("Ben")
    group = site.tg.group("Ops", ben, bot="administrator")
    card = site.card(group, APPROVE)
    site.ears.receipts.append(Receipt(outcome="refused:not_approver", said="Ben may not decide approval 12."))
    async with site.running():
        answer = await site.tg.press(ben, card, "Approve")
    assert (answer.text, answer.alert) == ("Ben may not decide approval 12.", True)
    assert card.labels == ["Approve"]


async def test_a_long_verdict_is_cut(site: Site) -> None:
    """200 characters are all there is room for."""
    ann = site.tg.user("Ann")
    site.ears.receipts.append(Receipt(outcome="decided", said="x" * 300))
    async with site.running():
        answer = await site.tg.press(ann, site.card(site.tg.private(ann), APPROVE), "Approve")
    assert answer.text == "x" * 199 + "…"
    assert site.tg.refusals == []


async def test_a_decision_stands_when_the_answer_comes_too_late(site: Site) -> None:
    """TGB-05: the query is too old, the press counts."""
    ann = site.tg.user("Ann")
    card = site.card(site.tg.private(ann), APPROVE)
    site.tg.will("answerCallbackQuery", Fault(status=400, description="Bad Request: query is too old and response"))
    async with site.running():
        with pytest.raises(TimeoutError):
            await site.tg.press(ann, card, "Approve", seconds=0.5)
        await site.confirmed()
    assert [press.value for press in site.ears.pressed] == ["token:1:approve"]


async def test_a_press_waits_for_the_database_and_not_for_telegram(site: Site) -> None:
    """TGB-07: an answer that hangs keeps the next press from nothing."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.failures.append(StorageError("Gone."))
    site.tg.will("answerCallbackQuery", Fault(hang=True))
    async with site.running():
        with pytest.raises(TimeoutError):
            await site.tg.press(ann, site.card(chat, APPROVE), "Approve", seconds=0.3)
        answer = await site.tg.press(ann, site.card(chat, APPROVE), "Approve")
    assert answer.text == "Noted."
    assert len(site.ears.pressed) == 2


async def test_a_press_on_a_very_old_card_counts(site: Site) -> None:
    """TGB-14: Telegram does not say what the message was; the token does."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    async with site.running():
        answer = await site.tg.press(ann, site.card(chat, APPROVE), "Approve", old=True)
    assert answer.text == "Noted."
    assert site.ears.pressed[0].address.conversation == str(chat.chat_id)


@pytest.mark.parametrize(
    ("data", "code"), [("token:1:approve", "not_found"), ("token:1:approve:2", "not_found"), ("old-format", "invalid")]
)
@pytest.mark.parametrize("old", [False, True])
async def test_the_buttons_of_a_card_that_is_gone_are_taken_away(site: Site, data: str, code: str, old: bool) -> None:
    """TGB-09: also one from before a reinstall says once what it is, and is asked no more."""
    ann = site.tg.user("Ann")
    card = site.card(site.tg.private(ann), Key(label="Approve", data=data))
    site.ears.receipts.append(Receipt(outcome=f"refused:{code}", said="There is no such card."))
    async with site.running():
        answer = await site.tg.press(ann, card, "Approve", old=old)
        await site.tg.until(lambda: not card.keyboard)
    assert (answer.text, answer.alert) == ("There is no such card.", True)


async def test_a_card_that_somebody_may_not_know_of_keeps_its_buttons(site: Site) -> None:
    """TGB-03: they read the same as about one that is not there, but others can still decide it."""
    ben = site.tg.user("Ben")
    card = site.card(site.tg.private(ben), APPROVE)
    site.ears.forms[APPROVE.data] = BadInput("This button acts at once; it has no form.")
    site.ears.receipts.append(Receipt(outcome="refused:not_found", said="There is no such card."))
    async with site.running():
        answer = await site.tg.press(ben, card, "Approve")
        await site.confirmed()
    assert answer.text == "There is no such card."
    assert card.labels == ["Approve"]


async def test_a_card_that_was_decided_keeps_its_buttons_for_its_settling(site: Site) -> None:
    """TGB-08, TGB-10: a late press is told what happened; the card is redrawn by its delivery."""
    ann = site.tg.user("Ann")
    card = site.card(site.tg.private(ann), APPROVE)
    site.ears.receipts.append(Receipt(outcome="refused:already_decided", said="Already decided by Eve."))
    async with site.running():
        answer = await site.tg.press(ann, card, "Approve")
    assert answer.text == "Already decided by Eve."
    assert card.labels == ["Approve"]


async def question(site: Site, card: Message, label: str = "Deny…") -> Message:
    """Press a button that asks for something, and find what it asks."""
    [person] = card.chat.people.values() or [card.chat.person]
    assert person is not None
    answer = await site.tg.press(person, card, label)
    assert answer.text == ""
    [asked] = [message for message in site.tg.from_bot(card.chat) if message.force_reply]
    return asked


async def test_a_question_is_asked_and_its_answer_is_a_press(site: Site) -> None:
    """With the fields, in a private chat; the sender reads what became of it."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[DENY.data] = REASON
    site.ears.receipts.append(Receipt(outcome="decided", said="Approval 12: denied by Ann."))
    async with site.running():
        asked = await question(site, site.card(chat, DENY))
        answer = site.tg.says(ann, chat, "wrong `quarter`", reply_to=asked)
        await site.tg.until(lambda: any(message.reply_to is answer for message in site.tg.from_bot(chat)))
    [press] = site.ears.pressed
    assert (press.value, dict(press.fields)) == (DENY.data, {"reason": "wrong `quarter`"})
    assert press.dedup_key.endswith(f":{answer.message_id}")
    assert site.ears.heard == []
    assert [message.text for message in site.tg.from_bot(chat)][-1] == "Approval 12: denied by Ann."
    assert site.tg.refusals == []


async def test_a_question_in_a_group_is_for_whoever_pressed(site: Site) -> None:
    """It names them, so that only their client asks; the answer needs no mention, in whatever mode."""
    ann = site.tg.user("Ann 🙂")
    group = site.tg.group("Ops", ann)
    site.ears.forms[DENY.data] = REASON
    async with site.running(groups="mention"):
        asked = await question(site, site.card(group, DENY))
        site.tg.says(ann, group, "too much", reply_to=asked)
        await site.ears.until(lambda: site.ears.pressed)
    assert asked.force_reply == {"force_reply": True, "selective": True, "input_field_placeholder": "Reason"}
    assert asked.formatted("text_mention") == ["Ann 🙂"]
    assert asked.formatted("text_link") == ["Deny approval 12"]
    assert dict(site.ears.pressed[0].fields) == {"reason": "too much"}


async def test_a_question_is_understood_after_a_restart(site: Site) -> None:
    """It says itself which button it is of."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[CHANGE.data] = EDIT
    async with site.running():
        asked = await question(site, site.card(chat, CHANGE), "Edit…")
    assert asked.formatted("pre") == ["path: a.md\ncontent:\none\ntwo"]
    async with site.running(owner="two"):
        site.tg.says(ann, chat, "content:\nthree", reply_to=asked)
        await site.ears.until(lambda: site.ears.pressed)
    assert dict(site.ears.pressed[0].fields) == {"content": "three"}


async def test_a_long_answer_to_a_question_is_one(site: Site) -> None:
    """Its further parts answer nothing by themselves."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[CHANGE.data] = EDIT
    text = f"content:\n{'x' * 5000}"
    async with site.running():
        asked = await question(site, site.card(chat, CHANGE), "Edit…")
        first = site.tg.says(ann, chat, text[:4096], reply_to=asked)
        site.tg.says(ann, chat, text[4096:])
        await site.ears.until(lambda: site.ears.pressed)
    assert dict(site.ears.pressed[0].fields) == {"content": "x" * 5000}
    assert site.ears.pressed[0].dedup_key.endswith(f":{first.message_id}")


async def test_long_values_are_in_a_file(site: Site) -> None:
    """Under which the question stands; it is answered like any other."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    field = FormField(name="content", label="content", value="y" * 6000, multiline=True)
    site.ears.forms[CHANGE.data] = Form(value=CHANGE.data, title="Edit approval 12", fields=(field,), submit="Show")
    async with site.running():
        asked = await question(site, site.card(chat, CHANGE), "Edit…")
        site.tg.says(ann, chat, "short", reply_to=asked)
        await site.ears.until(lambda: site.ears.pressed)
    assert asked.file is not None
    assert asked.file.content == b"y" * 6000
    assert dict(site.ears.pressed[0].fields) == {"content": "short"}
    assert site.tg.refusals == []


async def test_an_answer_that_cannot_be_read_is_told_how(site: Site) -> None:
    """As an answer to it; the question stays and can be answered again."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[CHANGE.data] = EDIT
    async with site.running():
        asked = await question(site, site.card(chat, CHANGE), "Edit…")
        wrong = site.tg.says(ann, chat, "b.md", reply_to=asked)
        await site.tg.until(lambda: any(message.reply_to is wrong for message in site.tg.from_bot(chat)))
        site.tg.says(ann, chat, "path: b.md", reply_to=asked)
        await site.ears.until(lambda: site.ears.pressed)
    assert dict(site.ears.pressed[0].fields) == {"path": "b.md"}


async def test_a_form_that_cannot_be_opened_says_why(site: Site) -> None:
    """In an alert, and nothing is asked; TGB-03 also holds for those who may not edit."""
    ben = site.tg.user("Ben")
    chat = site.tg.private(ben)
    site.ears.forms[CHANGE.data] = BadInput("Ben may not edit approval 12.", code="not_approver")
    async with site.running():
        answer = await site.tg.press(ben, site.card(chat, CHANGE), "Edit…")
    assert (answer.text, answer.alert) == ("Ben may not edit approval 12.", True)
    assert not [message for message in site.tg.from_bot(chat) if message.force_reply]


async def test_a_late_answer_is_told_what_happened(site: Site) -> None:
    """TGB-08: the card was decided while somebody typed."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[DENY.data] = REASON
    async with site.running():
        asked = await question(site, site.card(chat, DENY))
        site.ears.forms[DENY.data] = Conflict("Already decided by Eve.")
        answer = site.tg.says(ann, chat, "no", reply_to=asked)
        await site.tg.until(lambda: any(message.reply_to is answer for message in site.tg.from_bot(chat)))
    assert site.tg.from_bot(chat)[-1].text == "Already decided by Eve."
    assert site.ears.pressed == []


async def test_a_question_that_cannot_be_asked_is_told_in_the_answer(site: Site) -> None:
    """The button does not spin for ever."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[DENY.data] = REASON
    site.tg.will("sendMessage", Fault(status=400, description="Bad Request: not enough rights to send text messages"))
    async with site.running():
        answer = await site.tg.press(ann, site.card(chat, DENY), "Deny…")
    assert "not enough rights" in answer.text
    assert answer.alert


async def test_the_stop_button_stops_its_task(site: Site) -> None:
    """A draft has its task's number; the word names it, so that the one behind it is not stopped."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    async with site.running() as channel:
        await channel._calls.newer(  # noqa: SLF001 - what shows a task at work sends it so
            str(chat.chat_id), "sendMessageDraft", {"draft_id": 42, "text": "Reading", "can_stop": True}
        )
        site.tg.stops(chat)
        [message] = await site.ears.hears()
    assert (message.text, message.identity, message.direct) == ("/stop 42", f"telegram:{ann.user_id}", True)
    assert ":stop:" in message.dedup_key


async def test_a_file_is_no_answer_to_a_question(site: Site) -> None:
    """Nothing is decided by it, also where no reason is needed; whoever sent it is told."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[DENY.data] = replace(REASON, fields=(replace(REASON.fields[0], required=False),))
    async with site.running():
        asked = await question(site, site.card(chat, DENY))
        [sent] = site.tg.sends(ann, chat, Sent(caption=""))
        site.tg.account.updates.pending.pop()
        sent.reply_to = asked
        site.tg.account.updates.add("message", sent.as_json())
        await site.tg.until(lambda: any(message.reply_to is sent for message in site.tg.from_bot(chat)))
    assert "only words" in site.tg.from_bot(chat)[-1].text
    assert (site.ears.pressed, site.ears.heard) == ([], [])


async def test_a_chat_word_is_no_answer_to_a_question(site: Site) -> None:
    """Clients answer the question by themselves with whatever is typed next."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.ears.forms[DENY.data] = REASON
    async with site.running():
        asked = await question(site, site.card(chat, DENY))
        site.tg.says(ann, chat, "/status", reply_to=asked)
        [heard] = await site.ears.hears()
    assert heard.text == "/status"
    assert site.ears.pressed == []
