"""The chat words: what is one, what it does, what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from agent import command_texts as texts
from agent.commands import WORDS, Answer, Command, Judgement, Reply, parse, run
from agent.domain import OPERATOR, Address, Approval, ButtonPress, Edit, Member, Session, TaskStatus
from agent.errors import BadInput
from agent.ports.desk import CardLine, PowerLine, SkillLine, SkillLines, Spent, TaskLine
from agent.ports.files import FileInfo
from agent.ports.people import Pairing

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
    waiting: list[Pairing] = field(default_factory=list)
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

    async def cards(self) -> Sequence[CardLine]:
        return [CardLine(approval_id=3, task_id=1, status="open", titles=["Write a.md", "Write b.md"])]

    async def decide(self, press: ButtonPress) -> Approval:
        raise NotImplementedError("a word only says what is to be decided")

    async def edit(self, edit: Edit) -> Approval:
        raise NotImplementedError("no word edits")

    async def ask_again(self, approval_id: int) -> int:
        raise NotImplementedError("no word asks again")

    async def powers(self) -> Sequence[PowerLine]:
        return [PowerLine(power="file:write", rule="asks approver")]

    async def strangers(self) -> Sequence[Pairing]:
        return self.waiting

    async def admit(self, code: str, name: str | None) -> Member:
        self.done.append(("admit", code, name))
        return Member(name=name or "Nell", identities=frozenset({"slack:U9"}))

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


async def act(desk: Desk, text: str) -> Answer:
    command = parse(text)
    assert command is not None
    return await run(command, desk)


async def answer(desk: Desk, text: str) -> str:
    reply = await act(desk, text)
    assert isinstance(reply, Reply)
    return reply.text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/approve 12", Judgement(approval_id=12, verdict="approved")),
        ("/approve #12 2", Judgement(approval_id=12, verdict="approved", items=(2,))),
        ("/approve 12 happened", Judgement(approval_id=12, verdict="approved", outcome="happened")),
        ("/approve 12 2 again", Judgement(approval_id=12, verdict="approved", items=(2,), outcome="again")),
        ("/deny 12", Judgement(approval_id=12, verdict="denied")),
        ("/deny 12 wrong quarter", Judgement(approval_id=12, verdict="denied", reason="wrong quarter")),
        ("/deny 12 2 wrong\nquarter", Judgement(approval_id=12, verdict="denied", items=(2,), reason="wrong\nquarter")),
        ("/changes 12 by\nregion", Judgement(approval_id=12, verdict="changes", reason="by\nregion")),
        ("/changes #12 2 columns", Judgement(approval_id=12, verdict="changes", reason="2 columns")),
    ],
)
async def test_typed_verdicts(text: str, meant: Judgement) -> None:
    """The card's number, an item's number, a reason or what happened; deciding is somebody else's work."""
    desk = Desk()
    assert await act(desk, text) == meant
    assert desk.done == []


@pytest.mark.parametrize(
    "text",
    [
        "/approve", "/approve all", "/approve 1 2 3", "/approve 1 please", "/deny", "/deny it", "/changes",
        "/changes 12", "/changes it now", "/changes # now",
    ],
)  # fmt: skip
async def test_a_verdict_that_is_none_says_how(text: str) -> None:
    """In a sentence with an example."""
    with pytest.raises(BadInput, match=r"^Write /(approve|deny|changes)"):
        await act(Desk(), text)


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("/pair ABCD-EFGH", ("admit", "ABCD-EFGH", None)),
        ("/pair abcdefgh Nell  Moe", ("admit", "abcdefgh", "Nell  Moe")),
    ],
)
async def test_pair_lets_in(text: str, done: tuple[Any, ...]) -> None:
    """By the code, under a name if one is said."""
    desk = Desk()
    assert "is let in as slack:U9" in await answer(desk, text)
    assert desk.done == [done]


async def test_lists_hide_nothing() -> None:
    """E22: what is asked for and what would be done is shown with what is unseen in it."""
    desk = Desk(found=[replace(task(4, "running"), prompt="Write\u202e it")])
    for word in ("/status", "/tasks"):
        assert "Write\\u202e it" in await answer(desk, word)
    card = CardLine(approval_id=1, task_id=4, status="open", titles=["Write a\u202etxt.exe"])
    assert "Write a\\u202etxt.exe" in texts.status(desk, [], [card])


async def test_pair_lists_who_waits_without_their_codes() -> None:
    """What a stranger calls themselves is shown with nothing hidden in it."""
    assert await answer(Desk(), "/pair") == "Nobody asks to be let in."
    asked = Pairing(identity="slack:U9", shown_name="Nell\u202e", code="ABCDEFGH", asked_at=AT, expires_at=AT)
    said = await answer(Desk(waiting=[asked]), "/pair")
    assert "Nell\\u202e (slack:U9), since 2026-03-02 08:30" in said
    assert "ABCD" not in said


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
    text = "Task 4 is stopped. 1 more waits behind it; /stop again stops the next."
    assert await act(desk, "/stop") == Reply(text=text, stop=4)
    assert "told to stop" in await answer(Desk(found=[task(4, "running")]), "/stop")
    assert await answer(Desk(found=[task(3, "done")]), "/stop") == "Nothing is being worked on in this conversation."


async def test_new_and_workspace_go_on_elsewhere() -> None:
    """In the conversation they began."""
    desk = Desk()
    assert await run(Command(word="new"), desk) == Reply(text=texts.NEW, session_id=8)
    assert await act(desk, "/workspace home") == Reply(text=texts.workspace_chosen("home"), session_id=8)
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
        (
            "/whoami",
            ["operator (admin, approver, member), time zone UTC.", "Workspaces: home, office.", "file:write: asks"],
        ),
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
