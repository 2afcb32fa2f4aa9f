"""What cannot start says so in one clear line and exits with 2."""

from __future__ import annotations

import socket
import sqlite3
from typing import Any

import pytest

from tests.bot.conftest import Home

MODEL = {"model": "openai/x", "api_key": "${SIGNOFF_TEST_KEY}"}


def refusal(home: Home, *command: str) -> str:
    """The one line."""
    ran = home.signoff(*(command or ("run",)), code=2)
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("signoff: ")
    return line


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"bot": {"datadir": "./data"}}, "config.yaml: bot.datadir: there is no such key"),
        ({"agent": {"model": "gpt"}}, "config.yaml: agent.model: there is no model 'gpt'"),
        ({"agent": {"model": "m", "models": {"m": MODEL}}}, "agent.models.m.api_key: SIGNOFF_TEST_KEY is not set"),
        ({"channels": {"webhook": {"enabled": "${SIGNOFF_ON}"}}}, "channels.webhook.enabled: SIGNOFF_ON is not set"),
        ({"workspaces": {"w": {"path": "./nowhere"}}}, "workspaces.w.path: there is no folder"),
        ({"workspaces": {"a": {"path": "."}, "b": {"path": "./office"}}}, "workspaces.b.path: "),
        ({"bot": {"data_dir": "/sys/signoff"}}, "cannot be written"),
        ({"storage": {"url": "mysql://db/x"}}, "storage.url: "),
    ],
)
def test_a_configuration_that_cannot_be_used(home: Home, sections: dict[str, Any], said: str) -> None:
    """Unknown key, undefined model, missing secret, missing and nested workspace, a directory that is read-only."""
    home.configure(**sections)
    assert said in refusal(home)


def test_a_port_in_use(home: Home) -> None:
    """Names the key and the port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", home.port))
        taken.listen()
        assert f"bot.http.port: {home.port} is in use" in refusal(home)


def test_a_second_runner(home: Home) -> None:
    """Names the process that runs already; the first goes on."""
    with home.serving() as served:
        assert f"process {served.process.pid} runs on {home.folder / 'data'} already" in refusal(home)
        assert home.signoff("ask", "hi").out.endswith("task 1: done\n")


def test_a_database_that_is_newer(home: Home) -> None:
    """Nothing is touched."""
    home.signoff("tasks")
    with sqlite3.connect(home.folder / "data/signoff.sqlite3") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for command in (("run",), ("tasks",), ("db", "upgrade")):
        assert "revision 9999" in refusal(home, *command)


@pytest.mark.parametrize(
    "command",
    [
        ("tasks", "1"),
        ("tasks", "one"),
        ("tasks", str(2**64)),
        ("cancel", str(2**64)),
        ("deny", str(2**64)),
        ("cancel", "1"),
        ("export", "1"),
        ("approve", "1"),
        ("webhooks", "rotate", "nobody"),
        ("webhooks", "create", "Not A Name"),
        ("webhooks", "create", "x", "--workspace", "nowhere"),
        ("webhooks", "create", "x", "--rate", "often"),
        ("webhooks", "create", "x", "--deliver", "slack:C0123"),
        ("webhooks", "create", "x", "--deliver", "http://127.0.0.1/cb"),
        ("ask", "x", "--file", "/nowhere"),
        ("approve", "1", "--outcome", "maybe"),
        ("tasks", "--colour"),
        ("schedules",),
    ],
    ids=" ".join,
)
def test_bad_usage(home: Home, command: tuple[str, ...]) -> None:
    """Unknown ids, names, options and commands."""
    refusal(home, *command)


def test_debug_shows_the_traceback(home: Home) -> None:
    """And nothing else does."""
    ran = home.signoff("tasks", "1", "--debug", code=1)
    assert "Traceback" in ran.err
