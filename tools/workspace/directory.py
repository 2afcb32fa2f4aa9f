"""The workspaces by name, and which one a conversation works in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from agent.addresses import matches
from agent.domain import Address, Member
from agent.errors import NotFound, StorageError
from agent.people import direct_address, home_of
from tools.workspace.guard import Workspace

_WILD = re.compile(r"\[[^\]]+\]|[*?]")
_PRIVATE = re.compile(r"[A-Za-z0-9_-]{1,60}-[0-9a-f]{12}")


class WorkspaceDirectory:
    """The configured workspaces and the private ones, implementing Workspaces.

    `folders` gives each configured name its folder and `patterns` its channel patterns: shell-style, over
    `channel:conversation` or `channel:conversation/thread`. Private workspaces are made below `private_folder`.
    `protected`: absolute paths that no tool may reach in any workspace.
    """

    def __init__(
        self,
        folders: Mapping[str, str],
        patterns: Mapping[str, Sequence[str]],
        *,
        private_folder: str,
        protected: Iterable[str] = (),
    ) -> None:
        self._private_folder = Path(private_folder)
        self._protected = tuple(protected)
        self._workspaces = {
            name: Workspace(name, folder, protected=self._protected) for name, folder in folders.items()
        }
        self._patterns = [(pattern, name) for name, own in patterns.items() for pattern in own]

    def open(self, name: str) -> Workspace:
        """The files of a workspace; NotFound when there is none of that name."""
        if name in self._workspaces:
            return self._workspaces[name]
        folder = self._private_folder / name
        if not _PRIVATE.fullmatch(name) or not folder.is_dir():
            raise NotFound(f"There is no workspace {name!r}.")
        return Workspace(name, str(folder), protected=self._protected)

    def for_address(self, address: Address) -> str:
        """The workspace an address works in: the pattern that fits best, or a private one made for the conversation.

        A group, a hook and a schedule is a conversation of its own.
        """
        return self._configured(address) or self._private(address)

    def for_direct(self, member: Member, address: Address) -> str:
        """The workspace of a member's direct messages: the pattern that fits best, or where they work alone."""
        return self._configured(address) or self.for_address(home_of(member))

    def visible_to(self, member: Member) -> frozenset[str]:
        """Every workspace that a pattern opens to a member's console or direct messages, and the one they work in."""
        home = home_of(member)
        addresses = [home, *map(direct_address, member.identities)]
        opened = {name for address in addresses for _, name in self._fitting(address)}
        return frozenset({*opened, self.for_address(home)})

    def _configured(self, address: Address) -> str | None:
        """The workspace whose pattern fits an address best."""
        return max(self._fitting(address), key=lambda item: _specificity(item[0]), default=("", None))[1]

    def _private(self, address: Address) -> str:
        name = _private_name(f"{address.channel}:{address.conversation}")
        try:
            (self._private_folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"The private workspace {self._private_folder / name} cannot be made: {error}."
            ) from error
        return name

    def _fitting(self, address: Address) -> list[tuple[str, str]]:
        """The patterns that fit an address, each with its workspace."""
        return [item for item in self._patterns if matches(address, item[0])]


def _specificity(pattern: str) -> int:
    """How many characters a pattern fixes; of equals the one configured first wins."""
    return len(_WILD.sub("", pattern))


def _private_name(conversation: str) -> str:
    """A folder's name that is readable, and different for different conversations whatever characters they have."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", conversation)[:60]
    return f"{readable}-{hashlib.sha256(conversation.encode()).hexdigest()[:12]}"
