"""`/v1` and its description, as routes of the server."""

from __future__ import annotations

from functools import cached_property, partial

import orjson
from aiohttp import web

from bot.api.openapi import document
from bot.api.route import Call, Route
from bot.api.shapes import Shown
from bot.api.stream import Streams
from bot.api.table import table
from bot.entrance.rules import VIEWER, Guarded, Rule
from bot.services import Services


class Api:
    """Answers `/v1` and `/openapi.json`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.streams = Streams()
        self.table = table(self.streams)

    def routes(self) -> list[Guarded]:
        """Every route with what it asks of the caller."""
        guarded = [
            Guarded(web.route(route.method, route.path, partial(self._answer, route)), _rule(route))
            for route in self.table
        ]
        return [*guarded, Guarded(web.get("/openapi.json", self._described), None)]

    def close(self) -> None:
        """End the streams."""
        self.streams.close()

    @cached_property
    def _document(self) -> bytes:
        return orjson.dumps(document(self.table))

    async def _answer(self, route: Route, request: web.Request) -> web.StreamResponse:
        read = await route.read(request)
        answer = await route.run(Call(services=self._services, viewer=request[VIEWER], request=request, **read))
        if isinstance(answer, Shown):
            body = answer.model_dump_json().encode()
            return web.Response(status=route.status_of(answer), body=body, content_type="application/json")
        return answer

    async def _described(self, request: web.Request) -> web.Response:
        return web.Response(body=self._document, content_type="application/json")


def _rule(route: Route) -> Rule:
    return Rule(scope=route.scope, role=route.role)
