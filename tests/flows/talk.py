"""A running Signoff that people talk to on the chat platform `lines`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.chat import PlatformChat
from agent.domain import Received
from agent.ports.access import NewAudit
from agent.ports.people import Link
from bot import chat, engine
from bot.config import Config, load_config
from bot.services import Services, connected
from tests.flows.bot import configured
from tests.servers.lines import Lines, Wire, wired
from tests.servers.llm import FakeLLM

ANN = {"name": "Ann", "roles": ["admin", "approver"]}
PEOPLE = (ANN, {"name": "Ben"}, {"name": "Cid"}, {"name": "Eve", "roles": ["approver"]})
KNOWN = {"A1": "Ann", "B1": "Ben", "C1": "Cid", "E1": "Eve"}
"""Who is who on the platform."""


@dataclass(kw_only=True)
class Talk:
    """People at their keyboards, and what can be looked up about it afterwards."""

    services: Services
    chat: PlatformChat
    wire: Wire
    model: FakeLLM
    office: Path

    async def received(self, key: str) -> Received:
        """The row of an event."""
        row = await self.services.store.received(f"lines:{key}")
        assert row is not None
        return row


@asynccontextmanager
async def talking(
    home: Path, *, allow: Sequence[str] = (), office: Mapping[str, Any] | None = None, **agent: Any
) -> AsyncIterator[Talk]:
    """Start it in a folder; Ann and Eve decide, Ben and Cid do not. `allow` is the platform's allow list, `office` what
    else the configuration says of that workspace."""
    model = FakeLLM()
    await model.start()
    try:
        async with connected(with_lines(home, model.base_url, office, **agent)) as services:
            await know(services, KNOWN)
            talks = platform_chat(services, allow)
            lines = Lines(talks)
            await lines.start()
            try:
                async with engine.running(services, {lines.name: lines}, grace_seconds=1), wired(lines) as wire:
                    yield Talk(services=services, chat=talks, wire=wire, model=model, office=home / "office")
            finally:
                await lines.stop()
    finally:
        await model.close()
    assert model.refusals == [], "a strict provider refused a request"


def with_lines(home: Path, base_url: str, office: Mapping[str, Any] | None = None, **agent: Any) -> Config:
    """A configuration in which the platform works in `office`, and Ben alone in `desk`."""
    path = configured(home, base_url, people=PEOPLE, **agent)
    settings = json.loads(path.read_text())
    settings["workspaces"]["office"] |= {"channels": ["lines:*", "console:*"], **(office or {})}
    (home / "desk").mkdir(exist_ok=True)
    settings["workspaces"]["desk"] = {"path": str(home / "desk"), "channels": ["lines:B1", "console:Ben"]}
    path.write_text(json.dumps(settings))
    return load_config(path)


def platform_chat(services: Services, allow: Sequence[str] = ()) -> PlatformChat:
    """What the platform hands its events to, with this allow list."""
    return replace(chat.platform_chat(services), allow={"lines": frozenset(allow)})


async def know(services: Services, known: dict[str, str]) -> None:
    """Link identities on the platform to people."""
    now = services.clock.now()
    for who, name in known.items():
        link = Link(identity=f"lines:{who}", member=name, shown_name=who, linked_at=now, linked_by="operator")
        await services.roster.add_link(link, NewAudit(at=now, who="operator", what="identity_linked", subject=name))
