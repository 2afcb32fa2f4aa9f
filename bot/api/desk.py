"""What chat words see and do, by the same functions as pages and `/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

from agent import policy_texts
from agent.domain import Address, Approval, ButtonPress, Edit, Member, Session
from agent.errors import BadInput, NotFound
from agent.people import home_of
from agent.policy import Ask, electors, is_read
from agent.ports.desk import CardLine, PowerLine, SkillLine, SkillLines, Spent, TaskLine
from agent.ports.files import FileInfo
from agent.ports.people import Pairing
from bot.api.approvals import cards, decided
from bot.api.files import list_folder
from bot.api.memory import read_memory
from bot.api.sessions import NewSession, new_session
from bot.api.skills import list_skills
from bot.api.tasks import TaskFilter, ask_again, list_tasks
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
    def address(self) -> Address:
        """Where it is."""
        return self.session.address if self.session else home_of(self.member)

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

    async def cards(self) -> Sequence[CardLine]:
        return [_card(card) for card in await cards(self._services, self._viewer, "open")]

    async def decide(self, press: ButtonPress) -> Approval:
        return await decided(self._services, self._viewer, press)

    async def edit(self, edit: Edit) -> Approval:
        return await decided(self._services, self._viewer, edit)

    async def ask_again(self, approval_id: int) -> int:
        return (await ask_again(self._services, self._viewer, approval_id)).task_id

    async def powers(self) -> Sequence[PowerLine]:
        rules, member = self._services.rules, self.member
        tightening = rules.tightening(self.address, member.name)
        people = await self._services.people.by_name()
        powers = {tool.capability for tool in self._services.registry.values()}
        lines = []
        for power in sorted(power for power in powers if not is_read(power)):
            said = rules.over(power, self.workspace, "message", tightening)
            able = electors(said.rule, people, member.name) if isinstance(said, Ask) else []
            lines.append(PowerLine(power=power, rule=policy_texts.rule(said, able)))
        return lines

    async def strangers(self) -> Sequence[Pairing]:
        return await self._services.pairing.waiting(self.member)

    async def admit(self, code: str, name: str | None) -> Member:
        return await self._services.pairing.admit(code, self.member, name, way=self._viewer.way)

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


def _card(card: Approval) -> CardLine:
    titles = [item.title for item in card.items]
    return CardLine(approval_id=card.approval_id, task_id=card.task_id, status=card.status, titles=titles)


def _spent(label: str, line: UsageLine) -> Spent:
    return Spent(
        label=label,
        calls=line.calls,
        tokens=line.input_tokens + line.output_tokens,
        cost_usd=Decimal(str(line.cost_usd or 0)),
        unpriced=line.unpriced,
    )
