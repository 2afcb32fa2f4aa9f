"""Inbound webhooks from outside: every answer and every error of the contract."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator

import pytest
import structlog

from agent.domain import Address
from channels.outcomes import Outcomes
from channels.webhook import token_sha256
from storage.store.sql import SqlStore
from tests.channels.conftest import MAX_BODY, TOKEN, Site


async def test_a_request_becomes_a_task_at_once(site: Site) -> None:
    """202 with the task's address, and the row is there."""
    answer = await site.post({"text": "Summarise"})
    assert answer.status == 202
    assert answer.json == {
        "task_id": answer.task_id,
        "status": "queued",
        "status_url": f"/hooks/orders/tasks/{answer.task_id}",
    }
    (task,) = await site.tasks()
    assert (task.task_id, task.prompt, task.origin, task.workspace) == (
        answer.task_id,
        "Summarise",
        "webhook",
        "office",
    )
    state = await site.store.load(task.task_id)
    assert (state.session.address.channel, state.session.address.conversation) == ("webhook", "orders")


async def test_status_url_tells_the_state(site: Site) -> None:
    """While it waits, and with its files and its end."""
    answer = await site.post({"text": "Summarise"})
    url = str(answer.json["status_url"])
    assert (await site.get(url)).json == {
        "task_id": answer.task_id,
        "status": "queued",
        "error": None,
        "text": "",
        "artifacts": [],
        "approvals": [],
        "cost_usd": None,
    }
    await site.end(answer.task_id, answer="Here it is.")
    body = (await site.get(url)).json
    (artifact,) = body.pop("artifacts")
    assert body == {
        "task_id": answer.task_id,
        "status": "done",
        "error": None,
        "text": "Here it is.",
        "approvals": [],
        "cost_usd": None,
    }
    assert {key: value for key, value in artifact.items() if key != "artifact_id"} == {
        "name": "Ergebnis Q1.csv",
        "media_type": "text/csv",
        "size_bytes": 8,
        "url": f"/hooks/orders/artifacts/{artifact['artifact_id']}",
    }
    file = await site.get(artifact["url"])
    assert (file.status, file.body, file.headers["Content-Type"]) == (200, b"a,b\n1,2\n", "text/csv")
    assert file.headers["Content-Disposition"] == "attachment; filename*=UTF-8''Ergebnis%20Q1.csv"
    assert file.headers["X-Content-Type-Options"] == "nosniff"


def test_urls_are_absolute_where_the_public_address_is_known(store: SqlStore) -> None:
    """Else they are paths, which hold behind whatever name the sender used."""
    assert Outcomes(store, "https://bot.example.com/").url("x", "tasks", 1) == "https://bot.example.com/hooks/x/tasks/1"
    assert Outcomes(store, None).url("x", "tasks", 1) == "/hooks/x/tasks/1"


async def test_a_failure_has_its_code(site: Site) -> None:
    """`error` says why a task failed."""
    answer = await site.post({"text": "Summarise"})
    await site.end(answer.task_id, "failed", answer="Sorry.", code="step_limit")
    body = (await site.get(str(answer.json["status_url"]))).json
    assert (body["status"], body["error"]) == ("failed", {"code": "step_limit", "message": "It went wrong."})


async def test_wait_answers_when_the_task_ends(site: Site) -> None:
    """200 with the outcome, without asking again."""
    waiting = asyncio.create_task(site.post({"text": "Summarise"}, query="?wait=30"))
    await site.store.doorbell.wait("tasks", 10)
    (task,) = await site.tasks()
    await site.end(task.task_id, answer="Done.")
    answer = await waiting
    assert (answer.status, answer.json["status"], answer.json["text"]) == (200, "done", "Done.")


async def test_wait_ends_with_what_there_is(site: Site) -> None:
    """202 with the state when the time is over."""
    answer = await site.post({"text": "Summarise"}, query="?wait=0.05")
    assert (answer.status, answer.json["status"], answer.json["approvals"]) == (202, "queued", [])


async def test_wait_ends_when_the_channel_stops(site: Site) -> None:
    """A sender that waits while the process drains gets its answer."""
    waiting = asyncio.create_task(site.post({"text": "Summarise"}, query="?wait=30"))
    await site.store.doorbell.wait("tasks", 10)
    await site.tasks()
    await site.webhook.stop()
    assert (await waiting).status == 202


@pytest.mark.parametrize("wait", ["61", "-1", "soon", "", "1e1", "nan", "٣"])
async def test_a_wait_that_is_no_number_of_seconds_is_refused(site: Site, wait: str) -> None:
    """422, and nothing was made."""
    answer = await site.post({"text": "Summarise"}, query=f"?wait={wait}")
    assert (answer.status, answer.error["field"]) == (422, "wait")
    assert await site.tasks() == []


async def test_the_same_key_is_the_same_task(site: Site) -> None:
    """A sender may repeat until it has an answer."""
    first = await site.post({"text": "Summarise"}, Idempotency_Key="k1")
    again = await site.post({"text": "Summarise"}, Idempotency_Key="k1")
    assert (again.status, again.json) == (202, first.json)
    other = await site.post({"text": "Summarise"}, Idempotency_Key="k2")
    assert other.task_id != first.task_id


async def test_a_repeat_with_wait_gets_the_outcome(site: Site) -> None:
    """Also when the task ended before the repeat."""
    first = await site.post({"text": "Summarise"}, Idempotency_Key="k1")
    await site.end(first.task_id, answer="Done.")
    again = await site.post({"text": "Summarise"}, query="?wait=30", Idempotency_Key="k1")
    assert (again.status, again.json["text"]) == (200, "Done.")


async def test_keys_of_two_hooks_are_two_keys(site: Site) -> None:
    """A key is scoped to its hook."""
    await site.save_hook(name="other")
    first = await site.post({"text": "Summarise"}, Idempotency_Key="k1")
    other = await site.post({"text": "Something else"}, hook="other", Idempotency_Key="k1")
    assert (other.status, other.task_id != first.task_id) == (202, True)


async def test_whk_03_equal_requests_without_a_key_are_two(site: Site) -> None:
    """WHK-03: two real events with the same body are two runs, each in a session of its own."""
    first, second = [await site.post({"text": "Backup failed"}) for _ in range(2)]
    assert first.task_id != second.task_id
    assert len({task.session_id for task in await site.tasks()}) == 2


async def test_whk_05_a_key_with_another_body_is_a_conflict(site: Site) -> None:
    """WHK-05: 409, and the first task is untouched."""
    first = await site.post({"text": "A"}, Idempotency_Key="k")
    answer = await site.post({"text": "B"}, Idempotency_Key="k")
    assert (answer.status, answer.error["code"]) == (409, "key_reused")
    assert [task.task_id for task in await site.tasks()] == [first.task_id]


async def test_whk_06_a_request_that_was_refused_can_be_repeated(site: Site) -> None:
    """WHK-06: the key is taken by the task, not by the attempt."""
    site.inbox.draining = True
    refused = await site.post({"text": "A"}, Idempotency_Key="k")
    assert (refused.status, refused.error["code"]) == (503, "draining")
    assert "Retry-After" in refused.headers
    site.inbox.draining = False
    assert (await site.post({"text": "A"}, Idempotency_Key="k")).status == 202
    assert len(await site.tasks()) == 1


@pytest.mark.parametrize("key", ["", "k" * 201, "a\tb"])
async def test_an_idempotency_key_has_a_size(site: Site, key: str) -> None:
    """It becomes part of a row."""
    answer = await site.post({"text": "A"}, Idempotency_Key=key)
    assert (answer.status, answer.error["field"]) == (422, "Idempotency-Key")


async def test_only_the_hash_of_a_body_is_kept(site: Site) -> None:
    """What is stored for comparison gives nothing away."""
    await site.post({"text": "x", "files": [{"name": "a", "content_base64": "c2VjcmV0"}]}, Idempotency_Key="k")
    await site.store.close()
    assert b"c2VjcmV0" not in b"".join(path.read_bytes() for path in site.folder.glob("signoff.sqlite3*"))


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=test", "application/json; charset=utf-16", "text/plain", "image/png", ""],
)
async def test_whk_07_an_unknown_type_or_charset_is_refused(site: Site, content_type: str) -> None:
    """WHK-07: 415, never a stack trace."""
    answer = await site.post(b'{"text": "A"}', Content_Type=content_type)
    assert (answer.status, answer.error["code"]) == (415, "unsupported_media_type")
    assert await site.tasks() == []


@pytest.mark.parametrize("content_type", ["application/json;charset=UTF-8", "Application/JSON; charset=us-ascii"])
async def test_json_may_name_its_charset(site: Site, content_type: str) -> None:
    """The ones that are UTF-8."""
    assert (await site.post(b'{"text": "A"}', Content_Type=content_type)).status == 202


@pytest.mark.parametrize(
    "body", [b'{"text": "\xfe"}', b"", b'{"text": "A"', b'{"text": "\\ud800"}', b"[" * 5000, b'{"text": NaN}']
)
async def test_whk_08_a_body_that_is_not_json_in_utf_8_is_refused(site: Site, body: bytes) -> None:
    """WHK-08: 400, nothing run."""
    answer = await site.post(body)
    assert (answer.status, answer.error["code"]) == (400, "bad_request")
    assert await site.tasks() == []


async def test_whk_09_an_oversized_body_is_refused_by_its_length(site: Site) -> None:
    """WHK-09: 413 by the header alone."""
    answer = await site.post(b" " * (MAX_BODY + 1))
    assert (answer.status, answer.error["code"]) == (413, "too_large")
    exact = json.dumps({"text": "A"}).encode().ljust(MAX_BODY)
    assert (await site.post(exact)).status == 202


async def test_whk_09_an_oversized_body_without_length_is_not_read(site: Site) -> None:
    """WHK-09: 413 while the sender has sent a little more than the limit, of a body without end."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 16 * 1024
            yield b" " * 16 * 1024
            await asyncio.sleep(0.001)

    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    async with site.client.post(f"{site.url}/hooks/orders", data=endless(), headers=headers) as answer:
        assert answer.status == 413
    assert sent < 40 * MAX_BODY


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": f"bearer {TOKEN}"}, 202),
        ({"Authorization": f"BEARER  {TOKEN}"}, 202),
        ({"X-Signoff-Token": TOKEN}, 202),
        ({"Authorization": "Basic eDp5", "X-Signoff-Token": TOKEN}, 202),
        ({"Authorization": "bearer x"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"X-Signoff-Token": "x"}, 401),
        ({"X-Signoff-Token": "\xe9\udcff"}, 401),
    ],
)
async def test_whk_11_only_the_token_in_a_header_opens_the_hook(
    site: Site, headers: dict[str, str], status: int
) -> None:
    """WHK-11: the scheme's case does not matter; everything else is 401."""
    url = f"{site.url}/hooks/orders?token={TOKEN}"
    async with site.client.post(url, json={"text": "A"}, headers=headers) as answer:
        assert answer.status == status
        if status == 401:
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert (await answer.json())["error"]["code"] == "unauthorized"


async def test_whk_11_an_unknown_hook_answers_like_a_wrong_token(site: Site) -> None:
    """WHK-11: nobody can find out which hooks there are."""
    wrong = await site.post({"text": "A"}, Authorization="Bearer wrong")
    unknown = await site.post({"text": "A"}, hook="unknown")
    assert (unknown.status, unknown.json) == (wrong.status, wrong.json)
    without_secret = await site.post({"text": "A"}, hook="unknown", Authorization="Bearer")
    assert without_secret.json == wrong.json


async def test_a_new_token_replaces_the_old_one(site: Site) -> None:
    """The new one works at once, the old one for half a second more at the most."""
    assert (await site.post({"text": "A"})).status == 202
    await site.save_hook(token_sha256=token_sha256("new"))
    assert (await site.post({"text": "A"}, Authorization="Bearer new")).status == 202
    assert (await site.post({"text": "A"})).status == 401
    await site.save_hook(token_sha256=token_sha256("newer"))
    site.clock.advance(0.5)
    assert (await site.post({"text": "A"}, Authorization="Bearer new")).status == 401


async def test_whk_11_a_token_is_not_logged(site: Site) -> None:
    """WHK-11: not even one in the URL of a request that fails."""
    with structlog.testing.capture_logs() as logs:
        await site.post(b"{", query=f"?token={TOKEN}")
        await site.post({"text": "A"}, query=f"?token={TOKEN}", Authorization=f"Basic {TOKEN}")
    assert TOKEN not in repr(logs)


async def test_whk_13_a_burst_is_told_when_to_come_back(site: Site) -> None:
    """WHK-13: 429 with Retry-After; none is half run, and the time named is enough."""
    await site.save_hook(rate_per_minute=3)
    answers = [await site.post({"text": "A"}) for _ in range(5)]
    assert [answer.status for answer in answers] == [202, 202, 202, 429, 429]
    assert (answers[-1].error["code"], answers[-1].headers["Retry-After"]) == ("rate_limited", "20")
    assert len(await site.tasks()) == 3
    site.clock.advance(20)
    assert [(await site.post({"text": "A"})).status for _ in range(2)] == [202, 429]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], "body"),
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": "   "}, "text"),
        ({"text": 3}, "text"),
        ({"text": "a" * 4001}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"text": "a", "texts": "b"}, "texts"),
        ({"text": "a", "follow_up_of": "1"}, "follow_up_of"),
        ({"text": "a", "follow_up_of": 0}, "follow_up_of"),
        ({"text": "a", "follow_up_of": 2**63}, "follow_up_of"),
        ({"text": "a", "files": [{"name": "a"}]}, "files.0.content_base64"),
        ({"text": "a", "files": [{"name": "", "content_base64": ""}]}, "files.0.name"),
        ({"text": "a", "files": [{"name": "a", "content_base64": "YQ"}]}, "files.0.content_base64"),
        ({"text": "a", "files": [{"name": "a", "content_base64": "é"}]}, "files.0.content_base64"),
    ],
)
async def test_a_body_that_does_not_fit_is_refused_with_the_fields_path(site: Site, body: object, field: str) -> None:
    """422, and nothing was made."""
    answer = await site.post(body)
    assert (answer.status, answer.error["code"], answer.error["field"]) == (422, "invalid", field)
    assert await site.tasks() == []


async def test_the_longest_text_is_taken_by_characters(site: Site) -> None:
    """4,000 characters, whatever their bytes."""
    assert (await site.post({"text": "ä" * 4000})).status == 202


async def test_files_are_kept_in_the_inbox(site: Site) -> None:
    """A name cannot leave it."""
    files = [{"name": name, "content_base64": b64encode(b"x").decode()} for name in ("a.csv", "../../evil.csv")]
    answer = await site.post({"text": "Read these", "files": files})
    (task,) = await site.tasks()
    assert (answer.status, task.files) == (202, ("inbox/a.csv", "inbox/evil.csv"))
    assert (site.folder / "office/inbox/a.csv").read_bytes() == b"x"


async def test_a_follow_up_joins_the_session(site: Site) -> None:
    """Of a task of the same hook."""
    first = await site.post({"text": "A"})
    second = await site.post({"text": "B", "follow_up_of": first.task_id})
    assert second.status == 202
    assert len({task.session_id for task in await site.tasks()}) == 1


async def test_a_task_of_another_hook_is_like_none(site: Site) -> None:
    """404 for following it up, for its state and for its files; the same words as for an id that never was."""
    await site.save_hook(name="other")
    foreign = await site.post({"text": "A"}, hook="other")
    await site.end(foreign.task_id)
    (artifact,) = await site.store.artifacts(foreign.task_id)
    followed = await site.post({"text": "B", "follow_up_of": foreign.task_id})
    assert (followed.status, followed.error["code"], followed.error["field"]) == (404, "not_found", "follow_up_of")
    for path in (f"tasks/{foreign.task_id}", f"artifacts/{artifact.artifact_id}"):
        assert (await site.get(f"/hooks/other/{path}")).status == 200
        known = await site.get(f"/hooks/orders/{path}")
        unknown = await site.get(f"/hooks/orders/{path.split('/')[0]}/999")
        assert (known.status, known.error["code"]) == (unknown.status, unknown.error["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "path", ["tasks/x", "tasks/-1", "tasks/99999999999999999999", "artifacts/%2e%2e%2fx", "nothing"]
)
async def test_what_is_not_there_is_404(site: Site, path: str) -> None:
    """In JSON, like every error."""
    assert (await site.get(f"/hooks/orders/{path}")).error["code"] == "not_found"


async def test_another_method_is_405(site: Site) -> None:
    """With the one that is allowed."""
    async with site.client.delete(f"{site.url}/hooks/orders") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert (await answer.json())["error"]["code"] == "method_not_allowed"


async def test_results_go_where_the_hook_says(site: Site) -> None:
    """Back in the answer, and to a URL."""
    await site.save_hook(deliver=("answer", "https://example.com/cb"))
    await site.post({"text": "A"})
    (task,) = await site.tasks()
    answer, callback = task.reply_to
    assert (answer.channel, answer.conversation) == ("webhook", "orders")
    assert callback == Address(channel="callback", conversation="orders", thread="https://example.com/cb")


async def test_senders_at_once_get_one_task_for_one_key(site: Site) -> None:
    """Ten repeats in flight make one task, and all are told the same."""
    answers = await asyncio.gather(*(site.post({"text": "A"}, Idempotency_Key="k") for _ in range(10)))
    assert len({answer.task_id for answer in answers}) == len(await site.tasks()) == 1
