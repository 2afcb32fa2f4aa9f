"""Which paths name a file of the workspace, and which of them tools may write."""

from __future__ import annotations

import pytest

from agent.errors import ToolFailed
from agent.ports.files import Area
from tools.workspace.paths import normal, parts, refuse_foreign, refuse_new


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a.md", ("a.md",)),
        ("./reports//a.md", ("reports", "a.md")),
        ("reports/", ("reports",)),
        ("", ()),
        (".", ()),
        ("...", ("...",)),
        ("~/a", ("~", "a")),
        ("%2e%2e%2fx", ("%2e%2e%2fx",)),
        ("供应商/é.md", ("供应商", "é.md")),
    ],
)
def test_relative_paths_are_cut_into_names(path: str, names: tuple[str, ...]) -> None:
    """F16: percent signs are part of a literal name; nothing is decoded twice."""
    assert parts(path) == names
    assert normal(path) == "/".join(names)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../x", "leaves the workspace"),
        ("a/../../x", "leaves the workspace"),
        ("a/..", "leaves the workspace"),
        ("../proj-evil/x", "leaves the workspace"),
        ("/etc/passwd", "absolute"),
        ("//host/share", "absolute"),
        ("C:\\Temp\\x", "backslash"),
        ("..\\x", "backslash"),
        ("\\\\h\\s", "backslash"),
        ("C:/Temp/x", "absolute"),
        ("c:x", "absolute"),
        ("a\0b", "NUL"),
        ("\ud83d", "not valid text"),
        ("x" * 256, "too long"),
        ("é" * 128, "too long"),
        ("a/" * 2_001, "too long"),
    ],
)
def test_every_form_that_could_mean_outside_is_refused(path: str, why: str) -> None:
    """F4, F8: parent folders, absolute paths, drive letters, backslashes and UNC names; also what is too long."""
    with pytest.raises(ToolFailed, match=why) as caught:
        parts(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "path",
    [
        "memory/MEMORY.md",
        "memory",
        "Memory/x",
        "MEMORY./x",
        "memory /x",
        "ｍｅｍｏｒｙ/x",
        "me\u200bmory/x",
        "inbox/x",
        ".signoff/results/1.txt",
        ".SignOff/x",
        "skills/a/SKILL.md",
        "ſkills/a/SKILL.md",
        "config.yaml",
        "Config.YAML",
        "config.yml",
        "policy.yaml",
        ".env",
        ".env.local",
        "reports/.signoff-tmp-0",
        "",
    ],
)
def test_file_tools_write_nothing_that_steers_the_agent(path: str) -> None:
    """E17: settings, policy, skills, memory and system areas, under any spelling a file system takes for it."""
    with pytest.raises(ToolFailed):
        refuse_foreign(path, parts(path), "files")


@pytest.mark.parametrize(
    "path", [".git", ".git/config", "a/b/.GIT/hooks/x", "a/.g\u200cit/x", "GIT~1/config", ".git::$INDEX_ALLOCATION/x"]
)
def test_file_tools_write_nothing_that_git_would_run(path: str) -> None:
    """E17: at any depth and under any spelling; `core.fsmonitor` in a config runs with the next `git status`."""
    with pytest.raises(ToolFailed, match="belongs to Git"):
        refuse_foreign(path, parts(path), "files")


@pytest.mark.parametrize(
    "path",
    ["memories/x", "a/memory/x", "a/config.yaml", "environment", "inbox2", "skills.md", ".gitignore", ".github/x"],
)
def test_other_names_are_free(path: str) -> None:
    """Only the names themselves, at the top of the workspace, are taken."""
    refuse_foreign(path, parts(path), "files")


@pytest.mark.parametrize(
    ("area", "path", "allowed"),
    [
        ("memory", "memory/MEMORY.md", True),
        ("memory", "memory/sub/a.md", True),
        ("memory", "memory", False),
        ("memory", "Memory/a.md", False),
        ("memory", "reports/a.md", False),
        ("memory", ".signoff/a", False),
        ("system", "inbox/a.csv", True),
        ("system", ".signoff/results/1/2.txt", True),
        ("system", "memory/a.md", False),
        ("system", "a.md", False),
        ("system", "inbox", False),
    ],
)
def test_each_area_is_its_own(area: Area, path: str, allowed: bool) -> None:
    """Memory goes below memory/, the system's files below inbox/ and .signoff/, and neither anywhere else."""
    if allowed:
        refuse_foreign(path, parts(path), area)
    else:
        with pytest.raises(ToolFailed, match="not below"):
            refuse_foreign(path, parts(path), area)


@pytest.mark.parametrize("name", ["con.", "a ", "...", "a\nb", "a\x07", "a\u2028b"])
def test_names_that_other_systems_read_differently_are_not_made(name: str) -> None:
    """F8: a trailing dot or space would be dropped elsewhere; a line break would fake a second entry in a list."""
    with pytest.raises(ToolFailed):
        refuse_new(name, name)
