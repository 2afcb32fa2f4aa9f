"""A SKILL.md is understood or refused with its reason, never guessed."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolFailed
from agent.skill_file import body, decoded, description


def skill(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "", "# Do this", ""])


GOOD = skill("name: report", 'description: "Helps: plan"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD, "Helps: plan"),
        (skill("name: report", "description: >", "  two", "  lines"), "two lines"),
        (skill("name: report", "description: x", "allowed-tools: read_file", "metadata:", "  a: 1"), "x"),
        (GOOD.replace("\n", "\r\n"), "Helps: plan"),
        (skill("name: report", "description: 帮助写报告"), "帮助写报告"),
        (skill("name: report", 'description: "a\\u202eb"'), "a\\u202eb"),
    ],
)
def test_the_description_is_one_visible_line(text: str, said: str) -> None:
    """Quoted, folded, with other keys, with Windows line ends; hidden characters are shown as escapes."""
    assert description(text, "report") == said
    assert body(text) == "# Do this"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        pytest.param(["name: report", "description: Helps: plan and write"], "line 3", id="L1: a colon"),
        pytest.param(["name: report", "argument-hint: [action] — e.g. list"], "line 3", id="L2: a bracket"),
        pytest.param(["name: report", "allowed-tools: read_file", "oops", "d: x"], "YAML", id="L3: a broken line"),
        pytest.param(["name: report", "metadata:", "\tdescription: x"], "line 4", id="a tab"),
        pytest.param([], "must hold", id="an empty header"),
        pytest.param(["- name: report"], "must hold", id="a list"),
        pytest.param(["name: report", "description: yes"], "description", id="a word that YAML takes for true"),
        pytest.param(["name: report", "description: ''"], "description", id="no description"),
        pytest.param(["name: report", f"description: {'x' * 1_025}"], "1,025", id="a long one"),
        pytest.param(["name: report", "description: !!python/object:os.system x"], "YAML", id="an object"),
        pytest.param(["name: report", "description: x", "date: 2026-13-45"], "YAML", id="a date that is none"),
        pytest.param(["name: report", "description: x", "deep: " + "[" * 5_000], "YAML", id="too deep"),
        pytest.param(["name: other", "description: x"], "folder", id="another name than its folder"),
        pytest.param(["name: 7", "description: x"], "name", id="a number for a name"),
        pytest.param(["name: ../x", "description: x"], "name", id="a path for a name"),
        pytest.param(["description: x"], "name", id="no name"),
    ],
)
def test_a_broken_header_is_refused_with_its_reason(lines: list[str], reason: str) -> None:
    """L1, L2, L3: and with it whatever limits it would have set."""
    with pytest.raises(ToolFailed, match=reason):
        description(skill(*lines), "report")


@pytest.mark.parametrize("text", ["", "# Title", "---\nname: report", "text\n---\nname: report\n---\n"])
def test_a_file_without_header_is_no_skill(text: str) -> None:
    """The header begins in the first line and ends."""
    with pytest.raises(ToolFailed, match="between two lines"):
        description(text, "report")


def test_only_utf_8_is_text() -> None:
    """A mark at the beginning is dropped, other encodings are refused."""
    assert decoded(b"\xef\xbb\xbfx", "a.md") == "x"
    with pytest.raises(ToolFailed, match=r"a\.md is not UTF-8"):
        decoded(b"\xff\xfe", "a.md")


@given(st.lists(st.text(alphabet="-:[]{}'\"!&*#|>%@ \t0123456789.eE+~=naymdtbif_?\\", max_size=20), max_size=5))
def test_no_header_raises_anything_else(lines: list[str]) -> None:
    """Whatever a header holds, it is a description or a reason."""
    with suppress(ToolFailed):
        assert description(skill(*lines), "report")
