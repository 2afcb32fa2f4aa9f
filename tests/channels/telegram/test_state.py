"""What a bot remembers on disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent.errors import ConfigError, StorageError
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


async def test_two_processes_know_what_either_learned(tmp_path: Path) -> None:
    """One stands by and takes over; what it notes keeps what the other had noted, and the secrets are the same."""
    first, other = BotState(tmp_path), BotState(tmp_path)
    assert (first.path, first.secret_token) == (other.path, other.secret_token)
    await first.moved(FIRST, SECOND)
    await other.moved(-5, -6)
    for known in (other, BotState(tmp_path)):
        assert known.conversation(SECOND) == str(FIRST)
        assert known.conversation(-6) == "-5"
    await first.reload()
    assert first.conversation(-6) == "-5"


def test_processes_that_start_together_share_their_secrets(tmp_path: Path) -> None:
    """Or Telegram would be told now this, now that address."""
    with ThreadPoolExecutor(8) as threads:
        states = list(threads.map(BotState, [tmp_path / "bot"] * 32))
    assert len({state.secret_token for state in states}) == 1
    assert [path.name for path in (tmp_path / "bot").iterdir()] == ["state.json"]


async def test_a_disk_that_takes_nothing_is_tried_again(tmp_path: Path) -> None:
    """The update that told of the move comes again."""
    state = BotState(tmp_path / "bot")
    (tmp_path / "bot").rename(tmp_path / "away")
    (tmp_path / "bot").write_bytes(b"in the way")
    with pytest.raises(StorageError, match="cannot be"):
        await state.moved(FIRST, SECOND)
    (tmp_path / "bot").unlink()
    (tmp_path / "away").rename(tmp_path / "bot")
    assert await state.moved(FIRST, SECOND)
    assert BotState(tmp_path / "bot").conversation(SECOND) == str(FIRST)
