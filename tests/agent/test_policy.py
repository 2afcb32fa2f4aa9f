"""What one policy says about a power, who fits a rule, and what several rules come to."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent.domain import ApproverRule, Member, Role
from agent.policy import DEFAULT_RULE, Allow, Ask, Deny, PolicySettings, Rule, default, electors, fits, said, strictest

BOSS = {"ask": ["boss"], "expires": "90s"}
ASK_BOSS = Ask(ApproverRule(groups=(("boss",),), expires_seconds=90))
DAY = 86_400
NO_NUMBERS: list[Any] = [
    "others", 0, -1, 101, 10**30, True, 1.5, None, [], ["other", "other"], [2, 3], ["other", "x"], {},
]  # fmt: skip


def policy(**entries: Any) -> PolicySettings:
    return PolicySettings.model_validate({name.replace("__", ":"): value for name, value in entries.items()})


@pytest.mark.parametrize(
    ("settings", "power", "expected"),
    [
        pytest.param({}, "file:read", None, id="nothing"),
        pytest.param({"file:write": BOSS}, "file:write", ASK_BOSS, id="exact"),
        pytest.param({"file:write": "allow"}, "memory:write", None, id="another power"),
        pytest.param({"*": "deny", "file:*": BOSS}, "file:write", ASK_BOSS, id="the narrower pattern"),
        pytest.param({"file:*": BOSS, "*": "deny"}, "skill:read", Deny(), id="the wide one for the rest"),
        pytest.param({"file:writ?": "deny", "file:write": BOSS}, "file:write", ASK_BOSS, id="exact before pattern"),
        pytest.param({"f*e": "allow", "*te": "deny"}, "file:write", Deny(), id="of equals the stricter"),
        pytest.param({"*:read": "deny"}, "file:read", Deny(), id="reading can be denied"),
    ],
)
def test_the_best_entry_decides(settings: dict[str, Any], power: str, expected: Rule | None) -> None:
    """Exact names win over patterns, longer patterns over shorter, and without an entry nothing is said."""
    assert said(PolicySettings.model_validate(settings), power) == expected


def test_without_an_entry_changes_ask() -> None:
    """Reading is allowed, everything else asks an approver for a day, also a power without a colon."""
    assert default("file:read") == Allow()
    assert default("file:write") == default("execute") == Ask(DEFAULT_RULE)
    assert ApproverRule(groups=(("approver",),), expires_seconds=DAY) == DEFAULT_RULE


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, ApproverRule(groups=(("ann", "approver"),))),
        ({"by": "other"}, ApproverRule(groups=(("ann", "approver"),), other=True)),
        ({"by": 2}, ApproverRule(groups=(("ann", "approver"),), quorum=2)),
        ({"by": ["other", 2]}, ApproverRule(groups=(("ann", "approver"),), other=True, quorum=2)),
        ({"by": [3, "other"]}, ApproverRule(groups=(("ann", "approver"),), other=True, quorum=3)),
        ({"always_ask": True}, ApproverRule(groups=(("ann", "approver"),), always_ask=True)),
        ({"expires": "1h"}, ApproverRule(groups=(("ann", "approver"),), expires_seconds=3_600)),
    ],
)
def test_who_is_asked(written: dict[str, Any], expected: ApproverRule) -> None:
    """Roles and names, others than the requester, several people, a time, and whether it can be done away with."""
    assert said(policy(execute={"ask": ["ann", "approver"], **written}), "execute") == Ask(expected)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"file:wirte": "deny"}, ("file:wirte", "[key]")),
        ({"*:nothing": "deny"}, ("*:nothing", "[key]")),
        ({"[abcdefghijklmnop]*": "allow"}, ("[abcdefghijklmnop]*", "[key]")),
        ({"execute": "never"}, ("execute", "word")),
        ({"execute": None}, ("execute", "rule")),
        ({"execute": {}}, ("execute", "rule", "ask")),
        ({"execute": {"ask": ["a"], "bye": "other"}}, ("execute", "rule", "bye")),
        ({"execute": {"ask": ["a"], "expires": 24}}, ("execute", "rule", "expires")),
        ({"execute": {"ask": ["a"], "always_ask": "perhaps"}}, ("execute", "rule", "always_ask")),
        *(({"execute": {"ask": ["a"], "by": by}}, ("execute", "rule", "by")) for by in NO_NUMBERS),
    ],
)
def test_what_a_policy_may_not_say(settings: dict[str, Any], place: tuple[str, ...]) -> None:
    """A misspelt power or key, an unknown word, an odd number of people: refused with its place, it guards nothing."""
    with pytest.raises(ValidationError) as refused:
        PolicySettings.model_validate(settings)
    assert [error["loc"] for error in refused.value.errors()] == [place]


@pytest.mark.parametrize(
    ("groups", "allowed"),
    [
        ((), False),
        (((),), False),
        ((("approver",),), True),
        ((("ann",),), True),
        ((("admin", "ann"),), True),
        ((("admin",),), False),
        ((("bob", "Ann", "approver "),), False),
        ((("approver",), ("ann", "bob")), True),
        ((("approver",), ("admin",)), False),
        ((("approver",), ()), False),
    ],
)
def test_only_who_is_named_by_every_group_decides(groups: tuple[tuple[str, ...], ...], allowed: bool) -> None:
    """E15: by role or by name; an empty list is nobody, and an admin is no approver unless named."""
    ann = Member(name="ann", roles=frozenset({"member", "approver"}))
    assert fits(ann, ApproverRule(groups=groups), "somebody") is allowed


def test_whoever_asked_as_a_guest_is_the_same_person_once_known() -> None:
    """A guest is named by an identity; linked to somebody later, it is still that one who asked."""
    ann = Member(name="ann", roles=frozenset({"approver"}), identities=frozenset({"chat:A1"}))
    rule = ApproverRule(groups=(("approver",),), other=True)
    assert not fits(ann, rule, "chat:A1")
    assert fits(ann, rule, "chat:B1")


@pytest.mark.parametrize(("other", "requester", "able"), [(False, "ann", ["ann", "bob"]), (True, "ann", ["bob"])])
def test_whoever_asked_may_be_left_out(other: bool, requester: str, able: list[str]) -> None:
    """By name, however they are named by the rule."""
    people = {
        member.name: member
        for member in (
            Member(name="ann", roles=frozenset({"approver"})),
            Member(name="bob", roles=frozenset({"approver"})),
            Member(name="cid"),
        )
    }
    assert electors(ApproverRule(groups=(("approver", "ann"),), other=other), people, requester) == able


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([Allow()], Allow()),
        ([Allow(), Deny(), ASK_BOSS], Deny()),
        ([Allow(), ASK_BOSS], ASK_BOSS),
        ([ASK_BOSS, ASK_BOSS], ASK_BOSS),
        (
            [
                Ask(ApproverRule(groups=(("a",), ("b",)), quorum=2, expires_seconds=60)),
                Ask(ApproverRule(groups=(("b",), ("c",)), other=True, expires_seconds=90, always_ask=True)),
            ],
            Ask(
                ApproverRule(groups=(("a",), ("b",), ("c",)), other=True, quorum=2, expires_seconds=60, always_ask=True)
            ),
        ),
    ],
)
def test_what_satisfies_several_rules(rules: list[Rule], expected: Rule) -> None:
    """Deny before ask before allow; of two that ask every group, every condition and the shorter time."""
    assert strictest(*rules) == expected


names = st.sampled_from(["ann", "bob", *get_args(Role)])
asked = st.builds(
    ApproverRule,
    groups=st.lists(st.lists(names, max_size=3).map(tuple), min_size=1, max_size=2).map(tuple),
    other=st.booleans(),
    quorum=st.integers(1, 3),
)
rules = st.one_of(st.just(Allow()), st.just(Deny()), st.builds(Ask, asked))
members = st.builds(Member, name=st.sampled_from(["ann", "bob"]), roles=st.frozensets(st.sampled_from(get_args(Role))))


@given(first=rules, second=rules, member=members, requester=st.sampled_from(["ann", "bob", "cid"]))
def test_together_they_are_never_looser_than_one(first: Rule, second: Rule, member: Member, requester: str) -> None:
    """Whoever may decide under both may decide under each; what one denies or asks is not simply allowed."""
    both = strictest(first, second)
    for one in (first, second):
        match both:
            case Allow():
                assert one == Allow()
            case Ask(rule) if isinstance(one, Ask):
                assert rule.quorum >= one.rule.quorum
                assert fits(member, one.rule, requester) or not fits(member, rule, requester)
            case Ask():
                assert one == Allow()
