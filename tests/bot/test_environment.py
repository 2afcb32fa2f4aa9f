"""`.env` and `${NAME}`: what is read, what wins, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog

from agent.errors import ConfigError
from bot.environment import YamlPath, load_dotenv, resolve


def loaded(folder: Path, text: str, environ: dict[str, str] | None = None) -> dict[str, str]:
    file = folder / ".env"
    file.write_text(text)
    file.chmod(0o600)
    environ = {} if environ is None else environ
    load_dotenv(file, environ)
    return environ


def only_used(path: YamlPath) -> bool:
    return path[0] == "used"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=plain", "plain"),
        ("export KEY = spaced ", "spaced"),
        ("KEY='with # and spaces'", "with # and spaces"),
        ('KEY="double" # a comment', "double"),
        ("KEY=plain # a comment", "plain"),
        ("KEY=with#inside", "with#inside"),
        ("KEY=a=b", "a=b"),
        ("KEY=", ""),
        ("\ufeffKEY=after a byte-order mark", "after a byte-order mark"),
    ],
)
def test_a_line_of_dotenv_is_read(tmp_path: Path, line: str, value: str) -> None:
    """The usual ways to write an assignment are understood."""
    assert loaded(tmp_path, f"# heading\n\n{line}\n" if not line.startswith("\ufeff") else line) == {"KEY": value}


def test_the_real_environment_wins(tmp_path: Path) -> None:
    """A variable that is set already keeps its value."""
    assert loaded(tmp_path, "A=file\nB=file", {"A": "real"}) == {"A": "real", "B": "file"}


@pytest.mark.parametrize("line", ["sk-secret-without-a-name", "1KEY=sk-secret", 'KEY="sk-secret'])
def test_a_line_that_is_no_assignment_is_refused_without_its_text(tmp_path: Path, line: str) -> None:
    """The message names the line's number; the text may be a secret."""
    with pytest.raises(ConfigError, match="line 2") as refusal:
        loaded(tmp_path, f"A=1\n{line}\n")
    assert "sk-secret" not in str(refusal.value)


def test_a_file_that_others_may_read_is_reported(tmp_path: Path) -> None:
    """Mode 0644 is warned about, with the way to mend it."""
    (tmp_path / ".env").write_text("A=1")
    (tmp_path / ".env").chmod(0o644)
    with structlog.testing.capture_logs() as logs:
        load_dotenv(tmp_path / ".env", {})
    assert [(entry["event"], entry["remedy"]) for entry in logs] == [
        ("dotenv_readable_by_others", f"chmod 600 {tmp_path / '.env'}")
    ]


def test_references_are_replaced_everywhere_but_where_they_are_not_needed() -> None:
    """A missing variable matters only where the value is used."""
    tree = {"used": ["${A}", {"x": "a ${A} b"}], "unused": "${MISSING}", "number": 3}
    resolved = resolve(tree, {"A": "1"}, only_used)
    assert resolved == {"used": ["1", {"x": "a 1 b"}], "unused": "${MISSING}", "number": 3}


@pytest.mark.parametrize("environ", [{}, {"MISSING": ""}])
def test_a_missing_variable_is_refused_with_its_path(environ: dict[str, str]) -> None:
    """An empty variable is a missing one."""
    with pytest.raises(ConfigError, match=r"used\.0\.b: MISSING is not set"):
        resolve({"used": [{"b": "${MISSING}"}]}, environ, only_used)


def test_a_secret_in_the_file_is_refused_without_its_text() -> None:
    """Keys come from the environment only, also for models nobody uses."""
    with pytest.raises(ConfigError, match=r"models\.x\.api_key: a secret") as refusal:
        resolve({"models": {"x": {"api_key": "sk-secret"}}}, {}, only_used)
    assert "sk-secret" not in str(refusal.value)
