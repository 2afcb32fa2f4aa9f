"""What people write and press in Slack, through the whole product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.domain import OPERATOR, ButtonPress
from tests.flows.team import Team, reached, ready, team
from tests.flows.test_sign_off import writes
from tests.servers.slack.world import Message


async def tasks(app: Any) -> list[Any]:
    return list(await app.services.store.tasks())


async def test_a_mention_is_one_task_however_often_it_comes(tmp_path: Path) -> None:
    """SLE-03, SLE-04, SLE-08: by both of its events, repeated, over a new connection and to another process."""
    async with team(tmp_path) as people:
        people.model.will("All is well.", "Again.")
        async with people.at_work() as app:
            request = people.mentions(people.ann, "How is it?")
            await people.slack.acked()
            first = people.slack.deliveries[0]
            for delivery in list(people.slack.deliveries):
                people.slack.again(delivery)
            await people.reads("All is well.", thread=request.ts)
            await people.slack.sockets.refresh()
            people.slack.again(first)
            await people.slack.acked()
        async with people.at_work() as app:
            people.slack.again(first)
            await people.slack.acked()
            [task] = await tasks(app)
    assert (task.requester, task.prompt, task.message_id) == ("Ann", "How is it?", request.ts)
    assert len(people.model.requests) == 1


async def asked(people: Team, by: str) -> Message:
    """A request that came to its card; the request's message."""
    people.model.will(writes("a.md"), "Done.")
    request = people.mentions(by, "Write it")
    await people.card(request.ts)
    return request


async def test_a_press_decides_for_those_who_may(tmp_path: Path) -> None:
    """SLB-01, SLB-02, SLB-06, SLB-07: a stranger and a member are told so alone, and nothing changes; an approver's
    press wakes the task within the second."""
    async with team(tmp_path) as people, people.at_work() as app:
        request = await asked(people, people.ben)
        card = await people.card(request.ts)
        await people.slack.press(people.eve, card, "Approve")
        await people.whispered(people.eve, "I do not know you")
        await people.slack.press(people.ben, card, "Approve")
        await people.whispered(people.ben, "Ben may not decide")
        assert "Approve" in card.buttons
        assert not (people.office / "a.md").exists()
        delivery = await people.slack.press(people.ann, card, "Approve")
        await people.reads("Done.", thread=request.ts)
        state = await reached(app, 1, lambda state: state.task.status == "done")
        await people.slack.until(lambda: "Approve" not in card.buttons)
    assert delivery.is_taken
    assert (people.office / "a.md").exists()
    assert [entry.data.get("code") for entry in state.entries if entry.kind == "decision"] == [
        "stranger",
        "not_an_approver",
        None,
    ]


async def test_a_card_works_after_a_restart(tmp_path: Path) -> None:
    """SLB-05: the first press counts; a second one, of the same moment, is told who decided."""
    async with team(tmp_path) as people:
        async with people.at_work():
            request = await asked(people, people.ann)
        async with people.at_work():
            card = await people.card(request.ts)
            blocks = list(card.blocks)
            await people.slack.press(people.ann, card, "Approve")
            card.blocks = blocks  # the verdict has not come to somebody's client yet
            await people.slack.press(people.ann, card, "Approve")
            await people.whispered(people.ann, "already")
            await people.reads("Done.", thread=request.ts)
    assert (people.office / "a.md").exists()


async def test_what_was_decided_elsewhere_is_told(tmp_path: Path) -> None:
    """SLB-10: a press on a card that is not what it was does nothing, and says why; the card shows the verdict."""
    async with team(tmp_path) as people, people.at_work() as app:
        request = await asked(people, people.ann)
        card = await people.card(request.ts)
        before = list(card.blocks)
        state = await app.services.store.load(1)
        now = app.services.clock.now()
        press = ButtonPress(
            dedup_key="cli", presser=OPERATOR, verdict="denied", pressed_at=now, token=state.approvals[0].token
        )
        await app.services.approvals.decide(press)
        await people.slack.until(lambda: "Approve" not in card.buttons)
        card.blocks = before  # as somebody's client may still show it
        await people.slack.press(people.ann, card, "Approve")
        assert "operator" in (await people.whispered(people.ann, "already")).shown
    assert not (people.office / "a.md").exists()


async def test_arguments_are_edited_in_a_form(tmp_path: Path) -> None:
    """What is wrong with them stands in the form; then the card shows what will run, and that runs."""
    async with team(tmp_path) as people, people.at_work():
        request = await asked(people, people.ann)
        await people.slack.press(people.ann, await people.card(request.ts), "Edit…")
        modal = people.slack.modal(people.ann)
        await people.slack.submit(people.ann, modal, {"path": "../a.md"})
        assert modal.errors
        await people.slack.submit(people.ann, modal, {"path": "b.md"})
        await people.reads("b.md", thread=request.ts)
        await people.slack.press(people.ann, await people.card(request.ts), "Approve")
        await people.reads("Done.", thread=request.ts)
    assert [path.name for path in people.office.glob("*.md")] == ["b.md"]


async def test_a_form_is_for_those_who_may_use_it(tmp_path: Path) -> None:
    """The arguments of a call are nobody else's business."""
    async with team(tmp_path) as people, people.at_work():
        request = await asked(people, people.ann)
        await people.slack.press(people.eve, await people.card(request.ts), "Edit…")
        await people.whispered(people.eve, "may not")
        assert not people.slack.has_modal(people.eve)


async def test_words_decide_in_a_thread(tmp_path: Path) -> None:
    """SLE-21: behind a mention, as Slack offers no commands in threads; and as a command in the channel."""
    async with team(tmp_path) as people, people.at_work():
        request = await asked(people, people.ann)
        people.mentions(people.ben, "/approve 1", thread=request.ts)
        await people.reads("Ben may not decide", thread=request.ts)
        people.mentions(people.ann, "/approve 1", thread=request.ts)
        await people.reads("Done.", thread=request.ts)
        await people.slack.command(people.ann, people.ops, "/signoff", "status")
        await people.reads("Workspace office")


async def test_an_edit_is_not_followed(tmp_path: Path) -> None:
    """SLE-13: the request counts as it was sent; whoever changed it is told."""
    async with team(tmp_path) as people, people.at_work() as app:
        people.model.will("All is well.")
        request = people.mentions(people.ann, "How is it?")
        await people.reads("All is well.", thread=request.ts)
        people.slack.edits(people.ann, request, f"<@{people.slack.bot_user}> How is that?")
        await people.whispered(people.ann, "I do not follow edits")
        assert len(await tasks(app)) == 1


async def test_a_thread_goes_on_without_mentions(tmp_path: Path) -> None:
    """With `groups: thread`, where the bot takes part, and for those it knows."""
    async with team(tmp_path, groups="thread") as people, people.at_work() as app:
        people.model.will("All is well.", "Still.")
        request = people.mentions(people.ann, "How is it?")
        await people.reads("All is well.", thread=request.ts)
        people.slack.says(people.eve, people.ops, "Is it?", thread=request.ts)
        people.slack.says(people.ben, people.ops, "And now?", thread=request.ts)
        await people.reads("Still.", thread=request.ts)
        assert [task.prompt for task in await tasks(app)][::-1] == ["How is it?", "And now?"]


async def test_strangers_are_shown_a_code_alone(tmp_path: Path) -> None:
    """In company they are told where to ask; admitted by it, they are known."""
    async with team(tmp_path) as people, people.at_work() as app:
        people.mentions(people.eve, "Hello")
        await people.reads("I do not know you yet")
        people.slack.writes(people.eve, "Hello")
        shown = await people.reads("code", channel=people.slack.direct(people.eve))
        code = next(word.strip(".,:*`") for word in shown.shown.split() if word.strip(".,:*`")[4:5] == "-")
        people.slack.writes(people.ann, f"/pair {code} Eve")
        await people.reads("Eve (member) is let in", channel=people.slack.direct(people.ann))
        assert await tasks(app) == []
        people.model.will("Hello, Eve.")
        people.slack.writes(people.eve, "Hello")
        await people.reads("Hello, Eve.", channel=people.slack.direct(people.eve))


@pytest.mark.parametrize(("allow", "is_in"), [([], False), (["*"], False), (["C00000004"], False), (["T0EXT"], True)])
async def test_people_of_other_companies_need_to_be_let_in(tmp_path: Path, allow: list[str], is_in: bool) -> None:
    """SLA-10: by their company or themselves; not by `*` and not by the channel they share. Home users work there."""
    async with team(tmp_path, allow=allow) as people:
        ext = people.slack.person("ext", team="T0EXT")
        guest = people.slack.person("guest", is_guest=True)
        people.slack.world.channels[people.ops].members |= {ext, guest}
        assert people.ops == "C00000004"
        people.model.will("One.", "Two.", "Three.")
        async with people.at_work() as app:
            for user in (ext, people.ann, guest):
                people.mentions(user, "Hello")
                await people.slack.acked()
            found = sorted(task.requester for task in await tasks(app))
            for task in await tasks(app):
                await reached(app, task.task_id, lambda state: state.task.status == "done")
    by_channel = [f"slack:{guest}"] if {"*", "C00000004"} & set(allow) else []
    assert found == sorted(["Ann", *by_channel, *([f"slack:{ext}"] if is_in else [])])


async def test_files_are_fetched_and_worked_on(tmp_path: Path) -> None:
    """SLF-08, SLF-11: a file without a word, and one of another company."""
    async with team(tmp_path) as people, people.at_work():
        people.model.will("I read it.", "That, too.")
        file = people.slack.file(people.ann, "a.csv", b"x,y\n")
        people.slack.writes(people.ann, "", files=[file])
        await people.reads("I read it.", channel=people.slack.direct(people.ann))
        stub = people.slack.file(people.ann, "b.csv", b"z\n", stub=True)
        people.slack.writes(people.ann, "and this", files=[stub])
        await people.reads("That, too.", channel=people.slack.direct(people.ann))
    assert {path.name: path.read_bytes() for path in (people.office / "inbox").iterdir()} == {
        "a.csv": b"x,y\n",
        "b.csv": b"z\n",
    }


async def test_the_words_are_worked_on_without_the_file(tmp_path: Path) -> None:
    """SLF-02, SLF-11: whoever sent it is told what to do about it, and the model knows."""
    async with team(tmp_path) as people, people.at_work():
        people.model.will("Without the file, then.")
        people.slack.api.scopes.discard("files:read")
        file = people.slack.file(people.ann, "a.csv", b"x,y\n")
        people.slack.writes(people.ann, "see", files=[file])
        direct = people.slack.direct(people.ann)
        assert "files:read" in (await people.reads("I could not get a.csv", channel=direct)).shown
        await people.reads("Without the file, then.", channel=direct)
    assert "a.csv" in str(people.model.requests[0]["messages"][-1])


async def test_a_refused_token_leaves_the_rest_working(tmp_path: Path) -> None:
    """SLA-08: `/readyz` names Slack and stays ready; a hook is answered."""
    async with team(tmp_path) as people:
        people.slack.api.token_error = "token_revoked"
        people.model.will("Hello, hook.")
        async with people.at_work() as app:
            while "slack" not in (await ready(app)).get("down", {}):
                pass
            said = await ready(app)
            token = next(word for line in app.greeting if "webhook" in line for word in [line]).split("Bearer ")[1]
            headers = {"Authorization": f"Bearer {token.partition(chr(39))[0]}"}
            async with (
                aiohttp.ClientSession() as http,
                http.post(f"{app.url}/hooks/demo?wait=10", json={"text": "Hello"}, headers=headers) as answer,
            ):
                assert (await answer.json())["text"] == "Hello, hook."
    assert said["status"] == "ok"
    assert "token_revoked" in said["down"]["slack"]
