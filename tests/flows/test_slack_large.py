"""Slack and things that are too long, too many, too large, or named to break something, through the whole product."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.flows.team import Team, reached, team
from tests.servers.llm import Reply
from tests.servers.slack.world import Message

CODE = "```python\n" + "\n".join(f"value_{number} = '<!channel> & 漢字 🙂'" for number in range(120)) + "\n```"
TABLE = "| Lieferant | 合計 |\n|---|---:|\n" + "\n".join(
    f"| Größe {number} 🧾 | {number}.00 € |" for number in range(90)
)
PROSE = "これは長い文章です。**粗體**と`code`と🙂🙂。" * 60
LONG = "\n\n".join(f"## Part {number}\n\n{text}" for number, text in enumerate([CODE, TABLE, PROSE] * 5))


async def test_a_long_answer_arrives_whole(tmp_path: Path) -> None:
    """SLL-03 SLL-04: 50 kB of tables, code, CJK and emoji, streamed: every line is there once and in order."""
    assert len(LONG.encode()) > 50_000
    async with team(tmp_path) as people, people.at_work():
        people.model.will(Reply(text=LONG, pieces=200, delay_seconds=0.01))
        request = people.mentions(people.ann, "Tell me everything")
        await people.reads("Part 14", thread=request.ts)
        await people.slack.until(lambda: "white_check_mark" in request.reactions)
        thread = people.slack.thread(people.ops, request.ts)
    whole = "\n".join(message.shown for message in thread)
    assert re.findall(r"Part (\d+)", whole) == [str(number) for number in range(15)]
    for kind, count in (("value_7 =", 5), ("Größe 89 ", 5), ("粗體", 300)):
        assert whole.count(kind) == count
    assert all(message.shown.count("```") % 2 == 0 for message in thread)


async def test_a_card_of_thirty_items_is_signed_off(tmp_path: Path) -> None:
    """SLL-07: all are listed, one is refused by its number, and the rest approved by a button."""
    async with team(tmp_path) as people, people.at_work() as app:
        calls = [("write_file", {"path": f"f{number}.md", "content": f"{number}\n"}) for number in range(1, 31)]
        people.model.will(Reply(calls=calls), "Done.")
        request = people.mentions(people.ann, "Write thirty")
        await people.slack.until(lambda: any("Approve all (30)" in one.buttons for one in cards(people, request)))
        card = next(one for one in cards(people, request) if "Approve all (30)" in one.buttons)
        text = "\n".join(one.shown for one in people.slack.thread(people.ops, request.ts))
        assert all(f"f{number}.md" in text for number in range(1, 31))
        people.mentions(people.ann, "/deny 1 3 not this one", thread=request.ts)
        await people.slack.until(lambda: "Approve all (29)" in card.buttons)
        await people.slack.press(people.ann, card, "Approve all (29)")
        await people.reads("Done.", thread=request.ts)
        await reached(app, 1, lambda state: state.task.status == "done")
        assert not [one for one in cards(people, request) if one.buttons]
    assert len(list(people.office.glob("f*.md"))) == 29
    assert not (people.office / "f3.md").exists()


def cards(people: Team, request: Message) -> list[Message]:
    return [one for one in people.slack.thread(people.ops, request.ts) if one.buttons]


async def test_a_preview_that_does_not_fit_is_attached_and_editable_no_more(tmp_path: Path) -> None:
    """Nothing is approved that cannot be read: 200 kB stand in a file; a form has no room for them and says so."""
    content = "\n".join(f"line {number} of the <!here> text" for number in range(7_000))
    assert len(content) > 200_000
    async with team(tmp_path) as people, people.at_work():
        people.model.will(Reply(calls=[("write_file", {"path": "big.md", "content": content})]), "Done.")
        request = people.mentions(people.ann, "Write it")
        card = await people.card(request.ts)
        await people.slack.until(lambda: bool(attached(people, request)))
        [copy] = attached(people, request)
        await people.slack.press(people.ann, card, "Edit…")
        await people.whispered(people.ann, "a form in Slack takes 3,000")
        await people.slack.press(people.ann, card, "Approve")
        await people.reads("Done.", thread=request.ts)
    assert "line 6999 of the" in copy
    assert (people.office / "big.md").read_text() == content


def attached(people: Team, request: Message) -> list[str]:
    thread = people.slack.thread(people.ops, request.ts)
    return [file.content.decode() for message in thread for file in message.files]


NAMES = ["<!channel> *b* `c`", "@everyone", "A\u202eB & <C|D>", "名前 🙂"]


@pytest.mark.parametrize("name", NAMES)
async def test_names_are_words(tmp_path: Path, name: str) -> None:
    """SLT-07: of a person, who is mentioned and asks, and of a file in and out; nobody is pinged by them."""
    async with team(tmp_path) as people, people.at_work() as app:
        people.slack.world.users[people.ben].name = name
        path = f"{name.replace('/', '')}.csv"
        file = people.slack.file(people.ann, path, b"x,y\n")
        people.model.will(Reply(calls=[("write_file", {"path": f"out/{path}", "content": "x\n"})]), "Done.")
        request = people.mentions(people.ann, f"ask <@{people.ben}> about this", files=[file])
        card = await people.card(request.ts)
        await people.slack.press(people.ann, card, "Approve")
        await people.reads("Done.", thread=request.ts)
        state = await reached(app, 1, lambda state: state.task.status == "done")
        people.slack.writes(people.eve, "hello")
        await people.reads("code", channel=people.slack.direct(people.eve))
    assert "@" in state.task.prompt
    assert len(list((people.office / "inbox").iterdir())) == 1


async def test_files_that_cannot_be_had_do_not_stop_the_rest(tmp_path: Path) -> None:
    """SLF-02, SLF-11: an empty one, one that is too large, a login page in place of one; the good one is worked on."""
    async with team(tmp_path) as people, people.at_work() as app:
        slack, ann = people.slack, people.ann
        files = [slack.file(ann, "empty.csv", b""), slack.file(ann, "good.csv", b"x\n")]
        files += [slack.file(ann, "big.bin", b"x" * 60 * 2**20), slack.file(ann, "gone.csv", b"x\n")]
        del slack.world.files[files[3].file_id]
        people.model.will("I worked on what there was.")
        request = people.mentions(ann, "see", files=files)
        await people.reads("I worked on what there was.", thread=request.ts)
        said = "\n".join(message.shown for message in slack.thread(people.ops, request.ts))
        await reached(app, 1, lambda state: state.task.status == "done")
    assert "big.bin" in said
    assert "gone.csv" in said
    assert "good.csv" not in said
    assert (people.office / "inbox" / "good.csv").read_bytes() == b"x\n"
    assert not (people.office / "inbox" / "big.bin").exists()
