"""Who may do what, and who decides."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from agent import policy
from agent.domain import ApproverRule, Member, Origin
from agent.policy import Allow, Ask, Deny, PolicySettings, Rule

DEFAULT = Ask(ApproverRule(approvers=("approver",), expires_seconds=86_400))
BOSS = {"ask": ["boss"], "expires": "90s"}
ASK_BOSS = Ask(ApproverRule(approvers=("boss",), expires_seconds=90))


@pytest.mark.parametrize(
    ("settings", "capability", "expected"),
    [
        pytest.param({}, "file:read", Allow(), id="reading is allowed by default"),
        pytest.param({}, "file:write", DEFAULT, id="everything else asks"),
        pytest.param({}, "execute", DEFAULT, id="also a power without a colon"),
        pytest.param({"file:write": BOSS}, "file:write", ASK_BOSS, id="exact"),
        pytest.param({"file:write": "allow"}, "memory:write", DEFAULT, id="another power"),
        pytest.param({"*": "deny", "file:*": BOSS}, "file:write", ASK_BOSS, id="the narrower pattern"),
        pytest.param({"file:*": BOSS, "*": "deny"}, "skill:read", Deny(), id="the wide one for the rest"),
        pytest.param({"file:writ?": "deny", "file:write": BOSS}, "file:write", ASK_BOSS, id="exact before pattern"),
        pytest.param({"f*e": "allow", "*te": "deny"}, "file:write", Deny(), id="of equals the stricter"),
        pytest.param({"*:read": "deny"}, "file:read", Deny(), id="reading can be denied"),
        pytest.param({"file:read": {"ask": ["boss"]}}, "file:read", Ask(ApproverRule(approvers=("boss",))), id="24 h"),
    ],
)
@pytest.mark.parametrize("origin", ["message", "console", "cli", "webhook", "cron"])
def test_the_best_entry_decides(settings: dict[str, Any], capability: str, expected: Rule, origin: Origin) -> None:
    """Exact names win over patterns, longer patterns over shorter, and the default is to ask; the same for all."""
    assert policy.rule(PolicySettings.model_validate(settings), capability, origin) == expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [("message", Allow()), ("console", Allow()), ("cli", Allow()), ("webhook", DEFAULT), ("cron", DEFAULT)],
)
def test_nobody_there_means_nothing_is_simply_allowed(origin: Origin, expected: Rule) -> None:
    """`allow` for a power that is not :read does not hold for an unattended task: it asks."""
    settings = PolicySettings.model_validate({"*": "allow"})
    assert policy.rule(settings, "file:write", origin) == expected
    assert policy.rule(settings, "execute", origin) == expected
    assert policy.rule(settings, "file:read", origin) == Allow()


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"file:wirte": "deny"}, ("file:wirte", "[key]")),
        ({"*:nothing": "deny"}, ("*:nothing", "[key]")),
        ({"execute": "never"}, ("execute", "word")),
        ({"execute": None}, ("execute", "rule")),
        ({"execute": {}}, ("execute", "rule", "ask")),
        ({"execute": {"ask": ["a"], "by": "other"}}, ("execute", "rule", "by")),
        ({"execute": {"ask": ["a"], "expires": 24}}, ("execute", "rule", "expires")),
    ],
)
def test_what_a_policy_may_not_say(settings: dict[str, Any], place: tuple[str, ...]) -> None:
    """A misspelt power, an unknown word or key is refused with its place: it would protect nothing."""
    with pytest.raises(ValidationError) as refused:
        PolicySettings.model_validate(settings)
    assert [error["loc"] for error in refused.value.errors()] == [place]


@pytest.mark.parametrize(
    ("approvers", "allowed"),
    [
        ((), False),
        (("approver",), True),
        (("ann",), True),
        (("admin", "ann"), True),
        (("admin",), False),
        (("bob", "Ann", "approver "), False),
    ],
)
def test_only_who_is_named_decides(approvers: tuple[str, ...], allowed: bool) -> None:
    """E15: by role or by name; an empty list is nobody, and an admin is no approver unless named."""
    assert policy.may_decide(Member(name="ann", roles=frozenset({"member", "approver"})), approvers) is allowed
