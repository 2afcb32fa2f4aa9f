"""Long polling: nothing is lost, nothing is done twice, and only one process receives."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from agent.domain import Address
from agent.errors import Draining, StorageError
from channels.telegram.polling import CONFLICT
from tests.channels.telegram.conftest import Site
from tests.servers.telegram.server import Fault


async def test_a_message_says_who_where_and_what(site: Site) -> None:
    """By Telegram's ids; alone with the bot nothing has to be addressed."""
    ann = site.tg.user("Ann")
    async with site.running():
        sent = site.tg.says(ann, site.tg.private(ann), "Sum it up")
        [message] = await site.ears.hears()
    assert message.identity == f"telegram:{ann.user_id}"
    assert message.address == Address(channel="telegram", conversation=str(ann.user_id))
    assert (message.text, message.direct, message.shown_name) == ("Sum it up", True, "Ann")
    assert message.message_id == str(sent.message_id)
    assert message.dedup_key == f"telegram:{site.tg.account.bot.user_id}:{ann.user_id}:{sent.message_id}"
    assert site.tg.refusals == []


async def test_what_came_before_the_start_is_taken(site: Site) -> None:
    """Nothing is dropped at a cold start."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    for text in ("one", "two", "three"):
        site.tg.says(ann, chat, text)
    async with site.running():
        heard = await site.ears.hears(3)
        await site.confirmed()
    assert [message.text for message in heard] == ["one", "two", "three"]


async def test_an_update_is_confirmed_only_when_it_is_durable(site: Site) -> None:
    """TGU-01: the database fails, the update stays, and what comes behind it waits."""
    ann = site.tg.user("Ann")
    site.ears.failures.extend([StorageError("The disk is gone."), StorageError("Still gone.")])
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "one")
        site.tg.says(ann, site.tg.private(ann), "two")
        heard = await site.ears.hears(2)
        await site.confirmed()
    assert [message.text for message in heard] == ["one", "two"]


async def test_a_process_that_is_stopping_confirms_nothing(site: Site) -> None:
    """TGU-02: what it did not take comes to the next one, once."""
    ann = site.tg.user("Ann")
    site.ears.failures.extend(Draining("Stopping.") for _ in range(1000))
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "one")
        await site.tg.until(lambda: len(site.tg.called("getUpdates")) >= 1)
        await asyncio.sleep(0.1)
    assert [update["message"]["text"] for update in site.tg.account.updates.pending] == ["one"]
    site.ears.failures.clear()
    async with site.running():
        await site.ears.hears()
        await site.confirmed()
    assert [message.text for message in site.ears.heard] == ["one"]


async def test_a_repeated_update_has_the_same_key(site: Site) -> None:
    """TGU-02: so that it is known for what it is, in whatever process."""
    ann = site.tg.user("Ann")
    site.tg.says(ann, site.tg.private(ann), "/new")
    update = dict(site.tg.account.updates.pending[0])
    async with site.running():
        await site.ears.hears()
        await site.confirmed()
        site.tg.account.updates.again(update)
        first, again = await site.ears.hears(2)
    assert first.dedup_key == again.dedup_key


async def test_one_update_that_breaks_us_does_not_stop_the_others(site: Site) -> None:
    """A mistake of ours would come again with each try, and keep out all behind it."""
    ann = site.tg.user("Ann")
    site.ears.failures.append(ZeroDivisionError())
    with capture_logs() as logs:
        async with site.running():
            site.tg.says(ann, site.tg.private(ann), "one")
            site.tg.says(ann, site.tg.private(ann), "two")
            [heard] = await site.ears.hears()
    assert heard.text == "two"
    assert "telegram_update_failed_unexpectedly" in {entry["event"] for entry in logs}


async def test_an_update_that_is_none_is_passed_over(site: Site) -> None:
    """A field that is not what it should be takes nothing else along."""
    ann = site.tg.user("Ann")
    site.tg.account.updates.pending.append({"update_id": 4_999, "message": {"message_id": "x", "chat": 3}})
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "two")
        [heard] = await site.ears.hears()
    assert heard.text == "two"


async def test_a_broken_network_is_waited_out(site: Site) -> None:
    """TGU-09: after five failures it goes on by itself, having said that it is down and that it is back."""
    ann = site.tg.user("Ann")
    site.tg.will("getUpdates", *[Fault(cut="before")] * 3, Fault(status=502), Fault(status=500))
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "Hello")
        [heard] = await site.ears.hears()
    assert heard.text == "Hello"
    assert site.problems[-1] is None
    assert any(problem and "connection to Telegram broke" in problem for problem in site.problems)


async def test_a_poll_that_never_ends_is_given_up(site: Site) -> None:
    """TGU-08: the watchdog takes a fresh connection."""
    site.pace = type(site.pace)(poll=1, answer=0.2, connect=0.2, quiet=0.1, lease=2.0, pause=0.02, longest_pause=0.05)
    ann = site.tg.user("Ann")
    site.tg.will("getUpdates", Fault(hang=True), Fault(hang=True))
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "Hello")
        [heard] = await site.ears.hears()
    assert heard.text == "Hello"
    assert "Telegram did not answer in time." in site.problems


async def test_a_short_conflict_passes_without_a_word(site: Site) -> None:
    """TGU-05: the process before us may still be going."""
    ann = site.tg.user("Ann")
    site.tg.will("getUpdates", *[Fault(status=409, description="Conflict: terminated by other getUpdates request")] * 2)
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "Hello")
        await site.ears.hears()
    assert set(site.problems) == {None}


async def test_a_lasting_conflict_names_its_cause(site: Site) -> None:
    """TGU-05: with what to do about it, and without a tight loop."""
    conflict = Fault(status=409, description="Conflict: terminated by other getUpdates request")
    site.tg.will("getUpdates", *[conflict] * 1000)
    async with site.running():
        await site.ears.until(lambda: CONFLICT in site.problems)
        asked = len(site.tg.called("getUpdates"))
    assert asked < 30


async def test_a_webhook_of_before_is_taken_away(site: Site) -> None:
    """It would keep us from polling; what it has not delivered is not dropped."""
    ann = site.tg.user("Ann")
    await site.tg.account.updates.set_webhook("http://127.0.0.1:9/gone", "secret")
    site.tg.says(ann, site.tg.private(ann), "Hello")
    async with site.running():
        [heard] = await site.ears.hears()
    assert heard.text == "Hello"
    assert site.tg.account.updates.url == ""


async def test_a_wrong_token_is_said_and_not_hammered(site: Site) -> None:
    """It stops this channel only; nothing is asked for a long while."""
    async with site.running(token="1:wrong"):
        await site.ears.until(lambda: site.problems)
    [problem] = site.problems
    assert problem is not None
    assert "@BotFather" in problem
    assert "wrong" not in problem


async def test_a_second_process_stands_by(site: Site) -> None:
    """Only one polls; the other takes over when it is gone, and goes on where it stopped."""
    ann = site.tg.user("Ann")
    with capture_logs() as logs:
        async with site.running(owner="one") as first:
            await site.tg.until(lambda: site.tg.called("getUpdates"))
            async with site.running(owner="two"):
                site.tg.says(ann, site.tg.private(ann), "one")
                await site.ears.hears()
                await site.confirmed()
                await first.stop()
                site.tg.says(ann, site.tg.private(ann), "two")
                heard = await site.ears.hears(2)
    assert [message.text for message in heard] == ["one", "two"]
    assert set(site.problems) == {None}
    assert "telegram_stands_by" in {entry["event"] for entry in logs}


async def test_a_lost_lease_ends_the_polling(site: Site) -> None:
    """Another owner has it: whoever polls on would only get into its way."""
    async with site.running(owner="one"):
        await site.tg.until(lambda: site.tg.called("getUpdates"))
        lease = f"telegram:{site.tg.account.bot.user_id}"
        await site.store.lease(lease, "one", 0)
        assert await site.store.lease(lease, "two", 60)
        await asyncio.sleep(1.2)
        asked = len(site.tg.called("getUpdates"))
        await asyncio.sleep(0.5)
        assert len(site.tg.called("getUpdates")) == asked


async def test_nothing_is_lost_in_an_update_it_did_not_ask_for(site: Site) -> None:
    """Only the kinds that it understands are asked for."""
    async with site.running():
        await site.tg.until(lambda: site.tg.called("getUpdates"))
    assert "stopped_message_generation" in site.tg.called("getUpdates")[0]["allowed_updates"]


async def test_the_token_is_in_no_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """Neither of ours nor of the library's, whatever goes wrong."""
    caplog.set_level("INFO")
    site.tg.will("getUpdates", Fault(cut="before"), Fault(status=500), Fault(status=404, description="Not Found"))
    with capture_logs() as logs:
        async with site.running():
            await site.ears.until(lambda: len(site.problems) >= 1)
    secret = site.tg.token.partition(":")[2]
    assert secret not in f"{logs} {caplog.text} {site.problems}"
