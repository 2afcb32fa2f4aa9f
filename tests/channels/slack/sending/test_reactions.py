"""The request says how far its task is."""

from __future__ import annotations

import pytest

from agent.domain import TaskStatus
from tests.channels.slack.sending.office import Office
from tests.servers.slack.web_api import Fault


async def test_seen_waiting_seen_done(office: Office) -> None:
    """One reaction at a time, from the first news to the answer."""
    await office.sender.progress(office.to, office.shown())
    await office.slack.until(lambda: office.reactions == {"eyes"})
    await office.sender.send(office.card())
    await office.slack.until(lambda: office.reactions == {"hourglass_flowing_sand"})
    await office.sender.progress(office.to, office.shown(epoch=2))
    await office.slack.until(lambda: office.reactions == {"eyes"})
    await office.sender.send(office.outgoing("reply", "Done."))
    await office.slack.until(lambda: office.reactions == {"white_check_mark"})


@pytest.mark.parametrize(("status", "epoch"), [("queued", 1), ("running", 2)])
async def test_going_on_is_told_after_a_restart(office: Office, status: TaskStatus, epoch: int) -> None:
    """A task that waited when the process died does not look as if it still did."""
    await office.sender.send(office.card())
    await office.slack.until(lambda: office.reactions == {"hourglass_flowing_sand"})
    office.restarted()
    await office.sender.settle(office.card(kind="settle", task=office.task(status, epoch=epoch)), "C1:1.0")
    await office.slack.until(lambda: office.reactions == {"eyes"})


@pytest.mark.parametrize(
    ("status", "name"),
    [("failed", "x"), ("expired", "x"), ("cancelled", "octagonal_sign"), ("done", "white_check_mark")],
)
async def test_an_end_is_told_after_a_restart(office: Office, status: TaskStatus, name: str) -> None:
    """What a process before set is taken away."""
    await office.sender.send(office.card())
    await office.slack.until(lambda: office.reactions == {"hourglass_flowing_sand"})
    office.restarted()
    await office.sender.send(office.outgoing("reply", "It ended.", task=office.task(status)))
    await office.slack.until(lambda: office.reactions == {name})


async def test_reactions_hold_nothing_up(office: Office) -> None:
    """Without the scope, or over a limit, the answer is the same."""
    office.slack.api.order("reactions.add", Fault(kind="slow", seconds=1))
    await office.sender.send(office.outgoing("reply", "Done."))
    assert [message.shown for message in office.thread] == ["Done."]


async def test_a_task_without_a_request_has_none(office: Office) -> None:
    """A scheduled task's answer is a message like any other."""
    await office.sender.send(office.outgoing("reply", "Done.", task=office.task("done", message_id=None)))
    assert office.made("reactions.add") == []
