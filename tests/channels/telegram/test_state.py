"""What a bot remembers on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import ConfigError
from channels.telegram.state import BotState

FIRST, SECOND, THIRD = -100, -1_000_000_000_200, -1_000_000_000_300


async def test_a_group_is_called_by_its_first_id(tmp_path: Path) -> None:
    """TGG-18: however often it moves, and after a restart."""
    state = BotState(tmp_path)
    assert await state.moved(FIRST, SECOND)
    assert not await state.moved(FIRST, SECOND)
    assert await state.moved(SECOND, THIRD)
    for known in (state, BotState(tmp_path)):
        assert {known.conversation(chat_id) for chat_id in (FIRST, SECOND, THIRD)} == {str(FIRST)}
        assert known.chat_id(str(FIRST)) == THIRD
        assert known.conversation(4242) == "4242"
        assert known.chat_id("4242") == 4242


async def test_a_group_is_found_by_whichever_id_is_written_down(tmp_path: Path) -> None:
    """An allow list from before the move, or one from after it."""
    state = BotState(tmp_path)
    await state.moved(FIRST, SECOND)
    assert state.names(["*", str(SECOND), "4242"]) == {"*", str(FIRST), str(SECOND), "4242"}


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"path": 3}', b'{"unknown": 1}'])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    """It is not overwritten: the secrets in it may still be wanted."""
    (tmp_path / "state.json").write_bytes(content)
    with pytest.raises(ConfigError, match="restore or remove it"):
        BotState(tmp_path)
    assert (tmp_path / "state.json").read_bytes() == content
