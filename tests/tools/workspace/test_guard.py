"""Nothing outside the workspace is read, written or made, by any path and any kind of file."""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import TargetChanged, ToolError, ToolFailed
from tools.workspace.guard import Workspace

SECRET = b"canary"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace whose name begins like it, with a file in it."""
    (tmp_path / "work-evil").mkdir()
    (tmp_path / "work-evil" / "secret").write_bytes(SECRET)
    return tmp_path / "work-evil"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace("w", str(home))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


ACCESSES: dict[str, Callable[[Workspace, str], object]] = {
    "read": lambda workspace, path: workspace.read(path),
    "sha256": lambda workspace, path: workspace.sha256(path),
    "scan": lambda workspace, path: list(workspace.scan(path)),
    "current": lambda workspace, path: workspace.current(path),
    "replace": lambda workspace, path: workspace.write(path, b"evil", expected=sha(SECRET)),
    "make": lambda workspace, path: workspace.write(path, b"evil", expected=None),
}
each_access = pytest.mark.parametrize("access", ACCESSES.values(), ids=ACCESSES)


@each_access
@pytest.mark.parametrize("path", ["file", "folder/secret", "folder", "inner", "inner/a", "loop"])
def test_links_are_never_followed(
    access: Callable[[Workspace, str], object], path: str, workspace: Workspace, home: Path, outside: Path
) -> None:
    """F1: a link to a file or folder outside, one that stays inside, and a loop are refused by every access."""
    (home / "file").symlink_to(outside / "secret")
    (home / "folder").symlink_to(outside)
    (home / "real").mkdir()
    (home / "real" / "a").write_bytes(SECRET)
    (home / "inner").symlink_to("real")
    (home / "loop").symlink_to("loop")
    with pytest.raises(ToolFailed, match="link"):
        access(workspace, path)
    assert (outside / "secret").read_bytes() == SECRET
    assert names(outside) == ["secret"]


def test_a_dangling_link_makes_nothing(workspace: Workspace, home: Path, outside: Path) -> None:
    """F2: writing to a link whose target is absent does not make the target."""
    (home / "new").symlink_to(outside / "out.txt")
    with pytest.raises(ToolFailed, match="link"):
        workspace.write("new", b"x", expected=None)
    assert names(outside) == ["secret"]


def test_a_sibling_with_the_same_beginning_is_outside(workspace: Workspace, outside: Path) -> None:
    """F4: names are compared, not the beginnings of strings."""
    for access in ACCESSES.values():
        with pytest.raises(ToolFailed, match="leaves the workspace"):
            access(workspace, f"../{outside.name}/secret")


def test_the_folder_itself_may_be_reached_through_a_link(tmp_path: Path, home: Path) -> None:
    """F6: a configured path that is a link works as if its target had been named."""
    (tmp_path / "link").symlink_to(home)
    workspace = Workspace("w", str(tmp_path / "link"))
    workspace.write("a/b.md", b"x", expected=None)
    assert workspace.read("a/b.md") == (home / "a" / "b.md").read_bytes() == b"x"
    assert workspace.root == str(home)


def test_hard_links_are_read_and_not_written(workspace: Workspace, home: Path, outside: Path) -> None:
    """F12: operators share files so; a write would reach every name, so it is refused with the way out."""
    os.link(outside / "secret", home / "h")
    assert workspace.read("h") == SECRET
    for refused in (ACCESSES["current"], ACCESSES["replace"]):
        with pytest.raises(ToolFailed, match="h has 2 names; copy it first"):
            refused(workspace, "h")
    assert (outside / "secret").read_bytes() == SECRET


@each_access
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_only_regular_files_are_used(access: Callable[[Workspace, str], object], kind: str, home: Path) -> None:
    """F14, F15: a pipe without a writer, a socket and a device are refused at once, nothing waits."""
    workspace = Workspace("w", str(home))
    if kind == "pipe":
        os.mkfifo(home / "p")
    elif kind == "device":
        workspace = Workspace("w", "/dev")
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "socket":
            listening.bind(str(home / "p"))
        with pytest.raises(ToolFailed):
            access(workspace, "zero" if kind == "device" else "p")


def test_pseudo_files_behind_links_are_not_read(workspace: Workspace, home: Path) -> None:
    """F15: endless and secret files of the system stay unread."""
    for number, target in enumerate(["/dev/zero", "/proc/self/environ", "/proc/self/root/etc/passwd"]):
        (home / str(number)).symlink_to(target)
        with pytest.raises(ToolFailed, match="link"):
            workspace.read(str(number))


def test_a_listing_tells_links_and_where_they_lead(workspace: Workspace, home: Path, outside: Path) -> None:
    """F18: what cannot be read is marked, so that nobody tries in vain; nothing behind a link is listed."""
    (home / "b").symlink_to(outside)
    (home / "a").symlink_to("c.md")
    (home / "c.md").write_bytes(b"123")
    os.mkfifo(home / "p")
    assert [(info.path, info.kind, info.outside) for info in workspace.scan()] == [
        ("a", "link", False),
        ("b", "link", True),
        ("c.md", "file", False),
        ("p", "other", False),
    ]


def test_a_scan_is_depth_first_and_bounded(workspace: Workspace, home: Path) -> None:
    """Entries come in name order; a depth of 1 is the folder's own; system files and temporary ones are left out."""
    for path in ("b/c/d", "b/.signoff/x", "a/x", ".signoff/results"):
        (home / path).mkdir(parents=True)
    (home / "b" / ".signoff-tmp-1").write_bytes(b"")
    assert [info.path for info in workspace.scan()] == ["a", "a/x", "b", "b/.signoff", "b/.signoff/x", "b/c", "b/c/d"]
    assert [info.path for info in workspace.scan(max_depth=1)] == ["a", "b"]
    assert [info.path for info in workspace.scan("b", max_depth=1)] == ["b/.signoff", "b/c"]


@pytest.mark.parametrize(
    ("name", "shown"), [(b"bad-\xff", "bad-\ufffd"), (b"a\\b.txt", "a\\b.txt"), (b"c:", "c:"), (b"\xff\\", "\ufffd\\")]
)
def test_a_name_that_no_path_has_is_shown_but_is_no_file(
    workspace: Workspace, home: Path, name: bytes, shown: str
) -> None:
    """F18: no text, a backslash, a drive: it is marked like a device, and nothing below it is listed."""
    Path(os.fsdecode(os.fsencode(home) + b"/" + name)).mkdir()
    Path(os.fsdecode(os.fsencode(home) + b"/" + name + b"/below")).touch()
    assert [(info.path, info.kind) for info in workspace.scan()] == [(shown, "other")]


def test_what_is_not_there_is_none(workspace: Workspace, home: Path) -> None:
    """Absence is an answer of stat, sha256 and current; read and scan say it in a sentence."""
    assert [workspace.stat("a/b"), workspace.sha256("a/b"), workspace.current("a/b")] == [None] * 3
    with pytest.raises(ToolFailed, match=r"^a/b does not exist\.$"):
        workspace.read("a/b")
    with pytest.raises(ToolFailed, match="does not exist"):
        list(workspace.scan("a"))
    home.rmdir()
    with pytest.raises(ToolFailed, match="does not exist"):
        workspace.write("a", b"", expected=None)


def test_a_read_names_both_sizes(workspace: Workspace, home: Path) -> None:
    """More than the limit is refused, also in a file that is as large as its holes."""
    (home / "a").write_bytes(b"12345")
    assert workspace.read("a", limit_bytes=5) == b"12345"
    with pytest.raises(ToolFailed, match="5 bytes, more than the 4"):
        workspace.read("a", limit_bytes=4)
    os.truncate(home / "a", 1 << 40)
    with pytest.raises(ToolFailed, match="1,099,511,627,776 bytes"):
        workspace.read("a")


@pytest.mark.parametrize("name", ["data", ".env"])
def test_protected_paths_are_out_of_reach(name: str, home: Path) -> None:
    """E17: the data directory or the configuration inside a workspace is neither read nor listed nor written."""
    (home / "data").mkdir()
    (home / "data" / "secret").write_bytes(SECRET)
    workspace = Workspace("w", str(home), protected=[str(home / name), str(home.parent)])
    inner = f"{name}/secret" if name == "data" else name
    for path in (name, inner, inner.upper()):
        for access in ACCESSES.values():
            with pytest.raises(ToolFailed, match=r"out of reach|steers the agent"):
                access(workspace, path)
    assert name not in {info.path for info in workspace.scan()}
    workspace.write("database", b"", expected=None)


def test_a_reserved_folder_is_recognised_under_another_name(workspace: Workspace, home: Path) -> None:
    """E17: whatever a mounted disk calls it (MEMORY~1), the same folder is the same folder."""
    (home / "config.yaml").write_bytes(b"auto_approve: false")
    os.link(home / "config.yaml", home / "CONFIG~1.YAM")
    for refused in (workspace.current, lambda path: workspace.write(path, b"", expected=None)):
        with pytest.raises(ToolFailed, match="steers the agent"):
            refused("CONFIG~1.YAM")
    assert (home / "config.yaml").read_bytes() == b"auto_approve: false"


def test_a_workspace_travels_to_another_process(workspace: Workspace, home: Path) -> None:
    """It holds no descriptors, so a child can open it through the same guard."""
    (home / "a").write_bytes(b"x")
    copy = pickle.loads(pickle.dumps(workspace))
    assert (copy.name, copy.root, copy.read("a")) == ("w", str(home), b"x")


PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "link",
        "outer",
        "secret",
        "work-evil",
        "~",
        "C:",
        "\\",
        "%2e%2e",
        "\0",
        "\u202e",
        "。。",
        "．．",
    ]
)
PATHS = st.one_of(st.lists(PIECES, max_size=6).map("/".join), st.text(max_size=30), st.lists(PIECES).map("\\".join))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS)
def test_no_path_leads_outside(path: str, home: Path, outside: Path) -> None:
    """F1, F2, F4, F8: whatever the string, the file outside is neither read nor changed and nothing is made there."""
    for name, target in (("link", outside / "secret"), ("outer", outside)):
        if not (home / name).is_symlink():
            (home / name).symlink_to(target)
    before = names(home.parent)
    for name, access in ACCESSES.items():
        try:
            found = access(Workspace("w", str(home)), path)
        except ToolError:
            continue
        assert found not in {SECRET, sha(SECRET)} if name != "scan" else "secret" not in str(found)
    assert (outside / "secret").read_bytes() == SECRET
    assert names(outside) == ["secret"]
    assert names(home.parent) == before


def test_a_file_in_place_of_a_folder_is_said(workspace: Workspace, home: Path) -> None:
    """A path through a file, or a folder where a file is meant, is one clear sentence."""
    (home / "f").write_bytes(b"")
    (home / "d").mkdir()
    for path, access in (("f/x", ACCESSES["make"]), ("f/x", ACCESSES["read"]), ("f", ACCESSES["scan"])):
        with pytest.raises(ToolFailed, match="is not a folder"):
            access(workspace, path)
    for access in (ACCESSES["read"], ACCESSES["make"], ACCESSES["current"]):
        with pytest.raises(ToolFailed, match="d is a folder, not a file"):
            access(workspace, "d")
    with pytest.raises(TargetChanged):
        ACCESSES["make"](workspace, "f")
