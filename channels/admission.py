"""Who may write on a chat platform, and which messages in company are meant for us."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agent.platform_ids import PlatformId

Groups = Literal["mention", "reply", "all"]
"""What is heard where others read, too: messages that name us; also replies to what we said; everything."""


class ChatSettings(BaseModel):
    """What every chat platform has. `allow`: people and conversations that are let in without being known, or `*`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    allow: tuple[PlatformId, ...] = ()
    groups: Groups = "mention"
