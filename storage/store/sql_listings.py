"""The verbs of the port Listings over SQL."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Literal

from agent.domain import Address, Approval, Entry, Task
from agent.errors import Conflict
from agent.ports.listings import (
    ApprovalSelection,
    ListedSession,
    SessionSelection,
    TaskMark,
    TaskSelection,
    UsageSelection,
    UsageSum,
)
from storage.database import Database
from storage.faults import Clash
from storage.store import listings

ALL_TASKS, ALL_APPROVALS, LIVE_SESSIONS = TaskSelection(), ApprovalSelection(), SessionSelection()


class SqlListings:
    """Implements Listings; a part of the store, which has the database."""

    __slots__ = ()
    database: Database

    async def task(self, task_id: int) -> Task:
        return await self.database.read(lambda connection: listings.task(connection, task_id))

    async def tasks(
        self, *, limit: int = 50, before: int | None = None, which: TaskSelection = ALL_TASKS
    ) -> list[Task]:
        return await self.database.read(lambda connection: listings.newest_tasks(connection, limit, before, which))

    async def task_marks(self, task_ids: Collection[int]) -> dict[int, TaskMark]:
        return await self.database.read(lambda connection: listings.task_marks(connection, task_ids))

    async def journal(self, task_id: int, after: int = 0) -> list[Entry]:
        return await self.database.read(lambda connection: listings.entries_after(connection, task_id, after))

    async def session(self, session_id: int) -> ListedSession:
        return await self.database.read(lambda connection: listings.session(connection, session_id))

    async def sessions(
        self, *, limit: int = 50, before: int | None = None, which: SessionSelection = LIVE_SESSIONS
    ) -> list[ListedSession]:
        return await self.database.read(lambda connection: listings.newest_sessions(connection, limit, before, which))

    async def new_session(self, address: Address, workspace: str, title: str) -> int:
        try:
            return await self.database.write(
                lambda connection: listings.new_session(connection, address, workspace, title)
            )
        except Clash:
            raise Conflict("This conversation has a session already.", code="session_exists") from None

    async def change_session(
        self, session_id: int, *, title: str | None = None, archived: bool | None = None, model: str | None = None
    ) -> None:
        wanted = {"title": title, "archived": archived, "model": model}
        try:
            await self.database.write(lambda connection: listings.change_session(connection, session_id, **wanted))
        except Clash:
            raise Conflict(
                "This conversation has a newer session; archive that one first.", code="session_exists"
            ) from None

    async def approvals(
        self, *, limit: int = 50, before: int | None = None, which: ApprovalSelection = ALL_APPROVALS
    ) -> list[Approval]:
        return await self.database.read(lambda connection: listings.newest_approvals(connection, limit, before, which))

    async def card_numbers(self, approval_ids: Collection[int]) -> dict[int, int]:
        return await self.database.read(lambda connection: listings.card_numbers(connection, approval_ids))

    async def usage_by(self, column: Literal["model", "requester"], which: UsageSelection) -> dict[str, UsageSum]:
        return await self.database.read(lambda connection: listings.usage_by(connection, column, which))

    async def usage_by_quarter(self, which: UsageSelection) -> dict[datetime, UsageSum]:
        return await self.database.read(lambda connection: listings.usage_by_quarter(connection, which))
