"""Short words for journal rows and tasks, for tests of what is computed from them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from agent.domain import Address, Entry, Session, Task
from agent.history import Ended
from agent.ports.store import PastTask, TaskState
from tests.clock import START

SESSION = Session(session_id=1, address=Address(channel="chat", conversation="C1"), workspace="demo")
MODEL = "deepseek/deepseek-chat"


def task(seq: int = 1, prompt: str = "please", **fields: Any) -> Task:
    """A task of the one session."""
    made = Task(
        task_id=100 + seq,
        session_id=1,
        seq=seq,
        origin="message",
        requester="ann",
        reply_to=(),
        workspace="demo",
        prompt=prompt,
        files=(),
        status="running",
        created_at=START + timedelta(minutes=seq),
        run_after=START,
    )
    return replace(made, **fields)


def user(text: str = "please") -> Entry:
    return Entry(kind="user", data={"text": text, "files": []})


def says(text: str = "", *calls: tuple[str, str, str], **data: Any) -> Entry:
    """A turn of the model; a call is (id, tool, argument text)."""
    made = [{"id": call_id, "name": name, "arguments": arguments} for call_id, name, arguments in calls]
    return Entry(kind="assistant", data={"text": text, "calls": made, "model": MODEL, **data})


def result(call_id: str, text: str = "fine", *, status: str = "done", net: bool = True) -> Entry:
    return Entry(kind="tool", data={"call_id": call_id, "name": "t", "text": text, "status": status, "net": net})


def state(*entries: Entry, of: Task | None = None, session: Session = SESSION) -> TaskState:
    return TaskState(task=of or task(), session=session, entries=entries)


def past(*entries: Entry, of: Task | None = None, artifacts: tuple[str, ...] = ()) -> Ended:
    return Ended(PastTask(task=of or task(status="done", answer="Done."), entries=entries, artifacts=artifacts))
