"""Skills: folders with a SKILL.md that say how a kind of work is done; the prompt names them, a tool reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.errors import ToolFailed
from agent.ports.files import FileInfo, WorkspaceFiles
from agent.previews import visible
from agent.skill_file import DESCRIPTION_CHARACTERS, body, decoded, description

BUILT_IN = Path(__file__).parent.parent / "skills"
"""The skills that come with the product, in a checkout and in the installed package alike."""
WORKSPACE_FOLDER = "skills"
CATALOGUE_BYTES = 4_096
"""What the catalogue takes of the prompt."""
FILE_BYTES = 256 * 1024
"""The size up to which a file of a skill is read."""

_FILE = "SKILL.md"
_SHORTER = (DESCRIPTION_CHARACTERS, 400, 200, 100, 50)
_PROBLEMS_SHOWN = 3
_PROBLEM_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillFolder:
    """A folder of skills behind the guard; `label` says to people which one it is."""

    label: str
    files: WorkspaceFiles
    path: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """A skill that can be used; its files are those below `path`. `instead_of`: the folder whose skill it replaces."""

    name: str
    description: str
    folder: SkillFolder
    path: str
    instead_of: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """The skills of a workspace by name, what could not be loaded and why, and both as the prompt has them."""

    skills: Mapping[str, Skill] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Loaded:
    """What a folder held when its entries were `stamp`."""

    stamp: tuple[tuple[FileInfo, FileInfo | None], ...] = ()
    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()


class SkillSource:
    """Where skills come from: the shared folders in their order, then the workspace's own `skills/`.

    Of two skills with one name the later is used, and the catalogue says so. A folder is read again only when a name,
    size or time in it changed. Blocking: call it in a thread.
    """

    def __init__(self, shared: Sequence[SkillFolder]) -> None:
        self._shared = tuple(shared)
        self._read: dict[tuple[str, str], _Loaded] = {}

    def catalogue(self, workspace: WorkspaceFiles) -> Catalogue:
        """The skills that a task in this workspace has."""
        own = SkillFolder(label="workspace", files=workspace, path=WORKSPACE_FOLDER)
        skills: dict[str, Skill] = {}
        problems: list[str] = []
        for folder in (*self._shared, own):
            loaded = self._loaded(folder)
            problems += loaded.problems
            for skill in loaded.skills:
                replaced = skills.get(skill.name)
                skills[skill.name] = replace(skill, instead_of=replaced.folder.label if replaced else None)
        ordered = dict(sorted(skills.items()))
        return Catalogue(skills=ordered, problems=tuple(problems), text=_text(list(ordered.values()), problems))

    def read(self, workspace: WorkspaceFiles, name: str, path: str | None = None) -> str:
        """A skill's instructions and the names of its other files, or one of these files.

        ToolFailed for an unknown name or file, for anything outside of the skill's folder and for what is not text.
        """
        skills = self.catalogue(workspace).skills
        skill = skills.get(name)
        if skill is None:
            raise ToolFailed(f"There is no skill {name!r}. The skills are: {', '.join(skills) or 'none'}.")
        if path is None or path == _FILE:
            return _instructions(skill)
        if ".." in path.split("/"):
            raise ToolFailed(f"{path} is not in the folder of the skill {name}.")
        return _content(skill, path)

    def _loaded(self, folder: SkillFolder) -> _Loaded:
        try:
            stamp = tuple(_stamp(folder))
        except ToolFailed as error:
            return _Loaded(problems=(f"{folder.label}: {error}",))
        if not stamp:
            return _Loaded()
        key = (folder.files.root, folder.path)
        known = self._read.get(key)
        if known is None or known.stamp != stamp:
            known = self._read[key] = _load(folder, stamp)
        return known


def _stamp(folder: SkillFolder) -> Iterator[tuple[FileInfo, FileInfo | None]]:
    """Every entry of the folder, with its SKILL.md as it is now."""
    if folder.path and folder.files.stat(folder.path) is None:
        return
    for entry in folder.files.scan(folder.path, max_depth=1):
        yield entry, folder.files.stat(f"{entry.path}/{_FILE}") if entry.kind == "folder" else None


def _load(folder: SkillFolder, stamp: tuple[tuple[FileInfo, FileInfo | None], ...]) -> _Loaded:
    skills: list[Skill] = []
    problems: list[str] = []
    for entry, _ in stamp:
        name = entry.path.rpartition("/")[2]
        if name.startswith((".", "_")) or entry.kind == "file":
            continue
        try:
            skills.append(_skill(folder, entry, name))
        except ToolFailed as error:
            problems.append(f"{folder.label}: {entry.path}/{_FILE}: {error}")
    return _Loaded(stamp=stamp, skills=tuple(skills), problems=tuple(problems))


def _skill(folder: SkillFolder, entry: FileInfo, name: str) -> Skill:
    if entry.kind != "folder":
        raise ToolFailed("the folder is a link or a device, which are not followed; put a copy there.")
    path = f"{entry.path}/{_FILE}"
    text = decoded(folder.files.read(path, limit_bytes=FILE_BYTES), path)
    return Skill(name=name, description=description(text, name), folder=folder, path=entry.path)


def _instructions(skill: Skill) -> str:
    text = body(_content(skill, _FILE))
    inside = f"{skill.path}/"
    files = [
        entry.path.removeprefix(inside)
        for entry in skill.folder.files.scan(skill.path)
        if entry.kind == "file" and entry.path != inside + _FILE
    ]
    return f"{text}\n\nFiles of this skill: {', '.join(files)}" if files else text


def _content(skill: Skill, path: str) -> str:
    return decoded(skill.folder.files.read(f"{skill.path}/{path}", limit_bytes=FILE_BYTES), path)


# --- the catalogue ------------------------------------------------------------------------------------------------


def _text(skills: Sequence[Skill], problems: Sequence[str]) -> str:
    """A line for each skill, descriptions as long as all of them fit; then what could not be loaded."""
    notes = _notes(problems)
    for most in _SHORTER:
        lines = [_line(skill, most) for skill in skills]
        text = "\n".join([*lines, *notes])
        if len(text.encode()) <= CATALOGUE_BYTES:
            return text
    kept = len(lines)
    while len(text.encode()) > CATALOGUE_BYTES:
        kept -= 1
        text = "\n".join([*lines[:kept], f"[{len(lines) - kept} more skills do not fit here.]", *notes])
    return text


def _line(skill: Skill, most: int) -> str:
    instead = f" ({skill.folder.label}, instead of {skill.instead_of})" if skill.instead_of else ""
    said = skill.description
    return f"- {skill.name}{instead}: {said if len(said) <= most else f'{said[: most - 1]}…'}"


def _notes(problems: Sequence[str]) -> list[str]:
    shown = (visible(" ".join(problem.split()))[:_PROBLEM_CHARACTERS] for problem in problems[:_PROBLEMS_SHOWN])
    notes = [f"[Not loaded: {problem}]" for problem in shown]
    if len(problems) > _PROBLEMS_SHOWN:
        notes.append(f"[{len(problems) - _PROBLEMS_SHOWN} more are not loaded.]")
    return notes
