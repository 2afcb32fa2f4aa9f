"""What chat words see and do, by the same functions as pages and `/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

from agent.domain import Address, Approval, ButtonPress, Edit, Member, Session
from agent.errors import BadInput, NotFound
from agent.ports.desk import CardLine, PowerLine, SkillLine, SkillLines, Spent, TaskLine
from agent.ports.files import FileInfo
from agent.ports.listings import ListedSession, SessionSelection
from agent.ports.people import Pairing
from bot.api.approvals import cards, decided
from bot.api.files import list_folder
from bot.api.memory import read_memory
from bot.api.sessions import NewSession, new_session
from bot.api.skills import list_skills
from bot.api.tasks import TaskFilter, ask_again, list_tasks
from bot.api.usage import UsageLine, UsageQuery, usage
from bot.api.viewer import Viewer, viewer
from bot.api.workspaces import chosen_workspace, list_workspaces, opened
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

    async def cards(self) -> Sequence[CardLine]:
        return [_card(card) for card in await cards(self._services, self._viewer, "open")]

    async def decide(self, press: ButtonPress) -> Approval:
        return await decided(self._services, self._viewer, press)

    async def edit(self, edit: Edit) -> Approval:
        return await decided(self._services, self._viewer, edit)

    async def ask_again(self, approval_id: int) -> int:
        return (await ask_again(self._services, self._viewer, approval_id)).task_id

    async def powers(self) -> Sequence[PowerLine]:
        return ()

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


class ChatDesk(MemberDesk):
    """A member in a conversation of a chat platform: there is one session at a time at an address.

    Whatever it lists is what everybody may read there; what they decide is up to the member alone.
    """

    def __init__(self, services: Services, decider: Viewer, here: Here) -> None:
        shown = decider if here.direct else replace(decider, workspaces=frozenset({here.home}))
        super().__init__(services, shown, here.session, here.workspace)
        self.workspace = here.workspace
        self._decider = decider
        self._here = here

    async def choose_model(self, name: str) -> None:
        if self.session is None and name in self.models():
            session_id = await self.new_session(self.workspace)
            self.session = (await self._services.store.session(session_id)).session
        await super().choose_model(name)

    async def new_session(self, workspace: str | None = None) -> int:
        """The conversation so far is put away; one in which nothing was said yet will do."""
        self._viewer.require("sessions:write")
        wanted = chosen_workspace(self._services, self._viewer, workspace or self.workspace)
        store, address = self._services.store, self._here.address
        before = await session_at(self._services, address)
        if before is not None and before.last_task is None and before.session.workspace == wanted:
            return before.session.session_id
        if before is not None:
            await store.change_session(before.session.session_id, archived=True)
        return await store.new_session(address, wanted, "")

    async def decide(self, press: ButtonPress) -> Approval:
        return await decided(self._services, await self._decides(press.approval_id, press.token), press)

    async def edit(self, edit: Edit) -> Approval:
        return await decided(self._services, await self._decides(edit.approval_id), edit)

    async def ask_again(self, approval_id: int) -> int:
        return (await ask_again(self._services, await self._decides(approval_id), approval_id)).task_id

    async def _decides(self, approval_id: int | None, token: str | None = None) -> Viewer:
        """Whoever reads a card here may speak to it, whatever workspace it is of: it was sent here on purpose."""
        try:
            card = await self._services.store.find_approval(approval_id=approval_id, token=token)
        except NotFound:
            return self._decider
        here = self._here.address
        if self._decider.workspaces is None or not any(
            (to.channel, to.conversation) == (here.channel, here.conversation) for to in card.shown_at
        ):
            return self._decider
        task = await self._services.store.task(card.task_id)
        return replace(self._decider, workspaces=self._decider.workspaces | {task.workspace})


@dataclass(frozen=True, kw_only=True, slots=True)
class Here:
    """Where a member speaks. `home` is the workspace of the address, `workspace` the one that is worked in now;
    `direct`: nobody else reads there."""

    address: Address
    direct: bool
    home: str
    workspace: str
    session: Session | None


async def chat_desk(services: Services, member: Member, address: Address, *, direct: bool) -> ChatDesk:
    """The desk of a member at an address. Alone they may work in any workspace of theirs; what a group works in is up
    to the configuration."""
    workspaces = services.workspaces
    home = workspaces.for_direct(member, address) if direct else workspaces.for_address(address)
    decider = viewer(member, workspaces, way="chat", place=home)
    found = await session_at(services, address)
    session = found.session if found else None
    chosen = session.workspace if session and direct else home
    workspace = chosen if _usable(services, decider, chosen) else home
    here = Here(address=address, direct=direct, home=home, workspace=workspace, session=session)
    return ChatDesk(services, decider, here)


async def session_at(services: Services, address: Address) -> ListedSession | None:
    """The session that goes on at an address."""
    which = SessionSelection(channel=address.channel, conversation=address.conversation, thread=address.thread or "")
    return next(iter(await services.store.sessions(limit=1, which=which)), None)


def _usable(services: Services, viewer: Viewer, workspace: str) -> bool:
    """Whether a workspace that was chosen once is still there for whoever chose it."""
    try:
        opened(services, viewer, workspace)
    except NotFound:
        return False
    return True


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
