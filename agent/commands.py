"""The chat words: a message that begins with `/word` acts at once, makes no task and asks no model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import get_args

from agent import command_texts as texts
from agent.domain import TERMINAL, Outcome, Verdict
from agent.errors import BadInput
from agent.ids import ID
from agent.ports.desk import Desk

# A path such as /usr/bin is no word: whatever follows the letters must be a space or the end.
_WORD = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)
_VERDICT = re.compile(rf"#?({ID})(?:\s+([0-9]{{1,4}}))?(?:\s+(.*))?", re.DOTALL)
_OUTCOME = re.compile(rf"#?({ID})(?:\s+([0-9]{{1,4}}))?\s+({'|'.join(get_args(Outcome))})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A chat word in lower case, and what stands behind it."""

    word: str
    rest: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What is answered at once, as plain text that reads well as Markdown. `session_id`: go on in that conversation;
    `stop`: the task that is to be stopped once the answer is written down."""

    text: str
    session_id: int | None = None
    stop: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """A typed verdict on a card, or on one of its items, which counts like a button."""

    approval_id: int
    verdict: Verdict
    items: tuple[int, ...] = ()
    reason: str = ""
    outcome: Outcome | None = None


Answer = Reply | Judgement


def parse(text: str) -> Command | None:
    """The chat word that a message begins with; None for everything that is a request."""
    found = _WORD.fullmatch(text.strip())
    return Command(word=found[1].lower(), rest=(found[2] or "").strip()) if found else None


async def run(command: Command, desk: Desk) -> Answer:
    """Do what a chat word says, or say what is to be done; a BadInput or ToolError says in one sentence why that is
    not possible. A word that is run twice by mistake does no more than once."""
    handler = WORDS.get(command.word)
    if handler is None:
        return Reply(text=texts.unknown(command.word))
    return await handler(_Words(desk), command.rest)


class _Words:
    """A method for each word, with what stands behind it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def help(self, rest: str) -> Answer:
        return Reply(text=texts.HELP)

    async def new(self, rest: str) -> Answer:
        return Reply(text=texts.NEW, session_id=await self._desk.new_session(self._desk.workspace))

    async def stop(self, rest: str) -> Answer:
        """The oldest unfinished one is what a person sees at work; what waits behind it stays. A number names one, as
        the stop button of a platform does: by the time it is read, that one may have ended."""
        unfinished = [task for task in await self._desk.tasks(here=True, limit=50) if task.status not in TERMINAL]
        if rest:
            unfinished = [task for task in unfinished if str(task.task_id) == rest.removeprefix("#")]
        if not unfinished:
            return Reply(text=texts.NOTHING_TO_STOP)
        oldest = unfinished[-1]
        return Reply(text=texts.stopped(oldest, len(unfinished) - 1), stop=oldest.task_id)

    async def status(self, rest: str) -> Answer:
        unfinished = [task for task in await self._desk.tasks(here=True, limit=50) if task.status not in TERMINAL]
        return Reply(text=texts.status(self._desk, unfinished[::-1], await self._desk.cards()))

    async def tasks(self, rest: str) -> Answer:
        return Reply(text=texts.tasks(await self._desk.tasks(), self._desk.member.timezone))

    async def files(self, rest: str) -> Answer:
        path = rest.strip("/")
        return Reply(text=texts.files(self._desk.workspace, path, await self._desk.files(path)))

    async def model(self, rest: str) -> Answer:
        if not rest:
            return Reply(text=texts.models(self._desk.models(), self._desk.model))
        await self._desk.choose_model(rest)
        return Reply(text=texts.model_chosen(rest))

    async def usage(self, rest: str) -> Answer:
        return Reply(text=texts.usage(*await self._desk.usage()))

    async def memory(self, rest: str) -> Answer:
        return Reply(text=texts.memory(self._desk.workspace, await self._desk.memory()))

    async def skills(self, rest: str) -> Answer:
        return Reply(text=texts.skills(await self._desk.skills()))

    async def workspace(self, rest: str) -> Answer:
        if not rest:
            return Reply(text=texts.workspaces(await self._desk.workspaces(), self._desk.workspace))
        return Reply(text=texts.workspace_chosen(rest), session_id=await self._desk.new_session(rest))

    async def approve(self, rest: str) -> Answer:
        if told := _OUTCOME.fullmatch(rest):
            outcome = next(one for one in get_args(Outcome) if one == told[3])
            return Judgement(approval_id=int(told[1]), verdict="approved", items=_items(told[2]), outcome=outcome)
        found = _VERDICT.fullmatch(rest)
        if found is None or found[3]:
            raise BadInput(texts.HOW_TO_APPROVE)
        return Judgement(approval_id=int(found[1]), verdict="approved", items=_items(found[2]))

    async def deny(self, rest: str) -> Answer:
        found = _VERDICT.fullmatch(rest)
        if found is None:
            raise BadInput(texts.HOW_TO_DENY)
        return Judgement(
            approval_id=int(found[1]), verdict="denied", items=_items(found[2]), reason=(found[3] or "").strip()
        )

    async def changes(self, rest: str) -> Answer:
        number, *reason = rest.removeprefix("#").split(maxsplit=1)[:2] or ("",)
        if not reason or not re.fullmatch(ID, number):
            raise BadInput(texts.HOW_TO_ASK_FOR_CHANGES)
        return Judgement(approval_id=int(number), verdict="changes", reason=reason[0])

    async def pair(self, rest: str) -> Answer:
        code, *name = rest.split(maxsplit=1)[:2] or ("",)
        if not code:
            return Reply(text=texts.strangers(await self._desk.strangers(), self._desk.member.timezone))
        return Reply(text=texts.admitted(await self._desk.admit(code, name[0] if name else None)))

    async def whoami(self, rest: str) -> Answer:
        desk = self._desk
        return Reply(text=texts.whoami(desk, await desk.workspaces(), await desk.powers()))


def _items(number: str | None) -> tuple[int, ...]:
    return (int(number),) if number else ()


WORDS: Mapping[str, Callable[[_Words, str], Awaitable[Answer]]] = {
    "help": _Words.help,
    "new": _Words.new,
    "stop": _Words.stop,
    "status": _Words.status,
    "tasks": _Words.tasks,
    "files": _Words.files,
    "model": _Words.model,
    "usage": _Words.usage,
    "memory": _Words.memory,
    "skills": _Words.skills,
    "workspace": _Words.workspace,
    "approve": _Words.approve,
    "deny": _Words.deny,
    "changes": _Words.changes,
    "pair": _Words.pair,
    "whoami": _Words.whoami,
}
