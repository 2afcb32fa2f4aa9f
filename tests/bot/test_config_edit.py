"""config.yaml and .env changed as in an editor."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agent.errors import ConfigError
from bot.config_edit import with_block, with_variable, write

LINES = ["enabled: true", 'bot_token: "${SLACK_BOT_TOKEN}"']
BLOCK = {"enabled": True, "bot_token": "${SLACK_BOT_TOKEN}"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "agent:\n  model: demo\n",
        "channels:\n  console: {enabled: true}   # the pages\n\n# people come last\npeople: []\n",
        "channels:            # ways in\n  # slack:\n  #   enabled: true\n  console: {enabled: true}\n",
        "channels:\n  slack:\n    enabled: false\n    # its own\n    allow: [C1]\n  console: {enabled: true}\n",
        "channels:\n  slack: {enabled: false}\nagent: {model: demo}\n",
        "channels:\n  console: {enabled: true}\n  slack:\n    enabled: false\n",
    ],
)
def test_the_block_is_there_and_the_rest_as_it_was(text: str) -> None:
    """Whatever stood there before; a second time changes nothing more."""
    before = yaml.safe_load(text) or {}
    changed = with_block(text, "channels", "slack", LINES)
    after = yaml.safe_load(changed)
    assert after["channels"].pop("slack") == BLOCK
    assert after == {**before, "channels": {k: v for k, v in before.get("channels", {}).items() if k != "slack"}}
    kept = [line for line in text.splitlines() if line.startswith(("#", "  # slack", "  #   enabled"))]
    assert [line for line in kept if line not in changed.splitlines()] == []
    assert with_block(changed, "channels", "slack", LINES) == changed


def test_a_line_with_everything_is_left_to_its_owner() -> None:
    """Into braces nothing can be put without writing the line anew."""
    with pytest.raises(ConfigError, match="on a line of its own"):
        with_block("channels: {console: {enabled: true}}\n", "channels", "slack", LINES)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "A=2\n"),
        ("B=1\n", "B=1\nA=2\n"),
        ("# mine\nexport A=1\nB=1", "# mine\nA=2\nB=1\n"),
        ("AA=1\n", "AA=1\nA=2\n"),
    ],
)
def test_a_variable_is_set(before: str, after: str) -> None:
    """In its old line, else at the end."""
    assert with_variable(before, "A", "2") == after


def test_a_secret_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Also when the file could be read by others before."""
    file = tmp_path / ".env"
    file.write_text("A=1\n")
    file.chmod(0o644)
    write(file, "A=2\n", 0o600)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("A=2\n", 0o600)
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
