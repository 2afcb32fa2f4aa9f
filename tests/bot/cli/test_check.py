"""`signoff check --policy` as a process: who may do what, who decides, and what is wrong with that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.conftest import Home

pytestmark = pytest.mark.slow
AGENT = {
    "model": "script",
    "models": {"script": {"model": "scripted/script.yaml"}},
    "policy": {"memory:write": "allow", "execute": {"ask": ["Ann", "admin"], "by": [2, "other"]}},
    "stricter": {"webhook:*": {"file:write": "deny"}},
}
PEOPLE = [{"name": "Ann", "roles": ["approver"]}]


def configured(home: Home, **policy: Any) -> Home:
    (home.folder / "office").mkdir(exist_ok=True)
    office = {"path": "./office", "approvals": {"to": ["Ann"]}, "policy": policy}
    home.configure(agent=AGENT, people=PEOPLE, workspaces={"office": office})
    return home


def row(text: str, power: str) -> str:
    """The first line about a power, its columns a space apart."""
    return next(" ".join(line.split()) for line in text.splitlines() if line.startswith(power))


def test_tables_for_people(home: Home) -> None:
    """One for each workspace and one for all others, then what tightens, then the holes; exit 0 when nothing blocks."""
    told = configured(home, **{"memory:write": {"ask": ["Ann"]}}).signoff("check", "--policy").out
    office, others = told.split("Any other workspace (private ones):")
    assert office.startswith("Workspace office, asked at Ann:\n")
    assert row(office, "power") == "power when a person asks by itself (webhook, schedule) tools"
    assert row(office, "memory:write") == "memory:write asks Ann: Ann asks Ann: Ann memory_write"
    assert row(others, "memory:write") == "memory:write runs without asking asks approver: operator, Ann memory_write"
    assert row(others, "execute").startswith("execute asks 2 of Ann or admin, but not whoever asks: operator, Ann")
    assert row(others, "agent.stricter.webhook:*") == "agent.stricter.webhook:* file:write never runs"
    holes = others.split("Holes:\n")[1].splitlines()
    assert [hole.partition(":")[0] for hole in holes[:2]] == ["- execute in office and private workspaces", "- memory"]
    assert holes[2].startswith("- Nobody but the operator has the role admin")


def test_json_for_programs(home: Home) -> None:
    """The same as `/v1/policy`; exit 1 when something can never be approved."""
    shown = configured(home, **{"file:write": {"ask": []}}).signoff("check", "--policy", "--json", code=1).json
    assert [one["workspace"] for one in shown["workspaces"]] == ["office", None]
    powers = {power["power"]: power for power in shown["workspaces"][0]["powers"]}
    assert (powers["file:write"]["attended"]["able"], powers["file:write"]["tools"][0]) == ([], "edit_file")
    assert shown["holes"][0].startswith("file:write in office: it asks nobody")


def test_without_holes(home: Home) -> None:
    """Says so, as does `check` alone."""
    assert home.signoff("check", "--policy").out.endswith("\nNo holes.\n")
    assert "no holes" in home.signoff("check").out
