"""What people can write on a chat platform that no database, no card and no model should trip over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.domain import Address
from agent.ports.channels import ChannelPress
from tests.flows.talk import Talk, talking
from tests.servers.llm import Reply

NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])
HALF = "\ud800"
"""Half a character, which JSON can carry and UTF-8 cannot."""


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path) as talk:
        yield talk


async def test_half_a_character_in_a_name_or_a_word(talk: Talk) -> None:
    """It is replaced as it comes in: a platform that got an error would send the event again without end."""
    knocked = await talk.wire.say("N1", "Hi", name=f"N{HALF}\0ell" + "x" * 50_000)
    assert knocked["outcome"] == "stranger"
    [asked] = await talk.services.roster.pairings(talk.services.clock.now())
    assert asked.shown_name.startswith("N\N{REPLACEMENT CHARACTER}")
    assert len(asked.shown_name) <= 64
    talk.model.will(NOTE, "Denied, then.")
    task = await talk.wire.say("B1", "Write a note", room="room")
    await talk.wire.hears("please decide")
    denied = await talk.wire.say("A1", f"/deny 1 no{HALF} \u202etxt.exe", room="room")
    assert (denied["outcome"], denied["task_id"]) == ("decided", task["task_id"])
    await talk.wire.hears(r"denied by Ann: no" + "\N{REPLACEMENT CHARACTER}" + r" \u202etxt.exe.", room="room")
    await talk.wire.hears("Denied, then.")


async def test_half_a_character_in_a_form(talk: Talk) -> None:
    """The reason and the arguments of a form come in whole, too."""
    talk.model.will(NOTE, "Denied, then.")
    await talk.wire.say("B1", "Write a note", room="room")
    await talk.wire.hears("please decide")
    card = await talk.services.store.find_approval(approval_id=1)
    for verb, fields, outcome in (
        ("edit:1", {"content": f"# {HALF}\n"}, "edited"),
        ("deny", {"reason": f"no{HALF}"}, "decided"),
    ):
        shown = await talk.services.store.find_approval(approval_id=1)
        press = ChannelPress(
            dedup_key=f"lines:{verb}",
            address=Address(channel="lines", conversation="room"),
            identity="lines:A1",
            value=f"{card.token}:{shown.revision}:{verb}",
            pressed_at=talk.services.clock.now(),
            fields=fields,
        )
        assert (await talk.chat.press(press)).outcome == outcome
    [call] = (await talk.services.store.load(card.task_id)).calls
    assert "\N{REPLACEMENT CHARACTER}" in call.arguments
    assert call.reason == "no\N{REPLACEMENT CHARACTER}"
