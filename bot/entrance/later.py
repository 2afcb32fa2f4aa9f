"""Routes that are loaded when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from aiohttp import web
from aiohttp.web_urldispatcher import UrlMappingMatchInfo


class Later(web.DynamicResource):
    """Stands behind all other routes and loads its own at the first request that none of those takes."""

    def __init__(self, load: Callable[[], web.UrlDispatcher]) -> None:
        super().__init__("/{path:.*}")
        self._load = load

    @cached_property
    def _router(self) -> web.UrlDispatcher:
        return self._load()

    async def resolve(self, request: web.Request) -> tuple[UrlMappingMatchInfo | None, set[str]]:
        """The route, or None and the methods for which there is one."""
        found = await self._router.resolve(request)
        if isinstance(found.http_exception, web.HTTPMethodNotAllowed):
            return None, found.http_exception.allowed_methods
        return (None if found.http_exception else found), set()

    def __iter__(self) -> Iterator[web.ResourceRoute]:
        return (route for route in self._router.routes() if isinstance(route, web.ResourceRoute))

    def __len__(self) -> int:
        return len(self._router.routes())
