"""What Signoff is for, in Slack: a server process of its own, and the people who work with it."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.flows.process import killed, served
from tests.flows.team import Team, team
from tests.servers.llm import Reply
from tests.servers.slack.world import Message

pytestmark = pytest.mark.slow

READS = Reply(text="I will read it.", calls=[("read_file", {"path": "in.txt"})])
SHEET = {"path": "totals.csv", "sheets": [{"name": "totals", "rows": [["vendor", "total"], ["Acme", 7]]}]}
PROPOSES = Reply(
    text="I propose the report and its table.",
    calls=[("write_file", {"path": "report.md", "content": "# Report\n"}), ("write_sheet", SHEET)],
    pieces=8,
    delay_seconds=0.25,
)
"""Written slowly, so that people see it while it is."""


def live(people: Team, thread: str) -> list[Message]:
    """What is being streamed there now."""
    found = people.slack.thread(people.ops, thread)
    return [message for message in found if message.stream is not None and message.stream.is_open]


async def shown(people: Team, thread: str, part: str) -> Message:
    """A stream that is open and has this among its steps or words."""
    found: list[Message] = []

    def is_shown() -> bool:
        found[:] = [one for one in live(people, thread) if part in f"{one.stream.tasks}{one.stream.written}"]  # type: ignore[union-attr]
        return bool(found)

    await people.slack.until(is_shown)
    return found[-1]


async def reacted(people: Team, message: Message, name: str) -> None:
    """Until this, and nothing else, is the bot's reaction."""
    await people.slack.until(lambda: message.reactions == {name: [people.slack.bot_user]})


def with_cara(people: Team) -> str:
    """Another approver's id."""
    cara = people.slack.person("cara")
    people.slack.world.channels[people.ops].members.add(cara)
    people.others.append({"name": "Cara", "roles": ["approver"], "slack": cara})
    return cara


async def test_a_request_becomes_files_after_a_sign_off(tmp_path: Path) -> None:
    """Seen, worked on step by step, proposed, edited, the server killed while the card is open, two people at once on
    its button: each file is written once, as it was shown, and put into the thread."""
    async with team(tmp_path) as people:
        cara = with_cara(people)
        people.office.mkdir()
        (people.office / "in.txt").write_text("Acme 7")
        people.model.will(READS, PROPOSES)
        async with served(people) as server:
            request = people.mentions(people.ben, "Summarise the invoices in in.txt")
            await reacted(people, request, "eyes")
            await shown(people, request.ts, "in.txt")
            card = await people.card(request.ts)
            await reacted(people, request, "hourglass_flowing_sand")
            assert card.buttons.count("Approve") == 2
            assert "Approve all (2)" in card.buttons
            assert not live(people, request.ts)
            await people.slack.press(people.ben, card, "Approve all (2)")
            await people.whispered(people.ben, "Ben may not decide")
            await edited(people, request, "report.md", "reports/q3.md")
            await killed(server)
        assert written(people) == {"in.txt"}
        people.model.will("The report is in the thread.")
        async with served(people):
            await approved_by_two(people, request, people.ann, cara)
            await reacted(people, request, "white_check_mark")
            shared = partial(people.slack.thread, people.ops, request.ts)
            await people.slack.until(lambda: sum(len(message.files) for message in shared()) == 2)
            thread = shared()
    assert written(people) == {"in.txt", "reports/q3.md", "totals.csv"}
    files = [file for message in thread for file in message.files]
    assert sorted(file.title for file in files) == ["q3.md", "totals.csv"]
    assert [message.shown for message in thread].count("The report is in the thread.") == 1
    assert not [message for message in thread if "Approve" in message.buttons]
    assert (people.office / "reports/q3.md").read_text() == "# Report\n"


def written(people: Team) -> set[str]:
    """The files of the workspace."""
    found = (path.relative_to(people.office) for path in people.office.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] != ".signoff"}


async def edited(people: Team, request: Message, path: str, new_path: str) -> None:
    """Ann changes where the first file goes, in a modal; the card shows it."""
    card = await people.card(request.ts)
    assert path in card.shown
    await people.slack.press(people.ann, card, "Edit…")
    modal = people.slack.modal(people.ann)
    await people.slack.submit(people.ann, modal, {"path": new_path})
    assert not people.slack.has_modal(people.ann)
    await people.slack.until(lambda: new_path in card.shown)


async def approved_by_two(people: Team, request: Message, first: str, second: str) -> None:
    """Both press in the same moment; whoever is late is told who decided."""
    card = await people.card(request.ts)
    presses = (people.slack.press(user, card, "Approve all (2)") for user in (first, second))
    deliveries: list[Any] = await asyncio.gather(*presses)
    assert all(delivery.is_taken for delivery in deliveries)
    await people.slack.until(lambda: "Approve all (2)" not in card.buttons)
    await people.slack.until(lambda: any("already" in whisper.shown for whisper in late(people, first, second)))
    await people.slack.until(lambda: "Approved" in card.shown or "approved" in card.shown)


def late(people: Team, *users: str) -> list[Message]:
    """What these people were told alone."""
    return [whisper for user in users for whisper in people.slack.whispers(user)]


async def test_a_run_is_stopped_by_the_word_and_by_slacks_button(tmp_path: Path) -> None:
    """In the middle of an answer; what was written stays, nothing new begins, and Slack shows that nothing goes on."""
    async with team(tmp_path) as people, served(people):
        people.model.will(*[Reply(text="so far, so good " * 40, pieces=400, delay_seconds=0.1)] * 2)
        for stop in ("word", "button"):
            request = people.mentions(people.ann, f"Tell me everything, then stop by {stop}")
            stream = await shown(people, request.ts, "so far")
            if stop == "word":
                people.mentions(people.ann, "/stop", thread=request.ts)
            else:
                people.slack.stops(people.ann, stream)
            await people.reads("told to stop", thread=request.ts)
            await reacted(people, request, "octagonal_sign")
            assistant = people.slack.assistant(people.ops, request.ts)
            await people.slack.until(lambda: assistant.session == "active")  # noqa: B023
            assert not live(people, request.ts)
        await people.model.idle.wait()


async def test_a_reply_in_the_thread_asks_for_changes(tmp_path: Path) -> None:
    """Nothing of the first card runs; the next one shows what was asked for."""
    async with team(tmp_path, groups="thread") as people, served(people):
        people.model.will(
            Reply(calls=[("write_file", {"path": "a.md", "content": "by vendor\n"})]),
            Reply(calls=[("write_file", {"path": "a.md", "content": "by region\n"})]),
            "Done.",
        )
        request = people.mentions(people.ben, "Write it")
        card = await people.card(request.ts)
        people.slack.says(people.ben, people.ops, "by region, please", thread=request.ts)
        await people.slack.until(lambda: not card.buttons)
        new = await people.card(request.ts)
        assert "by region" in new.shown
        await people.slack.press(people.ann, new, "Approve")
        await people.reads("Done.", thread=request.ts)
        assert (people.office / "a.md").read_text() == "by region\n"


async def test_it_answers_wherever_it_is_spoken_to(tmp_path: Path) -> None:
    """A command in a channel, a direct message, and the agent's own thread with its suggestions and its title."""
    async with team(tmp_path) as people, served(people):
        people.model.will("From a command.", "From a message.", "From a thread.")
        await people.slack.command(people.ben, people.ops, "/signoff", "say something")
        await people.reads("From a command.")
        direct = people.slack.direct(people.ben)
        message = people.slack.writes(people.ben, "say something")
        await people.reads("From a message.", channel=direct)
        await reacted(people, message, "white_check_mark")
        thread = people.slack.opens_assistant(people.ben)
        assistant = people.slack.assistant
        await people.slack.until(lambda: len(assistant(direct, thread.ts).prompts) == 4)
        people.slack.writes(people.ben, "say something there", thread=thread.ts)
        await people.reads("From a thread.", channel=direct, thread=thread.ts)
        await people.slack.until(lambda: assistant(direct, thread.ts).title == "say something there")
