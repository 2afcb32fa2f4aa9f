"""The embedded engine: shared commits, free readers, and clear words when the disk or another process is in the way."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from agent.errors import ConfigError, DiskFull, StorageError
from storage.database import Database, open_database
from storage.store.sql import SqlStore
from tests.clock import FakeClock
from tests.storage import given

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "signoff.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    opened = await open_database(path, busy_seconds=0.05)
    yield opened
    await opened.close()


def driver(statement: str, connection: Connection) -> object:
    return connection.exec_driver_sql(statement).scalar()


async def test_a_commit_is_on_the_disk_and_the_file_is_private(database: Database, path: Path) -> None:
    """WAL with FULL sync and foreign keys; nobody else on the machine can read what people wrote."""
    for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
        assert await database.write(partial(driver, f"PRAGMA {pragma}")) == value
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_waiting_functions_share_one_commit(database: Database) -> None:
    """What arrives while the disk is busy is committed together."""
    entered, release = threading.Event(), threading.Event()
    commits: list[int] = []

    def block(connection: Connection) -> None:
        event.listen(connection.engine, "commit", lambda _: commits.append(1))
        entered.set()
        release.wait(10)

    blocked = asyncio.create_task(database.write(block))
    await asyncio.to_thread(entered.wait, 10)
    insert = "INSERT INTO hooks (name, token_sha256, deliver) VALUES ('{}', '', '[]')"
    waiting = [asyncio.create_task(database.write(partial(_run, insert.format(number)))) for number in range(20)]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(blocked, *waiting)
    assert len(commits) == 2
    assert await database.read(partial(driver, "SELECT count(*) FROM hooks")) == 20


def _run(statement: str, connection: Connection) -> None:
    connection.exec_driver_sql(statement)


async def test_readers_do_not_wait_for_a_writer(database: Database) -> None:
    """A read goes on while a write is open, and sees what was committed before it."""
    release = threading.Event()
    blocked = asyncio.create_task(database.write(lambda _: release.wait(10)))
    assert await database.read(partial(driver, "SELECT count(*) FROM tasks")) == 0
    release.set()
    await blocked


async def test_a_reader_cannot_write(database: Database) -> None:
    """A function that was given to `read` by mistake changes nothing."""
    with pytest.raises(StorageError):
        await database.read(partial(_run, "DELETE FROM tasks"))


async def test_a_full_disk_fails_everybody_who_shares_the_commit(database: Database) -> None:
    """The error says what to do, nothing is half stored, and with room again the next write works."""
    pages = await database.write(partial(driver, "PRAGMA page_count"))
    await database.write(partial(driver, f"PRAGMA max_page_count={pages}"))
    insert = f"INSERT INTO hooks (name, token_sha256, deliver) VALUES ('{{}}', '{'x' * 60_000}', '[]')"
    works = [database.write(partial(_run, insert.format(number))) for number in range(3)]
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    assert {str(outcome) for outcome in outcomes} == {"The disk is full: nothing was stored; make room and try again."}
    assert {type(outcome) for outcome in outcomes} == {DiskFull}
    assert await database.read(partial(driver, "SELECT count(*) FROM hooks")) == 0
    await database.write(partial(driver, "PRAGMA max_page_count=100000"))
    await database.write(partial(_run, insert.format("fits")))


async def test_a_locked_database_is_named_and_recovers(database: Database, path: Path) -> None:
    """Another program that holds the lock longer than `busy_seconds` is the reason given, at start and later."""
    await database.read(partial(driver, "SELECT 1"))
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked by another program"):
            await database.write(partial(_run, "DELETE FROM hooks"))
        with pytest.raises(ConfigError, match="The database is locked"):
            await open_database(path, busy_seconds=0.05)
        other.execute("ROLLBACK")
    other.close()
    await database.write(partial(_run, "DELETE FROM hooks"))


async def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    """Whatever lies at the path is not touched."""
    path.parent.mkdir()
    path.write_text("these are my notes, not a database. " * 100)
    with pytest.raises(ConfigError, match="not one of SQLite"):
        await open_database(path)
    assert path.read_text().startswith("these are my notes")


@pytest.mark.parametrize("prepare", ["fresh", "existing"])
async def test_a_directory_that_cannot_be_written(tmp_path: Path, prepare: str) -> None:
    """One clear line, whether the file has to be made or is there and read-only."""
    folder = tmp_path / "readonly"
    folder.mkdir()
    if prepare == "existing":
        await (await open_database(folder / "x.db")).close()
        (folder / "x.db").chmod(0o444)
    folder.chmod(0o555)
    code = (
        "import asyncio, sys; from storage.database import open_database\n"
        "from agent.errors import ConfigError\n"
        "try: asyncio.run(open_database(sys.argv[1]))\n"
        "except ConfigError as error: print(error)"
    )
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    for parent in (tmp_path, *tmp_path.parents[:3]):  # root may write anywhere, and others must find the way
        parent.chmod(parent.stat().st_mode | 0o055)
    done = subprocess.run(
        [*user, sys.executable, "-c", code, str(folder / "x.db")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    [line] = done.stdout.splitlines()
    assert line.startswith("storage.url: ")
    assert "check" in line


async def test_every_write_of_one_loop_turn_is_kept(database: Database) -> None:
    """More functions than one commit takes are all stored."""
    store = SqlStore(database, FakeClock())
    await asyncio.gather(*(given.accept(store) for _ in range(600)))
    assert await database.read(partial(driver, "SELECT count(*) FROM tasks")) == 600


async def test_sqlite_needs_nothing_of_postgresql(path: Path) -> None:
    """Neither its dialect nor its driver is loaded by a start on SQLite: that is a twentieth of the start's time."""
    code = (
        "import asyncio, sys; from storage.store.sql import open_store; from bot.clock import SystemClock\n"
        "async def main(): await (await open_store(sys.argv[1], clock=SystemClock())).close()\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if 'postgres' in name or 'asyncpg' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
