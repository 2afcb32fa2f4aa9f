"""Files that people send: fetched with the bot's token, which no other host ever sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agent.errors import ChannelUnavailable, DeliveryRefused
from channels.slack.downloads import slacks
from tests.channels.slack.rig import MAX_FILE_BYTES, Desk, Rig, rigged
from tests.servers.slack.web_api import Fault
from tests.servers.slack.world import File, World


def sent(rig: Rig, content: bytes = b"1,2", **more: object) -> File:
    file = rig.slack.file(rig.ann, "a.csv", content, **more)  # type: ignore[arg-type]
    rig.slack.writes(rig.ann, "see", files=[file])
    return file


async def test_a_file_is_fetched_by_its_id(tmp_path: Path) -> None:
    """SLF-08: also one of another company, of which the event told nothing else."""
    async with rigged(tmp_path, Desk()) as rig:
        assert await rig.channel.download(sent(rig).file_id) == b"1,2"
        assert await rig.channel.download(sent(rig, stub=True).file_id) == b"1,2"


def told(rig: Rig, after: Callable[[dict[str, Any]], object]) -> None:
    """Let something happen to, or after, what Slack tells of a file."""
    real = rig.slack.api.handlers["files.info"]

    def handler(world: World, given: dict[str, Any]) -> dict[str, Any]:
        answer = real(world, given)
        after(answer["file"])
        return answer

    rig.slack.api.handlers["files.info"] = handler


@pytest.mark.parametrize("media_type", ["text/csv", "text/html", "image/png"])
async def test_a_login_page_is_no_file(tmp_path: Path, media_type: str) -> None:
    """SLF-02: status 200 and HTML; the reason says what to do."""
    async with rigged(tmp_path, Desk()) as rig:
        file = sent(rig, media_type=media_type)
        told(rig, lambda _: rig.slack.api.scopes.discard("files:read"))
        with pytest.raises(DeliveryRefused, match="login page instead of the file: the app lacks the scope files:read"):
            await rig.channel.download(file.file_id)


async def test_a_page_that_somebody_sent_is_a_file(tmp_path: Path) -> None:
    """It has the size that Slack says."""
    async with rigged(tmp_path, Desk()) as rig:
        page = b"<!DOCTYPE html><p>hello</p>"
        assert await rig.channel.download(sent(rig, page, media_type="text/html").file_id) == page


async def test_a_missing_scope_is_said(tmp_path: Path) -> None:
    """SLF-11: so that the text is worked on, and its sender knows."""
    async with rigged(tmp_path, Desk()) as rig:
        file = sent(rig)
        rig.slack.api.scopes.discard("files:read")
        with pytest.raises(DeliveryRefused, match="lacks the scope files:read"):
            await rig.channel.download(file.file_id)


async def test_a_large_file_is_refused(tmp_path: Path) -> None:
    """By what Slack says of it, and, where that is wrong, by what comes."""
    async with rigged(tmp_path, Desk()) as rig:
        file = sent(rig, b"x" * (MAX_FILE_BYTES + 1))
        with pytest.raises(DeliveryRefused, match="larger than"):
            await rig.channel.download(file.file_id)
        told(rig, lambda found: found.update(size=1))
        with pytest.raises(DeliveryRefused, match="larger than"):
            await rig.channel.download(file.file_id)


async def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    """It cannot come back."""
    async with rigged(tmp_path, Desk()) as rig:
        with pytest.raises(DeliveryRefused, match="not in Slack any more"):
            await rig.channel.download("F0")


async def test_trouble_on_the_way_passes(tmp_path: Path) -> None:
    """Whoever waits for the file tries again, not before Slack says so."""
    async with rigged(tmp_path, Desk()) as rig:
        file = sent(rig)
        for fault in (Fault(kind="status"), Fault(kind="cut"), Fault(kind="html")):
            # A broken connection is tried once more, as this is a read.
            rig.slack.api.order("files.info", fault, times=2 if fault.kind == "cut" else 1)
            with pytest.raises(ChannelUnavailable):
                await rig.channel.download(file.file_id)
        assert await rig.channel.download(file.file_id) == b"1,2"
        rig.slack.api.order("files.info", Fault(kind="rate_limited", seconds=7))
        with pytest.raises(ChannelUnavailable) as error:
            await rig.channel.download(file.file_id)
        assert error.value.retry_after == 7


async def test_another_host_never_sees_the_token(tmp_path: Path) -> None:
    """Not by a redirect, and not by an address in what Slack tells of a file; the reason says so."""
    asked: list[web.Request] = []

    async def stolen(request: web.Request) -> web.Response:
        asked.append(request)
        return web.Response(text="stolen")

    app = web.Application()
    app.router.add_get("/{rest:.*}", stolen)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    elsewhere = f"http://127.0.0.1:{runner.addresses[0][1]}/file"
    async with rigged(tmp_path, Desk()) as rig:
        file = sent(rig)
        rig.slack.redirect_files_to = elsewhere
        with pytest.raises(DeliveryRefused, match="elsewhere"):
            await rig.channel.download(file.file_id)
        rig.slack.redirect_files_to = ""
        told(rig, lambda found: found.update(url_private_download=elsewhere))
        with pytest.raises(DeliveryRefused, match="elsewhere"):
            await rig.channel.download(file.file_id)
        await runner.cleanup()
    assert asked == []


async def test_a_redirect_within_slack_is_followed(tmp_path: Path) -> None:
    """But not in circles."""
    async with rigged(tmp_path, Desk()) as rig:
        file, other = sent(rig), sent(rig, b"3,4")
        rig.slack.redirect_files_to = f"/files-pri/T0HOME-{other.file_id}/b.csv"
        with pytest.raises(DeliveryRefused, match="in circles"):
            await rig.channel.download(file.file_id)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mode": "external", "is_external": True}, "it is a link"),
        ({"mode": "tombstone"}, "it was deleted"),
        ({"mode": "hidden_by_limit"}, "the workspace's plan hides it"),
        ({"url_private_download": None, "url_private": None}, "it is a link"),
    ],
)
async def test_what_slack_does_not_have_is_said(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    """A file of another service, or one that is gone."""
    async with rigged(tmp_path, Desk()) as rig:
        told(rig, lambda found: found.update(changes))
        with pytest.raises(DeliveryRefused, match=reason):
            await rig.channel.download(sent(rig).file_id)


@pytest.mark.parametrize(
    ("url", "is_slacks"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.csv", True),
        ("https://slack.com/a", True),
        ("https://files.slack-gov.com/a", True),
        ("http://files.slack.com/a", False),
        ("https://files.slack.com.evil.example/a", False),
        ("https://evilslack.com/a", False),
        ("https://files.slack.com@evil.example/a", False),
        ("https://evil.example/?files.slack.com", False),
        ("ftp://slack.com/a", False),
        ("", False),
    ],
)
def test_which_hosts_are_slacks(url: str, is_slacks: bool) -> None:
    """Those alone are shown the token, over TLS; and the one that the configuration names."""
    assert slacks(url, "slack.com") == is_slacks
    assert slacks("http://127.0.0.1:8080/a", "127.0.0.1:8080")
    assert not slacks("http://127.0.0.1:8081/a", "127.0.0.1:8080")
