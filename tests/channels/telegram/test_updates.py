"""Updates that are not what they should be."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.incoming import Me
from channels.telegram.updates import KINDS, Piece, Pressed, read

ME = Me(user_id=7, username="signoff_bot")
ANN = {"id": 4242, "is_bot": False, "first_name": "Ann"}
CHAT = {"id": 4242, "type": "private", "first_name": "Ann"}
MESSAGE = {"message_id": 1, "date": 1_780_000_000, "chat": CHAT, "from": ANN}
FIELDS = (
    "text", "entities", "caption", "reply_to_message", "forward_origin", "sender_chat", "photo", "document", "chat",
    "from", "date", "quote", "message_thread_id", "is_topic_message", "migrate_to_chat_id",
)  # fmt: skip
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FIELDS, "id", "type"]), inner),
    max_leaves=5,
)


def update(kind: str = "message", sender: object = ANN, **fields: Any) -> dict[str, Any]:
    return {"update_id": 1, kind: {**MESSAGE, "from": sender, **fields}}


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), json, max_size=3))
def test_any_update_is_read_or_refused(kind: str, fields: dict[str, Any]) -> None:
    """With a ValueError; nothing else comes out, whatever stands in it."""
    with suppress(ValueError):
        read({"update_id": 1, kind: {**MESSAGE, **fields}}, ME)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({"update_id": 1}, id="empty"),
        pytest.param({"update_id": 1, "poll": {"id": "1"}}, id="a kind that was not asked for"),
        pytest.param(update(), id="a message with nothing in it"),
        pytest.param(update(text="Hello", sender={**ANN, "is_bot": True}), id="of another bot"),
        pytest.param(update(text="Hello", sender=None), id="of nobody"),
        pytest.param(
            {"update_id": 1, "callback_query": {"id": "1", "from": ANN, "chat_instance": "1", "game_short_name": "x"}},
            id="a press without a value",
        ),
    ],
)
def test_what_says_nothing(raw: dict[str, Any]) -> None:
    """Is passed over."""
    with suppress(ValueError):
        assert read(raw, ME) is None


def test_a_press_under_no_message_is_one_all_the_same() -> None:
    """Telegram does not tell of a message of an inline query; the token says which card it is."""
    query = {"id": "1", "from": ANN, "chat_instance": "1", "data": "token:1:approve"}
    pressed = read({"update_id": 1, "callback_query": query}, ME)
    assert isinstance(pressed, Pressed)
    assert (pressed.chat_id, pressed.message_id) == (4242, None)


def test_a_part_that_was_picked_is_what_is_answered() -> None:
    """Also of the bot's own message: it says which part is meant."""
    own = {**MESSAGE, "from": {"id": 7, "is_bot": True, "first_name": "Signoff"}, "text": "A long answer"}
    quote = {"text": "long", "position": 2, "is_manual": True}
    piece = read(update(text="why?", reply_to_message=own, quote=quote), ME)
    assert isinstance(piece, Piece)
    assert (piece.quoted_text, piece.answers) == ("long", 1)


def test_a_long_text_that_is_answered_is_cut() -> None:
    """It is only there to say what is meant."""
    other = {**MESSAGE, "from": {**ANN, "id": 9, "first_name": "Ben"}, "text": "x" * 4000}
    piece = read(update(text="why?", reply_to_message=other), ME)
    assert isinstance(piece, Piece)
    assert piece.quoted_text == "x" * 2000 + "…"
