"""What holds for every test: no network but loopback, no settings from outside, every skip reported."""

import ipaddress
import logging
import os
import sys
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

# More by option: --hypothesis-profile=thorough
settings.register_profile("default", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("default")

LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname"}
refused: list[str] = []


class NetworkRefused(OSError):
    """A test tried to leave this machine; an OSError, so that the code under test sees an unreachable network."""


def is_local(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode()
    if host is None or host in {"", "localhost"}:
        return True
    try:
        address = ipaddress.ip_address(str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: it sees every socket of this process, also those a library opens in a thread."""
    if event in LOOKUPS:
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
        host = arguments[1][0]  # what is not a tuple is the path of a Unix socket
    else:
        return
    if not is_local(host):
        refused.append(f"{event} {host!r}")
        message = f"tests reach loopback only, not {host!r}"
        raise NetworkRefused(message)


def pytest_configure() -> None:
    sys.addaudithook(refuse_network)


@pytest.fixture(autouse=True)
def refusals() -> Iterator[list[str]]:
    """Fails a test that tried to reach another machine, even when the code under test swallowed the refusal."""
    refused.clear()
    yield refused
    assert not refused, f"tried to leave this machine: {', '.join(refused)}"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own settings, keys and proxies never decide a test."""
    for name in os.environ:
        if name.startswith("SIGNOFF_") or name.lower().endswith(("_proxy", "_api_key", "_bot_token")):
            monkeypatch.delenv(name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = len(terminalreporter.stats.get("skipped", []))
    terminalreporter.write_line(f"{skipped} skipped, the reasons are above" if skipped else "nothing was skipped")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A test that starts the product's logging leaves no handler behind that writes to its closed stderr."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
