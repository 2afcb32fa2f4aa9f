"""What must stay secret over a whole flow, in processes as people run them: in no log line, stored only as a hash."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.bot.conftest import Home
from tests.servers.llm import FakeLLM, Reply

KEY, HEADER = "sk-the-key-of-the-model", "the-token-in-a-header"
MESSAGE, ARGUMENT, CONTENT, ANSWER = (
    "words of a message",
    "text of an argument",
    "content of a file",
    "words of a reply",
)
LOOKS = 600


@pytest.mark.slow
async def test_no_secret_and_no_content_is_logged_and_tokens_are_stored_hashed(tmp_path: Path) -> None:
    """Level info: reads, an approval, a refused key, a wrong token, a request that is no HTTP, and a drain."""
    model = FakeLLM(key=KEY)
    await model.start()
    home = _home(tmp_path, model)
    made = await asyncio.to_thread(home.signoff, "webhooks", "create", "flow", "--json")
    hook = {"Authorization": f"Bearer {made.json['token']}"}
    with home.serving() as served:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{home.port}") as http:
            model.will(Reply(calls=[("read_file", {"path": "in.txt"})]))
            model.will(Reply(calls=[("write_file", {"path": "a.md", "content": ARGUMENT})]), ANSWER)
            first = await _posted(http, hook)
            await _reached(http, hook, first, "waiting_approval")
            await asyncio.to_thread(home.signoff, "approve", "1")
            assert (await _reached(http, hook, first, "done"))["text"] == ANSWER
            model.will(Reply(status=400, error=f"Incorrect API key provided: {KEY}"))
            failed = await _reached(http, hook, await _posted(http, hook), "failed")
            async with http.post("/hooks/flow", json={}, headers={"X-Signoff-Token": HEADER}) as answer:
                assert answer.status == 401
            assert b"400 Bad Request" in await _sent(home.port, f"X-Signoff-Token: {HEADER}{'x' * 20_000}\r\n")
        served.process.send_signal(signal.SIGTERM)
        _, log = await asyncio.to_thread(served.process.communicate)
    await model.close()
    assert log.count("task_left") == 3
    assert "Traceback" not in log
    assert _found(log, KEY, made.json["token"], HEADER, MESSAGE, ARGUMENT, CONTENT, ANSWER) == []
    assert _found(json.dumps(failed), KEY) == []
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert _found(stored.decode(errors="replace"), KEY, made.json["token"], HEADER) == []
    assert _found(stored.decode(errors="replace"), MESSAGE, ANSWER) == [MESSAGE, ANSWER]


def _home(folder: Path, model: FakeLLM) -> Home:
    (folder / "office").mkdir()
    (folder / "office" / "in.txt").write_text(CONTENT)
    (folder / ".env").write_text(f"LLM_KEY={KEY}\n")
    (folder / ".env").chmod(0o600)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        home = Home(folder, free.getsockname()[1])
    settings = {"model": "openai/fake", "api_base": model.base_url, "api_key": "${LLM_KEY}"}
    home.configure(agent={"model": "fake", "models": {"fake": settings}})
    return home


async def _posted(http: aiohttp.ClientSession, hook: Mapping[str, str]) -> int:
    async with http.post("/hooks/flow", json={"text": MESSAGE}, headers=hook) as answer:
        assert answer.status == 202
        return int((await answer.json())["task_id"])


async def _reached(http: aiohttp.ClientSession, hook: Mapping[str, str], task_id: int, status: str) -> dict[str, Any]:
    for _ in range(LOOKS):
        async with http.get(f"/hooks/flow/tasks/{task_id}", headers=hook) as answer:
            found: dict[str, Any] = await answer.json()
        if found["status"] == status:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"task {task_id} is {found['status']}, not {status}")


async def _sent(port: int, line: str) -> bytes:
    """The answer to a request with a header line that no server takes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /healthz HTTP/1.1\r\nHost: here\r\n{line}\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def _found(text: str, *words: str) -> list[str]:
    return [word for word in words if word in text]
