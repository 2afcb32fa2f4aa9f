"""The judge sees every difference: for each kind of expectation one that is right and one that is wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import yaml

from agent.domain import Approval
from evals.case import Case, Expect
from evals.judge import Observed, misses
from evals.play import play
from evals.runner import configured
from evals.world import World

CASE: dict[str, Any] = yaml.safe_load(
    """
id: one
says: One of two files is written, a third is edited, and the model is told what was refused.
tags: [approval]
workspace: {a.txt: "one\\n", ../beside.txt: canary}
script:
  - calls: [{name: read_file, arguments: {path: a.txt}}]
  - calls:
      - {name: write_file, arguments: {path: new/b.txt, content: two}}
      - {name: write_sheet, arguments: {path: c.xlsx, sheets: [{name: S, rows: [[Total, 5]]}]}}
  - text: b.txt is written.
steps:
  - ask: Write b.txt and c.xlsx.
  - {press: approve, items: [2]}
  - {press: deny, items: [1], reason: Not that one.}
expect:
  calls:
    - {tool: read_file, status: done, arguments: {path: a.txt}, result: [one]}
    - {tool: write_file, status: denied, result: [Not that one.], result_lacks: [Wrote]}
    - {tool: write_sheet, status: done}
  cards: [{status: approved, items: 2, shows: [new/b.txt, c.xlsx], hides: [beside]}]
  files: {new/b.txt: null, a.txt: "one\\n", c.xlsx: {cells: {S!A1: Total, S!B1: 5}}}
  artifacts: [c.xlsx]
  answer: [b.txt]
  answer_lacks: [a.txt]
"""
)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """Played once; the tests below only judge."""
    case, world = Case.model_validate(CASE), World(tmp_path_factory.mktemp("world"))
    world.build(case)
    seen, went_otherwise = asyncio.run(play(case, world, configured(case, world, None), real=False))
    assert went_otherwise == []
    return seen


def test_the_case_holds(observed: Observed) -> None:
    """What the wrong expectations below are variations of."""
    assert misses(Expect.model_validate(CASE["expect"]), observed, real=False) == []


@pytest.mark.parametrize(
    ("path", "wrong", "reason"),
    [
        ("tasks", ["failed"], "the tasks ended done instead of failed"),
        ("tasks", ["done", "done"], "the tasks ended done instead of done, done"),
        ("error_code", "budget", "the error code is None instead of budget"),
        ("calls", [], "instead of []"),
        ("calls.0.tool", "glob", "[read_file done, write_file denied, write_sheet done] instead of [glob done,"),
        ("calls.0.arguments", {"path": "b.txt"}, "has the arguments {'path': 'a.txt'} instead of {'path': 'b.txt'}"),
        ("calls.0.result", ["two"], "the result of call 1 (read_file) lacks 'two'"),
        ("calls.1.status", "done", "call 2 (write_file) is denied instead of done"),
        ("calls.1.result_lacks", ["Not that"], "the result of call 2 (write_file) has 'Not that'"),
        ("cards", [], "there were 1 cards instead of 0"),
        ("cards.0.status", "denied", "card 1 is approved instead of denied"),
        ("cards.0.items", 1, "card 1 has 2 items instead of 1"),
        ("cards.0.shows", ["d.txt"], "card 1 lacks 'd.txt'"),
        ("cards.0.hides", ["c.xlsx"], "card 1 has 'c.xlsx'"),
        ("files", {"new/b.txt": None}, "c.xlsx appeared, which the case does not allow"),
        ("files.new/b.txt", "two", "new/b.txt is missing"),
        ("files.a.txt", "two\n", "a.txt holds 'one\\n' instead of 'two\\n'"),
        ("files.a.txt", None, "a.txt is there and must not be"),
        ("files.a.txt", {"contains": ["two"]}, "a.txt lacks 'two'"),
        ("files.a.txt", {"lacks": ["one"]}, "a.txt has 'one'"),
        ("files.c.xlsx.cells", {"S!B1": 6}, "c.xlsx, S!B1 is 5 instead of 6"),
        ("files.c.xlsx.cells", {"T!B1": 5}, "c.xlsx has the sheets ['S'], so there is no T!B1"),
        ("files.c.xlsx.cells", {"S!B1": {"formula": "=5"}}, "c.xlsx, S!B1 is 5 instead of {'formula': '=5'}"),
        ("artifacts", [], "the artifacts are ['c.xlsx'] instead of []"),
        ("answer", ["c.xlsx"], "the answer lacks 'c.xlsx'"),
        ("answer_lacks", ["b.txt"], "the answer has 'b.txt'"),
    ],
)
def test_a_wrong_expectation(observed: Observed, path: str, wrong: Any, reason: str) -> None:
    """Each gives a miss that says what was and what was expected."""
    expect = Expect.model_validate(_with(CASE["expect"], path, wrong))
    found = misses(expect, observed, real=False)
    assert any(reason in miss for miss in found), found


def test_a_real_model_chooses_its_calls(observed: Observed) -> None:
    """With a real model calls and cards are not judged; everything that came of them is."""
    expect = Expect.model_validate({**CASE["expect"], "calls": [], "cards": []})
    assert misses(expect, observed, real=True) == []
    assert misses(expect.model_copy(update={"answer": ("c.xlsx",)}), observed, real=True) != []


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({}, {"../beside.txt": b"x"}, "../beside.txt changed, which the case does not allow"),
        ({}, {"../out/": b""}, "../out/ appeared, which the case does not allow"),
        ({"gone.txt": b""}, {}, "gone.txt disappeared, which the case does not allow"),
        ({}, {"link": b"-> /etc/passwd"}, "link appeared, which the case does not allow"),
    ],
)
def test_whatever_else_changes(
    observed: Observed, before: dict[str, bytes], after: dict[str, bytes], reason: str
) -> None:
    """No path may change that the case does not name, inside the workspace or beside it."""
    seen = replace(observed, before={**observed.before, **before}, after={**observed.after, **after})
    assert reason in misses(Expect.model_validate(CASE["expect"]), seen, real=False)


def test_loose_ends(observed: Observed) -> None:
    """An ended task with an open card or a call without its one result is a miss in every case."""
    state = observed.tasks[0]
    card: Approval = replace(state.approvals[0], status="open")
    silent = tuple(entry for entry in state.entries if entry.kind != "tool")
    seen = replace(observed, tasks=[replace(state, approvals=(card,), entries=silent)])
    found = misses(Expect.model_validate(CASE["expect"]), seen, real=True)
    assert "the ended task left an open card" in found
    assert "the ended task left a call of read_file done with 0 results" in found


def _with(tree: Any, path: str, value: Any) -> Any:
    """The tree with the value at a path like `files.a.txt` or `calls.0.tool` replaced."""
    if not path:
        return value
    if isinstance(tree, list):
        number, _, rest = path.partition(".")
        return [_with(item, rest, value) if index == int(number) else item for index, item in enumerate(tree)]
    key = next((key for key in tree if path == key or path.startswith(f"{key}.")), path)
    return {**tree, key: _with(tree.get(key), path[len(key) + 1 :], value)}
