"""Who may write on a chat platform."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from agent.platform_ids import PlatformId


class ChatSettings(BaseModel):
    """What every chat platform has. `allow`: people and conversations that are let in without being known, or `*`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    allow: tuple[PlatformId, ...] = ()
