"""The server against its own description: schemathesis sends what openapi.json allows and what it forbids."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Thread
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import positive_data_acceptance

from bot.api.openapi import document
from bot.api.stream import Streams
from bot.api.table import table
from tests.bot.api.site import ADMIN, Site, running
from tests.servers.llm import FakeLLM, Reply

# Who may come in is tried here by tokens of our own, not by what schemathesis makes up.
Case = schemathesis.Case[Any]
schema = schemathesis.openapi.from_dict(document(table(Streams())) | {"security": []})
few = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

NOT_ASKED = [
    # What two fields mean together (`since` after `until`, an outcome on a card of another kind) no schema can say.
    positive_data_acceptance,
]


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server in a thread of its own, with the tokens of an admin and of a member who sees nothing."""

    url: str
    admin: str
    bob: str

    def headers(self, token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    context = running(tmp_path_factory.mktemp("site"), FakeLLM(default=Reply(text="Done.")))
    site: Site = run(context.__aenter__())
    try:
        run(filled(site))
        yield Server(url=site.app.url, admin=run(site.token(ADMIN)), bob=run(site.token("bob")))
    finally:
        run(context.__aexit__(None, None, None))
        run(site.model.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def filled(site: Site) -> None:
    """Ann's things have the smallest ids, which are tried most."""
    (site.home / "annes" / "a.md").write_text("text")
    write = Reply(calls=[("write_file", {"path": "b.md", "content": "text"})])
    site.model.will(write, "Done.", write)
    for status in ("waiting_approval", "done", "waiting_approval"):
        if status == "done":
            card = (await site.get("ann", "/v1/approvals?status=open")).json["approvals"][0]
            await site.post("ann", f"/v1/approvals/{card['id']}/decision", {"verdict": "approved"})
        else:
            task_id = await site.task("ann")
        await site.reached(task_id, status)


@schema.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Things that are there are met often enough only when every second id is one of them."""
    for name, value in (path_parameters or {}).items():
        if name == "workspace" and len(str(value)) % 2:
            path_parameters[name] = "annes"
        elif isinstance(value, int) and value > 0 and value % 2:
            path_parameters[name] = 1
    return path_parameters


@schema.parametrize()
@few
def test_every_answer_is_described(case: Case, server: Server) -> None:
    """No 500, no status, type or shape that the description does not name; what it forbids is refused."""
    case.call_and_validate(
        base_url=server.url, headers=server.headers(server.admin), excluded_checks=NOT_ASKED, timeout=20
    )


@schema.parametrize()
@few
def test_without_a_token_everything_is_401(case: Case, server: Server) -> None:
    """Whatever is sent."""
    answer = case.call(base_url=server.url, headers={"Authorization": ""}, timeout=20)
    assert answer.status_code == 401, answer.text


@schema.include(path_regex="{(task|session|approval|artifact)_id}").parametrize()
@few
def test_with_another_members_token_nothing_is_there(case: Case, server: Server) -> None:
    """Ann's ids are unknown to Bob: at best the request is well-formed."""
    answer = case.call(base_url=server.url, headers=server.headers(server.bob), timeout=20)
    assert answer.status_code in {400, 404, 405, 413, 415, 422}, answer.text
