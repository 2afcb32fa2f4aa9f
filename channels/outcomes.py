"""Where a hook's tasks stand, for whoever the hook tells: its own answer or a callback."""

from __future__ import annotations

from typing import Any

from agent.domain import Artifact
from agent.errors import NotFound
from agent.ports.store import Queries, TaskOutcome
from channels.webhook_view import outcome


class Outcomes:
    """Reads tasks for hooks; URLs are absolute when the server's public address is known, else paths."""

    def __init__(self, queries: Queries, public_url: str | None) -> None:
        self._queries = queries
        self._origin = (public_url or "").rstrip("/")

    def url(self, hook_name: str, *parts: str | int) -> str:
        """The address of something below a hook."""
        return "/".join((f"{self._origin}/hooks/{hook_name}", *map(str, parts)))

    async def read(self, hook_name: str, task_id: int) -> dict[str, Any]:
        """The body that describes a task of the hook; NotFound for any other."""
        return outcome(await self._task(hook_name, task_id), self.url(hook_name, "artifacts"))

    async def artifact(self, hook_name: str, artifact_id: int) -> Artifact:
        """An artifact of one of the hook's tasks; NotFound for any other."""
        artifact = await self._queries.artifact(artifact_id)
        if not _of(hook_name, await self._queries.outcome(artifact.task_id)):
            raise NotFound(f"There is no artifact {artifact_id}.")
        return artifact

    async def _task(self, hook_name: str, task_id: int) -> TaskOutcome:
        found = await self._queries.outcome(task_id)
        if not _of(hook_name, found):
            raise NotFound(f"There is no task {task_id}.")
        return found


def _of(hook_name: str, task: TaskOutcome) -> bool:
    return (task.address.channel, task.address.conversation) == ("webhook", hook_name)
