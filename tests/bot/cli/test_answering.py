"""What the operator says to a card without a verdict: at the prompt, and by going on in its conversation."""

from __future__ import annotations

import subprocess

from tests.bot.conftest import ROOT, Home


def verdicts(home: Home) -> list[tuple[str, str]]:
    """What was decided in the first task, and why."""
    journal = home.signoff("tasks", "1", "--json").json["journal"]
    return [(row["data"]["verdict"], row["data"]["reason"]) for row in journal if row["kind"] == "decision"]


def test_changes_are_asked_for_at_the_prompt(home: Home) -> None:
    """Nothing is written, and the agent goes on with what should be different."""
    home.signoff("ask", "write", typed="c\nby region\n")
    assert verdicts(home) == [("changes", "by region")]
    assert list((home.folder / "office").glob("*.md")) == []


def test_changes_without_a_wish_leave_the_card_open(home: Home) -> None:
    """Said in a sentence; the task waits on."""
    assert "Say what should be different." in home.signoff("ask", "write", typed="c\n\n", code=3).out
    assert verdicts(home) == [("refused", "Say what should be different.")]


def test_going_on_in_the_conversation_answers_the_card(home: Home) -> None:
    """It is no second task: the first one reads it."""
    home.signoff("ask", "write", "--session", "s", code=3)
    ran = home.signoff("ask", "by region", "--session", "s")
    assert ran.out.startswith("task 1\n")
    assert verdicts(home) == [("changes", "by region")]
    assert len(home.signoff("tasks", "--json").json["tasks"]) == 1


def test_what_waits_behind_a_card_says_so(home: Home) -> None:
    """A request with a file answers nothing; it is followed until its turn comes."""
    home.signoff("ask", "write", "--session", "s", code=3)
    (home.folder / "note.txt").write_text("x")
    command = home.command("ask", "hi", "--session", "s", "--file", str(home.folder / "note.txt"))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as behind:
        assert behind.stdout is not None
        lines = [behind.stdout.readline() for _ in range(2)]
        behind.terminate()
    assert lines == ["task 2\n", "It waits behind an earlier request here, which waits for an approval.\n"]
    assert verdicts(home) == []
