"""The one way in: every entrance hands its message here, and a durable task comes out."""

from __future__ import annotations

import hashlib
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePosixPath

from agent import texts
from agent.command_texts import queued
from agent.domain import COLLECTED, Address, IncomingFile, IncomingMessage, TaskStatus
from agent.errors import BadInput, Draining, TargetChanged, ToolError
from agent.ports.files import WorkspaceFiles, Workspaces
from agent.ports.store import Accepted, NewDelivery, Store
from agent.tool import clean, in_thread

TEXT_LIMIT = 40_000
"""Characters of one request; more belongs into a file. (Slack truncates messages over 40,000.)"""
NOTICE_LIFE = timedelta(hours=1)
"""How long it is tried to say something at once; later nobody remembers what it answers."""
NAME_BYTES = 200
"""Of a file's name; file systems take 255, and a number may be added."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_MEANING = frozenset(':*?"<>|')
"""Characters that a shell or another system reads as more than a name."""


@dataclass(kw_only=True)
class TaskInbox:
    """Accepts messages until the process drains."""

    store: Store
    workspaces: Workspaces
    draining: bool = field(default=False)

    def checked(self, message: IncomingMessage) -> IncomingMessage:
        """The message as it will be read: Draining; BadInput for one that is empty or too long."""
        if self.draining:
            raise Draining(texts.DRAINING)
        text = clean(message.text).strip()
        if not text and not message.files and not message.awaited_files:
            raise BadInput("The request is empty. Say what should be done.", field="text")
        if len(text) > TEXT_LIMIT:
            raise BadInput(f"The request has {len(text)} characters; at most {TEXT_LIMIT} are read.", field="text")
        return replace(message, text=text)

    async def accept(self, message: IncomingMessage) -> Accepted:
        """Make the task durable; only after this returns may the event be acknowledged.

        Files are kept below `inbox/` first, so that a committed task never names a file that is not there.
        """
        message = self.checked(message)
        workspace = message.workspace or self.workspaces.for_address(message.address)
        files = await self._kept(message, workspace) if message.files else ()
        return await self.store.accept(message, workspace=workspace, files=files, waits=partial(_waits, message))

    async def _kept(self, message: IncomingMessage, workspace: str) -> tuple[str, ...]:
        """The paths of the files sent along; those of a repeat were kept before and may be gone on purpose."""
        if await self.store.received(message.dedup_key) is not None:
            return ()
        files = self.workspaces.open(workspace)
        try:
            return tuple([await in_thread(keep, files, file) for file in message.files])
        except ToolError as error:
            raise BadInput(f"The files could not be kept: {error}", field="files") from None


def notice(to: Address, key: str, text: str, now: datetime) -> NewDelivery:
    """What is said at once in a conversation, under a key of its own."""
    collected = to.channel in COLLECTED
    return NewDelivery(
        kind="notice", to=to, text=text, dedup_key=key, expires_at=now + NOTICE_LIFE, collected=collected
    )


def _waits(message: IncomingMessage, task_id: int, behind: TaskStatus) -> tuple[NewDelivery, ...]:
    """In a chat nobody sees that a request waits for another one; elsewhere its status says so."""
    if message.origin != "message":
        return ()
    text, now = queued(behind), message.received_at
    return tuple(notice(to, f"queued:{task_id}:{number}", text, now) for number, to in enumerate(message.reply_to))


def keep(files: WorkspaceFiles, file: IncomingFile) -> str:
    """Save a file below `inbox/` under its own name; another content of that name gets a number."""
    name = PurePosixPath(file_name(file.name))
    wanted = hashlib.sha256(file.content).hexdigest()
    for number in range(1, 1000):
        path = f"inbox/{name}" if number == 1 else f"inbox/{name.stem}-{number}{name.suffix}"
        if files.sha256(path) is None:
            with suppress(TargetChanged):  # another request sends a file of this name at the same moment
                files.write(path, file.content, expected=None, area="system")
        if files.sha256(path) == wanted:
            return path
    raise BadInput(f"There are too many files named {name} in the inbox. Send it under another name.", field="files")


def file_name(name: str) -> str:
    """The last part of a name somebody else chose, without what a file system or a shell would trip over."""
    last = clean(name).replace("\\", "/").rsplit("/", 1)[-1]
    plain = "".join("_" if unicodedata.category(c) in _UNSEEN or c in _MEANING else c for c in last).strip(". ")
    ending = PurePosixPath(plain).suffix
    ending = ending if len(ending.encode()) <= NAME_BYTES // 4 else ""
    stem = plain.removesuffix(ending).encode()[: NAME_BYTES - len(ending.encode())].decode(errors="ignore")
    return (stem.rstrip(". ") + ending) or "file"
