"""Logs: lines on stderr that hold no secret."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.processors import JSONRenderer

from bot.logs import HIDDEN, HidingRenderer

ROOT = Path(__file__).parents[2]
PROGRAM = """
import logging, structlog
from bot.logs import LogSettings, start_logging
start_logging(LogSettings(format="json", level="{level}"), ["hunter2"])
log = structlog.get_logger()
log.debug("detail_seen")
log.info("thing_happened", key="x hunter2 y", many=["hunter2"])
logging.getLogger("library").warning("uses %s", "hunter2")
try:
    raise ValueError("hunter2")
except ValueError:
    log.exception("thing_failed")
"""


def logged(level: str) -> list[dict[str, object]]:
    command = [sys.executable, "-c", PROGRAM.format(level=level)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=30)
    assert done.stdout == b""
    assert b"hunter2" not in done.stderr
    return [orjson.loads(line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize(
    ("level", "events"),
    [
        ("debug", ["detail_seen", "thing_happened", "uses [secret]", "thing_failed"]),
        ("info", ["thing_happened", "uses [secret]", "thing_failed"]),
        ("error", ["thing_failed"]),
    ],
)
def test_lines_are_json_without_secrets(level: str, events: list[str]) -> None:
    """Our own lines, those of libraries, and tracebacks; from the level on."""
    assert [line["event"] for line in logged(level)] == events


@given(st.text('ab"\n\\é'), st.lists(st.text('ab"\n\\é', min_size=1), max_size=3))
def test_no_secret_is_left_in_a_line(text: str, secrets: list[str]) -> None:
    """Wherever it stands, also several of them, also where JSON writes it in another way."""
    render = HidingRenderer(JSONRenderer(), secrets)
    line = render(None, "info", {"event": ["".join([text, *secrets])]})
    shown = line.removeprefix('{"event": ["').removesuffix('"]}').replace(HIDDEN, "\0")
    assert all(json.dumps(secret)[1:-1] not in shown for secret in secrets)
