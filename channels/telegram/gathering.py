"""Messages that may be parts of one: the pictures of an album, and a long text that an app has cut.

A part is on disk before it is acknowledged, and what belongs together is handed in once nothing more has come for a
moment. After a crash what lies there is taken up again and waits for its rest as before, under the same keys. What was
handed in as a part of something leaves its number behind: the platform may send it once more, alone.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import structlog

from agent.errors import SignoffError, StorageError
from agent.tool import in_thread
from channels.telegram.incoming import goes_on
from channels.telegram.settings import Pace
from channels.telegram.updates import Piece

log = structlog.get_logger()

ALBUM = 10
"""The most that an album holds (core.telegram.org/bots/api#sendmediagroup)."""
REPEATS_SECONDS = 86_400
"""For so long the platform keeps an update that was not confirmed (core.telegram.org/bots/api#getting-updates)."""
PARTS = 50
"""Of one text; more is somebody who writes without end."""

HandIn = Callable[[Sequence[Piece]], Awaitable[None]]
Read = Callable[[Mapping[str, Any]], Piece | None]
Where = tuple[int, int | None, int]


@dataclass(kw_only=True)
class _Held:
    pieces: list[Piece]
    files: list[Path]
    waiting: asyncio.Task[None] | None = field(default=None)


class Gathering:
    """Puts parts together and hands in what is whole."""

    def __init__(self, folder: Path, hand_in: HandIn, pace: Pace) -> None:
        self._folder = folder
        self._hand_in = hand_in
        self._pace = pace
        self._held: dict[Where, _Held] = {}
        self._waiting: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    async def stop(self) -> None:
        """Leave what is held where it lies: the next start hands it in."""
        self._held.clear()
        for task in self._waiting:
            task.cancel()
        if self._waiting:
            await asyncio.wait(self._waiting)

    async def recover(self, read: Read) -> None:
        """Take up what an earlier process held; it came in the order of its numbers. The end of an album or of a text
        may not have been asked for yet."""
        async with self._lock:
            for path in await in_thread(_lying, self._folder):
                piece = await self._lying(path, read)
                if piece is None:
                    await in_thread(path.unlink)
                    continue
                held = self._held.get(_where(piece))
                if held is not None and not _joins(held.pieces, piece):
                    await self._flush(_where(piece))
                self._hold(piece, path)
            for where, held in list(self._held.items()):
                if _whole(held.pieces):
                    await self._flush(where)
                else:
                    self._wait(where, held, self._pace.rest)

    async def take(self, raw: Mapping[str, Any], piece: Piece) -> None:
        """Hand a message in, or keep it until it is whole; it may be acknowledged when this returns."""
        where = _where(piece)
        path = self._folder / f"{int(raw['update_id'])}.json"
        async with self._lock:
            if await in_thread(_was(path).exists):
                return
            held = self._held.get(where)
            joins = held is not None and _joins(held.pieces, piece)
            if held is not None and not joins:
                await self._flush(where)
            if not joins and not _may_go_on(piece):
                await self._hand_in([piece])
                return
            await in_thread(_lay, path, orjson.dumps(raw))
            held = self._hold(piece, path)
            if _whole(held.pieces):
                await self._flush(where)
            else:
                self._wait(where, held, self._pace.quiet)

    def _hold(self, piece: Piece, path: Path) -> _Held:
        held = self._held.setdefault(_where(piece), _Held(pieces=[], files=[]))
        if path not in held.files:  # the platform sent it again
            held.pieces.append(piece)
            held.files.append(path)
        return held

    def _wait(self, where: Where, held: _Held, seconds: float) -> None:
        """For so long from now on."""
        if held.waiting is not None:
            held.waiting.cancel()
        held.waiting = asyncio.create_task(self._flush_later(where, held, seconds), name="telegram parts")
        self._waiting.add(held.waiting)
        held.waiting.add_done_callback(self._waiting.discard)

    async def _flush_later(self, where: Where, held: _Held, seconds: float) -> None:
        await asyncio.sleep(seconds)
        while self._held.get(where) is held:
            async with self._lock:
                held.waiting = None  # from here on nobody cancels it
                try:
                    if self._held.get(where) is held:
                        await self._flush(where)
                except SignoffError as error:
                    log.warning("telegram_parts_not_handed_in", reason=str(error))
            if self._held.get(where) is held:
                await asyncio.sleep(self._pace.pause)

    async def _flush(self, where: Where) -> None:
        held = self._held[where]
        await self._hand_in(held.pieces)
        del self._held[where]
        if held.waiting is not None:
            held.waiting.cancel()
        try:
            await in_thread(_put_away, held.files)
        except OSError as error:  # the next start hands it in again, which is known
            log.warning("telegram_parts_left", reason=str(error.strerror))

    async def _lying(self, path: Path, read: Read) -> Piece | None:
        try:
            return read(orjson.loads(await in_thread(path.read_bytes)))
        except (OSError, ValueError) as error:
            log.error("telegram_part_unreadable", path=str(path), reason=type(error).__name__)  # noqa: TRY400
            return None


def _where(piece: Piece) -> Where:
    return piece.chat_id, piece.thread_id, piece.sender.user_id


def _may_go_on(piece: Piece) -> bool:
    return piece.album is not None or (goes_on(piece.said) and not piece.files)


def _joins(pieces: Sequence[Piece], piece: Piece) -> bool:
    last = pieces[-1]
    if last.album is not None or piece.album is not None:
        return last.album == piece.album
    plain = not piece.files and piece.forwarded_from == last.forwarded_from and piece.said.command is None
    return plain and goes_on(last.said)


def _whole(pieces: Sequence[Piece]) -> bool:
    if pieces[-1].album is not None:
        return len(pieces) == ALBUM
    return not goes_on(pieces[-1].said) or len(pieces) == PARTS


def _lying(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.glob("*.json") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def _lay(path: Path, content: bytes) -> None:
    """Durable when it returns, and never half of it."""
    try:
        _write(path, content)
    except OSError as error:
        raise StorageError(f"A part of a message cannot be kept at {path} ({error.strerror}).") from None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _was(path: Path) -> Path:
    """What is left of a part that was handed in."""
    return path.parent.with_name("handed-in") / path.name


def _put_away(paths: Sequence[Path]) -> None:
    left = _was(paths[0]).parent
    left.mkdir(exist_ok=True, mode=0o700)
    for old in left.iterdir():
        if time.time() - old.stat().st_mtime > REPEATS_SECONDS:
            old.unlink(missing_ok=True)
    for path in paths:
        _was(path).touch(mode=0o600)
        path.unlink(missing_ok=True)
