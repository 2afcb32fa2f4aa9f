"""A case that says something it cannot mean is refused with its place, never played as something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import ConfigError
from evals.case import load_cases
from evals.runner import CASES

GOOD = """
cases:
- id: one
  says: A fact.
  tags: [files]
  script: [{text: hello}]
  steps: [{ask: Say hello.}]
  expect: {calls: []}
"""


def loaded(folder: Path, text: str) -> list[str]:
    (folder / "some.yaml").write_text(text, encoding="utf-8")
    return [case.id for case in load_cases(folder)]


def test_a_good_case(tmp_path: Path) -> None:
    """The texts below differ from this one in one place each."""
    assert loaded(tmp_path, GOOD) == ["one"]


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ("says: A fact.", "said: A fact.", r"some\.yaml, case one: said: there is no such key"),
        ("  says: A fact.\n", "", r"says is missing"),
        ("tags: [files]", "tags: [secure]", r"tags\.0: Input should be"),
        ("ask: Say hello.", "push: approve", r"steps\.0: a step is one of ask, press, change"),
        ("ask: Say hello.", "ask: Say hello., origin: slack", r"steps\.0\.origin: Input should be"),
        ("ask: Say hello.", "press: approve", "the first step is an ask"),
        ("calls: []", "files: {}", r"expect\.calls is missing"),
        ("calls: []", "calls: [], answers: [hello]", r"expect\.answers: there is no such key"),
        ("calls: []", "calls: [{tool: glob, status: ok}]", r"expect\.calls\.0\.status"),
        ("text: hello", "txt: hello", r"script\.0\.txt: there is no such key"),
        ("id: one", "id: One", r"case One: id: String should match"),
        ("says: A fact.", "says: A fact.\n  says: Another.", "the key 'says' stands there twice"),
        ("tags: [files]", "tags: [files]\n  workspace: {a: {text: x, link: y}}", "give one of text, link"),
        ("says: A fact.", "says: [", r"some\.yaml: line 6 is not valid YAML"),
        ("cases:", "case:", "must hold one list, `cases:`"),
    ],
)
def test_a_bad_case(tmp_path: Path, good: str, bad: str, complaint: str) -> None:
    """A key that is unknown, missing, doubled or of another kind is named with file, case and path."""
    with pytest.raises(ConfigError, match=complaint):
        loaded(tmp_path, GOOD.replace(good, bad, 1))


def test_two_cases_of_one_id(tmp_path: Path) -> None:
    """An id names one case, over all files."""
    (tmp_path / "other.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ConfigError, match="Two cases have the id 'one'"):
        loaded(tmp_path, GOOD)


def test_no_cases(tmp_path: Path) -> None:
    """A folder without cases is no success."""
    with pytest.raises(ConfigError, match="There is no case"):
        load_cases(tmp_path)


def test_the_cases_of_the_repository() -> None:
    """All of them load; every tool that takes a path has one for the paths it must refuse."""
    cases = load_cases(CASES)
    assert len(cases) >= 40
    security = [case for case in cases if "security" in case.tags]
    assert len(security) >= 12
    refused = {call.tool for case in security for call in case.expect.calls if call.status == "failed"}
    assert refused >= {
        *("list_files", "read_file", "glob", "grep", "write_file"),
        *("edit_file", "analyze_table", "write_sheet", "memory_write", "expand_skill"),
    }
