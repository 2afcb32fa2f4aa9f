"""What the policies of agent, workspace, place and person come to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain import Address, ApproverRule, Origin
from agent.policy import DEFAULT_RULE, POWERS, Allow, Ask, Deny, PolicySettings, Rule, strictest
from agent.rules import Rules
from tests.agent.waiting import waiting

ATTENDED: tuple[Origin, ...] = ("message", "console", "cli")
UNATTENDED: tuple[Origin, ...] = ("webhook", "cron")


def asks(*names: str, **fields: Any) -> Ask:
    return Ask(ApproverRule(groups=(names,), **fields))


def rules(**policies: Any) -> Rules:
    """Of the agent, `stricter` and `people` by name, and those of the workspace `office`."""

    def read(entries: Any) -> PolicySettings:
        return PolicySettings.model_validate(entries)

    return Rules(
        agent=read(policies.get("agent", {})),
        workspaces={"office": read(policies.get("office", {})), "plain": PolicySettings()},
        stricter={pattern: read(entries) for pattern, entries in policies.get("stricter", {}).items()},
        people={name: read(entries) for name, entries in policies.get("people", {}).items()},
    )


@pytest.mark.parametrize(
    ("agent", "office", "expected"),
    [
        pytest.param({}, {}, Ask(DEFAULT_RULE), id="by default a change asks"),
        pytest.param({"file:write": "deny"}, {}, Deny(), id="the agent's"),
        pytest.param({"file:write": "deny"}, {"file:write": "allow"}, Allow(), id="the workspace's own first"),
        pytest.param({"file:write": "deny"}, {"*": {"ask": ["ann"]}}, asks("ann"), id="any entry of it"),
        pytest.param({"file:write": "allow"}, {"memory:write": "deny"}, Allow(), id="none about this power"),
    ],
)
def test_a_workspace_goes_before_the_agent(agent: Any, office: Any, expected: Rule) -> None:
    """Whatever it says, even looser; another workspace and the private ones have the agent's."""
    found = rules(agent=agent, office=office)
    assert found.over("file:write", "office", "message") == expected
    alone = rules(agent=agent).over("file:write", "office", "message")
    for other in ("plain", "private-1", None):
        assert found.over("file:write", other, "message") == alone


@pytest.mark.parametrize(
    ("office", "expected"),
    [
        ({}, asks("boss", always_ask=True)),
        ({"file:write": "allow"}, asks("boss", always_ask=True)),
        ({"file:write": {"ask": ["ann"]}}, asks("ann", always_ask=True)),
        ({"file:write": "deny"}, Deny()),
    ],
)
def test_what_always_asks_is_not_loosened(office: Any, expected: Rule) -> None:
    """A workspace may ask others or deny it, not do away with the question."""
    always = {"file:write": {"ask": ["boss"], "always_ask": True}}
    assert rules(agent=always, office=office).over("file:write", "office", "message") == expected


@pytest.mark.parametrize("origin", [*ATTENDED, *UNATTENDED])
def test_nobody_there_means_nothing_is_simply_allowed(origin: Origin) -> None:
    """`allow` for a power that is not :read does not hold for an unattended task, whoever says it: it asks."""
    expected = Ask(DEFAULT_RULE) if origin in UNATTENDED else Allow()
    for found in (rules(agent={"*": "allow"}), rules(office={"*": "allow"})):
        assert found.over("execute", "office", origin) == found.over("file:write", "office", origin) == expected
        assert found.over("file:read", "office", origin) == Allow()
    assert rules(agent={"*": "deny"}).over("file:read", None, origin) == Deny()


@pytest.mark.parametrize(
    ("stricter", "people", "expected"),
    [
        ({}, {}, asks("ann", expires_seconds=3_600)),
        ({"webhook:other": {"*": "deny"}}, {"bob": {"*": "deny"}}, asks("ann", expires_seconds=3_600)),
        ({"webhook:demo": {"file:write": "deny"}}, {}, Deny()),
        ({"webhook:*": {"file:write": "allow"}}, {}, asks("ann", expires_seconds=3_600)),
        ({}, {"ann": {"file:*": "deny"}}, Deny()),
        (
            {"webhook:demo": {"file:write": {"ask": ["boss"], "by": ["other", 2]}}, "*:*": {"*": {"ask": ["admin"]}}},
            {"ann": {"file:write": {"ask": ["cid"], "expires": "60s"}}},
            Ask(
                ApproverRule(
                    groups=(("ann",), ("boss",), ("admin",), ("cid",)), other=True, quorum=2, expires_seconds=60
                )
            ),
        ),
    ],
)
async def test_places_and_people_only_tighten(stricter: Any, people: Any, expected: Rule) -> None:
    """Everything that fits the task's conversation and requester holds on top of the policy."""
    found = rules(agent={"file:write": {"ask": ["ann"], "expires": "1h"}}, stricter=stricter, people=people)
    state = waiting()
    demo = replace(state.session, address=Address(channel="webhook", conversation="demo", thread="1"))
    assert await found.rule(replace(state, session=demo), "file:write") == expected


def test_what_tightens_does_not_replace_the_approver_of_an_unattended_task() -> None:
    """Where the policy allows, a hook asks an approver, and a stricter entry comes on top of that."""
    found = rules(agent={"*": "allow"}, stricter={"webhook:*": {"execute": {"ask": ["member"]}}})
    tightening = found.tightening(Address(channel="webhook", conversation="x"), "webhook:x")
    both = Ask(ApproverRule(groups=(("approver",), ("member",))))
    assert found.over("execute", "office", "webhook", tightening) == both


entries = st.dictionaries(
    st.sampled_from([*POWERS, "*", "*:read", "file:*"]),
    st.one_of(
        st.sampled_from(["allow", "deny"]),
        st.fixed_dictionaries(
            {"ask": st.lists(st.sampled_from(["ann", "approver"]), max_size=2)},
            optional={"by": st.sampled_from(["other", 2]), "always_ask": st.booleans()},
        ),
    ),
    max_size=4,
)


@given(agent=entries, office=entries, tighter=entries, power=st.sampled_from(POWERS), origin=st.sampled_from(ATTENDED))
def test_what_tightens_never_loosens(agent: Any, office: Any, tighter: Any, power: str, origin: Origin) -> None:
    """Whatever stands there: on top of a rule nothing gets looser, and the unattended never have it easier."""
    found = rules(agent=agent, office=office)
    before, own = found.over(power, "office", origin), PolicySettings.model_validate(tighter)
    after = found.over(power, "office", origin, [own])
    assert strictest(before, after) == after
    unattended = found.over(power, "office", "webhook", [own])
    assert strictest(after, unattended) == unattended
