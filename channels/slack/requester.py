"""Who asked, as Slack knows them."""

from __future__ import annotations

from agent.domain import Task
from agent.errors import NotFound
from agent.ports.platform import Members
from channels.slack.events import CHANNEL

_OURS = f"{CHANNEL}:"


async def requester(task: Task, members: Members) -> str | None:
    """The Slack id (U…, W…) of whoever asked for a task; None for somebody who has none. A guest's name is their
    identity."""
    if task.requester.startswith(_OURS):
        return task.requester.removeprefix(_OURS)
    try:
        member = await members.member(task.requester)
    except NotFound:
        return None
    ids = sorted(one.removeprefix(_OURS) for one in member.identities if one.startswith(_OURS))
    return ids[0] if ids else None
