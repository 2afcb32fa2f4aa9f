"""What whoever looks may see and do, before any route."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.domain import OPERATOR, Member, Role
from agent.errors import Forbidden
from bot.api.viewer import ADMIN_SCOPES, DEFAULT_SCOPES, SCOPES, Scope, allowed, terminal, viewer
from tests.agent.rows_of_people import opened
from tools.workspace.directory import WorkspaceDirectory


def member(name: str = "Ann", *roles: Role) -> Member:
    return Member(name=name, roles=frozenset({"member", *roles}))


@pytest.fixture
def workspaces(tmp_path: Path) -> WorkspaceDirectory:
    patterns = {
        "shared": ["console:*", "cli:*"],
        "annas": ["console:Ann", "console:Ann/*"],
        "others": ["console:Annabel", "slack:*"],
        "closed": [],
    }
    folders = {name: str(tmp_path / name) for name in patterns}
    for folder in folders.values():
        Path(folder).mkdir()
    return WorkspaceDirectory(folders, patterns, private_folder=str(tmp_path / "private"))


def test_a_member_sees_the_workspaces_that_name_them(workspaces: WorkspaceDirectory) -> None:
    """By pattern; a longer name that begins alike is somebody else."""
    ann, bob = viewer(member(), workspaces, way="api"), viewer(member("Bob"), workspaces, way="api")
    assert ann.workspaces == frozenset({"shared", "annas"})
    assert bob.workspaces == frozenset({"shared"})
    assert [name for name in ("shared", "annas", "others", "closed", "nothing") if ann.sees(name)] == [
        "shared",
        "annas",
    ]


def test_whoever_no_workspace_names_has_a_private_one(tmp_path: Path) -> None:
    """Nobody else's, however alike the names are."""
    directory = WorkspaceDirectory({}, {}, private_folder=str(tmp_path))
    seen = [viewer(member(name), directory, way="console").workspaces for name in ("Ann", "ann", "An n")]
    assert [len(names or ()) for names in seen] == [1, 1, 1]
    assert len(frozenset.union(*(names or frozenset() for names in seen))) == 3


async def test_an_admin_sees_all(workspaces: WorkspaceDirectory, tmp_path: Path) -> None:
    """The operator at the terminal among them, also what nobody's pattern opens."""
    async with opened(tmp_path) as rows:
        operator = terminal(rows.people(), workspaces)
    for all_seeing in (viewer(member("Zoe", "admin"), workspaces, way="console"), operator):
        assert all_seeing.sees("closed")
        assert all_seeing.scopes == SCOPES
    assert operator.member == OPERATOR


def test_whoever_speaks_somewhere_sees_what_it_works_on(workspaces: WorkspaceDirectory) -> None:
    """Everybody in a group sees its workspace there, and only there."""
    there = viewer(member("Bob"), workspaces, way="chat", place="others")
    assert there.workspaces == frozenset({"shared", "others"})
    assert viewer(member("Bob"), workspaces, way="console").workspaces == frozenset({"shared"})
    assert viewer(member("Zoe", "admin"), workspaces, way="chat", place="others").workspaces is None


@pytest.mark.parametrize(
    ("roles", "scopes"),
    [((), SCOPES - ADMIN_SCOPES), (("approver",), SCOPES - ADMIN_SCOPES), (("admin",), SCOPES)],
)
def test_what_roles_allow(roles: tuple[Role, ...], scopes: frozenset[Scope]) -> None:
    """Which card a person may decide is up to its rule, which may name any member."""
    assert allowed(member("Ann", *roles)) == scopes
    assert scopes >= DEFAULT_SCOPES


def test_scopes_and_roles_are_required(workspaces: WorkspaceDirectory) -> None:
    """A scope that the member's roles do not allow is not there, whatever the token says."""
    reader = viewer(member(), workspaces, way="api", scopes=frozenset({"tasks:read", "memory:write"}))
    reader.require("tasks:read")
    reader.require_role("member")
    missing: tuple[Scope, ...] = ("tasks:write", "memory:write")
    for scope in missing:
        with pytest.raises(Forbidden, match=f"needs the scope {scope}"):
            reader.require(scope)
    with pytest.raises(Forbidden, match="Ann may not do this; it is for the role admin"):
        reader.require_role("admin")
