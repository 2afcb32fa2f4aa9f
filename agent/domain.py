"""The nouns of the product: frozen, keyword-only records without behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

Origin = Literal["message", "webhook", "cron", "console", "cli"]
UNATTENDED: frozenset[Origin] = frozenset({"webhook", "cron"})

TaskStatus = Literal["queued", "running", "waiting_approval", "done", "failed", "cancelled", "expired"]
TERMINAL: frozenset[TaskStatus] = frozenset({"done", "failed", "cancelled", "expired"})

CallStatus = Literal[
    "proposed", "waiting", "approved", "denied", "expired", "superseded", "cancelled", "started", "done", "failed",
    "unknown",
]  # fmt: skip
CLOSED_CALLS: frozenset[CallStatus] = frozenset(
    {"denied", "expired", "superseded", "cancelled", "done", "failed", "unknown"}
)

ApprovalStatus = Literal["open", "approved", "denied", "changes", "expired", "cancelled", "superseded"]
ApprovalKind = Literal["change", "outcome"]
Verdict = Literal["approved", "denied", "changes"]
"""`changes`: nothing runs, and the reason goes back to the model."""
Outcome = Literal["happened", "again", "skip"]
"""What a person says about a call whose effect is unknown: it took place, run it once more, or leave it."""

EntryKind = Literal["user", "assistant", "tool", "status", "decision", "artifact"]
COLLECTED: frozenset[str] = frozenset({"console", "webhook", "cli"})
"""Channels whose answers are fetched from the rows by whoever asked: a delivery to them is `sent` as it is written."""

DeliveryKind = Literal["reply", "approval", "settle", "notice", "file"]
DeliveryStatus = Literal["pending", "sent", "unsure", "failed", "expired"]
Role = Literal["member", "approver", "admin"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """Where a conversation takes place and where its answers go; as text `channel:conversation/thread`."""

    channel: str
    conversation: str
    thread: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A person we know. `operator` always exists: whoever owns the data directory.

    `identities` are the stable ids that platforms give this person, as `channel:id`; never names.
    """

    name: str
    identities: frozenset[str] = frozenset()
    roles: frozenset[Role] = frozenset({"member"})
    timezone: str = "UTC"
    budget_day_usd: Decimal | None = None


OPERATOR = Member(name="operator", roles=frozenset({"member", "approver", "admin"}))


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingFile:
    """A file somebody sent along; `content` is its whole bytes."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class AwaitedFile:
    """A file that still lies with the platform of a `channel`, under a `reference` that the channel can fetch.

    `size_bytes` is what the platform says, None when it says nothing.
    """

    channel: str
    reference: str
    name: str
    size_bytes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingMessage:
    """One request from outside, already plain text with the mention stripped.

    `dedup_key` is the sender's identity of the event: a second message with the same key makes no second task.
    `fingerprint` (SHA-256 of the raw body) tells a repeat from a reuse of the key for something else.
    `awaited_files` are fetched by the task's run, so that the event can be acknowledged at once; `message_id` is what
    the channel needs to find the message and its writer again, in a form of its own.
    `reply_to` empty means: answer where it came from.
    """

    dedup_key: str
    address: Address
    sender: str
    text: str
    origin: Origin
    received_at: datetime
    files: tuple[IncomingFile, ...] = ()
    awaited_files: tuple[AwaitedFile, ...] = ()
    message_id: str | None = None
    reply_to: tuple[Address, ...] = ()
    workspace: str | None = None
    follow_up_of: int | None = None
    fingerprint: str | None = None


ReceivedKind = Literal["message", "command", "press", "edit", "webhook"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """One authentic event of any kind: a second one with the same `dedup_key` does nothing. Kept for 30 days, and
    as long as its task.

    `outcome` is a word: `task`, `changes`, `decided`, `edited`, `command`, `stop`, `stranger`, `refused:<code of the
    error>`; of `stop`, `task_id` is the task to be stopped.
    `who` is a member's name or, of a stranger, the identity. `said` is what its sender was told at once.
    """

    dedup_key: str
    kind: ReceivedKind
    outcome: str
    who: str
    received_at: datetime
    task_id: int | None = None
    session_id: int | None = None
    fingerprint: str | None = None
    said: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ButtonPress:
    """A person's decision on a card: named by the card's `token` (a button) or by the approval's id (a command).

    `items` are 1-based positions on the card; empty means all that are still open and that this person may decide.
    `revision` is the card's as it was shown to them; None (a command) takes the card as it is now. `dedup_key` is the
    sender's identity of the event; `way` and `client` (an IP address) are for the audit.
    """

    dedup_key: str
    presser: Member
    verdict: Verdict
    pressed_at: datetime
    token: str | None = None
    approval_id: int | None = None
    revision: int | None = None
    items: tuple[int, ...] = ()
    reason: str = ""
    outcome: Outcome | None = None
    way: str = "chat"
    client: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """A person's own arguments for one item of a card, as JSON text; the card is shown again with them. `way` and
    `client` as of a press."""

    dedup_key: str
    editor: Member
    edited_at: datetime
    approval_id: int
    item: int
    arguments: str
    revision: int | None = None
    way: str = "chat"
    client: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One conversation: an Address, or a single webhook or cron run.

    `whole_from` and `summary_from` are the task seqs from which earlier conversation enters the prompt whole and as
    request + answer; they move in jumps, so that a provider's prefix cache keeps hitting.
    """

    session_id: int
    address: Address
    workspace: str
    title: str = ""
    model: str | None = None
    archived: bool = False
    whole_from: int = 1
    summary_from: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One request and all of its execution state; the journal holds what happened."""

    task_id: int
    session_id: int
    seq: int
    origin: Origin
    requester: str
    reply_to: tuple[Address, ...]
    workspace: str
    prompt: str
    files: tuple[str, ...]
    status: TaskStatus
    created_at: datetime
    run_after: datetime
    epoch: int = 0
    lease_owner: str | None = None
    crashes: int = 0
    cancel_requested: bool = False
    follow_up_of: int | None = None
    model: str | None = None
    awaited_files: tuple[AwaitedFile, ...] = ()
    message_id: str | None = None
    error_code: str | None = None
    error_text: str | None = None
    answer: str | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One row of a task's journal; `data` by kind:

    user       {"text", "files": [path], "missing"?: [{"name", "reason"}]}   `missing`: files that could not be fetched
    assistant  {"text", "calls": [{"id", "name", "arguments": text}], "reasoning"?, "model", "finish_reason",
               "usage": {"input_tokens", "output_tokens", "cached_tokens", "cost_usd": text or null}}
    tool       {"call_id", "name", "text", "status": call status, "net": bool}   `net`: the step had a net result
    status     {"status", "error_code"?, "text"?}
    decision   {"approval_id", "items": [number], "call_ids": [id], "sha256": [of each], "verdict": verdict or outcome,
               "by", "reason"};
               one of several that are needed has "vote": how many there are now;
               an edit: "verdict": "edited", "before", "after" (arguments);
               a press that changed nothing: "verdict": "refused", "tried", "code", "reason" (what the person was told)
    artifact   {"name", "path", "media_type", "size_bytes", "sha256"}
    """

    kind: EntryKind
    data: dict[str, Any]
    seq: int = 0
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A file that a call changes: its SHA-256 when the preview was made (None: it did not exist) and after the run."""

    path: str
    base_sha256: str | None
    intended_sha256: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApproverRule:
    """Who may decide a call: whoever each of the `groups` names by role or by name; an empty group is nobody.

    `other`: not the person who asked for the task. `quorum`: so many different people must approve; one denial ends it.
    `always_ask`: no grant and no looser policy of a workspace does away with the question.
    """

    groups: tuple[tuple[str, ...], ...] = ((),)
    other: bool = False
    quorum: int = 1
    expires_seconds: int = 86_400
    always_ask: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """The ledger row of a tool call. `arguments` is the normalised JSON text that will run, byte for byte.

    `rule` is who may decide it and `votes` are those who approved so far, both from when it was put on a card.
    `original` holds the model's own arguments once a person (`edited_by`) has changed them.
    """

    call_id: str
    task_id: int
    turn: int
    position: int
    tool: str
    capability: str
    arguments: str
    sha256: str
    status: CallStatus
    approval_id: int | None = None
    item: int | None = None
    joined_to: str | None = None
    targets: tuple[Target, ...] = ()
    preview: str = ""
    title: str = ""
    reason: str = ""
    decided_by: str | None = None
    rule: ApproverRule | None = None
    votes: tuple[str, ...] = ()
    original: str | None = None
    edited_by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """What a person is asked: the calls of one turn, each an item with a verdict and a rule of its own.

    `revision` counts how often what it shows has changed; `shown_at` is where it was sent. `remind_at` is when it is
    brought to mind once, None after that. An item that a newer card shows anew is here as this card showed it.
    """

    approval_id: int
    task_id: int
    token: str
    kind: ApprovalKind
    status: ApprovalStatus
    created_at: datetime
    expires_at: datetime
    items: tuple[Call, ...] = ()
    revision: int = 1
    shown_at: tuple[Address, ...] = ()
    remind_at: datetime | None = None
    note: str = ""
    decided_by: str | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """A file made by a task, its bytes immutable in the blob store under `sha256`."""

    artifact_id: int
    task_id: int
    name: str
    path: str
    media_type: str
    size_bytes: int
    sha256: str
    version: int
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """Something that leaves: sent in order per address, at least once, never twice under one `dedup_key`.

    `parts` are the platform's ids of what was sent of it so far, by attempts that did not come to its end.
    """

    delivery_id: int
    task_id: int | None
    kind: DeliveryKind
    to: Address
    text: str
    dedup_key: str
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime
    expires_at: datetime
    approval_id: int | None = None
    sent_as: str | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What one model call used; `cost_usd` None means unknown, never free."""

    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cost_usd: Decimal | None = None
    kind: Literal["chat", "scheduled"] = "chat"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hook:
    """An inbound webhook. Only the token's SHA-256 is stored; `callback_secret` signs what we send back."""

    name: str
    token_sha256: str
    workspace: str | None = None
    deliver: tuple[str, ...] = ("answer",)
    rate_per_minute: int | None = None
    callback_secret: str | None = None
