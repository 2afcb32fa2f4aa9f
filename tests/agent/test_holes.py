"""What is found wrong with policies beside the people there are."""

from __future__ import annotations

from typing import Any

import pytest

from agent.domain import OPERATOR, Member, Role
from agent.holes import Survey
from tests.agent.test_rules import rules

OFFICE, PLAIN = "office", "plain"
EVERYWHERE = "office, plain and private workspaces"
TOO_FEW_OTHERS = "cannot be approved, since too few others may. Name more people."
NO_SLACK = "slack:C1 (the channel slack does not run)"


def person(name: str, *roles: Role, identities: tuple[str, ...] = ()) -> Member:
    return Member(name=name, roles=frozenset({"member", *roles}), identities=frozenset(identities))


def found(
    *people: Member,
    to: Any = None,
    open_channels: tuple[str, ...] = (),
    closed_channels: tuple[str, ...] = (),
    **policies: Any,
) -> list[str]:
    """The holes of policies, the operator and these people being there; `!` stands before what blocks."""
    survey = Survey(
        rules=rules(**policies),
        people={member.name: member for member in (OPERATOR, *people)},
        to=to or {},
        channels={"console", "webhook", "lines"},
        open_channels=open_channels,
        closed_channels=closed_channels,
    )
    return [f"{'!' if hole.blocks else ''}{hole.text}" for hole in survey.holes()]


ANN = person("Ann", "admin", "approver")
BEN = person("Ben", identities=("lines:B1",))


@pytest.mark.parametrize("people", [(), (ANN, BEN)])
def test_nothing_is_wrong_with_the_defaults(people: tuple[Member, ...]) -> None:
    """Also before there are people: the operator decides."""
    assert found(*people) == []


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        pytest.param(
            {"agent": {"file:write": {"ask": []}}},
            f"!file:write in {EVERYWHERE}: it asks nobody, so it never runs. Name a role such as approver, or deny it.",
            id="nobody is asked",
        ),
        pytest.param(
            {"office": {"file:*": {"ask": ["approver"], "by": 3}}},
            "!file:read, file:write in office: it takes 3 of approver, and there is only operator and Ann, so it never "
            "runs. Add people with `signoff people`, or name others in the policy.",
            id="too few are there",
        ),
        pytest.param(
            {"agent": {"execute": {"ask": ["Ann"], "by": "other"}}},
            f"execute in {EVERYWHERE}: what Ann asks for {TOO_FEW_OTHERS}",
            id="the only one there is may not approve their own",
        ),
        pytest.param(
            {"agent": {"execute": {"ask": ["approver"], "by": ["other", 2]}}},
            f"execute in {EVERYWHERE}: what operator or Ann asks for {TOO_FEW_OTHERS}",
            id="two others are one too many",
        ),
        pytest.param(
            {"office": {"memory:write": "allow"}},
            "memory:write in office: it runs without asking anybody (webhooks and schedules ask all the same).",
            id="a change is allowed",
        ),
    ],
)
def test_powers(policies: Any, expected: str) -> None:
    """What nobody can approve, what some cannot, and what is not asked; the same problem is told once."""
    assert found(ANN, BEN, **policies) == [expected]


@pytest.mark.parametrize("agent", [{"*:read": "deny"}, {"*": "deny"}, {"execute": {"ask": ["approver"], "by": 2}}])
def test_what_is_meant_is_no_hole(agent: Any) -> None:
    """To deny is an answer, and two of two can decide."""
    assert found(ANN, BEN, agent=agent) == []


def test_groups_that_nobody_is_in_together() -> None:
    """E15: an approver for the workspace and Ben for the hook: nobody is both, so nothing from there is approved."""
    [hole] = found(ANN, BEN, stricter={"webhook:demo": {"file:write": {"ask": ["Ben"]}}})
    assert hole.startswith(
        f"!file:write in {EVERYWHERE} (by agent.stricter.webhook:demo): it takes approver and also Ben, "
        "and there is no such person, so it never runs."
    )


def test_a_person_who_could_only_ask_themselves() -> None:
    """What tightens for a person is looked at with that person asking."""
    own = {"Ann": {"execute": {"ask": ["Ann"], "by": "other"}}}
    [hole] = found(ANN, BEN, people=own)
    assert hole.startswith(f"!execute in {EVERYWHERE} (by the policy of Ann): it takes approver and also Ann, but not")


def test_a_role_that_nobody_has() -> None:
    """The operator has all of them; as soon as there are others, one should."""
    assert found(BEN) == []
    asked = found(BEN, agent={"file:write": {"ask": ["approver"]}})
    assert asked == [
        "Nobody but the operator has the role approver, which is asked. Give it to somebody with `signoff people`."
    ]
    assert found(agent={"file:write": {"ask": ["approver"]}}) == []
    assert asked == found(BEN, to={"office": ["approver"]}), "also where cards are shown"


ASKS = {"execute": {"ask": ["approver"]}}


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ({"stricter": {"webhook:demo": {"file:write": "allow"}}}, ["agent.stricter.webhook:demo.file:write"]),
        ({"stricter": {"webhook:demo": {"*": {"ask": ["approver"]}}}}, []),
        ({"stricter": {"webhook:demo": ASKS}}, ["agent.stricter.webhook:demo.execute"]),
        ({"people": {"Ben": {"file:write": "allow", "execute": "deny"}}}, ["the policy of Ben.file:write"]),
        ({"office": {"execute": "allow"}, "stricter": {"cli:*": ASKS}}, []),
        ({"office": {"execute": "allow"}, "stricter": {"cron:*": ASKS}}, ["agent.stricter.cron:*.execute"]),
    ],
)
def test_entries_that_tighten_nothing(policies: Any, expected: list[str]) -> None:
    """In no workspace, and by no kind of task that comes from there."""
    ends = " changes nothing: what it says holds without it. Take it out, or make it stricter."
    assert [hole.removesuffix(ends) for hole in found(ANN, BEN, **policies) if hole.endswith(ends)] == expected


def test_a_channel_that_does_not_run() -> None:
    """What is to hold there does not hold anywhere; a pattern over channels is another matter."""
    deny = {"execute": "deny"}
    assert found(ANN, stricter={"slack:C1": deny, "*:C1": deny, "lines:*": deny, "cron:x": deny, "cli:*": deny}) == [
        "agent.stricter.slack:C1 changes nothing: the channel slack does not run here."
    ]


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        (["lines:board", "console", "Ann", "approver"], []),
        (["slack:C1"], [f"!does not reach {NO_SLACK}, so nobody is told of a card."]),
        (
            ["Ben", "slack:C1", "lines:board"],
            [f"does not reach Ben (none who may decide this) and {NO_SLACK}."],
        ),
    ],
)
def test_where_cards_cannot_be_shown(to: list[str], expected: list[str]) -> None:
    """Because the channel does not run, or because whoever is named cannot decide."""
    told = [hole.replace("workspaces.office.approvals.to ", "") for hole in found(ANN, BEN, to={"office": to})]
    assert told == expected


def test_a_channel_for_everybody() -> None:
    """E15: an open door is said to be one."""
    assert found(ANN, open_channels=("lines",)) == [
        "channels.lines.allow lets everybody in who finds it; name people or conversations instead."
    ]


def test_what_blocks_comes_first() -> None:
    """Nobody reads to the end."""
    holes = found(ANN, agent={"execute": "allow", "network": {"ask": []}})
    assert [hole.startswith("!") for hole in holes] == [True, False]


def test_a_channel_that_lets_nobody_in() -> None:
    """Until somebody is known there; on another channel is not there."""
    [told] = found(ANN, closed_channels=("lines",))
    assert told.startswith("channels.lines lets nobody in: `allow` is empty and none of the people is known there.")
    assert len(found(ANN, person("Cem", identities=("other:lines",)), closed_channels=("lines",))) == 1
    assert found(ANN, BEN, closed_channels=("lines",)) == []
