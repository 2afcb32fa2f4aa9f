"""Two members who share nothing, and one of them trying every way to what the other has."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Literal

from agent.chat import PlatformChat
from agent.domain import Address, Hook
from agent.people import direct_address
from agent.ports.channels import ChannelMessage, ChannelPress
from agent.ports.people import Link
from bot.api import audit
from bot.api.chat_desk import chat_desk
from bot.api.viewer import terminal
from channels.webhook import token_sha256
from tests.bot.api.site import Answer, Site
from tests.bot.web.page import Page
from tests.bot.web.visitor import Visitor
from tests.servers.llm import Reply

Ids = Mapping[str, int | str]
Expected = Literal["hidden", "own", "refused", "admin", "open"]
"""`hidden`: 404, like a thing that is not there; `own`: works, as if the other did not exist; `refused`: 422, it is no
way out of one's own; `admin`: 403; `open`: for whoever has no way in at all."""

IDENTITIES = {"ann": "lines:1001", "bob": "lines:1002"}
HOOKS = {"ann": "anns-hook", "bob": "bobs-hook"}
TOKENS = {"ann": "of-ann", "bob": "of-bob"}
TRACES = ("secret", "annes", "lines:1001", "anns-hook")
"""What nobody but Ann and admins may read anywhere; all that is hers has one of these words."""
UNKNOWN: Ids = {
    "task_id": 9001,
    "session_id": 9001,
    "approval_id": 9001,
    "artifact_id": 9001,
    "hook_task_id": 9001,
    "hook_artifact_id": 9001,
    "workspace": "nobodys",
    "token": "x" * 22,
}
numbers = count(1)


@dataclass(frozen=True, kw_only=True)
class Try:
    """One request of a route: `path` in place of its own, what is sent, what is expected. `{…}` stands for an id."""

    expected: Expected = "hidden"
    path: str = ""
    query: str = ""
    body: Mapping[str, Any] | None = None
    endless: bool = False
    """An answer that goes on for whoever may have it."""

    def named(self, route: str, ids: Ids) -> Ids:
        """Those of the ids that stand in the request."""
        asked = f"{self.path or route} {self.query} {self.body}"
        return {name: value for name, value in ids.items() if f"{{{name}}}" in asked}


@dataclass(kw_only=True)
class House:
    """The server with Bob in front of it; `ids` are Ann's."""

    site: Site
    bob: Visitor
    ann: Visitor
    ids: Ids = field(default_factory=dict)

    async def asked(self, who: str | None, route: str, one: Try, ids: Ids) -> Answer:
        """Send a request as a program, as a sender of webhooks, or as a browser, whichever the route is for."""
        method, _, pattern = route.partition(" ")
        path = (one.path or pattern).format_map(_Given(ids)) + one.query.format_map(_Given(ids))
        body = None if one.body is None else {name: _filled(value, ids) for name, value in one.body.items()}
        if who is None:
            return await self.site.ask(None, method, path, json=body, allow_redirects=False)
        if path.startswith("/hooks/"):
            headers = {"Authorization": f"Bearer {TOKENS[who]}"}
            return await self.site.ask(None, method, path, json=body, headers=headers)
        if path.startswith("/v1/") and "name=" in path:
            headers = {"Content-Type": "application/octet-stream"}
            return await self.site.ask(who, method, path, data=b"x", headers=headers)
        if path.startswith("/v1/"):
            return await self.site.ask(who, method, path, json=body)
        visitor = self.bob if who == "bob" else self.ann
        cookie = {"Cookie": f"signoff={visitor.cookie}", "X-CSRF-Token": visitor.csrf, "Accept": "text/html"}
        sent = {} if body is None else {"data": body}
        return await self.site.ask(None, method, path, headers=cookie, allow_redirects=False, **sent)

    async def quiet(self) -> None:
        """Wait until nothing is worked on, so that two looks at the same thing are alike."""
        for _ in range(1500):
            found = await self.site.app.services.store.tasks(limit=100)
            if not any(task.status in {"queued", "running"} for task in found):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("tasks went on and on")

    async def state(self) -> Any:
        """All that Ann has, as she sees it."""
        lists = ("tasks", "sessions", "approvals", "memory/annes", "files/annes", "people/me")
        found = [(await self.site.get("ann", f"/v1/{path}")).json for path in lists]
        return found, sorted(path.name for path in (self.site.home / "annes").rglob("*"))

    def chat(self) -> PlatformChat:
        """The way in for chat platforms."""
        services = self.site.app.services
        return PlatformChat(
            reception=services.reception,
            store=services.store,
            people=services.people,
            pairing=services.pairing,
            desks=partial(chat_desk, services),
            clock=services.clock,
            allow={},
        )

    async def written(self, text: str, to: Address | None = None) -> str:
        """What Bob is told to something he writes alone, or elsewhere."""
        services, key = self.site.app.services, f"lines:{next(numbers)}"
        message = ChannelMessage(
            dedup_key=key,
            address=to or direct_address(IDENTITIES["bob"]),
            identity=IDENTITIES["bob"],
            text=text,
            received_at=services.clock.now(),
            direct=to is None,
        )
        await self.chat().receive(message)
        row = await services.store.received(key)
        assert row is not None
        return f"{row.outcome}: {row.said}"

    async def pressed(self, value: str) -> str:
        """What Bob is told to a button he presses alone."""
        services = self.site.app.services
        press = ChannelPress(
            dedup_key=f"lines:{next(numbers)}",
            address=direct_address(IDENTITIES["bob"]),
            identity=IDENTITIES["bob"],
            value=value,
            pressed_at=services.clock.now(),
            fields={"reason": "no"},
        )
        receipt = await self.chat().press(press)
        return f"{receipt.outcome}: {receipt.said}"


async def made(site: Site) -> Ids:
    """Everything Ann has: files, a memory, two conversations, a task that made a file, a card that waits, a hook whose
    task made a file, an identity; and Bob's identity and hook."""
    services = site.app.services
    for folder in ("memory", "skills"):
        (site.home / "annes" / folder).mkdir()
    for name in ("secret.md", "plain.md"):
        (site.home / "annes" / name).write_text("the secret of annes")
    (site.home / "annes" / "memory" / "MEMORY.md").write_text("a secret is remembered")
    for who in ("ann", "bob"):
        hook = Hook(name=HOOKS[who], token_sha256=token_sha256(TOKENS[who]), workspace=f"{who}{'e' * (who == 'ann')}s")
        await services.store.save_hook(hook)
        by = terminal(services.people, services.workspaces)
        now = services.clock.now()
        link = Link(identity=IDENTITIES[who], member=who, shown_name=who, linked_at=now, linked_by="operator")
        await services.roster.add_link(link, audit.row(services, by, "identity_linked", link.identity))
    done, waiting = await _worked(site), await _asked(site)
    hooked = await _hooked(site)
    task = (await site.get("ann", f"/v1/tasks/{done}")).json
    card = (await site.get("ann", f"/v1/tasks/{waiting}")).json["approvals"][0]["id"]
    outcome = (await _hook(site, "GET", f"/tasks/{hooked}")).json
    return {
        "task_id": done,
        "session_id": task["session_id"],
        "approval_id": card,
        "artifact_id": task["artifacts"][0]["artifact_id"],
        "hook_task_id": hooked,
        "hook_artifact_id": outcome["artifacts"][0]["artifact_id"],
        "workspace": "annes",
        "token": (await services.store.find_approval(approval_id=card)).token,
    }


async def _worked(site: Site) -> int:
    """A task that is done and has made a file."""
    site.model.will(_writes("secret-report.md"), "The secret is written.")
    task_id = await site.task("ann", "write down the secret")
    await _approved(site, task_id)
    session_id = (await site.get("ann", f"/v1/tasks/{task_id}")).json["session_id"]
    await site.ask("ann", "PATCH", f"/v1/sessions/{session_id}", json={"title": "secret plans"})
    return task_id


async def _asked(site: Site) -> int:
    """A task that waits for a person."""
    site.model.will(_writes("secret-plan.md"))
    task_id = await site.task("ann", "plan the secret")
    await site.reached(task_id, "waiting_approval")
    return task_id


async def _hooked(site: Site) -> int:
    """A webhook's task that has made a file."""
    site.model.will(_writes("secret-hook.md"), "The secret was received.")
    task_id = int((await _hook(site, "POST", "", {"text": "a secret"})).json["task_id"])
    await _approved(site, task_id)
    return task_id


async def _hook(site: Site, method: str, path: str, body: Any = None) -> Answer:
    headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
    return await site.ask(None, method, f"/hooks/{HOOKS['ann']}{path}", json=body, headers=headers)


async def _approved(site: Site, task_id: int) -> None:
    await site.reached(task_id, "waiting_approval")
    card = (await site.get("ann", f"/v1/tasks/{task_id}")).json["approvals"][0]["id"]
    assert (await site.post("ann", f"/v1/approvals/{card}/decision", {"verdict": "approved"})).status == 200
    await site.reached(task_id, "done")


def _writes(path: str) -> Reply:
    return Reply(calls=[("write_file", {"path": path, "content": "a secret of annes"})])


def told(answer: Answer, ids: Ids) -> str:
    """What an answer says to a person or a program, without the ids that were asked for."""
    text = answer.body.decode()
    if "html" in answer.headers.get("Content-Type", ""):
        text = Page(text).text
    return without(text, ids)


def without(text: str, ids: Ids) -> str:
    """A text without these ids."""
    for value in sorted(map(str, ids.values()), key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", "…", text)
    return text


def traces(text: str) -> list[str]:
    """What of Ann's can be read in a text."""
    return [trace for trace in TRACES if trace in text.casefold()]


class _Given(dict[str, Any]):
    """What is not given stays as it is, such as a name that the route needs and nobody owns."""

    def __missing__(self, key: str) -> str:
        return {"name": "ann", "identity": IDENTITIES["ann"]}.get(key, "x")


def _filled(value: Any, ids: Ids) -> Any:
    """An id in place of its name, as what it is; in a longer text, as a part of it."""
    if not isinstance(value, str):
        return value
    name = value.strip("{}")
    return ids[name] if value == f"{{{name}}}" and name in ids else value.format_map(_Given(ids))
