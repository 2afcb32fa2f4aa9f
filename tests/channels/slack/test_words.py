"""Chat words as people can type them in Slack."""

from __future__ import annotations

import pytest

from agent.commands import WORDS, parse
from channels.slack.words import as_word, is_word


@pytest.mark.parametrize("word", WORDS)
def test_every_word_works_without_its_slash(word: str) -> None:
    """SLE-21: in direct messages and threads nobody can begin a message with one."""
    found = parse(as_word(word.title()))
    assert found is not None
    assert found.word == word


@pytest.mark.parametrize(
    "text",
    [
        "approve 12",
        "approve #12 2",
        "Deny 12 wrong quarter",
        "changes 3 by region\nplease",
        "pair ABCD-EFGH",
        "pair abcdefgh Eve",
    ],
)
def test_what_decides_works_with_its_number(text: str) -> None:
    """As with the slash."""
    assert as_word(text) == f"/{text}"


@pytest.mark.parametrize(
    "text",
    [
        "new slides, please",
        "approve of it?",
        "status of the invoices",
        "pair programming tips",
        "files?",
        "/help",
        "",
        "  ",
        "denying 12",
        "model x",
    ],
)
def test_requests_are_left_alone(text: str) -> None:
    """Also those that begin like a word; behind the command they are words."""
    assert as_word(text) == text
    assert is_word("model x")
    assert not is_word("")
