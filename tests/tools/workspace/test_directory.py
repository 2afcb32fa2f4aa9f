"""Which workspace a conversation works in."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.domain import Address, Member
from agent.errors import NotFound, StorageError
from tools.workspace.directory import WorkspaceDirectory

PATTERNS = {
    "demo": ["console:*", "webhook:demo", "cli:*"],
    "team": ["slack:*", "telegram:-100*"],
    "sales": ["slack:C01"],
    "deal": ["slack:C01/17*"],
    "tests": ["slack:C0[89]"],
}


@pytest.fixture
def directory(tmp_path: Path) -> WorkspaceDirectory:
    folders = {name: str(tmp_path / name) for name in PATTERNS}
    for folder in folders.values():
        Path(folder).mkdir()
    return WorkspaceDirectory(folders, PATTERNS, private_folder=str(tmp_path / "data" / "workspaces"))


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (Address(channel="cli", conversation="root"), "demo"),
        (Address(channel="webhook", conversation="demo"), "demo"),
        (Address(channel="slack", conversation="C99", thread="1.2"), "team"),
        (Address(channel="slack", conversation="C01"), "sales"),
        (Address(channel="slack", conversation="C01", thread="16.5"), "sales"),
        (Address(channel="slack", conversation="C01", thread="17.5"), "deal"),
        (Address(channel="slack", conversation="C09", thread="1"), "tests"),
        (Address(channel="telegram", conversation="-1005", thread="7"), "team"),
    ],
)
def test_the_most_specific_pattern_wins(directory: WorkspaceDirectory, address: Address, name: str) -> None:
    """A pattern over the conversation holds for its threads too; the one that fixes most characters decides."""
    assert directory.for_address(address) == name
    assert directory.open(name).name == name


def test_of_equal_patterns_the_first_wins(tmp_path: Path) -> None:
    """Two that fit equally well are taken in the order of the configuration."""
    folders = {"a": str(tmp_path), "b": str(tmp_path)}
    directory = WorkspaceDirectory(folders, {"a": ["x:*1"], "b": ["x:1*"]}, private_folder=str(tmp_path))
    assert directory.for_address(Address(channel="x", conversation="1")) == "a"


def test_everybody_else_works_in_a_folder_of_their_own(directory: WorkspaceDirectory, tmp_path: Path) -> None:
    """Without a pattern each conversation gets a private folder, its threads the same one, and names never collide."""
    conversations = ["4242", "42/42", "42-42", "../../etc", "x" * 300, "é", "è", ""]
    names = [directory.for_address(Address(channel="telegram", conversation=text)) for text in conversations]
    assert len(set(names)) == len(conversations)
    assert directory.for_address(Address(channel="telegram", conversation="4242", thread="7")) == names[0]
    private = tmp_path / "data" / "workspaces"
    assert {path.name for path in private.iterdir()} == set(names)
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in private.iterdir())
    directory.open(names[0]).write("a.md", b"x", expected=None)
    assert (private / names[0] / "a.md").read_bytes() == b"x"


def test_a_member_sees_what_is_open_to_them_alone(directory: WorkspaceDirectory) -> None:
    """Their console and their direct messages on every channel; a group they are in does not count."""
    ann = Member(name="Ann", identities=frozenset({"slack:C01", "telegram:4242"}))
    assert directory.visible_to(ann) == {"demo", "team", "sales"}
    assert directory.visible_to(Member(name="Bob")) == {"demo"}


def test_direct_messages_work_where_the_console_does(directory: WorkspaceDirectory, tmp_path: Path) -> None:
    """Unless a pattern names them; a folder of their own is made for nobody who has a console somewhere."""
    ann = Member(name="Ann", identities=frozenset({"slack:U1", "telegram:4242"}))
    assert directory.for_direct(ann, Address(channel="slack", conversation="U1")) == "team"
    assert directory.for_direct(ann, Address(channel="telegram", conversation="4242")) == "demo"
    assert not (tmp_path / "data").exists()


def test_whoever_only_a_channel_lets_in_has_no_console(directory: WorkspaceDirectory) -> None:
    """What is open to every console is closed to them: they see their own folder and what names them."""
    guest = Member(name="telegram:7", identities=frozenset({"telegram:7"}))
    home = directory.for_direct(guest, Address(channel="telegram", conversation="7"))
    assert home not in PATTERNS
    assert directory.visible_to(guest) == {home}
    named = Member(name="slack:U1", identities=frozenset({"slack:U1"}))
    assert directory.visible_to(named) == {"team"}


@pytest.mark.parametrize("name", ["nobody", "..", "telegram-4242-0123456789ab", "", "."])
def test_an_unknown_name_is_not_found(directory: WorkspaceDirectory, name: str) -> None:
    """A name that was never given out opens nothing, whatever it looks like."""
    directory.for_address(Address(channel="telegram", conversation="4242"))
    with pytest.raises(NotFound):
        directory.open(name)


def test_a_private_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """The data directory is a file: one clear error."""
    (tmp_path / "data").write_bytes(b"")
    directory = WorkspaceDirectory({}, {}, private_folder=str(tmp_path / "data" / "workspaces"))
    with pytest.raises(StorageError, match="cannot be made"):
        directory.for_address(Address(channel="x", conversation="1"))
