"""The chat words: what is one, what it does, what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from agent.commands import WORDS, Command, parse, run
from agent.domain import OPERATOR, Address, Member, Session, TaskStatus, Verdict
from agent.errors import BadInput
from agent.ports.desk import CardLine, SkillLine, SkillLines, Spent, TaskLine
from agent.ports.files import FileInfo

AT = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
HERE = Session(session_id=7, address=Address(channel="console", conversation="operator"), workspace="office")


@dataclass
class Desk:
    """A desk with fixed things on it, which remembers what was done."""

    member: Member = OPERATOR
    session: Session | None = HERE
    workspace: str = "office"
    model: str = "demo"
    found: list[TaskLine] = field(default_factory=list)
    done: list[tuple[Any, ...]] = field(default_factory=list)

    def models(self) -> Sequence[str]:
        return ["demo", "large"]

    async def choose_model(self, name: str) -> None:
        self.done.append(("model", name))

    async def workspaces(self) -> Sequence[str]:
        return ["home", "office"]

    async def new_session(self, workspace: str | None = None) -> int:
        self.done.append(("new", workspace))
        return 8

    async def tasks(self, *, here: bool = False, limit: int = 10) -> Sequence[TaskLine]:
        return self.found[:limit]

    async def cancel(self, task_id: int) -> None:
        self.done.append(("cancel", task_id))

    async def cards(self) -> Sequence[CardLine]:
        return [CardLine(approval_id=3, task_id=1, status="open", titles=["Write a.md", "Write b.md"], waiting=2)]

    async def press(self, approval_id: int, verdict: Verdict, items: Sequence[int], reason: str) -> CardLine:
        self.done.append((approval_id, verdict, tuple(items), reason))
        return CardLine(approval_id=approval_id, task_id=1, status="open", titles=["a", "b"], waiting=1 if items else 0)

    async def files(self, path: str) -> Sequence[FileInfo]:
        self.done.append(("files", path))
        return [
            FileInfo(path="a", kind="folder"),
            *(FileInfo(path=f"{n}.md", kind="file", size_bytes=n) for n in range(50)),
        ]

    async def memory(self) -> str:
        return "x" * 5000

    async def skills(self) -> SkillLines:
        return SkillLines(
            skills=[SkillLine(name="digest", description="Makes one.")], problems=["bad/SKILL.md: no text"]
        )

    async def usage(self) -> tuple[Sequence[Spent], Sequence[Spent]]:
        spent = Spent(label="Today", calls=3, tokens=1200, cost_usd=Decimal("0.5"), unpriced=1)
        return [spent], []


def task(task_id: int, status: TaskStatus) -> TaskLine:
    return TaskLine(task_id=task_id, status=status, prompt="Do it\nnow", created_at=AT)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", ("help", "")),
        ("  /Help  ", ("help", "")),
        ("/deny 3 too\nlate", ("deny", "3 too\nlate")),
        ("/nothing at all", ("nothing", "at all")),
        ("/usr/bin is full", None),
        ("/2 of it", None),
        ("/", None),
        ("please /stop", None),
        ("", None),
    ],
)
def test_what_is_a_word(text: str, command: tuple[str, str] | None) -> None:
    """A slash and letters at the start, then a space or the end; a path is a request."""
    found = parse(text)
    assert (found and (found.word, found.rest)) == command


@pytest.mark.parametrize(
    ("text", "press"),
    [
        ("/approve 12", (12, "approved", (), "")),
        ("/approve #12 2", (12, "approved", (2,), "")),
        ("/deny 12", (12, "denied", (), "")),
        ("/deny 12 wrong quarter", (12, "denied", (), "wrong quarter")),
        ("/deny 12 2 wrong\nquarter", (12, "denied", (2,), "wrong\nquarter")),
    ],
)
async def test_presses(text: str, press: tuple[Any, ...]) -> None:
    """The card's number, an item's number, a reason."""
    desk = Desk()
    command = parse(text)
    assert command is not None
    await run(command, desk)
    assert desk.done == [press]


@pytest.mark.parametrize(
    "text", ["/approve", "/approve all", "/approve 1 2 3", "/approve 1 please", "/deny", "/deny it"]
)
async def test_a_press_that_is_none_says_how(text: str) -> None:
    """And decides nothing."""
    desk = Desk()
    command = parse(text)
    assert command is not None
    with pytest.raises(BadInput, match=r"^Write /(approve|deny)"):
        await run(command, desk)
    assert desk.done == []


async def answer(desk: Desk, text: str) -> str:
    command = parse(text)
    assert command is not None
    return (await run(command, desk)).text


async def test_an_unknown_word_names_help() -> None:
    """In one sentence."""
    assert await answer(Desk(), "/dance") == "There is no /dance; /help lists the words."


async def test_help_names_every_word() -> None:
    """Whoever adds a word adds it there."""
    said = await answer(Desk(), "/help")
    assert [word for word in WORDS if word != "help" and f"`/{word}" not in said] == []


async def test_stop_takes_the_one_at_work() -> None:
    """Which is the oldest that has not ended."""
    desk = Desk(found=[task(5, "queued"), task(4, "waiting_approval"), task(3, "done")])
    assert await answer(desk, "/stop") == "Task 4 is stopped. 1 more waits behind it; /stop again stops the next."
    assert desk.done == [("cancel", 4)]
    assert "told to stop" in await answer(Desk(found=[task(4, "running")]), "/stop")
    assert await answer(Desk(found=[task(3, "done")]), "/stop") == "Nothing is being worked on in this conversation."


async def test_new_and_workspace_go_on_elsewhere() -> None:
    """In the conversation they began."""
    desk = Desk()
    assert (await run(Command(word="new"), desk)).session_id == 8
    assert (await run(Command(word="workspace", rest="home"), desk)).session_id == 8
    assert desk.done == [("new", "office"), ("new", "home")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "/status",
            ["Workspace office, model demo.", "Task 4 is being worked on: Do it now", "Approval 3: Write a.md"],
        ),
        ("/tasks", ["4, 2026-03-02 08:30, is being worked on: Do it now"]),
        ("/files docs/", ["In office/docs:", "- a/", "- 3.md (3 bytes)", "… and 11 more."]),
        ("/model", ["demo (chosen)", "- large"]),
        ("/model large", ["answered by large"]),
        ("/workspace", ["- home", "office (here)"]),
        ("/memory", ["…xxx"]),
        ("/skills", ["digest: Makes one.", "Not loaded: bad/SKILL.md: no text"]),
        ("/usage", ["Today: 1,200 tokens, 0.50 USD, 3 calls, 1 of them at an unknown price"]),
        ("/whoami", ["You are operator (admin, approver, member), time zone UTC. Workspaces: home, office."]),
    ],
)
async def test_answers(text: str, parts: list[str]) -> None:
    """What each word tells."""
    said = await answer(Desk(found=[task(4, "running")]), text)
    assert [part for part in parts if part not in said] == []


async def test_nothing_is_said_as_such() -> None:
    """An empty list is a sentence."""
    assert await answer(Desk(), "/tasks") == "There are no tasks yet."
    assert "Nothing is being worked on" in await answer(Desk(), "/status")
