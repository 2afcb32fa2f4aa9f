"""What a member can look at and do by chat words and buttons, as one conversation has it before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from agent.domain import Approval, ApprovalStatus, ButtonPress, Edit, Member, Session, TaskStatus
from agent.ports.files import FileInfo
from agent.ports.people import Pairing


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskLine:
    """A task in a list."""

    task_id: int
    status: TaskStatus
    prompt: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class CardLine:
    """An approval in a list; `titles` are those of its items in order."""

    approval_id: int
    task_id: int
    status: ApprovalStatus
    titles: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerLine:
    """What becomes of a use of a power (`file:write`) that this member asks for here, in words."""

    power: str
    rule: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """Model calls of a period or of a model. `unpriced` calls have no known price and are not in `cost_usd`."""

    label: str
    calls: int
    tokens: int
    cost_usd: Decimal
    unpriced: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillLine:
    """A skill that can be used."""

    name: str
    description: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillLines:
    """The skills of a workspace, and what could not be loaded."""

    skills: Sequence[SkillLine]
    problems: Sequence[str]


class Desk(Protocol):
    """One member in one conversation; every verb shows and allows what that member may see and do."""

    @property
    def member(self) -> Member:
        """Who writes."""
        ...

    @property
    def session(self) -> Session | None:
        """The conversation; None before its first request."""
        ...

    @property
    def workspace(self) -> str:
        """Where requests of this conversation work."""
        ...

    @property
    def model(self) -> str:
        """The model that the next request is answered by."""
        ...

    def models(self) -> Sequence[str]:
        """The names that can be chosen."""
        ...

    async def choose_model(self, name: str) -> None:
        """Answer this conversation's next requests with another model; NotFound."""
        ...

    async def workspaces(self) -> Sequence[str]:
        """The workspaces the member may use."""
        ...

    async def new_session(self, workspace: str | None = None) -> int:
        """Begin another conversation; NotFound for a workspace the member may not use."""
        ...

    async def tasks(self, *, here: bool = False, limit: int = 10) -> Sequence[TaskLine]:
        """The newest tasks first; `here` only those of this conversation."""
        ...

    async def cards(self) -> Sequence[CardLine]:
        """What waits for a person."""
        ...

    async def decide(self, press: ButtonPress) -> Approval:
        """Decide like a button; a BadInput says why that is not possible. A card that this member neither sees nor was
        shown here is NotFound like an unknown one."""
        ...

    async def edit(self, edit: Edit) -> Approval:
        """Give an item of a card other arguments; errors as of `decide`."""
        ...

    async def ask_again(self, approval_id: int) -> int:
        """Have what an expired card asked proposed again; the id of that task, the same one each time."""
        ...

    async def powers(self) -> Sequence[PowerLine]:
        """What may be asked for here, and who decides it."""
        ...

    async def strangers(self) -> Sequence[Pairing]:
        """Who asks to be let in, the first first; Forbidden for all but admins."""
        ...

    async def admit(self, code: str, name: str | None) -> Member:
        """Let in whoever was shown a code; errors as of `Pairing.admit`."""
        ...

    async def files(self, path: str) -> Sequence[FileInfo]:
        """What lies in a folder; NotFound, ToolFailed."""
        ...

    async def memory(self) -> str:
        """What is remembered in this workspace."""
        ...

    async def skills(self) -> SkillLines:
        """The skills of this workspace."""
        ...

    async def usage(self) -> tuple[Sequence[Spent], Sequence[Spent]]:
        """What was used today and in the last 30 days, and these 30 days by model."""
        ...
