"""`init slack`: the app from a link, its tokens, a first hello."""

from __future__ import annotations

from pydantic import SecretStr

from agent.errors import BadInput, ChannelError
from bot.cli.init import Setup
from bot.clock import SystemClock
from bot.config import load_config
from channels.slack.calls import Calls
from channels.slack.condition import Condition
from channels.slack.manifest import APP_SCOPE, manifest, new_app_link
from channels.slack.settings import API_URL, SlackSettings
from channels.slack.setup import looked_at

HELLO = "Hello, I am Signoff. Mention me or write to me alone: I work on your files and ask before I change anything."
LINES = [
    "enabled: true",
    'bot_token: "${SLACK_BOT_TOKEN}"',
    'app_token: "${SLACK_APP_TOKEN}"',
    "mode: socket",
]


async def steps(setup: Setup) -> None:
    """Everything in order; each step can be done again."""
    say = setup.dialogue.say
    say(f"1. Open this link and press Create; Slack asks for the workspace:\n   {new_app_link(manifest())}")
    say(
        "2. On the app's page: Install App → Install to Workspace; copy the Bot User OAuth Token (xoxb-…).\n"
        f"3. Basic Information → App-Level Tokens → Generate Token, scope {APP_SCOPE}; copy it (xapp-…)."
    )
    tokens = {
        "SLACK_BOT_TOKEN": setup.dialogue.secret("Bot token (xoxb-…)", "SLACK_BOT_TOKEN"),
        "SLACK_APP_TOKEN": setup.dialogue.secret("App token (xapp-…)", "SLACK_APP_TOKEN"),
    }
    settings = await _tried(setup, tokens)
    where = await _hello(setup, settings)
    config = setup.keep("slack", [*LINES, *_address(settings)], tokens)
    say(f"{setup.file.name} and .env are written.")
    if where.startswith(("U", "W")):
        await setup.link(config, f"slack:{where}")
    say("Start it with `signoff run`, and write /invite @Signoff where it should work.")


async def _tried(setup: Setup, tokens: dict[str, str]) -> SlackSettings:
    settings = SlackSettings(
        enabled=True,
        bot_token=SecretStr(tokens["SLACK_BOT_TOKEN"]),
        app_token=SecretStr(tokens["SLACK_APP_TOKEN"]),
        base_url=_base_url(setup),
    )
    async for one in looked_at(settings, SystemClock()):
        setup.dialogue.say(f"{'ok   ' if one.ok else 'FAILS'} {one.name}: {one.message}")
        if not one.ok:
            raise BadInput(f"The {one.name} does not work yet; nothing was written. Run `signoff init slack` again.")
    return settings


async def _hello(setup: Setup, settings: SlackSettings) -> str:
    """Where it said hello, if it did."""
    question = (
        "Where should it say hello? Your member id (Profile → ⋮ → Copy member ID) or a channel's id; empty: nowhere"
    )
    where = setup.dialogue.ask(question)
    if not where:
        return ""
    calls = Calls(settings, Condition(lambda _: None), SystemClock())
    try:
        await calls.call("chat.postMessage", channel=where, text=HELLO)
    except ChannelError as error:
        setup.dialogue.say(f"It could not say hello there: {error}")
    else:
        setup.dialogue.say("It said hello there.")
    finally:
        await calls.close()
    return where


def _base_url(setup: Setup) -> str:
    return load_config(setup.file, {}).channels.slack.base_url if setup.file.exists() else API_URL


def _address(settings: SlackSettings) -> list[str]:
    """A proxy that stands in for Slack stays named."""
    return [] if settings.base_url == API_URL else [f"base_url: {settings.base_url}"]
