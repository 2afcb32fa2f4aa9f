"""`people`: who there is, who they are on channels, who asks to be let in; and their API tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from agent.errors import BadInput
from bot.api import access, pairing
from bot.api import people as api
from bot.api.shapes import filled
from bot.api.viewer import Viewer, terminal
from bot.cli import display, tokens
from bot.cli.options import DEFAULT_CONFIG, AsJson, ConfigPath
from bot.config import load_config
from bot.services import Services, connected

people = typer.Typer(help="People, their identities and API tokens.", add_completion=False, rich_markup_mode=None)
people.command()(tokens.token)
people.command("tokens")(tokens.list_tokens)
people.command()(tokens.revoke)

T = TypeVar("T")
GENERAL = "general"
"""Written for a time zone or a budget, it takes back one's own."""

Name = Annotated[str, typer.Argument(metavar="NAME")]
Identity = Annotated[str, typer.Argument(metavar="CHANNEL:ID", help="The id there, never a name: slack:U012AB.")]
Roles = Annotated[list[str] | None, typer.Option("--role", metavar="ROLE", help="Repeat it for several.")]
TimeZone = Annotated[str | None, typer.Option(metavar="ZONE", help=f"Like Europe/Berlin, or `{GENERAL}`.")]
Budget = Annotated[str | None, typer.Option(metavar="USD", help=f"A day, or `{GENERAL}`.")]


@people.callback(invoke_without_command=True)
def list_(context: typer.Context, *, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """List the people, or administer them."""
    if context.invoked_subcommand is not None:
        return

    async def work(services: Services, viewer: Viewer) -> list[dict[str, Any]]:
        now = services.clock.now()
        found = (await api.list_people(services, viewer)).people
        held = [await access.list_tokens(services, viewer, person.name) for person in found]
        return [
            {**_person_json(person), "tokens": sum(access.token_is_live(each, now) for each in theirs)}
            for person, theirs in zip(found, held, strict=True)
        ]

    rows = _ran(config, work)
    if as_json:
        display.print_json({"people": rows})
        return
    columns = ("name", "roles", "timezone", "budget_day_usd", "identities", "source", "tokens")
    display.print_table(
        ("name", "roles", "timezone", "USD a day", "identities", "from", "tokens"),
        [[_cell(row[column]) for column in columns] for row in rows],
    )


@people.command()
def add(
    name: Name,
    *,
    role: Roles = None,
    timezone: TimeZone = None,
    budget: Budget = None,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Add a person, who can then be linked to channels, or given a login link or an API token."""
    new = filled(api.NewPerson, name=name, **_given(role, timezone, budget))
    person = _ran(config, lambda services, viewer: api.add_person(services, viewer, new))
    _print_person(person, as_json=as_json)


@people.command()
def change(
    name: Name,
    *,
    role: Roles = None,
    timezone: TimeZone = None,
    budget: Budget = None,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Give an added person other roles (`--role member` takes all others away), time zone or budget, at once."""
    changes = filled(api.PersonChange, **_given(role, timezone, budget))
    person = _ran(config, lambda services, viewer: api.change_person(services, viewer, name, changes))
    _print_person(person, as_json=as_json)


@people.command()
def remove(name: Name, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Remove an added person with their identities, API tokens and browser sessions."""
    _ran(config, lambda services, viewer: api.remove_person(services, viewer, name))
    print(f"{name} is removed.")


@people.command()
def link(name: Name, identity: Identity, *, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Say that an identity on a channel is this person, whoever added them."""
    new = filled(api.NewLink, identity=identity)
    person = _ran(config, lambda services, viewer: api.link(services, viewer, name, new))
    _print_person(person, as_json=as_json)


@people.command()
def unlink(identity: Identity, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Make an identity a stranger's again."""
    _ran(config, lambda services, viewer: api.unlink(services, viewer, identity))
    print(f"{identity} is linked to nobody.")


@people.command()
def pending(*, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """List the strangers who were shown a code and ask to be let in."""
    found = _ran(config, pairing.list_strangers)
    if as_json:
        display.print_json(found.model_dump(mode="json"))
        return
    display.print_table(
        ("identity", "calls themselves", "asked", "until (UTC)"),
        [(one.identity, one.shown_name, f"{one.asked_at:%H:%M}", f"{one.expires_at:%H:%M}") for one in found.strangers],
    )


@people.command()
def admit(
    code: Annotated[str, typer.Argument(metavar="CODE", help="As the stranger was shown it.")],
    *,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Somebody there is, or a new name; else their own.")
    ] = None,
    role: Roles = None,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Let a stranger in who told you the code they were shown."""
    wanted = filled(pairing.Admission, code=code, name=name, roles=role or [])
    person = _ran(config, lambda services, viewer: pairing.admit(services, viewer, wanted))
    _print_person(person, as_json=as_json)


@people.command()
def reject(who: Annotated[str, typer.Argument(metavar="CODE|CHANNEL:ID")], config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Turn a stranger away."""
    wanted = filled(pairing.Rejection, who=who)
    _ran(config, lambda services, viewer: pairing.reject(services, viewer, wanted))
    print(f"{who} is turned away.")


def _ran(config: Path, work: Callable[[Services, Viewer], Awaitable[T]]) -> T:
    """Do something as the operator, beside a server that runs."""

    async def opened() -> T:
        async with connected(load_config(config)) as services:
            return await work(services, terminal(services.people, services.workspaces))

    return asyncio.run(opened())


def _given(role: list[str] | None, timezone: str | None, budget: str | None) -> dict[str, Any]:
    """What was written, as the API takes it."""
    given: dict[str, Any] = {"roles": role, "timezone": timezone, "budget_day_usd": budget}
    if budget and budget != GENERAL:
        try:
            given["budget_day_usd"] = Decimal(budget)
        except InvalidOperation:
            raise BadInput(f"--budget {budget}: write an amount in USD, such as 2.50, or `{GENERAL}`.") from None
    return {key: None if value == GENERAL else value for key, value in given.items() if value is not None}


def _print_person(person: api.PersonView, *, as_json: bool) -> None:
    shown = _person_json(person)
    if as_json:
        display.print_json(shown)
        return
    print(f"{person.name}: {_cell(shown['roles'])}; {person.timezone}; {_cell(shown['identities']) or 'not linked'}")


def _person_json(person: api.PersonView) -> dict[str, Any]:
    """One level, as a table has it."""
    shown: dict[str, Any] = person.model_dump(mode="json", exclude={"account"})
    return shown | (person.account.model_dump(mode="json") if person.account else {})


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "" if value is None else str(value)
