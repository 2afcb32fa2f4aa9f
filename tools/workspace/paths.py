"""What a path inside a workspace may look like, and which names there belong to the product. Pure."""

from __future__ import annotations

import re
import unicodedata

from agent.errors import ToolFailed
from agent.ports.files import Area
from agent.previews import visible

Parts = tuple[str, ...]

TEMPORARY_PREFIX = ".signoff-tmp-"
MEMORY = "memory"
SYSTEM = ("inbox", ".signoff")
RESERVED = (MEMORY, "skills", *SYSTEM, "config.yaml", "config.yml", "policy.yaml", "policy.yml", ".env")
"""Names at the top of a workspace by which the agent itself is steered: no file tool writes there, approved or not."""

_GIT = frozenset({".git", "git~1"})
"""Git's own folder, at any depth, with its short name on FAT and NTFS (CVE-2019-1353), where a colon begins a stream of
the same folder (CVE-2019-1352): whoever runs `git status` there runs what `core.fsmonitor` in its config names
(https://git-scm.com/docs/git-config)."""

NAME_BYTES = 255
PATH_BYTES = 4_000
"""NAME_MAX of Linux, and somewhat below its PATH_MAX of 4,096: limits.h, path_resolution(7)."""

_SHOWN = 200
_DRIVE = re.compile(r"[A-Za-z]:")
_UNSEEN = frozenset({"Cc", "Zl", "Zp"})


def shown(path: str) -> str:
    """A path as it may stand in a message: nothing invisible, not too long."""
    if not path:
        return "The workspace"
    return visible(path[:_SHOWN]).replace("\n", "\\n").replace("\t", "\\t") + ("…" if len(path) > _SHOWN else "")


def parts(path: str) -> Parts:
    """The names of a relative path; none for the workspace itself. ToolFailed for every form that could mean outside.

    Backslashes and drive letters are refused although Linux would take them as names: whoever writes them means a
    path on another system. Percent signs are just characters: nothing here decodes a path a second time.
    """
    if "\0" in path:
        raise ToolFailed("The path has a NUL character in it. Send it without.")
    if "\\" in path:
        raise ToolFailed(f"{shown(path)} has a backslash. Write / between folders and names.")
    if path.startswith("/") or _DRIVE.match(path):
        raise ToolFailed(f"{shown(path)} is an absolute path. Name it from the top of the workspace: reports/a.md.")
    names = tuple(name for name in path.split("/") if name not in {"", "."})
    if ".." in names:
        raise ToolFailed(f"{shown(path)} leaves the workspace. Only files inside it can be used.")
    try:
        sizes = [len(name.encode()) for name in names]
    except UnicodeEncodeError:
        raise ToolFailed(f"{shown(path)} is not valid text. Name it with whole characters.") from None
    if max(sizes, default=0) > NAME_BYTES or sum(sizes) + len(sizes) > PATH_BYTES:
        raise ToolFailed(f"{shown(path)} is too long: at most {NAME_BYTES} bytes a name and {PATH_BYTES} in all.")
    return names


def normal(path: str) -> str:
    """The one spelling of a path, so that it counts as one file in targets, artifacts and grants."""
    return "/".join(parts(path))


def folded(name: str) -> str:
    """The form in which two names count as one, on the most forgiving file system there is.

    Such systems ignore case, compatibility forms, trailing dots and spaces (Windows, SMB) and invisible characters
    (HFS+, CVE-2014-9390), and one of them may be mounted into the workspace.
    """
    seen = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).rstrip(". ")


def refuse_foreign(path: str, names: Parts, area: Area) -> None:
    """ToolFailed for a place that a write to this area may not touch."""
    if not names:
        raise ToolFailed("A file needs a name. Say where in the workspace it goes.")
    if names[-1].startswith(TEMPORARY_PREFIX):
        raise ToolFailed(f"{shown(path)} is a name of temporary files. Choose another.")
    if area == "files":
        _refuse_reserved(path, folded(names[0]))
        if any(folded(name).partition(":")[0] in _GIT for name in names):
            raise ToolFailed(f"{shown(path)} belongs to Git, whose settings can run programs. Choose another place.")
    elif names[0] not in ((MEMORY,) if area == "memory" else SYSTEM) or len(names) == 1:
        where = f"{MEMORY}/" if area == "memory" else " or ".join(f"{name}/" for name in SYSTEM)
        raise ToolFailed(f"{shown(path)} is not below {where}, where this has to go.")


def refuse_new(path: str, name: str) -> None:
    """ToolFailed for a name that exists already somewhere perhaps, but that should not be made."""
    if name.endswith((".", " ")):
        raise ToolFailed(f"{shown(path)}: a name that ends in a dot or a space is another one on other systems.")
    if any(unicodedata.category(character) in _UNSEEN for character in name):
        raise ToolFailed(f"{shown(path)}: a name must not contain control characters or line breaks.")


def _refuse_reserved(path: str, first: str) -> None:
    if first == MEMORY:
        raise ToolFailed(f"{shown(path)} belongs to the memory. Use memory_write.")
    if first in RESERVED or first.startswith(".env."):
        raise ToolFailed(f"{shown(path)} steers the agent itself and is not written by tools. Choose another place.")
