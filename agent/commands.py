"""The chat words: a message that begins with `/word` acts at once, makes no task and asks no model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agent import command_texts as texts
from agent.domain import TERMINAL, Verdict
from agent.errors import BadInput
from agent.ports.desk import Desk

# A path such as /usr/bin is no word: whatever follows the letters must be a space or the end.
_WORD = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)
_PRESS = re.compile(r"#?([0-9]{1,18})(?:\s+([0-9]{1,4}))?(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A chat word in lower case, and what stands behind it."""

    word: str
    rest: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What is answered at once, as plain text that reads well as Markdown. `session_id`: go on in that conversation."""

    text: str
    session_id: int | None = None


def parse(text: str) -> Command | None:
    """The chat word that a message begins with; None for everything that is a request."""
    found = _WORD.fullmatch(text.strip())
    return Command(word=found[1].lower(), rest=(found[2] or "").strip()) if found else None


async def run(command: Command, desk: Desk) -> Reply:
    """Do what a chat word says; a BadInput says in one sentence why that is not possible."""
    handler = WORDS.get(command.word)
    if handler is None:
        return Reply(text=texts.unknown(command.word))
    return await handler(_Words(desk), command.rest)


class _Words:
    """A method for each word, with what stands behind it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def help(self, rest: str) -> Reply:
        return Reply(text=texts.HELP)

    async def new(self, rest: str) -> Reply:
        return Reply(text=texts.NEW, session_id=await self._desk.new_session(self._desk.workspace))

    async def stop(self, rest: str) -> Reply:
        """The oldest unfinished one is what a person sees at work; what waits behind it stays."""
        unfinished = [task for task in await self._desk.tasks(here=True, limit=50) if task.status not in TERMINAL]
        if not unfinished:
            return Reply(text=texts.NOTHING_TO_STOP)
        oldest = unfinished[-1]
        await self._desk.cancel(oldest.task_id)
        return Reply(text=texts.stopped(oldest, len(unfinished) - 1))

    async def status(self, rest: str) -> Reply:
        unfinished = [task for task in await self._desk.tasks(here=True, limit=50) if task.status not in TERMINAL]
        return Reply(text=texts.status(self._desk, unfinished[::-1], await self._desk.cards()))

    async def tasks(self, rest: str) -> Reply:
        return Reply(text=texts.tasks(await self._desk.tasks(), self._desk.member.timezone))

    async def files(self, rest: str) -> Reply:
        path = rest.strip("/")
        return Reply(text=texts.files(self._desk.workspace, path, await self._desk.files(path)))

    async def model(self, rest: str) -> Reply:
        if not rest:
            return Reply(text=texts.models(self._desk.models(), self._desk.model))
        await self._desk.choose_model(rest)
        return Reply(text=texts.model_chosen(rest))

    async def usage(self, rest: str) -> Reply:
        return Reply(text=texts.usage(*await self._desk.usage()))

    async def memory(self, rest: str) -> Reply:
        return Reply(text=texts.memory(self._desk.workspace, await self._desk.memory()))

    async def skills(self, rest: str) -> Reply:
        return Reply(text=texts.skills(await self._desk.skills()))

    async def workspace(self, rest: str) -> Reply:
        if not rest:
            return Reply(text=texts.workspaces(await self._desk.workspaces(), self._desk.workspace))
        return Reply(text=texts.workspace_chosen(rest), session_id=await self._desk.new_session(rest))

    async def approve(self, rest: str) -> Reply:
        return await self._press(rest, "approved")

    async def deny(self, rest: str) -> Reply:
        return await self._press(rest, "denied")

    async def _press(self, rest: str, verdict: Verdict) -> Reply:
        found = _PRESS.fullmatch(rest)
        if found is None or (verdict == "approved" and found[3]):
            raise BadInput(texts.HOW_TO_APPROVE if verdict == "approved" else texts.HOW_TO_DENY)
        items = (int(found[2]),) if found[2] else ()
        card = await self._desk.press(int(found[1]), verdict, items, found[3] or "")
        return Reply(text=texts.pressed(card, verdict, items))

    async def whoami(self, rest: str) -> Reply:
        return Reply(text=texts.whoami(self._desk.member, await self._desk.workspaces()))


WORDS: Mapping[str, Callable[[_Words, str], Awaitable[Reply]]] = {
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
    "whoami": _Words.whoami,
}
