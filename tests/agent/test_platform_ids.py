"""Ids as people copy them from a platform into the configuration."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from agent.people import PersonSettings, is_identity
from agent.platform_ids import PlatformId, SlackMember, TelegramUser

PLATFORM: TypeAdapter[str] = TypeAdapter(PlatformId)
SLACK: TypeAdapter[str] = TypeAdapter(SlackMember)
TELEGRAM: TypeAdapter[str] = TypeAdapter(TelegramUser)


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        (PLATFORM, "C012AB3CD", "C012AB3CD"),
        (PLATFORM, -1001234567890, "-1001234567890"),
        (PLATFORM, "*", "*"),
        (SLACK, "U012AB3CD", "U012AB3CD"),
        (SLACK, "W1", "W1"),
        (TELEGRAM, 4242, "4242"),
        (TELEGRAM, "4242", "4242"),
    ],
)
def test_ids(kind: TypeAdapter[str], written: Any, read: str) -> None:
    """Texts or, where YAML reads one, numbers."""
    assert kind.validate_python(written) == read


@pytest.mark.parametrize(
    "written", ["@ann", "ann", "Ann", "#general", "general", "", " U1", "U1 ", "slack:U1", "U1/7", "U*"]
)
@pytest.mark.parametrize("kind", [PLATFORM, SLACK, TELEGRAM])
def test_names_are_no_ids(kind: TypeAdapter[str], written: str) -> None:
    """Anybody can take a name; and a pattern would let in more than it shows."""
    with pytest.raises(ValidationError, match="is no id"):
        kind.validate_python(written)


@pytest.mark.parametrize("written", [True, 1.5, None, ["U1"], "U1\n"])
@pytest.mark.parametrize("kind", [PLATFORM, SLACK, TELEGRAM])
def test_other_things_are_no_ids(kind: TypeAdapter[str], written: Any) -> None:
    """`yes` is a truth value in YAML."""
    with pytest.raises(ValidationError):
        kind.validate_python(written)


@pytest.mark.parametrize(
    ("kind", "written"), [(SLACK, "C012AB3CD"), (SLACK, "B01"), (TELEGRAM, -100123), (TELEGRAM, 0)]
)
def test_what_is_nobody(kind: TypeAdapter[str], written: Any) -> None:
    """Channels, bots, groups."""
    with pytest.raises(ValidationError, match="is no id"):
        kind.validate_python(written)


def test_a_person_is_known_by_them() -> None:
    """On each platform that is named; by nothing without them."""
    settings = {"name": "Ann", "slack": "U1", "telegram": 4242}
    assert PersonSettings.model_validate(settings).identities == {"slack:U1", "telegram:4242"}
    assert PersonSettings(name="Ann").identities == frozenset()
    assert all(map(is_identity, PersonSettings.model_validate(settings).identities))
