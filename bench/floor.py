"""The least that could be called a durable bot, and so the floor for every ratio.

aiohttp takes the message, one streaming call asks the model, one SQLite commit (WAL, FULL sync) stores question and
answer, and the answer goes back. No sessions to look up, no history, no tools, no queue, no second try.

`python -m bench.floor --port 9200 --model http://127.0.0.1:9100/v1 --path floor.sqlite3`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import aiosqlite
from aiohttp import web

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, session TEXT, role TEXT, text TEXT, at REAL);
    CREATE INDEX IF NOT EXISTS messages_session ON messages (session, id);
"""
_INSERT = "INSERT INTO messages (session, role, text, at) VALUES (?, ?, ?, ?)"


class Floor:
    """POST /chat `{"session", "text"}` → `{"text"}`."""

    def __init__(self, model_url: str, path: Path) -> None:
        self._model_url = model_url
        self._path = path
        self._commit = asyncio.Lock()

    def app(self) -> web.Application:
        """The server."""
        app = web.Application()
        app.cleanup_ctx.append(self._open)
        app.add_routes([web.post("/chat", self._chat), web.get("/readyz", self._ready)])
        return app

    async def _open(self, _: web.Application) -> AsyncIterator[None]:
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
            aiosqlite.connect(self._path) as database,
        ):
            await database.execute("PRAGMA journal_mode = WAL")
            await database.execute("PRAGMA synchronous = FULL")
            await database.executescript(_SCHEMA)
            self._http, self._database = http, database
            yield

    async def _ready(self, _: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        session, text = body["session"], body["text"]
        answer = await self._ask(text)
        now = time.time()
        async with self._commit:
            rows = [(session, "user", text, now), (session, "assistant", answer, now)]
            await self._database.executemany(_INSERT, rows)
            await self._database.commit()
        return web.json_response({"text": answer})

    async def _ask(self, text: str) -> str:
        messages = [{"role": "system", "content": "You are a helpful bot."}, {"role": "user", "content": text}]
        body = {"model": "fake", "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
        pieces: list[str] = []
        async with self._http.post(f"{self._model_url}/chat/completions", json=body) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    choices = json.loads(line[6:])["choices"]
                    if choices and (piece := choices[0]["delta"].get("content")):
                        pieces.append(piece)
        return "".join(pieces)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--path", type=Path, required=True)
    options = parser.parse_args()
    floor = Floor(options.model, options.path)
    web.run_app(floor.app(), host="127.0.0.1", port=options.port, access_log=None, print=None)
