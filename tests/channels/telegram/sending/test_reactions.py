"""A reaction on the request says how far its task is."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agent.domain import TaskStatus
from tests.channels.telegram.sending.office import Office, step
from tests.servers.telegram.server import Fault


async def test_a_request_is_seen_signed_and_done(office: Office) -> None:
    """One reaction at a time, the newest."""
    await office.shows(step(1))
    await office.tg.until(lambda: office.request.reactions == ["👀"])
    await office.sending.send(office.card())
    await office.tg.until(lambda: office.request.reactions == ["✍"])
    await office.shows(step(2), epoch=2)
    await office.sending.send(office.reply())
    await office.tg.until(lambda: office.request.reactions == ["👌"])
    assert office.tg.refusals == []


@pytest.mark.parametrize(("status", "emoji"), [("failed", "😢"), ("expired", "😢"), ("cancelled", "🫡")])
async def test_an_end_is_told_after_a_restart(office: Office, status: TaskStatus, emoji: str) -> None:
    """By the status in the rows."""
    office.restarted()
    await office.sending.send(office.reply(task=office.task(status)))
    await office.tg.until(lambda: office.request.reactions == [emoji])


async def test_the_same_is_not_said_twice(office: Office) -> None:
    """Showing tells the same state again and again."""
    for number in range(4):
        await office.shows(step(number))
    assert len(office.tg.called("setMessageReaction")) == 1


async def test_a_chat_without_reactions_is_asked_once(office: Office) -> None:
    """And the answer is none the worse for it."""
    office.tg.will("setMessageReaction", Fault(status=400, description="Bad Request: REACTION_INVALID"))
    await office.shows(step(1))
    await office.tg.until(lambda: office.tg.called("setMessageReaction"))
    await office.sending.send(office.reply())
    assert office.texts == ["Done."]
    await asyncio.sleep(0.1)
    assert len(office.tg.called("setMessageReaction")) == 1


async def test_nobody_is_reacted_to_where_nobody_asked(office: Office) -> None:
    """A schedule or a hook has no request, and a number of another platform means nothing here."""
    slack = replace(office.to, channel="slack")
    for task in (office.task(origin="cron"), office.task(message_id=None), office.task(reply_to=(slack, office.to))):
        await office.sending.send(office.reply(task=task))
    assert not office.tg.called("setMessageReaction")
