"""G13: durable commits of a text turn, read from the write-ahead log.

SQLite marks the last frame of each transaction in the log with the size of the database, and in FULL sync that frame is
where it waits for the disk (https://sqlite.org/fileformat2.html#the_write_ahead_log). A reader with an open snapshot
keeps the log from being started anew meanwhile, so the marked frames behind its old end are the commits.
"""

from __future__ import annotations

import asyncio
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from bench.fleet import Fleet, WrongAnswers
from bench.report import DIRECT, FLOOR, Check, Row
from bench.servers import FloorServer, SignoffServer

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoint, two salts, two checksums
_FRAME = struct.Struct(">6I")  # page, database size after commit or 0, two salts, two checksums
# Between messages, so that a commit after an answer is not shared with the next message's first.
_PAUSE_SECONDS = 0.05


async def measure(fleet: Fleet) -> list[Row]:
    """Send messages one at a time; the floor, known to commit once, shows that the method counts rightly."""
    await fleet.model.set()
    count = fleet.size(30, 10)
    commits = {
        FLOOR: await _per_message(fleet, await fleet.floor(), count),
        DIRECT: await _per_message(fleet, await fleet.signoff(), count),
    }
    # Up to the reply row. A hook's answer is fetched by its sender, so no commit for `sent` follows.
    checks = [Check(figure=commits[DIRECT], unit="commits", goal=3)]
    return [Row(goal="G13", measure="durable commits of a text turn", values=commits, checks=checks)]


async def _per_message(fleet: Fleet, server: FloorServer | SignoffServer, count: int) -> float:
    await fleet.send(server, 1)  # so that the log holds something to keep
    with closing(sqlite3.connect(server.database, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        salts, before = log_state(server.database)
        for _ in range(count):
            await fleet.send(server, 1)
            await asyncio.sleep(_PAUSE_SECONDS)
        salts_now, now = log_state(server.database)
    if salts_now != salts:
        raise WrongAnswers(f"{server.name} started its log anew under an open snapshot; try again.")
    return (now - before) / count


def log_state(database: Path) -> tuple[tuple[int, ...], int]:
    """The salts that tell a log from the one before it, and the commits in it."""
    log = database.with_name(f"{database.name}-wal").read_bytes()
    header = _HEADER.unpack_from(log)
    page_bytes, salts = header[2], header[4:6]
    frames = (_FRAME.unpack_from(log, at) for at in range(_HEADER.size, len(log), _FRAME.size + page_bytes))
    return salts, sum(1 for frame in frames if frame[1] and frame[2:4] == salts)
