"""Where a long text is cut into messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.markdown import render
from channels.telegram.text import CAPTION_UNITS, MESSAGE_UNITS, Part, Rendered, Span, blank, caption, split, units
from tests.channels.telegram.shown import entities, legal


def texts(parts: tuple[Part, ...]) -> list[str]:
    return [part.text for part in parts]


def test_a_long_answer_arrives_whole_and_in_order() -> None:
    """TGL-01: 9,000 letters are three messages, none over the limit."""
    text = "".join(chr(97 + number % 26) for number in range(9000))
    parts = split(render(text))
    assert "".join(texts(parts)) == text
    assert [len(part.text) for part in parts] == [4096, 4096, 808]


def test_no_surrogate_pair_is_cut() -> None:
    """TGL-04: a letter and 4,096 emoji; every part is counted in UTF-16 units and holds whole emoji."""
    text = "a" + "🙂" * 4096
    parts = split(Rendered(text=text))
    assert "".join(texts(parts)) == text
    assert [units(part.text) for part in parts] == [4095, 4096, 2]


@pytest.mark.parametrize("limit", [-1, 0, 1])
def test_a_limit_without_room_for_a_character_is_refused(limit: int) -> None:
    """TGL-04: it raises instead of going on for ever."""
    with pytest.raises(ValueError, match="room for one character"):
        split(Rendered(text="🙂"), limit)


def test_code_is_closed_and_opened_again() -> None:
    """TGL-06: 6,000 characters of Python are code with its language in every part, and not a byte is changed."""
    code = "\n".join(f"    value_{number} = {number}" for number in range(250))
    parts = split(render(f"Here:\n```python\n{code}\n```\nDone."))
    found = [entity for part in parts for entity in part.entities]
    assert {(entity.kind, entity.language) for entity in found} == {("pre", "python")}
    assert "".join(words for part in parts for _, words in entities(part)) == code
    assert len(parts) > 1
    assert parts[0].text.endswith("\n")


def test_a_link_is_not_cut() -> None:
    """TGL-07: a link across the limit goes into the next message as a whole."""
    parts = split(render("x" * 4090 + "[a long label](https://e.org/x) & more"))
    assert texts(parts) == ["x" * 4090, "a long label & more"]
    assert [entity.url for entity in parts[1].entities] == ["https://e.org/x"]


def test_a_link_longer_than_a_message_stays_a_link() -> None:
    """TGL-07: where it must be cut, both halves lead there."""
    parts = split(render(f"[{'y' * 5000}](https://e.org)"))
    assert [entity.url for part in parts for entity in part.entities] == ["https://e.org"] * 2


def test_the_limit_is_that_of_the_text_people_see() -> None:
    """TGL-08: 4,000 ampersands are one message, whatever they would be as HTML."""
    assert texts(split(render("&" * 4000))) == ["&" * 4000]


@pytest.mark.parametrize("rest", ["\n\n", "\u200b", "  \n  "])
def test_a_blank_rest_is_not_sent(rest: str) -> None:
    """TGL-09: Telegram refuses an empty message, so none is made of what nobody sees."""
    text = "a" * MESSAGE_UNITS
    assert texts(split(Rendered(text=text + rest))) == [text]


@pytest.mark.parametrize("text", ["", "   \n", "\u2800", "```\n \n```"])
def test_nothing_to_see_makes_no_message(text: str) -> None:
    """TGL-10: a turn that says nothing sends nothing."""
    assert split(render(text)) == ()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two\n\nthree four\nfive six seven", "one two\n\n"),
        ("one two three\nfour five six seven", "one two three\n"),
        ("one two three four five six seven", "one two three four "),
        ("onetwothreefourfivesixseven", "onetwothreefourfivesi"),
    ],
)
def test_a_cut_comes_between_paragraphs_lines_words(text: str, first: str) -> None:
    """The best place in the second half of the room is taken."""
    limit = 15 if text.startswith("one two\n\n") or "\n" in text else 21
    assert split(Rendered(text=text), limit)[0].text == first


def test_an_accent_and_a_joined_emoji_stay_together() -> None:
    """A cut is moved in front of the letter."""
    assert texts(split(Rendered(text="a" * 9 + "e\u0301bc"), 10)) == ["a" * 9, "e\u0301bc"]
    assert texts(split(Rendered(text="a" * 6 + "👩\u200d🚀 go"), 10)) == ["a" * 6, "👩\u200d🚀 go"]


def test_a_format_across_a_cut_is_balanced() -> None:
    """Both halves are bold, and neither covers the space between them alone."""
    parts = split(Rendered(text="aaaa bbbb", spans=(Span(kind="bold", start=0, end=9),)), 5)
    assert [entities(part) for part in parts] == [[("bold", "aaaa ")], [("bold", "bbbb")]]


def test_a_caption_is_cut_like_a_message() -> None:
    """TGF-07: the link across unit 1024 is whole in the rest, emoji count twice, and the rest keeps its formats."""
    rendered = render("🙂" * 510 + "[documents](https://e.org) **after**")
    first, rest = caption(rendered)
    assert units(first.text) <= CAPTION_UNITS
    assert first.text == "🙂" * 510
    assert [entities(part) for part in split(rest)] == [[("text_link", "documents"), ("bold", "after")]]


@given(st.text(alphabet=st.sampled_from("ab \n🙂é\u0301\u200d"), max_size=300), st.integers(2, 40))
def test_joined_the_parts_are_the_text(text: str, limit: int) -> None:
    """Exactly, but for parts in which nothing can be seen."""
    parts = split(Rendered(text=text), limit)
    for part in parts:
        legal(part, limit)
    seen = "".join(character for character in text if not blank(character))
    joined = "".join(texts(parts))
    assert "".join(character for character in joined if not blank(character)) == seen
    if len(seen) == len(text):
        assert joined == text
