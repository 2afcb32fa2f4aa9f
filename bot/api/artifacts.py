"""The files that tasks made."""

from __future__ import annotations

from pathlib import Path

from agent.domain import Artifact
from agent.errors import NotFound
from bot.api.shapes import Moment, Shown
from bot.api.viewer import Viewer
from bot.services import Services


class ArtifactView(Shown):
    """A file that a task made; `path` is relative to its workspace."""

    artifact_id: int
    task_id: int
    name: str
    path: str
    media_type: str
    size_bytes: int
    sha256: str
    version: int
    created_at: Moment


def artifact_view(artifact: Artifact) -> ArtifactView:
    return ArtifactView(**{name: getattr(artifact, name) for name in ArtifactView.model_fields})


async def show_artifact(services: Services, viewer: Viewer, artifact_id: int) -> ArtifactView:
    """What is known of an artifact; NotFound."""
    return artifact_view(await _artifact(services, viewer, artifact_id))


async def artifact_file(services: Services, viewer: Viewer, artifact_id: int) -> tuple[Path, Artifact]:
    """Where an artifact's bytes lie; NotFound, also when retention removed them."""
    artifact = await _artifact(services, viewer, artifact_id)
    path = services.blobs.path(artifact.sha256)
    if path is None:
        raise NotFound(f"The content of {artifact.name} is not kept any more.", code="gone")
    return Path(path), artifact


async def _artifact(services: Services, viewer: Viewer, artifact_id: int) -> Artifact:
    viewer.require("artifacts:read")
    artifact = await services.store.artifact(artifact_id)
    if not viewer.sees((await services.store.task(artifact.task_id)).workspace):
        raise NotFound(f"There is no artifact {artifact_id}.")
    return artifact
