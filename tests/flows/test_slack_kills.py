"""Kill -9 at every step of an answer's way to Slack: all of it arrives, in order, and nothing twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.flows.process import Life
from tests.flows.team import Team, team
from tests.servers.llm import Reply
from tests.servers.slack.world import Json, Message, World

pytestmark = pytest.mark.slow

ANSWER = "\n\n".join(f"Paragraph {number}. {'so it goes on ' * 100}".strip() for number in range(10))
FILES = ("a.csv", "b.csv")
MADE = Reply(calls=[("write_file", {"path": name, "content": f"x,y\n{name},1\n"}) for name in FILES])
STEPS = ("chat.stopStream", "chat.postMessage", "files.getUploadURLExternal", "files.completeUploadExternal")
"""Of which a delivery of three parts and two files makes six."""


@dataclass
class Doom:
    """Kills a process at one of its steps: before it takes effect, or after it has and before anybody knows."""

    number: int
    after: bool
    life: Life | None = None
    passed: int = 0

    def over(self, handler: Callable[[World, Json], Json]) -> Callable[[World, Json], Json]:
        """The method with that danger in it."""

        def dangerous(world: World, given: Json) -> Json:
            self.passed += 1
            if self.passed != self.number or self.life is None:
                return handler(world, given)
            answer: Json = handler(world, given) if self.after else {}
            assert self.life.pid is not None
            os.kill(self.life.pid, signal.SIGKILL)
            return answer

        return dangerous


async def request_of(people: Team, *, direct: bool) -> tuple[Message, str]:
    """What is asked for, and in which channel."""
    if direct:
        return people.slack.writes(people.ann, "Make both"), people.slack.direct(people.ann)
    return people.mentions(people.ann, "Make both"), people.ops


@pytest.mark.parametrize("direct", [False, True], ids=["thread", "direct"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, 7))
async def test_killed_at_a_step(tmp_path: Path, number: int, after: bool, direct: bool) -> None:
    """M: in a thread the first part ends a stream; in a direct message every part is a message."""
    doom = Doom(number, after)
    async with team(tmp_path) as people:
        people.agent["policy"] = {"file:write": "allow"}
        for name in STEPS:
            people.slack.api.handlers[name] = doom.over(people.slack.api.handlers[name])
        people.model.will(MADE, Reply(text=ANSWER, pieces=20, delay_seconds=0.03))
        async with Life.of(people) as life:
            doom.life = life
            request, channel = await request_of(people, direct=direct)
            assert await life.ended() == -signal.SIGKILL
        async with Life.of(people):
            await people.slack.until(lambda: len(files(people, channel)) >= len(FILES))
            await people.slack.until(lambda: set(request.reactions) == {"white_check_mark"})
        lines = [line for message in people.slack.answers(channel) for line in message.shown.split("\n\n")]
        streams = [message.stream for message in people.slack.answers(channel) if message.stream is not None]
    assert len(people.model.requests) == 2
    assert sorted(files(people, channel)) == list(FILES)
    assert [line for line in lines if line.startswith("Paragraph")] == ANSWER.split("\n\n")
    assert not any(stream.is_open for stream in streams)


def files(people: Team, channel: str) -> list[str]:
    """The names of the files that people see."""
    shown: list[Any] = [file for message in people.slack.answers(channel) for file in message.files]
    return [str(file.name) for file in shown]
