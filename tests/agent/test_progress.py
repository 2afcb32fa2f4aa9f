"""A task that goes nowhere is stopped, one that waits for something is not."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from agent import progress
from agent.domain import Call, Entry
from agent.progress import ProgressSettings
from tests.agent.journal import result, says

SETTINGS = ProgressSettings()


def call(name: str = "list_files", arguments: str = '{"path": "."}') -> Call:
    return Call(
        call_id="",
        task_id=1,
        turn=1,
        position=1,
        tool=name,
        capability="file:read",
        arguments=arguments,
        sha256="",
        status="proposed",
    )


@dataclass
class Played:
    """A task whose model makes calls one after the other, as the loop treats them."""

    settings: ProgressSettings = SETTINGS
    entries: list[Entry] = field(default_factory=list)

    def calls(self, text: str, *, of: Call | None = None, fails: bool = False, changed: bool = False) -> str:
        """Make the call; what the model reads."""
        made, call_id = of or call(), f"c{len(self.entries)}"
        self.entries.append(says("", (call_id, made.tool, made.arguments)))
        refused = progress.refusal(self.entries, made, self.settings)
        if refused or fails:
            shown, net = refused or text, False
        else:
            judged = progress.judge(self.entries, made, text, changed=changed, settings=self.settings)
            shown, net = text + judged.warning, judged.net
        status = "failed" if refused or fails else "done"
        self.entries.append(result(call_id, shown, status=status, net=net))
        return shown

    def stop(self, steps: int = 120) -> str | None:
        stop = progress.check(self.entries, self.settings, steps)
        return stop.code if stop else None


def test_the_same_call_with_the_same_result_is_warned_about_then_refused() -> None:
    """C1: the 2nd time it is warned about, the 4th refused, and the task ends after eight steps without news."""
    played = Played()
    shown = [played.calls("a.md") for _ in range(9)]
    assert shown[0] == "a.md"
    assert all(text.startswith("a.md\n\n[The same call gave the same result") for text in shown[1:3])
    assert all(text.startswith("Not run: the same call gave the same result") for text in shown[3:])
    assert played.stop() == "no_progress"
    played.entries = played.entries[:-2]
    assert played.stop() is None


def test_polling_with_different_results_goes_on() -> None:
    """C3: the same call whose result changes is progress each time."""
    played = Played()
    for percent in range(100):
        assert played.calls(f"{percent} %") == f"{percent} %"
        assert played.stop() is None


def test_polling_in_other_words_than_news_is_stopped() -> None:
    """Results that only alternate are not new in this task."""
    played = Played()
    shown = [played.calls(text) for text in ("on", "off") * 4]
    assert shown[:2] == ["on", "off"]
    assert shown[-1].startswith("Not run")


def test_a_failing_call_is_refused_sooner() -> None:
    """C4: the 3rd try of a call that fails is not made, and the reason is said."""
    played = Played()
    shown = [played.calls(f"too big ({number})", fails=True) for number in range(3)]
    assert shown[:2] == ["too big (0)", "too big (1)"]
    assert shown[2] == ("Not run: the same call has failed before (tries: 2). Try another way, or say what fails.")


def test_a_success_in_between_clears_the_failures() -> None:
    """Two failures, then a result: the call may fail again."""
    played = Played()
    for fails in (True, True):
        played.calls("busy", fails=fails)
    played.entries = [*played.entries, says("", ("ok", "list_files", '{"path": "."}')), result("ok", "a.md")]
    assert played.calls("busy", fails=True) == "busy"


@pytest.mark.parametrize("fails", [True, False])
def test_after_a_change_the_same_call_may_be_made_again(fails: bool) -> None:
    """A file that was read three times, or could not be edited twice, is another one once it was written."""
    played = Played()
    for _ in range(4):
        played.calls("as it was", fails=fails)
    assert played.calls("as it was", fails=fails).startswith("Not run")
    played.entries.append(Entry(kind="artifact", data={"path": "a.md"}))
    assert played.calls("now other", fails=fails) == "now other"


def test_other_arguments_are_another_call() -> None:
    """Reading on from the next offset is never a repetition."""
    played = Played()
    for offset in range(10):
        assert played.calls("same text", of=call("read_file", f'{{"offset": {offset}}}')) == "same text"


def test_a_change_is_news_however_often_it_says_the_same() -> None:
    """The same line appended five times changes the file five times."""
    played = Played()
    assert [played.calls("saved", of=call("memory_write"), changed=True) for _ in range(5)] == ["saved"] * 5


def test_a_file_with_the_whole_result_does_not_make_it_new() -> None:
    """Long results name a new file each time; the text before it decides."""
    played = Played()
    played.calls("long… read_file('.signoff/results/7/2.txt', offset=9)")
    assert "same result" in played.calls("long… read_file('.signoff/results/7/14.txt', offset=9)")


def test_an_artifact_makes_a_step_count() -> None:
    """A step that made a file is progress even if its call said nothing new."""
    played = Played(settings=ProgressSettings(stall=2))
    played.calls("x")
    for _ in range(2):
        played.calls("x")
    assert played.stop() == "no_progress"
    played.entries.append(Entry(kind="artifact", data={"path": "a.md"}))
    assert played.stop() is None


def test_steps_are_the_last_resort() -> None:
    """A task that always finds something new still ends after so many steps, and says which key sets it."""
    played = Played()
    for number in range(5):
        played.calls(str(number))
    assert played.stop(steps=6) is None
    stop = progress.check(played.entries, SETTINGS, 5)
    assert stop
    assert (stop.code, "agent.steps" in stop.reason) == ("step_limit", True)


def test_damaged_rows_count_for_nothing() -> None:
    """B17: the rules read what is there."""
    rows = [Entry(kind="assistant", data={}), Entry(kind="tool", data={}), Entry(kind="status", data={})]
    assert progress.check(rows, SETTINGS, 120) is None
    assert progress.refusal(rows, call(), SETTINGS) is None


@pytest.mark.parametrize(("repeat", "runs"), [(2, 1), (3, 2), (6, 5)])
def test_the_limit_is_configured(repeat: int, runs: int) -> None:
    """C1: N is in the configuration."""
    played = Played(settings=ProgressSettings(repeat=repeat))
    shown = [played.calls("x") for _ in range(8)]
    assert sum(not text.startswith("Not run") for text in shown) == runs
