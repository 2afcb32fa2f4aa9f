"""More than yes or no, in real browsers: what is edited, wanted differently, voted on, asked again, not known."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from agent.ports.store import ApprovalChange, CallChange, NewApproval, Step, TaskState
from bot.config import load_config
from bot.services import connected
from tests.browser.conftest import Office
from tests.browser.tab import Tab
from tests.servers.llm import FakeLLM, Reply

pytestmark = pytest.mark.slow
WRITE = Reply(calls=[("write_file", {"path": "a.md", "content": "one\ntwo\nthree\n"})])
TWO_FILES = Reply(
    calls=[("write_file", {"path": "a.md", "content": "one\n"}), ("write_file", {"path": "b.md", "content": "two\n"})]
)
BOTH = {"file:write": {"ask": ["approver"], "by": 2}}
SHORT = {"file:write": {"ask": ["approver"], "expires": "8s"}}


async def test_an_edit_is_shown_and_then_written(office: Office, model: FakeLLM) -> None:
    """The card shows what the new text would do and what the agent wanted; what is approved then is what is written."""
    office.file("a.md").write_text("one\ntwo\n")
    model.will(WRITE, "Done.")
    ann = await office.enter("Ann")
    await ann.begin("Write it")
    await ann.mark()
    item = ann.card().locator(".item")
    await ann.edit(item, content="one\nmine\n")
    await expect(item.locator("ins")).to_have_text(["2mine"])
    await expect(item.locator("del")).to_have_text(["2two"])
    await item.get_by_text("changed what the agent had proposed").click()
    await expect(item.locator(".text-preview")).to_contain_text("three")
    await expect(ann.page.get_by_text("Ann edited item 1")).to_be_visible()
    assert office.file("a.md").read_text() == "one\ntwo\n", "saving writes nothing"
    await ann.card().get_by_role("button", name="Approve").click()
    await expect(ann.turn("done")).to_be_visible()
    assert office.file("a.md").read_text() == "one\nmine\n"
    assert "Ann changed the arguments" in str(model.requests[-1]["messages"])
    assert await ann.marked()
    assert ann.problems == []


async def test_an_edit_that_cannot_be_is_told_and_kept(office: Office, model: FakeLLM) -> None:
    """Above the page, while what was written stays where it was."""
    model.will(WRITE, "Done.")
    ann = await office.enter("Ann")
    await ann.begin("Write it")
    item = ann.card().locator(".item")
    await ann.edit(item, path="../a.md", content="mine")
    await expect(ann.page.locator(".toast")).to_contain_text("leaves the workspace")
    await expect(item.locator('[name="argument.content"]')).to_have_value("mine")
    await item.locator('[name="argument.path"]').fill("b.md")
    await item.get_by_role("button", name="Save and show").click()
    await expect(item.locator(".title")).to_contain_text("b.md")
    await expect(ann.page.get_by_text("Ann tried to edit item 1 and was refused")).to_be_visible()
    await ann.card().get_by_role("button", name="Approve").click()
    await expect(ann.turn("done")).to_be_visible()
    assert office.file("b.md").read_text() == "mine"


async def test_an_old_card_is_not_approved(office: Office, model: FakeLLM) -> None:
    """Bob looks at it while Ann edits it: his press is refused, and he sees what it would do now."""
    model.will(WRITE, "Done.")
    ann, bob = await office.enter("Ann"), await office.enter("Bob")
    await ann.begin("Write it")
    await expect(ann.card()).to_be_visible()
    await bob.open("/approvals/1")
    await ann.edit(ann.card().locator(".item"), content="mine\n")
    await expect(ann.card().locator("ins")).to_have_text(["1mine"])
    await bob.card().get_by_role("button", name="Approve").click()
    await expect(bob.card().get_by_role("alert")).to_contain_text("shows something else now. Look again, then decide.")
    await expect(bob.card().locator("ins")).to_have_text(["1mine"])
    assert not office.file("a.md").exists()
    await bob.card().get_by_role("button", name="Approve").click()
    await expect(bob.card("approved")).to_contain_text("Signed off by Bob")
    await expect(ann.turn("done")).to_be_visible()
    assert office.file("a.md").read_text() == "mine\n"
    await expect(ann.page.get_by_text("Bob tried to approve and was refused")).to_be_visible()


async def test_two_who_edit_at_once(office: Office, model: FakeLLM) -> None:
    """The second is told, sees what the first made of it, and has their own text still."""
    model.will(WRITE, "Done.")
    ann, bob = await office.enter("Ann"), await office.enter("Bob")
    path = await ann.begin("Write it")
    await expect(ann.card()).to_be_visible()
    await bob.open("/approvals/1")
    other = await Tab.of(ann.page.context, ann.url)
    await other.open(path)
    mine = other.card().locator(".item")
    await mine.locator(".edit summary").click()
    await mine.locator('[name="argument.content"]').fill("of the second\n")
    await ann.edit(ann.card().locator(".item"), content="of the first\n")
    await expect(other.card().locator("ins")).to_have_text(["1of the first"])
    await expect(other.page.locator("[data-changed]")).to_have_count(0)
    await mine.get_by_role("button", name="Save and show").click()
    await expect(other.card().get_by_role("alert")).to_contain_text("Look again")
    await bob.card().get_by_role("button", name="Approve").click()
    await expect(other.page.get_by_text("Bob tried to approve and was refused")).to_be_visible()
    await expect(other.card().get_by_role("alert")).to_contain_text("Look again")  # also once the card was drawn anew
    await expect(mine.locator('[name="argument.content"]')).to_have_value("of the second\n")
    await mine.get_by_role("button", name="Save and show").click()
    await expect(ann.card().locator("ins")).to_have_text(["1of the second"])


async def test_a_card_that_changes_under_a_press_takes_none(office: Office, model: FakeLLM) -> None:
    """Whoever was about to sign has to see first what there is to sign now."""
    model.will(WRITE, "Done.")
    ann = await office.enter("Ann")
    path = await ann.begin("Write it")
    await expect(ann.card()).to_be_visible()
    other = await Tab.of(ann.page.context, ann.url)
    await other.open(path)
    await expect(other.card()).to_be_visible()
    await other.page.evaluate("""() => {
        const press = () => {
            if (document.querySelector("[data-card]").dataset.revision === "1") return requestAnimationFrame(press);
            setTimeout(() => document.querySelector(".sign .primary").click(), 50);
        };
        press();
    }""")
    await ann.edit(ann.card().locator(".item"), content="mine\n")
    await expect(other.page.locator(".toast")).to_contain_text("This card has just changed")
    await expect(ann.card()).to_be_visible()


async def test_changes_are_requested(office: Office, model: FakeLLM) -> None:
    """Nothing of the card runs, the agent reads what is wanted and comes back with another card."""
    model.will(TWO_FILES, WRITE, "Done.")
    ann = await office.enter("Ann")
    await ann.begin("Write it")
    card = ann.card()
    await card.get_by_text("Request changes …").click()
    await card.get_by_placeholder("What should be different?").fill("Only one file, please")
    await card.get_by_role("button", name="Request changes").click()
    await expect(ann.card("changes")).to_contain_text("Changes requested by Ann")
    await expect(ann.page.get_by_text("Ann asked for changes: Only one file, please")).to_be_visible()
    await expect(ann.card()).to_contain_text("card 2 of task 1")
    assert "Only one file, please" in str(model.requests[-1]["messages"])
    assert not office.file("b.md").exists()
    await ann.card().get_by_role("button", name="Approve").click()
    await expect(ann.turn("done")).to_be_visible()
    assert ann.problems == []


async def test_a_plain_answer_asks_for_changes(office: Office, model: FakeLLM) -> None:
    """What is written while a card is open goes back to the agent, and is no task of its own."""
    model.will(WRITE, "As you wish.")
    ann = await office.enter("Ann")
    await ann.begin("Write it")
    await expect(ann.card()).to_be_visible()
    composer = ann.page.get_by_label("What should be done?")
    await expect(composer).to_have_attribute("placeholder", "What should be different? …")
    await ann.say("Rather not today")
    await expect(ann.card("changes")).to_contain_text("Changes requested by Ann")
    await expect(ann.turn("done")).to_contain_text("As you wish.")
    await expect(ann.page.locator(".turn")).to_have_count(1)
    await expect(composer).to_have_attribute("placeholder", "Go on …")
    assert ann.problems == []


@pytest.mark.parametrize("office", [BOTH], indirect=True)
async def test_two_have_to_approve(office: Office, model: FakeLLM) -> None:
    """In two browsers: the first vote is counted and seen by the other, the second one runs it; Eve, who asked, sees
    who may and can only wait."""
    model.will(WRITE, "Done.")
    eve, ann, bob = [await office.enter(name) for name in ("Eve", "Ann", "Bob")]
    await eve.begin("Write it")
    await expect(eve.card()).to_contain_text("Waits for 2 of operator, Ann or Bob.")
    await expect(eve.card().get_by_role("button", name="Approve")).to_have_count(0)
    await ann.open("/approvals")
    await ann.card().get_by_role("button", name="Approve").click()
    await expect(ann.card()).to_contain_text("1 of 2 approved")
    await expect(ann.card()).to_contain_text("Waits for operator or Bob.")
    await expect(ann.card().get_by_role("button", name="Approve")).to_have_count(0)
    await expect(eve.page.get_by_text("Ann approved item 1 (1 so far, which is not enough yet)")).to_be_visible()
    assert not office.file("a.md").exists()
    await bob.open("/approvals")
    await expect(bob.card()).to_contain_text("Approved by Ann")
    await bob.card().get_by_role("button", name="Approve").click()
    await expect(bob.card("approved")).to_contain_text("Signed off by Bob")
    await expect(eve.turn("done")).to_be_visible()
    assert office.file("a.md").exists()
    assert eve.problems == ann.problems == bob.problems == []


async def test_somebody_who_may_not_decide(office: Office, model: FakeLLM) -> None:
    """Sees all of it and who may; as the one who asked, Eve can have it proposed differently."""
    model.will(TWO_FILES, "Done.")
    eve = await office.enter("Eve")
    await eve.begin("Write it")
    card = eve.card()
    await expect(card).to_contain_text("Waits for operator, Ann or Bob.")
    await expect(card.locator("ins")).to_have_count(2)
    await expect(card.locator("form")).to_have_count(1)
    await card.get_by_text("Request changes …").click()
    await card.get_by_placeholder("What should be different?").fill("No")
    await card.get_by_role("button", name="Request changes").click()
    await expect(eve.turn("done")).to_be_visible()


@pytest.mark.parametrize("office", [SHORT], indirect=True)
async def test_what_expired_is_asked_again(office: Office, model: FakeLLM) -> None:
    """It was brought to mind before; the card says that nothing was run, and its button has it proposed once more."""
    model.will(WRITE, WRITE)
    ann = await office.enter("Ann")
    path = await ann.begin("Write it")
    await expect(ann.page.get_by_text("Reminder: Approval 1 (task 1)")).to_be_visible(timeout=15_000)
    await expect(ann.card()).to_contain_text("a reminder was sent")
    await expect(ann.card("expired")).to_contain_text("Expired, nothing was run", timeout=15_000)
    await ann.card("expired").get_by_role("button", name="Ask again").click()
    await expect(ann.page.locator(".turn")).to_have_count(2)
    await expect(ann.page.locator("[data-card]")).to_have_count(2)
    assert ann.page.url.endswith(path)
    assert not office.file("a.md").exists()
    assert ann.problems == []


async def test_an_effect_that_is_not_known(office: Office, model: FakeLLM) -> None:
    """After a crash somebody has to say what happened; what they say is what the agent reads."""
    model.will(WRITE, "Then all is well.")
    ann = await office.enter("Ann")
    await ann.begin("Write it")
    await expect(ann.card()).to_be_visible()
    await office.served.stop()
    async with connected(load_config(office.served.home / "config.yaml")) as services:
        await services.store.change(1, crashed)
    await office.served.start()
    await expect(ann.card()).to_contain_text("Did this happen?")
    buttons = ann.card().locator(".sign").get_by_role("button")
    await expect(buttons).to_have_text(["It happened", "Run it again", "Leave it"])
    await buttons.first.click()
    await expect(ann.turn("done")).to_contain_text("Then all is well.")
    await expect(ann.card("approved")).to_contain_text("Did this happen?")
    assert "confirmed that this happened" in str(model.requests[-1]["messages"])
    assert not office.file("a.md").exists()


def crashed(state: TaskState) -> Step:
    """What a crash leaves of the call that the open card asks for, had it been approved and could not be looked up."""
    [card], [call] = state.approvals, state.calls
    outcome = NewApproval(token="outcome", kind="outcome", expires_at=card.expires_at, call_ids=(call.call_id,))
    approved = ApprovalChange(
        approval_id=card.approval_id, status="approved", decided_by="Ann", decided_at=card.created_at
    )
    return Step(
        call_changes=(CallChange(call_id=call.call_id, status="unknown"),),
        approval_changes=(approved,),
        approval=outcome,
        status="waiting_approval",
    )
