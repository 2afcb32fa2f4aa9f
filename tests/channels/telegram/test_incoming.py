"""What a person wrote, as the model reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.incoming import Mark, Me, Said, album_text, goes_on, joined, said

OPS = Me(user_id=7, username="Ops_bot")


def mark(kind: str, offset: int, length: int, url: str | None = None, language: str | None = None) -> Mark:
    return Mark(kind=kind, offset=offset, length=length, url=url, language=language)


@pytest.mark.parametrize(
    ("text", "marks", "expected"),
    [
        pytest.param(
            "/status@Other_Bot",
            [mark("bot_command", 0, 17)],
            Said(text="/status@Other_Bot", command="status", for_another=True),
            id="TGG-10 for another bot",
        ),
        pytest.param(
            "/Status@OPS_Bot now",
            [mark("bot_command", 0, 15)],
            Said(text="/Status now", mentioned=True, command="status"),
            id="TGG-10 our name in any case",
        ),
        pytest.param("/stop", [mark("bot_command", 0, 5)], Said(text="/stop", command="stop"), id="command"),
        pytest.param(
            "see /stop", [mark("bot_command", 4, 5)], Said(text="see /stop"), id="a command in a sentence is none"
        ),
        pytest.param(
            "@ops_bots ping, mail@ops_bot.io",
            [mark("mention", 0, 9), mark("email", 16, 15)],
            Said(text="@ops_bots ping, mail@ops_bot.io"),
            id="TGG-11 not by substring",
        ),
        pytest.param("@ops_bot hi", [], Said(text="@ops_bot hi"), id="TGG-11 not without an entity"),
        pytest.param(
            "😀 @ops_bot status",
            [mark("mention", 3, 8)],
            Said(text="😀 status", mentioned=True),
            id="TGG-12 offsets in UTF-16",
        ),
        pytest.param(
            "@OPS_BOT, do it:", [mark("mention", 0, 8)], Said(text="do it:", mentioned=True), id="at the beginning"
        ),
        pytest.param(
            "Ops do it",
            [Mark(kind="text_mention", offset=0, length=3, user_id=7)],
            Said(text="do it", mentioned=True),
            id="by id",
        ),
        pytest.param(
            "Ann do it",
            [Mark(kind="text_mention", offset=0, length=3, user_id=8)],
            Said(text="Ann do it"),
            id="somebody else",
        ),
        pytest.param(
            "😀 docs and https://e.org",
            [mark("text_link", 3, 4, "https://e.org/a"), mark("url", 12, 13)],
            Said(text="😀 docs (https://e.org/a) and https://e.org"),
            id="links are spelled out",
        ),
        pytest.param(
            "run ls\na``` b",
            [mark("code", 4, 2), mark("pre", 7, 6, language="py")],
            Said(text="run `ls`\n````py\na``` b\n````"),
            id="code keeps its marks",
        ),
    ],
)
def test_said(text: str, marks: list[Mark], expected: Said) -> None:
    """TGG-10, TGG-11, TGG-12: commands and mentions by entity, counted in UTF-16, names without case."""
    assert said(text, marks, OPS) == expected


def test_a_paste_that_the_app_cut_is_one_text() -> None:
    """TGL-12: the first of two messages is full at 4096 UTF-16 units with fewer characters, and goes on in the next."""
    text = "🙂" * 2047 + "a" + "b" * 100
    first, rest = said(text[:2048], [], OPS), said(text[2048:], [], OPS)
    assert [len(piece.text) < 4000 for piece in (first, rest)] == [True, True]
    assert [goes_on(piece) for piece in (first, rest)] == [True, False]
    assert joined([first, rest]) == text
    assert joined([said("a" * 4010, [], OPS), said("next line", [], OPS)]) == "a" * 4010 + "\nnext line"


@pytest.mark.parametrize(
    ("captions", "text"),
    [(["", "only", ""], "only"), (["first", "", "third"], "1. first\n3. third"), (["", ""], "")],
)
def test_the_captions_of_an_album_are_kept(captions: list[str], text: str) -> None:
    """TGF-09: all of them, each with the number of its file."""
    assert album_text(captions) == text


MARKS = st.builds(
    mark, st.sampled_from(["mention", "bot_command", "code", "pre", "text_link", "bold"]), st.integers(0, 30),
    st.integers(0, 30), st.none() | st.just("https://e.org"),
)  # fmt: skip


@given(st.text(max_size=20), st.lists(MARKS, max_size=6))
def test_any_entities_are_read(text: str, marks: list[Mark]) -> None:
    """Entities that overlap or reach beyond the text are no reason to lose a message."""
    assert isinstance(said(text, marks, OPS).text, str)
