"""What somebody sees and does by chat words and buttons where others may read along."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.domain import Address, Approval, ButtonPress, Edit, Member, Session
from agent.errors import Conflict, NotFound
from agent.ports.listings import ListedSession, SessionSelection
from bot.api.approvals import decided
from bot.api.desk import MemberDesk
from bot.api.tasks import ask_again
from bot.api.viewer import Viewer, viewer
from bot.api.workspaces import chosen_workspace, opened
from bot.services import Services


@dataclass(frozen=True, kw_only=True, slots=True)
class Here:
    """Where a member speaks. `home` is the workspace of the address, `workspace` the one that is worked in now;
    `direct`: nobody else reads there."""

    address: Address
    direct: bool
    home: str
    workspace: str
    session: Session | None


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

    @property
    def address(self) -> Address:
        return self._here.address

    async def choose_model(self, name: str) -> None:
        if self.session is None and name in self.models():
            session_id = await self.new_session(self.workspace)
            self.session = (await self._services.store.session(session_id)).session
        await super().choose_model(name)

    async def new_session(self, workspace: str | None = None) -> int:
        """The conversation so far is put away; one in which nothing was said yet will do."""
        self._viewer.require("sessions:write")
        wanted = chosen_workspace(self._services, self._viewer, workspace or self.workspace)
        store = self._services.store
        before = await session_at(self._services, self.address)
        if before is not None and before.last_task is None and before.session.workspace == wanted:
            return before.session.session_id
        if before is not None:
            await store.change_session(before.session.session_id, archived=True)
        try:
            return await store.new_session(self.address, wanted, "")
        except Conflict:  # the same word, arriving twice at once, was faster
            there = await session_at(self._services, self.address)
            if there is None:
                raise
            return there.session.session_id

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
        here = self.address
        if self._decider.workspaces is None or not any(
            (to.channel, to.conversation) == (here.channel, here.conversation) for to in card.shown_at
        ):
            return self._decider
        task = await self._services.store.task(card.task_id)
        return replace(self._decider, workspaces=self._decider.workspaces | {task.workspace})


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
