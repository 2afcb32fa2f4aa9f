"""How a task ends that waited for people."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.endings import cancellation, expiry
from agent.errors import Conflict
from tests.agent.waiting import CHAT, call, waiting
from tests.clock import START


def test_an_expired_card_ends_its_task_with_a_legal_history() -> None:
    """E5: the call's result says that it expired and was not run."""
    state = waiting()
    [card] = state.approvals
    assert expiry(state, card, START + timedelta(seconds=59)) is None
    step = expiry(state, card, START + timedelta(seconds=60))
    assert step is not None
    assert (step.status, step.error_code) == ("expired", "approval_expired")
    assert "Expired, not run" in step.entries[0].data["text"]
    assert "Ask again if it is still needed" in step.entries[0].data["text"]
    assert step.approval_changes[0].status == "expired"
    assert [delivery.kind for delivery in step.deliveries] == ["reply", "settle"]


def test_a_decided_card_does_not_expire() -> None:
    """Nor one whose task is on its way again."""
    state = waiting(status="approved")
    assert expiry(state, state.approvals[0], START + timedelta(days=1)) is None
    running = waiting()
    running = replace(running, task=replace(running.task, status="running"))
    assert expiry(running, running.approvals[0], START + timedelta(days=1)) is None


def test_a_cancelled_task_takes_its_card_and_all_its_calls_with_it() -> None:
    """E21, B5: the card is withdrawn wherever it was shown, and every waiting call gets a result."""
    elsewhere = replace(CHAT, conversation="C2")
    step = cancellation(waiting(call(1), call(2), shown_at=(CHAT, elsewhere)), START)
    assert step is not None
    assert step.approval_changes[0].status == "cancelled"
    assert [entry.data["call_id"] for entry in step.entries if entry.kind == "tool"] == ["c1", "c2"]
    assert [delivery.to for delivery in step.deliveries if delivery.kind == "settle"] == [CHAT, elsewhere]


def test_a_running_task_is_asked_to_stop_and_an_ended_one_cannot_be() -> None:
    """Only a task at rest is ended from outside."""
    state = waiting()
    assert cancellation(replace(state, task=replace(state.task, status="running")), START) is None
    with pytest.raises(Conflict, match="has ended already: done"):
        cancellation(replace(state, task=replace(state.task, status="done")), START)
