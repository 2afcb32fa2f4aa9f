"""The skills that tasks of a workspace have, and what could not be loaded."""

from __future__ import annotations

from agent.tool import in_thread
from bot.api.shapes import Parameters, Shown, Text
from bot.api.viewer import Viewer
from bot.api.workspaces import chosen_workspace
from bot.services import Services


class SkillView(Shown):
    """A skill; `source` is the folder it comes from, `instead_of` the one whose skill of that name it replaces."""

    name: str
    description: str
    source: str
    instead_of: str | None


class SkillList(Shown):
    """The skills by name, and a sentence for each that is broken."""

    workspace: str
    skills: list[SkillView]
    problems: list[str]


class SkillQuery(Parameters):
    """Of which workspace; none named: where the viewer's console works."""

    workspace: Text | None = None


async def list_skills(services: Services, viewer: Viewer, workspace: str | None = None) -> SkillList:
    """The catalogue of a workspace; NotFound."""
    viewer.require("skills:read")
    files = services.workspaces.open(chosen_workspace(services, viewer, workspace))
    catalogue = await in_thread(services.skills.catalogue, files)
    skills = [
        SkillView(
            name=skill.name, description=skill.description, source=skill.folder.label, instead_of=skill.instead_of
        )
        for skill in catalogue.skills.values()
    ]
    return SkillList(workspace=files.name, skills=skills, problems=list(catalogue.problems))
