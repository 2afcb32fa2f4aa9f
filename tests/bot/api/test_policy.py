"""Who may do what, over `/v1`, and what is said of holes at the start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agent.policy import POWERS
from tests.bot.api.ruled import RULES, ruled
from tests.bot.api.site import ADMIN, Site

ASKS_NOBODY: dict[str, Any] = {"rule": None, "able": [], "expires_seconds": None, "always_ask": False}
ALLOWED = {"verdict": "allow", "says": "runs without asking", **ASKS_NOBODY}
DENIED = {"verdict": "deny", "says": "never runs", **ASKS_NOBODY}


def asked(*names: str, able: list[str], expires_seconds: int = 86_400, **fields: Any) -> dict[str, Any]:
    """A rule that asks, as it is shown."""
    rule = {"groups": [list(names)], "other": False, "quorum": 1}
    shown = {"verdict": "ask", "says": f"asks {' or '.join(names)}", "rule": rule, "able": able, "always_ask": False}
    return {**shown, "expires_seconds": expires_seconds, **fields}


BY_DEFAULT = asked("approver", able=[ADMIN, "ann", "bob"])


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with ruled(tmp_path, RULES) as site:
        yield site


async def test_an_admin_sees_everything(site: Site) -> None:
    """Each power in each workspace with the tools that use it, what tightens, and the holes."""
    shown = (await site.get(ADMIN, "/v1/policy")).json
    assert [one["workspace"] for one in shown["workspaces"]] == ["annes", "bobs", None]
    annes, bobs, private = ({power["power"]: power for power in one["powers"]} for one in shown["workspaces"])
    assert list(annes) == list(bobs) == list(private) == list(POWERS)
    assert annes["file:write"] == {
        "power": "file:write",
        "tools": ["edit_file", "write_file", "write_sheet"],
        "attended": ALLOWED,
        "unattended": BY_DEFAULT,
    }
    assert bobs["file:write"]["attended"] == private["file:write"]["unattended"] == BY_DEFAULT
    assert (annes["execute"]["tools"], annes["file:read"]["unattended"]["verdict"]) == ([], "allow")
    assert bobs["execute"]["attended"] == asked(
        "ann",
        able=["ann"],
        says="always asks ann, but not whoever asks",
        rule={"groups": [["ann"]], "other": True, "quorum": 1},
        expires_seconds=3_600,
        always_ask=True,
    )
    assert [one["asked_at"] for one in shown["workspaces"]] == [["approver"], [], []]
    assert shown["stricter"] == [
        {"place": "agent.stricter.webhook:*", "power": "memory:write", "rule": DENIED},
        {"place": "the policy of bob", "power": "file:write", "rule": asked("ann", able=["ann"])},
    ]
    assert [hole.partition(":")[0] for hole in shown["holes"]] == [
        "file",
        "execute in annes, bobs and private workspaces",
    ]


async def test_a_member_sees_what_concerns_them(site: Site) -> None:
    """Their workspaces and what is tightened for them; no holes, and nothing about others."""
    shown = (await site.get("bob", "/v1/policy")).json
    assert [one["workspace"] for one in shown["workspaces"]] == ["bobs", None]
    assert [one["place"] for one in shown["stricter"]] == ["the policy of bob"]
    assert shown["holes"] == []
    assert (await site.get("ann", "/v1/policy")).json["stricter"] == []


async def test_the_scope_is_needed(site: Site) -> None:
    """That of people: it names them."""
    token = await site.token("bob", ["tasks:read"])
    answer = await site.get(None, "/v1/policy", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status, answer.error["code"]) == (403, "missing_scope")


async def test_who_decides_follows_the_people(site: Site) -> None:
    """Somebody who is added counts at once."""
    await site.post(ADMIN, "/v1/people", {"name": "Cem", "roles": ["approver"]})
    shown = (await site.get(ADMIN, "/v1/policy")).json
    [power] = [one for one in shown["workspaces"][1]["powers"] if one["power"] == "file:write"]
    assert power["attended"]["able"] == [ADMIN, "ann", "bob", "Cem"]


async def test_a_start_warns_of_holes(tmp_path: Path) -> None:
    """E15: an empty list of approvers approves nothing, and whoever starts it is told."""
    with capture_logs() as logs:
        async with ruled(tmp_path, {"agent": {"policy": {"file:write": {"ask": []}}}}):
            pass
    [hole] = [log["hole"] for log in logs if log["event"] == "policy_hole_found"]
    assert hole.endswith("it asks nobody, so it never runs. Name a role such as approver, or deny it.")
