"""API tokens of people, and `login-link`, their way into the console."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any, cast

import typer

from agent.domain import OPERATOR
from agent.durations import seconds
from agent.errors import BadInput
from agent.ports.access import ApiToken
from bot.api import access
from bot.api.viewer import DEFAULT_SCOPES, SCOPES, Scope, terminal
from bot.cli import display
from bot.cli.options import DEFAULT_CONFIG, AsJson, ConfigPath
from bot.config import load_config
from bot.services import connected

Name = Annotated[str, typer.Argument(metavar="NAME")]


def token(
    name: Name,
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help=f"Repeat it for several: {', '.join(sorted(SCOPES))}."),
    ] = None,
    label: Annotated[str, typer.Option("--name", metavar="LABEL", help="What it is for, to tell it apart.")] = "",
    expires: Annotated[str | None, typer.Option(metavar="90d", help="When it ends; never without it.")] = None,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Make an API token for a member and print it, this once.

    Without --scope it may do what every member may, but not decide on approvals.
    """
    scopes = _scopes(scope) if scope else DEFAULT_SCOPES
    lifetime = _lifetime(expires)

    async def work() -> None:
        async with connected(load_config(config)) as services:
            viewer = terminal(services.people, services.workspaces)
            made, text = await access.make_token(services, viewer, name, scopes, label=label, seconds=lifetime)
        if as_json:
            display.print_json({**_token_json(made), "token": text})
            return
        print(f"token: {text}")
        print(f"id: {made.token_id}, member: {made.member}, scopes: {' '.join(made.scopes)}")

    asyncio.run(work())


def list_tokens(name: Name, *, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """List a member's API tokens."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            found = await access.list_tokens(services, terminal(services.people, services.workspaces), name)
            if as_json:
                display.print_json({"tokens": [_token_json(each) for each in found]})
                return
            live = await services.people.by_name()
            rows = [
                (
                    each.token_id,
                    each.label,
                    _state(each, services.clock.now(), known=each.member in live),
                    _day(each.created_at),
                    " ".join(each.scopes),
                )
                for each in found
            ]
            display.print_table(("id", "name", "state", "made", "scopes"), rows)

    asyncio.run(work())


def revoke(token_id: Annotated[int, typer.Argument(metavar="TOKEN_ID")], config: ConfigPath = DEFAULT_CONFIG) -> None:
    """End an API token at once."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            ended = await access.revoke_token(services, terminal(services.people, services.workspaces), token_id)
            print(f"Token {token_id} of {ended.member} is revoked.")

    asyncio.run(work())


def login_link(
    name: Annotated[str, typer.Argument(metavar="NAME")] = OPERATOR.name, config: ConfigPath = DEFAULT_CONFIG
) -> None:
    """Print a link that signs a member into the console, once and within ten minutes."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            print(services.url(await access.login_path(services, name)))

    asyncio.run(work())


def _scopes(names: list[str]) -> frozenset[Scope]:
    for name in names:
        if name not in SCOPES:
            raise BadInput(f"--scope {name}: there is no such scope (there are: {', '.join(sorted(SCOPES))}).")
    return frozenset(cast("list[Scope]", names))


def _lifetime(text: str | None) -> int | None:
    try:
        return None if text is None else seconds(text)
    except ValueError as error:
        raise BadInput(f"--expires {error}.") from None


def _token_json(token: ApiToken) -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "member": token.member,
        "name": token.label,
        "scopes": list(token.scopes),
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        "revoked_at": token.revoked_at.isoformat() if token.revoked_at else None,
    }


def _state(token: ApiToken, now: datetime, *, known: bool) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if not access.token_is_live(token, now):
        return "expired"
    if not known:
        return "void: removed"
    return f"until {_day(token.expires_at)}" if token.expires_at else "live"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
