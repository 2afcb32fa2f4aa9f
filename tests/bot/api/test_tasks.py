"""Asking, going on, stopping, deciding over `/v1`; pages of lists; what a request may not be."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any

import pytest

from tests.bot.api.site import ADMIN, Site
from tests.servers.llm import Reply

WRITE = Reply(
    calls=[("write_file", {"path": "a.md", "content": "one\n"}), ("write_file", {"path": "b.md", "content": "two"})]
)


async def waiting(site: Site) -> tuple[int, int]:
    """A task that waits for a person on two items, and its card."""
    site.model.will(WRITE, "Done.")
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    [card] = (await site.get("ann", "/v1/approvals?status=open")).json["approvals"]
    return task_id, card["id"]


async def test_a_task_and_what_came_of_it(site: Site) -> None:
    """The shape of the contract, with the request and its times."""
    site.model.will("All done.")
    task_id = await site.task("ann", "go", files=[{"name": "in.txt", "content_base64": b64encode(b"hi").decode()}])
    await site.reached(task_id, "done")
    task = (await site.get("ann", f"/v1/tasks/{task_id}")).json
    assert (task["status"], task["error_code"], task["text"], task["cost_usd"]) == ("done", None, "All done.", None)
    assert (task["prompt"], task["files"], task["workspace"], task["origin"]) == (
        "go",
        ["inbox/in.txt"],
        "annes",
        "console",
    )
    assert task["created_at"] <= task["finished_at"]
    assert (site.home / "annes" / "inbox" / "in.txt").read_bytes() == b"hi"


async def test_a_conversation_goes_on(site: Site) -> None:
    """The second request of a session sees the first, and is queued behind it."""
    site.model.will("First.", "Second.")
    first = await site.task("ann", "one")
    session_id = (await site.get("ann", f"/v1/tasks/{first}")).json["session_id"]
    second = await site.task("ann", "two", session_id=session_id)
    await site.reached(second, "done")
    said = [message["content"] for message in site.model.requests[-1]["messages"] if message["role"] != "system"]
    assert any("one" in text for text in said)
    session = (await site.get("ann", f"/v1/sessions/{session_id}")).json
    assert (session["last_task_id"], session["last_request"], session["last_status"]) == (second, "two", "done")


async def test_sessions_are_made_renamed_and_put_away(site: Site) -> None:
    """An archived one takes no request until it is taken back."""
    made = await site.post("ann", "/v1/sessions", {"title": "Invoices"})
    assert (made.status, made.json["workspace"], made.json["channel"]) == (201, "annes", "console")
    path = f"/v1/sessions/{made.json['session_id']}"
    assert (await site.ask("ann", "PATCH", path, json={"title": "Quotes"})).json["title"] == "Quotes"
    assert (await site.ask("ann", "PATCH", path, json={"archived": True})).json["archived"] is True
    assert (await site.get("ann", "/v1/sessions?mine=true")).json["sessions"] == []
    [listed] = (await site.get("ann", "/v1/sessions?archived=true")).json["sessions"]
    assert listed["title"] == "Quotes"
    body = {"text": "go", "session_id": made.json["session_id"]}
    refused = await site.post("ann", "/v1/tasks", body)
    assert (refused.status, refused.error["code"]) == (409, "session_archived")
    await site.ask("ann", "PATCH", path, json={"archived": False})
    site.model.will("Done.")
    answer = await site.post("ann", "/v1/tasks", body)
    assert answer.json["session_id"] == made.json["session_id"]
    await site.reached(answer.json["task_id"], "done")


async def test_the_same_key_makes_one_task(site: Site) -> None:
    """However often and however fast; with another request it is refused, and another member's key is another."""
    site.model.will(*["Done."] * 3)
    sent: dict[str, Any] = {"headers": {"Idempotency-Key": "k1"}}
    answers = await asyncio.gather(*(site.post("ann", "/v1/tasks", {"text": "go"}, **sent) for _ in range(5)))
    assert len({answer.json["task_id"] for answer in answers}) == 1
    other = await site.post("ann", "/v1/tasks", {"text": "something else"}, **sent)
    assert (other.status, other.error["code"]) == (409, "key_reused")
    bobs = await site.post("bob", "/v1/tasks", {"text": "go"}, **sent)
    assert bobs.json["requester"] == "bob"
    await site.reached(bobs.json["task_id"], "done")


async def test_a_card_is_decided_item_by_item(site: Site) -> None:
    """Shown with what would run, decided once; the second press is told who was first, both are in the audit."""
    task_id, card_id = await waiting(site)
    card = (await site.get("ann", f"/v1/approvals/{card_id}")).json
    assert [item["arguments"]["path"] for item in card["items"]] == ["a.md", "b.md"]
    path = f"/v1/approvals/{card_id}/decision"
    half = await site.post("ann", path, {"verdict": "denied", "items": [1], "reason": "no"})
    assert (half.status, half.json["status"], half.json["items"][0]["status"]) == (200, "open", "denied")
    whole = await site.post("ann", path, {"verdict": "approved"})
    assert whole.json["status"] == "approved"
    late = await site.post(ADMIN, path, {"verdict": "denied"})
    assert (late.status, late.error["code"]) == (409, "already_decided")
    await site.reached(task_id, "done")
    assert sorted(file.name for file in (site.home / "annes").iterdir()) == ["b.md"]
    rows = (await site.get(ADMIN, "/v1/audit")).json["audit"]
    assert [(row["who"], row["what"]) for row in rows if row["what"] != "token_made"] == [
        (ADMIN, "press_refused"),
        ("ann", "approval_decided"),
        ("ann", "approval_decided"),
    ]


async def test_a_token_decides_only_when_it_was_made_for_that(site: Site) -> None:
    """Without the scope it is forbidden, whatever the member's roles are."""
    _, card_id = await waiting(site)
    less = await site.token("ann", ["approvals:read", "tasks:read"])
    headers = {"Authorization": f"Bearer {less}"}
    path = f"/v1/approvals/{card_id}"
    assert (await site.get(None, path, headers=headers)).status == 200
    refused = await site.post(None, f"{path}/decision", {"verdict": "approved"}, headers=headers)
    assert (refused.status, refused.error["code"]) == (403, "missing_scope")


async def test_a_token_that_may_only_ask_is_answered(site: Site) -> None:
    """With the task it made; to look at it later takes another scope."""
    headers = {"Authorization": f"Bearer {await site.token('ann', ['tasks:write'])}"}
    site.model.will("Done.")
    made = await site.post(None, "/v1/tasks", {"text": "go"}, headers=headers)
    assert (made.status, made.json["prompt"]) == (201, "go")
    refused = await site.get(None, f"/v1/tasks/{made.json['task_id']}", headers=headers)
    assert (refused.status, refused.error["code"]) == (403, "missing_scope")
    await site.reached(made.json["task_id"], "done")


async def test_a_task_is_stopped(site: Site) -> None:
    """Once; an ended task stays what it is."""
    task_id, _ = await waiting(site)
    assert (await site.post("ann", f"/v1/tasks/{task_id}/cancel")).json["status"] == "cancelled"
    again = await site.post("ann", f"/v1/tasks/{task_id}/cancel")
    assert (again.status, again.error["code"]) == (409, "already_ended")


async def test_lists_go_on_where_they_stopped(site: Site) -> None:
    """Page by page nothing is missing and nothing comes twice."""
    site.model.default = Reply(text="Done.")
    ids = [await site.task("ann") for _ in range(5)]
    found: list[int] = []
    before = ""
    while True:
        page = (await site.get("ann", f"/v1/tasks?page_size=2{before}")).json
        found += [task["task_id"] for task in page["tasks"]]
        if page["next"] is None:
            break
        before = f"&before={page['next']}"
    assert found == ids[::-1]
    await site.reached(ids[-1], "done")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page_size=0", "page_size"),
        ("page_size=101", "page_size"),
        ("page_size=1_0", "page_size"),
        ("page_size=1&page_size=2", "page_size"),
        ("before=0", "before"),
        ("before=" + "9" * 30, "before"),
        ("status=odd", "status"),
        ("colour=red", "colour"),
        ("workspace=a%00b", "workspace"),
        ("requester=%ff", None),
    ],
)
async def test_a_query_that_means_nothing_is_refused(site: Site, query: str, field: str | None) -> None:
    """With the name of what is wrong; bytes that are no text are only nobody's name."""
    answer = await site.get("ann", f"/v1/tasks?{query}")
    if field is None:
        assert answer.status in {200, 422}
    else:
        assert (answer.status, answer.error["field"]) == (422, field)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 400, None),
        (b"\xff", 400, None),
        (b'{"text": "\\ud800"}', 400, None),
        (b'{"text": "a", "text": "b"}', 400, None),
        (b"[]", 422, "body"),
        (b"{}", 422, "text"),
        (b'{"text": ""}', 422, "text"),
        (b'{"text": "  "}', 422, "text"),
        (b'{"text": 1}', 422, "text"),
        (b'{"text": "a\\u0000b"}', 422, "text"),
        (b'{"text": "a", "colour": 1}', 422, "colour"),
        (b'{"text": "a", "session_id": "1"}', 422, "session_id"),
        (b'{"text": "a", "session_id": 99999999999999999999}', 422, "session_id"),
        (b'{"text": "a", "files": [{"name": "a", "content_base64": "%"}]}', 422, "files.0.content_base64"),
        (b"[" * 100_000, 400, None),
    ],
)
async def test_a_body_that_is_no_request_is_refused(site: Site, body: bytes, status: int, field: str | None) -> None:
    """And nothing is made of it."""
    headers = {"Content-Type": "application/json"}
    answer = await site.ask("ann", "POST", "/v1/tasks", data=body, headers=headers)
    assert (answer.status, answer.error.get("field")) == (status, field), answer.body
    assert (await site.get("ann", "/v1/tasks")).json["tasks"] == []


async def test_a_text_that_is_too_long_is_counted_in_characters(site: Site) -> None:
    """The limit and the length, in words of the sender."""
    refused = await site.post("ann", "/v1/tasks", {"text": "x" * 40_001})
    assert refused.error["message"] == "text: write at most 40000 characters, not 40001."


async def test_a_body_of_another_kind_is_refused(site: Site) -> None:
    """JSON in UTF-8 is all that is read."""
    for kind in ("text/plain", "application/json; charset=utf-16", "application/x-www-form-urlencoded"):
        answer = await site.ask("ann", "POST", "/v1/tasks", data=b'{"text": "a"}', headers={"Content-Type": kind})
        assert answer.status == 415


async def test_usage_is_told_by_day_model_and_member(site: Site) -> None:
    """A price that is not known is not nought; a span that is none is refused."""
    site.model.will("Done.")
    await site.reached(await site.task("ann"), "done")
    for by in ("day", "model", "member"):
        report = (await site.get("ann", f"/v1/usage?by={by}")).json
        [line] = report["lines"]
        assert (line["calls"], line["input_tokens"], line["cost_usd"], line["unpriced"]) == (1, 100, None, 1)
        assert report["total"] == line | {"key": "total"}
    for query in ("since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since=0001-01-01T00:00:00Z", "since=today"):
        assert (await site.get("ann", f"/v1/usage?{query}")).status == 422
