"""Cases played on the product: what holds, what does not, and how that is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.errors import BadInput, ConfigError
from evals.case import Case
from evals.runner import judged, main, run

WRITE = {"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}
CASE: dict[str, Any] = {
    "id": "one",
    "says": "An approved write happens.",
    "tags": ["files", "real"],
    "script": [{"calls": [WRITE]}, {"text": "Done."}],
    "steps": [{"ask": "Write a.txt."}, {"press": "approve"}],
    "expect": {
        "calls": [{"tool": "write_file", "status": "done"}],
        "cards": [{"status": "approved"}],
        "files": {"a.txt": "x"},
        "artifacts": ["a.txt"],
    },
}
TWICE = [*CASE["steps"], {"press": "approve"}]


async def test_a_case_that_holds() -> None:
    """Its result says so and gives no reason."""
    result = await judged(Case.model_validate(CASE))
    assert (result.passed, result.reason) == (True, "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"steps": CASE["steps"][:1]}, "the tasks ended waiting_approval instead of done"),
        ({"steps": TWICE}, "step 3: the press was answered ['already_decided'] instead of [None]"),
        (
            {"steps": [CASE["steps"][0], {"press": "approve", "refused": "already_decided"}]},
            "step 2: the press was answered [None] instead of ['already_decided']",
        ),
        (
            {"steps": [CASE["steps"][0], {"press": "approve", "at_once": 3}]},
            "step 2: the press was answered",
        ),
        ({"steps": [CASE["steps"][0], {"press": "approve", "card": 2}]}, "step 2: there is no card 2, but 1 in all"),
        ({"steps": [*CASE["steps"], {"cancel": True}]}, "step 3: Conflict: Task 1 has ended already: done."),
        ({"script": [{"calls": [WRITE], "knows": "canary"}]}, "was not told 'canary'"),
        ({"settings": {"agent": {"stepps": 3}}}, "config.yaml: agent.stepps: there is no such key"),
    ],
)
async def test_a_case_that_is_missed(changes: dict[str, Any], reason: str) -> None:
    """Its result says in words what went otherwise."""
    result = await judged(Case.model_validate({**CASE, **changes}))
    assert not result.passed
    assert reason in result.reason


def test_the_table_and_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 on any miss, as a table and as JSON; 0 when all hold."""
    folder = _cases(tmp_path, CASE, {**CASE, "id": "two", "steps": CASE["steps"][:1]})
    config = tmp_path / "not-needed.yaml"
    assert main(real=None, tag=None, as_json=True, config=config, folder=folder) == 1
    one, two = json.loads(capsys.readouterr().out)["cases"]
    assert one == {"id": "one", "tags": ["files", "real"], "passed": True, "reason": ""}
    assert (two["id"], two["passed"]) == ("two", False)
    assert "waiting_approval" in two["reason"]
    assert main(real=None, tag="files", as_json=False, config=config, folder=folder) == 1
    assert "1 of 2 cases held" in capsys.readouterr().out
    assert main(real=None, tag=None, as_json=False, config=config, folder=_cases(tmp_path, CASE)) == 0


@pytest.mark.slow
async def test_every_case_of_the_repository_holds(tmp_path: Path) -> None:
    """The same as `make eval`, so that a case that no longer holds stops a change."""
    results = await run(set(), None, tmp_path)
    assert [(result.id, result.reason) for result in results if not result.passed] == []


async def test_a_tag_without_cases(tmp_path: Path) -> None:
    """To run nothing is a mistake and no success."""
    with pytest.raises(BadInput, match="No case has the tag skills"):
        await run({"skills"}, None, tmp_path, _cases(tmp_path, CASE))


async def test_a_configured_model(tmp_path: Path) -> None:
    """`--real` plays the cases tagged so on a model of the configuration, and does not judge which calls it makes."""
    script = [{"calls": [{"name": "list_files", "arguments": {}}]}, *CASE["script"]]
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(script), encoding="utf-8")
    config = tmp_path / "config.yaml"
    models = {"mine": {"model": f"scripted/{tmp_path}/other.yaml"}, "demo": {"model": "scripted/demo"}}
    config.write_text(yaml.safe_dump({"agent": {"model": "demo", "models": models}}), encoding="utf-8")
    folder = _cases(tmp_path, CASE, {**CASE, "id": "two", "tags": ["files"]})
    results = await run(set(), "mine", config, folder)
    assert [(result.id, result.passed, result.reason) for result in results] == [("one", True, "")]
    with pytest.raises(BadInput, match=r"no model 'yours' under agent\.models"):
        await run(set(), "yours", config, folder)
    with pytest.raises(ConfigError):
        await run(set(), "mine", tmp_path / "missing.yaml", folder)


def _cases(folder: Path, *cases: dict[str, Any]) -> Path:
    (folder / "cases").mkdir(exist_ok=True)
    (folder / "cases" / "some.yaml").write_text(yaml.safe_dump({"cases": list(cases)}), encoding="utf-8")
    return folder / "cases"
