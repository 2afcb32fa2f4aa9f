"""What the terminal prints of tasks and cards for programs: the shapes of the contract."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent.domain import Address, Call, Entry
from agent.endings import expiry
from agent.errors import BadInput, Conflict
from agent.policy import DEFAULT_RULE
from agent.ports.store import NewApproval, RunKey, Step
from bot.cli.approvals import approvals, approve, deny
from bot.cli.tasks import cancel, export, tasks
from bot.config import load_config
from bot.services import connected
from storage.store.sql import SqlStore
from tests.storage import given


async def parked(store: SqlStore) -> None:
    """A task that waits for a person."""
    address = Address(channel="cli", conversation="x")
    await given.accept(store, address=address, origin="cli", text="hello\nthere")
    [state] = await store.claim("test", 1)
    call = Call(
        call_id="c1",
        task_id=1,
        turn=1,
        position=1,
        tool="write_file",
        capability="file:write",
        arguments='{"path":"a.md"}',
        sha256="0" * 64,
        status="waiting",
        rule=DEFAULT_RULE,
    )
    card = NewApproval(
        token="t",
        kind="change",
        expires_at=datetime.fromisoformat("2999-01-01T00:00:00+00:00"),
        call_ids=("c1",),
    )
    step = Step(
        entries=(Entry(kind="user", data={"text": "hello", "files": []}),),
        new_calls=(call,),
        approval=card,
        status="waiting_approval",
    )
    await store.advance(RunKey(task_id=1, owner="test", epoch=state.task.epoch), step)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("{}")

    async def fill() -> None:
        async with connected(load_config(path)) as services:
            await parked(services.store)

    asyncio.run(fill())
    return path


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_tasks_are_listed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each, with times that say their offset."""
    tasks(as_json=True, config=config)
    [task] = printed(capsys)["tasks"]
    assert {"task_id", "status", "error_code", "origin", "requester", "workspace", "prompt", "finished_at"} <= set(task)
    assert (task["task_id"], task["status"], task["origin"]) == (1, "waiting_approval", "cli")
    assert datetime.fromisoformat(task["created_at"]).utcoffset() is not None
    tasks(config=config)
    assert "hello" in capsys.readouterr().out


def test_one_task_is_shown_and_exported(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its cards and its journal; the export is the same."""
    tasks(1, as_json=True, config=config)
    shown = printed(capsys)
    contract = {"task_id", "status", "error_code", "text", "artifacts", "approvals", "journal", "cost_usd"}
    assert contract <= set(shown)
    assert (shown["text"], shown["cost_usd"], shown["journal"][0]["data"]["text"]) == ("", None, "hello")
    assert shown["approvals"][0]["items"][0]["arguments"] == {"path": "a.md"}
    export(1, format_="json", config=config)
    assert printed(capsys) == shown


def test_cards_are_listed_and_decided(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only those that wait; the operator's decision leaves a row in the audit."""
    approvals(as_json=True, config=config)
    [card] = printed(capsys)["approvals"]
    assert {"id", "task_id", "items", "expires_at"} <= set(card)
    deny(card["id"], reason="no", config=config)
    assert "denied by operator" in capsys.readouterr().out
    approvals(as_json=True, config=config)
    assert printed(capsys) == {"approvals": []}

    async def audited() -> list[tuple[str, str, str]]:
        async with connected(load_config(config)) as services:
            return [(row.who, row.what, row.way) for row in await services.access.audits()]

    assert asyncio.run(audited()) == [("operator", "approval_decided", "cli")]


def test_only_what_expired_can_be_asked_again(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The follow-up task is one, however often it is asked; a card that waits is decided instead."""
    (config.parent / "office").mkdir()
    config.write_text('{"workspaces": {"demo": {"path": "office"}}}')
    with pytest.raises(Conflict, match="only an expired one"):
        approve(1, config=config, ask_again=True)

    async def expire() -> None:
        async with connected(load_config(config)) as services:
            late = datetime.fromisoformat("2999-01-02T00:00:00+00:00")
            await services.store.change(1, lambda state: expiry(state, state.approvals[0], late))

    asyncio.run(expire())
    for _ in range(2):
        approve(1, config=config, ask_again=True)
        assert capsys.readouterr().out == "Task 2 proposes it again: see `tasks 2`.\n"


@pytest.mark.parametrize(("given_", "said"), [({"item": [0]}, "items.0"), ({"reason": "x" * 5_000}, "reason")])
def test_a_decision_that_cannot_be_is_refused(config: Path, given_: dict[str, Any], said: str) -> None:
    """In one sentence that names what is wrong."""
    with pytest.raises(BadInput, match=said):
        deny(1, config=config, **given_)


def test_a_task_is_cancelled(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what the task is then."""
    cancel(1, config=config)
    assert capsys.readouterr().out == "Task 1: cancelled.\n"
