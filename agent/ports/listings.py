"""Lists that people look at, each limited to the workspaces of whoever looks (`workspaces` None: all of them)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, Protocol

from agent.domain import Address, Approval, Entry, Session, Task, TaskStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskSelection:
    """Which tasks; None is any."""

    status: str | None = None
    workspaces: frozenset[str] | None = None
    session_id: int | None = None
    origin: str | None = None
    requester: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSelection:
    """Which sessions; `channel`, `conversation` and `thread` (empty: none) are those of their address."""

    archived: bool = False
    workspaces: frozenset[str] | None = None
    channel: str | None = None
    conversation: str | None = None
    thread: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalSelection:
    """Which cards; None is any."""

    status: str | None = None
    workspaces: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedSession:
    """A session with its newest task, if it has one."""

    session: Session
    last_task: Task | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskMark:
    """How far a task is: the length of its journal and its status."""

    entries: int
    status: TaskStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageSum:
    """Model calls added up. `cost_usd` counts the calls whose price is known, `unpriced` are the others."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: Decimal
    unpriced: int


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageSelection:
    """Which model calls: from `since` to before `until`."""

    since: datetime
    until: datetime
    workspaces: frozenset[str] | None = None


class Listings(Protocol):
    """The reads behind pages and the API. Lists come newest first and go on below the id `before`."""

    async def task(self, task_id: int) -> Task:
        """A task's own row; NotFound."""
        ...

    async def tasks(
        self, *, limit: int = 50, before: int | None = None, which: TaskSelection = TaskSelection()
    ) -> list[Task]:
        """Tasks by id."""
        ...

    async def task_marks(self, task_ids: Collection[int]) -> Mapping[int, TaskMark]:
        """How far several tasks are, in one query."""
        ...

    async def journal(self, task_id: int, after: int = 0) -> list[Entry]:
        """The rows of a task's journal after a seq, in order."""
        ...

    async def session(self, session_id: int) -> ListedSession:
        """One session; NotFound."""
        ...

    async def sessions(
        self, *, limit: int = 50, before: int | None = None, which: SessionSelection = SessionSelection()
    ) -> list[ListedSession]:
        """Sessions by id."""
        ...

    async def new_session(self, address: Address, workspace: str, title: str) -> int:
        """Make a session without a task; its id. Conflict when the address has one that is not archived."""
        ...

    async def change_session(
        self, session_id: int, *, title: str | None = None, archived: bool | None = None, model: str | None = None
    ) -> None:
        """Rename a session, put it away or back, or give it a model; NotFound, Conflict when its address has another
        one by now."""
        ...

    async def approvals(
        self, *, limit: int = 50, before: int | None = None, which: ApprovalSelection = ApprovalSelection()
    ) -> list[Approval]:
        """Cards by id."""
        ...

    async def card_numbers(self, approval_ids: Collection[int]) -> Mapping[int, int]:
        """Which card of its task each of these is, from 1, in one query."""
        ...

    async def usage_by(self, column: Literal["model", "requester"], which: UsageSelection) -> dict[str, UsageSum]:
        """Usage by model or by who asked, in the order of the names."""
        ...

    async def usage_by_quarter(self, which: UsageSelection) -> dict[datetime, UsageSum]:
        """Usage by quarter of an hour, of which the days of every time zone are made."""
        ...
