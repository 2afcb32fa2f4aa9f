"""`webhooks`: make and list inbound webhooks, beside a running server."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Annotated

import typer

from agent.domain import Hook
from agent.errors import BadInput, NotFound
from bot.cli import display
from bot.cli.options import DEFAULT_CONFIG, AsJson, ConfigPath
from bot.config import load_config
from bot.services import Services, connected
from channels.callback import GuardedResolver, new_secret
from channels.webhook import new_token, token_sha256

webhooks = typer.Typer(help="Make and list inbound webhooks.", add_completion=False, rich_markup_mode=None)

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_RATE = re.compile(r"([1-9][0-9]{0,5})/min")
Name = Annotated[str, typer.Argument(metavar="NAME")]


@webhooks.command()
def create(
    name: Name,
    *,
    workspace: Annotated[str | None, typer.Option(help="Where its tasks work; else as `workspaces` says.")] = None,
    deliver: Annotated[
        list[str] | None, typer.Option(metavar="answer|URL", help="Where results go; repeat it for several.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/min", help="At most so many requests; no limit without it.")
    ] = None,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Make a webhook and print its secrets, this once."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            if await services.store.hook(name) is not None:
                raise BadInput(
                    f"There is a webhook {name} already; `signoff webhooks rotate {name}` gives a new token."
                )
            hook, token = await _made(services, name, workspace, deliver or ["answer"], rate)
            await services.store.save_hook(hook)
            _print_secrets(services, hook, token, hook.callback_secret, as_json=as_json)

    asyncio.run(work())


@webhooks.command()
def rotate(name: Name, *, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Give a webhook a new token; the old one ends within half a second."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            hook = await services.store.hook(name)
            if hook is None:
                raise NotFound(f"There is no webhook {name}; `signoff webhooks list` shows them.")
            token = new_token()
            await services.store.save_hook(replace(hook, token_sha256=token_sha256(token)))
            _print_secrets(services, hook, token, None, as_json=as_json)

    asyncio.run(work())


@webhooks.command("list")
def list_(*, as_json: AsJson = False, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """List the webhooks."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            hooks = await services.store.hooks()
            rows = [
                {
                    "name": hook.name,
                    "url": services.url(f"/hooks/{hook.name}"),
                    "workspace": hook.workspace,
                    "deliver": list(hook.deliver),
                    "rate_per_minute": hook.rate_per_minute,
                }
                for hook in hooks
            ]
        if as_json:
            display.print_json({"webhooks": rows})
        else:
            display.print_table(
                ("name", "url", "workspace", "deliver", "rate"),
                [
                    (
                        row["name"],
                        row["url"],
                        row["workspace"] or "",
                        ", ".join(hook.deliver),
                        hook.rate_per_minute or "",
                    )
                    for row, hook in zip(rows, hooks, strict=True)
                ],
            )

    asyncio.run(work())


async def _made(
    services: Services, name: str, workspace: str | None, deliver: list[str], rate: str | None
) -> tuple[Hook, str]:
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name for a webhook: use a to z, 0 to 9, _ and -, at most 64 characters.")
    if workspace is not None and workspace not in services.config.workspaces:
        known = ", ".join(services.config.workspaces) or "none"
        raise BadInput(f"--workspace {workspace}: there is no such workspace (there are: {known}).")
    resolver = GuardedResolver(allow_private=services.config.channels.webhook.allow_private_callbacks)
    urls = [to for to in deliver if to != "answer"]
    for url in urls:
        await resolver.check(url)
    per_minute = _RATE.fullmatch(rate) if rate is not None else None
    if rate is not None and per_minute is None:
        raise BadInput(f"--rate {rate}: write a number of requests a minute, such as 60/min.")
    token = new_token()
    hook = Hook(
        name=name,
        token_sha256=token_sha256(token),
        workspace=workspace,
        deliver=tuple(dict.fromkeys(deliver)),
        rate_per_minute=int(per_minute[1]) if per_minute else None,
        callback_secret=new_secret() if urls else None,
    )
    return hook, token


def _print_secrets(services: Services, hook: Hook, token: str, secret: str | None, *, as_json: bool) -> None:
    made = {"name": hook.name, "url": services.url(f"/hooks/{hook.name}"), "token": token}
    if secret is not None:
        made["callback_secret"] = secret
    if as_json:
        display.print_json(made)
        return
    for key, value in made.items():
        print(f"{key}: {value}")
