"""Addresses as they are written in the configuration."""

from __future__ import annotations

import pytest

from agent.addresses import matches, parse
from agent.domain import Address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("slack:C0123", Address(channel="slack", conversation="C0123")),
        ("slack:C0123/17.5", Address(channel="slack", conversation="C0123", thread="17.5")),
        ("telegram:-100123/7", Address(channel="telegram", conversation="-100123", thread="7")),
        ("console", None),
        ("Ann", None),
        (":C0123", None),
        ("slack:", None),
        ("Slack:C1", None),
        ("slack:C 1", None),
        ("slack:C1/", None),
        ("", None),
    ],
)
def test_what_a_text_names(text: str, expected: Address | None) -> None:
    """A conversation, with its thread if it has one; anything else is none."""
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("slack:C0123", True),
        ("slack:C*", True),
        ("*:*", True),
        ("slack:C0123/17", True),
        ("slack:C0123/*", True),
        ("slack:C0123/18", False),
        ("slack:C01", False),
        ("SLACK:C0123", False),
        ("telegram:*", False),
    ],
)
def test_patterns_fit_the_conversation_or_its_thread(pattern: str, fits: bool) -> None:
    """Shell-style, upper and lower case being two."""
    assert matches(Address(channel="slack", conversation="C0123", thread="17"), pattern) is fits


def test_a_pattern_over_threads_fits_a_conversation_without_one() -> None:
    """`slack:C1/*` means everything there."""
    assert matches(Address(channel="slack", conversation="C1"), "slack:C1/*")
