"""Who there is, and who asks to be let in: for admins."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, get_args

from aiohttp import web

from agent.domain import Role
from agent.errors import BadInput
from bot.api import pairing
from bot.api import people as api
from bot.api.shapes import filled
from bot.entrance.rules import VIEWER, Guarded, Rule
from bot.web.forms import Form, read_form
from bot.web.shell import Shell, see_other

ADMIN = Rule(page=True, role="admin")
GIVEN = tuple(role for role in get_args(Role) if role != "member")
"""The roles that somebody can have or not."""


class PeoplePages:
    """The page `/people` and what its forms do."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._services = shell.services

    def routes(self) -> list[Guarded]:
        """Its routes."""
        return [
            Guarded(web.get("/people", self._people), ADMIN),
            Guarded(web.post("/people", self._add), ADMIN),
            Guarded(web.post("/people/{name}", self._change), ADMIN),
            Guarded(web.post("/people/{name}/remove", self._remove), ADMIN),
            Guarded(web.post("/people/{name}/link", self._link), ADMIN),
            Guarded(web.post("/identities/unlink", self._unlink), ADMIN),
            Guarded(web.post("/strangers/admit", self._admit), ADMIN),
            Guarded(web.post("/strangers/reject", self._reject), ADMIN),
        ]

    async def _people(self, request: web.Request) -> web.StreamResponse:
        viewer, config = request[VIEWER], self._services.config
        return await self._shell.page(
            request,
            "people.html",
            here="people",
            people=(await api.list_people(self._services, viewer)).people,
            strangers=(await pairing.list_strangers(self._services, viewer)).strangers,
            given=GIVEN,
            general={"timezone": config.bot.timezone, "budget": config.agent.budget.member_day_usd},
        )

    async def _add(self, request: web.Request) -> web.StreamResponse:
        form = await self._form(request)
        new = filled(api.NewPerson, name=form.text("name").strip(), **self._settings(form))
        await api.add_person(self._services, request[VIEWER], new)
        return _back(request)

    async def _change(self, request: web.Request) -> web.StreamResponse:
        change = filled(api.PersonChange, **self._settings(await self._form(request)))
        await api.change_person(self._services, request[VIEWER], request.match_info["name"], change)
        return _back(request)

    async def _remove(self, request: web.Request) -> web.StreamResponse:
        await api.remove_person(self._services, request[VIEWER], request.match_info["name"])
        return _back(request)

    async def _link(self, request: web.Request) -> web.StreamResponse:
        new = filled(api.NewLink, identity=(await self._form(request)).text("identity").strip())
        await api.link(self._services, request[VIEWER], request.match_info["name"], new)
        return _back(request)

    async def _unlink(self, request: web.Request) -> web.StreamResponse:
        await api.unlink(self._services, request[VIEWER], (await self._form(request)).text("identity"))
        return _back(request)

    async def _admit(self, request: web.Request) -> web.StreamResponse:
        form = await self._form(request)
        wanted = filled(
            pairing.Admission, code=form.text("code"), name=form.text("name").strip() or None, roles=_roles(form)
        )
        await pairing.admit(self._services, request[VIEWER], wanted)
        return _back(request)

    async def _reject(self, request: web.Request) -> web.StreamResponse:
        who = filled(pairing.Rejection, who=(await self._form(request)).text("who"))
        await pairing.reject(self._services, request[VIEWER], who)
        return _back(request)

    def _settings(self, form: Form) -> Mapping[str, Any]:
        """Roles, time zone and budget; what is left empty or is the general one follows the general one."""
        zone, budget = form.text("timezone").strip(), form.text("budget").strip()
        try:
            usd = Decimal(budget) if budget else None
        except InvalidOperation:
            raise BadInput(f"{budget} is no amount; write one like 2.50.", field="budget_day_usd") from None
        own_zone = zone if zone not in {"", self._services.config.bot.timezone} else None
        return {"roles": _roles(form), "timezone": own_zone, "budget_day_usd": usd}

    async def _form(self, request: web.Request) -> Form:
        return await read_form(request, self._services.config.bot.http.max_upload)


def _roles(form: Form) -> list[str]:
    return [role for role in GIVEN if form.text(f"role.{role}")]


def _back(request: web.Request) -> web.Response:
    return see_other(request, "/people")
