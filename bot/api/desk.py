"""What chat words see and do, by the same functions as pages and `/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

from agent.domain import Member, Session, Verdict
from agent.errors import BadInput, NotFound
from agent.ports.desk import CardLine, SkillLine, SkillLines, Spent, TaskLine
from agent.ports.files import FileInfo
from bot.api.approvals import ApprovalView, Decision, decide, list_approvals
from bot.api.files import list_folder
from bot.api.memory import read_memory
from bot.api.sessions import NewSession, new_session
from bot.api.skills import list_skills
from bot.api.tasks import TaskFilter, cancel_task, list_tasks
from bot.api.usage import UsageLine, UsageQuery, usage
from bot.api.viewer import Viewer
from bot.api.workspaces import chosen_workspace, list_workspaces
from bot.services import Services


class MemberDesk:
    """A member in a conversation, or before its first request; implements the port Desk."""

    def __init__(
        self, services: Services, viewer: Viewer, session: Session | None, workspace: str | None = None
    ) -> None:
        self._services = services
        self._viewer = viewer
        self.session = session
        self.workspace = session.workspace if session else chosen_workspace(services, viewer, workspace)

    @property
    def member(self) -> Member:
        return self._viewer.member

    @property
    def model(self) -> str:
        chosen = self.session.model if self.session else None
        return chosen or self._services.config.agent.model

    def models(self) -> Sequence[str]:
        return self._services.config.models_to_choose()

    async def choose_model(self, name: str) -> None:
        self._viewer.require("sessions:write")
        if name not in self.models():
            raise NotFound(f"There is no model {name!r} to choose; they are: {', '.join(self.models())}.")
        if self.session is None:
            raise BadInput("Begin the conversation first; its model can be chosen then.")
        await self._services.store.change_session(self.session.session_id, model=name)

    async def workspaces(self) -> Sequence[str]:
        return [one.name for one in (await list_workspaces(self._services, self._viewer)).workspaces]

    async def new_session(self, workspace: str | None = None) -> int:
        return (await new_session(self._services, self._viewer, NewSession(workspace=workspace))).session_id

    async def tasks(self, *, here: bool = False, limit: int = 10) -> Sequence[TaskLine]:
        if here and self.session is None:
            return ()
        which = TaskFilter(session_id=self.session.session_id if here and self.session else None)
        found = await list_tasks(self._services, self._viewer, which, page_size=limit)
        return [
            TaskLine(task_id=one.task_id, status=one.status, prompt=one.prompt, created_at=one.created_at)
            for one in found.tasks
        ]

    async def cancel(self, task_id: int) -> None:
        await cancel_task(self._services, self._viewer, task_id)

    async def cards(self) -> Sequence[CardLine]:
        return [_card(card) for card in (await list_approvals(self._services, self._viewer, "open")).approvals]

    async def press(self, approval_id: int, verdict: Verdict, items: Sequence[int], reason: str) -> CardLine:
        decision = Decision(verdict=verdict, items=list(items), reason=reason)
        return _card(await decide(self._services, self._viewer, approval_id, decision))

    async def files(self, path: str) -> Sequence[FileInfo]:
        folder = await list_folder(self._services, self._viewer, self.workspace, path)
        return [FileInfo(path=row.path, kind=row.kind, size_bytes=row.size_bytes) for row in folder.entries]

    async def memory(self) -> str:
        return (await read_memory(self._services, self._viewer, self.workspace)).text

    async def skills(self) -> SkillLines:
        found = await list_skills(self._services, self._viewer, self.workspace)
        lines = [SkillLine(name=one.name, description=one.description) for one in found.skills]
        return SkillLines(skills=lines, problems=found.problems)

    async def usage(self) -> tuple[Sequence[Spent], Sequence[Spent]]:
        now = self._services.clock.now()
        zone = ZoneInfo(self.member.timezone)
        midnight = datetime.combine(now.astimezone(zone).date(), time(), zone)
        today = await usage(self._services, self._viewer, UsageQuery(since=midnight, until=now))
        month = await usage(self._services, self._viewer, UsageQuery(by="model", until=now))
        periods = (_spent("Today", today.total), _spent("Last 30 days", month.total))
        return periods, [_spent(line.key, line) for line in month.lines]


def _card(card: ApprovalView) -> CardLine:
    waiting = sum(item.status in ("waiting", "unknown") for item in card.items) if card.status == "open" else 0
    return CardLine(
        approval_id=card.id,
        task_id=card.task_id,
        status=card.status,
        titles=[item.title for item in card.items],
        waiting=waiting,
    )


def _spent(label: str, line: UsageLine) -> Spent:
    return Spent(
        label=label,
        calls=line.calls,
        tokens=line.input_tokens + line.output_tokens,
        cost_usd=Decimal(str(line.cost_usd or 0)),
        unpriced=line.unpriced,
    )
