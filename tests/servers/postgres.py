"""A real PostgreSQL 15 for the tests of one worker: started on first use, stopped by its process."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

BINARIES = Path(os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "logging_collector": "off",
}


@dataclass(frozen=True, kw_only=True)
class Postgres:
    """A running server; its socket lies in `folder`, reachable on this machine only."""

    folder: Path
    process: subprocess.Popen[bytes]

    def url(self, database: str) -> str:
        return f"postgresql+asyncpg://postgres@/{database}?host={self.folder}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run one statement through psql and return its bare output."""
        command = [
            str(BINARIES / "psql"),
            "-h",
            str(self.folder),
            "-U",
            "postgres",
            "-d",
            database,
            "-XAtqc",
            statement,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def stop(self) -> None:
        """SIGINT is PostgreSQL's fast shutdown."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


def available() -> bool:
    return (BINARIES / "initdb").exists()


def start() -> Postgres:
    """initdb refuses root, so that root becomes the user postgres for it."""
    folder = Path(tempfile.mkdtemp(prefix="signoff-pg-"))
    # Also ends with the process that started it, however that ends.
    prefix = ["setpriv", "--pdeathsig=INT"]
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        prefix += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    data = folder / "data"
    initdb = [BINARIES / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
    subprocess.run([*prefix, *map(str, initdb)], check=True, capture_output=True, cwd=folder)
    options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    server = [str(BINARIES / "postgres"), "-D", str(data), "-k", str(folder), *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*prefix, *server], cwd=folder, stdout=log, stderr=log)
    postgres = Postgres(folder=folder, process=process)
    _wait_until_ready(postgres)
    return postgres


def _wait_until_ready(postgres: Postgres) -> None:
    address = str(postgres.folder / ".s.PGSQL.5432")
    while True:
        if postgres.process.poll() is not None:
            raise RuntimeError((postgres.folder / "log").read_text())
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(address) == 0 and _answers(postgres):
                return
        time.sleep(0.05)


def _answers(postgres: Postgres) -> bool:
    command = [str(BINARIES / "pg_isready"), "-h", str(postgres.folder), "-q"]
    return subprocess.run(command, check=False).returncode == 0
