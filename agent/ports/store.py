"""The rows: what one transaction may change, and the verbs of the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from agent.domain import (
    Address,
    Approval,
    ApprovalKind,
    ApprovalStatus,
    ApproverRule,
    Artifact,
    Call,
    CallStatus,
    DeliveryKind,
    Entry,
    Hook,
    IncomingMessage,
    Received,
    Session,
    Target,
    Task,
    TaskStatus,
    Usage,
)
from agent.ports.access import NewAudit
from agent.ports.deliveries import Deliveries


@dataclass(frozen=True, kw_only=True, slots=True)
class RunKey:
    """The right to write for a task: a lease's owner and epoch."""

    task_id: int
    owner: str
    epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """The task of a message; `fresh` is False when it was not made by it: the message had been accepted before, or
    answers what that task asks. `behind` is what the head of
    its session is doing while this one waits its turn: None when it is the head itself."""

    task_id: int
    session_id: int
    fresh: bool
    status: TaskStatus
    behind: TaskStatus | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallChange:
    """A new state of a call, with what belongs to it; None leaves a field as it is."""

    call_id: str
    status: CallStatus
    reason: str | None = None
    decided_by: str | None = None
    title: str | None = None
    preview: str | None = None
    targets: tuple[Target, ...] | None = None
    rule: ApproverRule | None = None
    votes: tuple[str, ...] | None = None
    arguments: str | None = None
    sha256: str | None = None
    original: str | None = None
    edited_by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewApproval:
    """A card to be made; its items are the step's calls that are `waiting`, in order."""

    token: str
    kind: ApprovalKind
    expires_at: datetime
    call_ids: tuple[str, ...]
    remind_at: datetime | None = None
    shown_at: tuple[Address, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptItem:
    """An item as a card showed it and as it was decided there, before a newer card shows the call anew."""

    call_id: str
    arguments: str
    title: str
    preview: str
    status: CallStatus
    decided_by: str | None
    votes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalChange:
    """A new state of a card; None leaves a field as it is. `revised` counts its revision up, `reminded` clears
    `remind_at`, `kept` is added to what it keeps."""

    approval_id: int
    status: ApprovalStatus
    decided_by: str | None = None
    decided_at: datetime | None = None
    revised: bool = False
    reminded: bool = False
    kept: tuple[KeptItem, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewDelivery:
    """A row for the outbox. `approval_id` None on a card or settle means: of this step's new approval.

    `collected` marks an address that fetches its answers itself (webhook answer, terminal): the row is `sent` at once.
    Cards and settles have no text here; they are rendered from the approval when they are sent. A reply carries the
    newest version of every artifact of its task.
    """

    kind: DeliveryKind
    to: Address
    dedup_key: str
    expires_at: datetime
    text: str = ""
    approval_id: int | None = None
    collected: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NewArtifact:
    """An artifact row to be made; its version is counted per session and path by the store."""

    name: str
    path: str
    media_type: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """Everything one transaction changes of one task; whoever writes for a task writes a Step.

    `status` None leaves the task as it is; anything but `running` ends the lease. Entries get the next seqs of the
    journal. A terminal status also sets `finished_at`.
    """

    entries: tuple[Entry, ...] = ()
    new_calls: tuple[Call, ...] = ()
    call_changes: tuple[CallChange, ...] = ()
    approval: NewApproval | None = None
    approval_changes: tuple[ApprovalChange, ...] = ()
    artifacts: tuple[NewArtifact, ...] = ()
    deliveries: tuple[NewDelivery, ...] = ()
    usage: tuple[Usage, ...] = ()
    status: TaskStatus | None = None
    run_after: datetime | None = None
    error_code: str | None = None
    error_text: str | None = None
    answer: str | None = None
    window: tuple[int, int] | None = None
    """New (whole_from, summary_from) of the session."""
    files: tuple[str, ...] | None = None
    """Where the task's files lie once those it awaited were fetched."""
    received: Received | None = None
    """The event from outside that this step answers; the store fills in the task and session ids."""
    audit: NewAudit | None = None
    """What a person did by this step, or tried to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskState:
    """A task with all its rows, read in one go. A damaged journal row arrives as an entry of kind `status` with
    `{"status": "damaged"}` instead of failing the rest. `damaged`: something else cannot be read and is empty here, so
    the task must not go on."""

    task: Task
    session: Session
    entries: tuple[Entry, ...] = ()
    calls: tuple[Call, ...] = ()
    approvals: tuple[Approval, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    damaged: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOutcome:
    """What whoever asked may know of a task: not how it came about, but where it stands.

    `address` is its session's, `approvals` are the open ones, `artifacts` the newest version of each file it made.
    `cost_usd` None: a part of it is unknown, or it used no priced model.
    """

    task: Task
    address: Address
    approvals: tuple[Approval, ...]
    artifacts: tuple[Artifact, ...]
    cost_usd: Decimal | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PastTask:
    """An ended task of the session: `entries` only for those that enter the prompt whole."""

    task: Task
    entries: tuple[Entry, ...] = ()
    artifacts: tuple[str, ...] = ()
    """Paths of the files it made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """Ended tasks of a session, oldest first; `before` is how many there are of those that were not asked for."""

    tasks: list[PastTask]
    before: int = 0


Plan = Callable[[TaskState], Step | None]
"""A pure decision over a locked task; None changes nothing, a BadInput rolls back and reaches the caller."""


Waits = Callable[[int, TaskStatus], Sequence[NewDelivery]]
"""What is told about a task of this id while the head of its session is doing that."""


class Doorbell(Protocol):
    """Wakes whoever waits for a topic, over processes; state is always in rows.

    The topics: `tasks`, `outbox`, `cancel`, and `task:<id>` when that task ends or begins to wait for a person.
    """

    def ring(self, topic: str) -> None:
        """Wake the waiters of a topic."""
        ...

    async def wait(self, topic: str, seconds: float) -> None:
        """Return when the topic rang since this waiter last returned, or after `seconds`."""
        ...


class Store(Deliveries, Protocol):
    """The rows. Each verb is one short transaction, shielded from the caller's cancellation.

    It rings the doorbell itself: `tasks` when a task became runnable, `outbox` for a new delivery, `cancel`.
    """

    @property
    def doorbell(self) -> Doorbell:
        """What the verbs ring."""
        ...

    async def accept(
        self, message: IncomingMessage, *, workspace: str, files: tuple[str, ...], waits: Waits | None = None
    ) -> Accepted:
        """Received row, session, task in one transaction; a known dedup key returns its task with `fresh` False.
        `waits` says what is told about a new task that has to wait its turn.

        Conflict when the known key came with another fingerprint; NotFound when `follow_up_of` names no task of the
        same channel and conversation. A message without a dedup key's row makes the session of its address, one that
        follows up joins that task's session.
        """
        ...

    async def claim(self, owner: str, limit: int) -> list[TaskState]:
        """Take the oldest runnable task of each session, at most `limit`: `running`, a new epoch, a lease of 30 s.

        Entries, calls, approvals and artifacts are read only for a task that has a journal already.
        """
        ...

    async def heartbeat(self, owner: str, task_ids: Sequence[int]) -> set[int]:
        """Renew the leases of an owner's runs; the ids among them that a person asked to cancel."""
        ...

    async def reap(self) -> list[int]:
        """Requeue tasks whose lease ran out, counting a crash; the ids of those that crashed three times without a
        new journal row (left `queued` for the worker, which ends them)."""
        ...

    async def requeue(self, owner: str | None = None) -> int:
        """Requeue at once the running tasks of an owner (a drain), or of everybody (the boot of a sole runner)."""
        ...

    async def load(self, task_id: int) -> TaskState:
        """A task with its rows; NotFound."""
        ...

    async def earlier(self, session: Session, before_seq: int, after_seq: int = 0) -> Earlier:
        """The ended tasks of a session from `session.summary_from` on; those up to `after_seq` are only counted."""
        ...

    async def advance(self, run: RunKey, step: Step) -> int:
        """Write a run's step and return the length of the journal, to which others add too (a refused press);
        LeaseLost when the run is not the owner any more.

        StopRequested, and nothing is written, when it would park a task that a person asked to stop: nobody would look
        at that wish before the card is decided.
        """
        ...

    async def change(self, task_id: int, plan: Plan, key: str | None = None) -> Step | None:
        """Lock a task, let `plan` decide, write its step; what was decided. A step for a task that runs only adds
        to its journal.

        None, without asking `plan`, when the event `key` was received before.
        """
        ...

    async def receive(
        self, event: Received, deliveries: Sequence[NewDelivery] = (), audit: NewAudit | None = None
    ) -> bool:
        """Write down an event that belongs to no task, with what is said to it and the row that it has in the audit;
        False when it was received before."""
        ...

    async def deliver(self, deliveries: Sequence[NewDelivery]) -> None:
        """Say something that belongs to no task; what was said before under the same key is not said again."""
        ...

    async def received(self, key: str) -> Received | None:
        """An event that was received before."""
        ...

    async def waiting(self, address: Address) -> Approval | None:
        """The open card of the conversation at an address, that of its live session; None when there is none."""
        ...

    async def request_cancel(self, task_id: int) -> bool:
        """Ask the owner of a running task to stop; False when it does not run (any more)."""
        ...

    async def find_approval(self, *, approval_id: int | None = None, token: str | None = None) -> Approval:
        """A card with its items; NotFound."""
        ...

    async def expired_approvals(self, now: datetime) -> list[Approval]:
        """Open cards past their time, at most 1,000: the next sweep goes on."""
        ...

    async def approvals_to_remind(self, now: datetime) -> list[Approval]:
        """Open cards whose `remind_at` has come, at most 1,000."""
        ...

    async def spent_usd(self, since: datetime, requester: str | None = None) -> Decimal:
        """The known cost of model calls since a time, of everybody or of one requester."""
        ...


class Queries(Protocol):
    """Small reads that channels and cards need; what people page through is in `agent/ports/listings.py`."""

    async def outcome(self, task_id: int) -> TaskOutcome:
        """Where a task stands, in one read without its journal; NotFound."""
        ...

    async def artifacts(self, task_id: int) -> list[Artifact]:
        """The newest version of each file a task made."""
        ...

    async def artifact(self, artifact_id: int) -> Artifact:
        """One artifact; NotFound."""
        ...

    async def cost_usd(self, task_id: int) -> Decimal | None:
        """What a task cost: None when a part of it is unknown or it used no priced model."""
        ...


class Hooks(Protocol):
    """The inbound webhooks."""

    async def hook(self, name: str) -> Hook | None:
        """One hook by name."""
        ...

    async def hooks(self) -> list[Hook]:
        """All of them."""
        ...

    async def save_hook(self, hook: Hook) -> None:
        """Make it or replace it."""
        ...
