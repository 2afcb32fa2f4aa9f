"""Skills come from folders in a fixed order; nothing about them is silent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.errors import ToolFailed
from agent.skills import BUILT_IN, SkillFolder, SkillSource
from tests.agent.counted import Counted
from tools.workspace.guard import Workspace


def put(folder: Path, name: str, description: str = "Does it", text: str = "# How") -> Path:
    """Make a skill; the path of its SKILL.md."""
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{text}\n")
    return file


class Place:
    """Built-in and configured skills, and a workspace with its own."""

    def __init__(self, root: Path) -> None:
        self.built_in, self.configured, self.home = root / "built-in", root / "team", root / "home"
        for folder in (self.built_in, self.configured, self.home):
            folder.mkdir()
        self.own = self.home / "skills"
        self.source = SkillSource(
            [
                SkillFolder(label=folder.name, files=Workspace(folder.name, str(folder)))
                for folder in (self.built_in, self.configured)
            ]
        )
        self.workspace: Workspace = Workspace("home", str(self.home))

    @property
    def text(self) -> str:
        return self.source.catalogue(self.workspace).text

    @property
    def problems(self) -> tuple[str, ...]:
        return self.source.catalogue(self.workspace).problems

    def read(self, name: str, path: str | None = None) -> str:
        return self.source.read(self.workspace, name, path)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_no_skills_are_no_text(place: Place) -> None:
    """A workspace without a skills folder has nothing to say and no problem."""
    assert (place.text, place.problems) == ("", ())


def test_the_built_in_skills_load() -> None:
    """What is shipped is found beside the package and is not broken."""
    source = SkillSource([SkillFolder(label="built-in", files=Workspace("skills", str(BUILT_IN)))])
    catalogue = source.catalogue(Workspace("skills", str(BUILT_IN)))
    assert catalogue.problems == ()
    assert "invoice-summary" in catalogue.skills


def test_the_later_of_two_skills_with_one_name_is_used_and_shown(place: Place) -> None:
    """L7: built-in, configured, workspace; the last wins, and the catalogue says whom it replaces."""
    put(place.built_in, "report", "first")
    put(place.configured, "report", "second", "# From the team")
    put(place.built_in, "digest")
    assert place.text == "- digest: Does it\n- report (team, instead of built-in): second"
    put(place.own, "report", "third", "# From here")
    assert "- report (workspace, instead of team): third" in place.text
    assert place.read("report") == "# From here"


def test_a_broken_skill_is_named_and_the_others_load(place: Place) -> None:
    """L1, L2, L3: with its file and the reason, in the prompt too; none is loaded without its tool limits."""
    put(place.own, "good")
    put(place.own, "plan", "Helps: plan and write")
    put(place.own, "limited", "x\nallowed-tools: read_file\noops")
    put(place.own, "hint", "x\nargument-hint: [action] — e.g. list")
    (place.own / "empty").mkdir()
    (place.own / "README.md").write_text("not a skill")
    catalogue = place.source.catalogue(place.workspace)
    assert list(catalogue.skills) == ["good"]
    assert [problem.split(": ")[1] for problem in catalogue.problems] == [
        f"skills/{name}/SKILL.md" for name in ("empty", "hint", "limited", "plan")
    ]
    assert "[Not loaded: workspace: skills/hint/SKILL.md: line 4 is not valid YAML" in catalogue.text
    assert catalogue.text.endswith("[1 more are not loaded.]")
    with pytest.raises(ToolFailed, match=r"There is no skill 'limited'\. The skills are: good"):
        place.read("limited")


def test_a_broken_override_leaves_the_other_one(place: Place) -> None:
    """L3: the broken skill does not load in place of a good one, and is named."""
    put(place.built_in, "report", "first")
    put(place.own, "report", "Helps: plan")
    assert place.text.startswith("- report: first\n[Not loaded: workspace: skills/report/SKILL.md")


def test_links_are_not_followed(place: Place, tmp_path: Path) -> None:
    """L6: a SKILL.md, a folder or a file of a skill that is a link is refused with a warning."""
    outside = put(tmp_path / "outside", "linked", text="# Secret")
    (place.own / "linked").mkdir(parents=True)
    (place.own / "linked" / "SKILL.md").symlink_to(outside)
    (place.own / "folder").symlink_to(outside.parent)
    put(place.own, "good")
    (place.own / "good" / "notes.md").symlink_to("/etc/hostname")
    assert place.text.startswith("- good: Does it\n[Not loaded: ")
    assert [("link" in problem) for problem in place.problems] == [True, True]
    assert place.read("good") == "# How"
    with pytest.raises(ToolFailed, match="link"):
        place.read("good", "notes.md")


def test_a_skills_folder_that_is_a_link_is_a_problem(place: Place, tmp_path: Path) -> None:
    """L6: nor is the whole folder taken from elsewhere."""
    put(tmp_path / "outside", "report")
    place.own.symlink_to(tmp_path / "outside")
    assert (place.source.catalogue(place.workspace).skills, len(place.problems)) == ({}, 1)


def test_the_files_of_a_skill_are_named_and_read(place: Place) -> None:
    """Instructions come without their header, with the names of the other files."""
    put(place.own, "report", text="# How\nUse the template.")
    (place.own / "report" / "templates").mkdir()
    (place.own / "report" / "templates" / "a.md").write_text("Dear …")
    assert place.read("report") == "# How\nUse the template.\n\nFiles of this skill: templates/a.md"
    assert place.read("report", "SKILL.md") == place.read("report")
    assert place.read("report", "templates/a.md") == "Dear …"


@pytest.mark.parametrize(
    "path", ["../other/SKILL.md", "templates/../../other/SKILL.md", "/etc/hostname", "..", "missing.md", "", "big.md"]
)
def test_nothing_outside_of_a_skill_is_read(place: Place, path: str) -> None:
    """Not even another skill of the same folder; nor what is missing or over 256 KiB."""
    put(place.own, "report")
    put(place.own, "other")
    (place.own / "report" / "big.md").write_text("x" * (256 * 1024 + 1))
    with pytest.raises(ToolFailed):
        place.read("report", path)


def test_the_catalogue_keeps_to_its_size(place: Place) -> None:
    """At most 4,096 bytes: descriptions get shorter, then the last names are counted instead of listed."""
    for number in range(20):
        put(place.own, f"skill-{number:03}", "é" * 1_000)
    assert 2_000 < len(place.text.encode()) <= 4_096
    assert place.text.count("\n") == 19
    for number in range(20, 150):
        put(place.own, f"skill-{number:03}", "é" * 1_000)
    assert len(place.text.encode()) <= 4_096
    assert place.text.endswith("more skills do not fit here.]")


def test_a_skill_is_read_again_only_when_it_changed(place: Place) -> None:
    """What does not change is never parsed again; a new, changed or removed skill is seen at once."""
    place.workspace = counted = Counted(place.home)
    file = put(place.own, "report", "first")
    assert [place.text for _ in range(3)] == ["- report: first"] * 3
    assert counted.reads == ["skills/report/SKILL.md"]
    put(place.own, "report", "other")
    os.utime(file, ns=(1, 1))
    assert place.text == "- report: other"
    put(place.own, "digest", "new")
    assert place.text == "- digest: new\n- report: other"
    file.unlink()
    assert place.text.startswith("- digest: new\n[Not loaded: ")
