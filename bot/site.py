"""What lies behind the door: `/v1` and the pages, loaded at the first request for one of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from aiohttp import web

from bot.entrance.login import Login
from bot.entrance.rules import Guarded
from bot.services import Services

if TYPE_CHECKING:
    from bot.api.routes import Api
    from bot.web.pages import Pages


class Site:
    """Loads late: the models of `/v1` and the libraries of the pages would take a fifth of every start."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[Guarded]:
        """Every route that is not a channel's, with its rule."""
        routes = self._api.routes()
        if self._services.config.channels.console.enabled:
            routes += [*Login(self._services).routes(), *self._pages.routes()]
        return routes

    def refusal(self, request: web.Request, status: int, message: str) -> web.Response:
        """An error for somebody who looks at pages."""
        return self._pages.shell.refusal(request, status, message)

    def close(self) -> None:
        """End what still goes on."""
        if "_api" in vars(self):
            self._api.close()

    @cached_property
    def _api(self) -> Api:
        from bot.api.routes import Api  # noqa: PLC0415 - late, see above

        return Api(self._services)

    @cached_property
    def _pages(self) -> Pages:
        from bot.web.pages import Pages  # noqa: PLC0415 - late, see above

        return Pages(self._services, self._api.streams)
