"""A Signoff of its own in a temporary folder, used as its users do: by commands in processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SCRIPT = [
    {
        "when": "write",
        "turns": [
            {
                "calls": [
                    {"name": "write_file", "arguments": {"path": "a.md", "content": "A\n"}},
                    {"name": "write_file", "arguments": {"path": "b.md", "content": "B\n"}},
                ]
            },
            {"text": "Both were handled."},
        ],
    },
    {
        "when": "inbox",
        "turns": [{"calls": [{"name": "read_file", "arguments": {"path": "inbox/note.txt"}}]}, {"text": "Read."}],
    },
    {"when": "fail", "turns": [{"error": "refused"}]},
    {"when": "slow", "turns": [{"text": "one two three four", "chunks": 4, "delay_seconds": 2}]},
    {"when": "", "turns": [{"text": "Hello."}]},
]


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Home:
    """A folder with config.yaml, a workspace `office` and a scripted model."""

    folder: Path
    port: int

    def configure(self, **sections: Any) -> None:
        settings: dict[str, Any] = {
            "bot": {"http": {"port": self.port}, "grace_seconds": 1},
            "agent": {"model": "script", "models": {"script": {"model": "scripted/script.yaml"}}},
            "workspaces": {"office": {"path": "./office", "channels": ["cli:*", "webhook:*"]}},
        }
        (self.folder / "config.yaml").write_text(yaml.safe_dump(settings | sections))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "bot", *arguments, "--config", str(self.folder / "config.yaml")]

    def signoff(self, *arguments: str, typed: str = "", code: int = 0, **environ: str) -> Ran:
        """Run a command to its end and check its exit code."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            env=os.environ | environ,
            input=typed,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def serving(self) -> Iterator[Served]:
        """Run the server while the block lasts."""
        process = subprocess.Popen(
            self.command("run"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == "ready":
                break
        try:
            yield Served(process, lines)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)


@dataclass(frozen=True)
class Served:
    """The server's process and the lines it printed up to `ready`."""

    process: subprocess.Popen[str]
    lines: list[str]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "office").mkdir()
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(SCRIPT))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        home = Home(tmp_path, free.getsockname()[1])
    home.configure()
    return home
