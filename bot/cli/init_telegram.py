"""`init telegram`: the bot's token, who its first person is, a group if wanted, a button to try."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from agent.errors import BadInput, ChannelError
from bot.cli.init import Setup
from bot.config import load_config
from channels.telegram.settings import TelegramSettings
from channels.telegram.setup import PRIVACY, Meeting
from channels.telegram.state import BotState

WAIT_SECONDS = 300.0
PRESS_SECONDS = 60.0
HELLO = "Hello, I am Signoff. I work on your files and ask before I change anything. Press the button to try it."


async def steps(setup: Setup) -> None:
    """Everything in order; each step can be done again."""
    say = setup.dialogue.say
    say("1. In Telegram, write /newbot to @BotFather, choose a name, and copy the token it answers with.")
    token = setup.dialogue.secret("Token (123456:ABC…)", "TELEGRAM_BOT_TOKEN")
    with TemporaryDirectory() as folder:
        meeting = Meeting(_settings(setup, token), BotState(Path(folder)))
        try:
            await _met(setup, meeting, token)
        except ChannelError as error:
            raise BadInput(f"{error} Nothing was written; run `signoff init telegram` again.") from None
        finally:
            await meeting.close()
    say("Start it with `signoff run`. `signoff check --online` looks again.")


async def _met(setup: Setup, meeting: Meeting, token: str) -> None:
    say = setup.dialogue.say
    name = await meeting.username()
    say(f"The token is good: @{name}.")
    await meeting.make_way()
    say(f"2. Open https://t.me/{name} and press Start, or write anything. Waiting …")
    person = await meeting.person(WAIT_SECONDS)
    if person is None:
        raise BadInput("Nobody wrote to the bot; nothing was written. Run `signoff init telegram` again.")
    say(f"There you are: {person[1]}, id {person[0]}.")
    group = await _group(setup, meeting, name)
    await meeting.test(person[0], HELLO, "It works")
    say("3. Press the button under its message.")
    pressed = await meeting.pressed(person[0], PRESS_SECONDS)
    say("Both ways work." if pressed else "No press came; the rest goes on without it.")
    base = _settings(setup, token)
    lines = ["enabled: true", 'token: "${TELEGRAM_BOT_TOKEN}"', *_addresses(base)]
    lines += [f"allow: [{group}]"] if group else []
    config = setup.keep("telegram", lines, {"TELEGRAM_BOT_TOKEN": token})
    say(f"{setup.file.name} and .env are written.")
    await setup.link(config, f"telegram:{person[0]}")


async def _group(setup: Setup, meeting: Meeting, name: str) -> str:
    """The id of a group that everybody may ask in, if there is to be one."""
    say = setup.dialogue.say
    if not setup.dialogue.ask("Should it work in a group, too? (y/n)", "n").lower().startswith("y"):
        return ""
    say(f"Add @{name} to the group; if it is there already, write /start@{name} in it. Waiting …")
    group = await meeting.group(WAIT_SECONDS)
    if group is None:
        say("Nothing came from a group; it can be added to channels.telegram.allow later.")
        return ""
    say(f"The group {group[1]}, id {group[0]}; there the bot is {await meeting.standing(group[0])}.")
    if not await meeting.hears_all():
        say(f"There it {PRIVACY}. For `groups: mention` that is enough.")
    return group[0]


def _settings(setup: Setup, token: str) -> TelegramSettings:
    before = load_config(setup.file, {"TELEGRAM_BOT_TOKEN": token}).channels.telegram
    given = {"enabled": True, "token": token, "base_url": before.base_url, "base_file_url": before.base_file_url}
    try:
        return TelegramSettings.model_validate(given)
    except ValueError:
        raise BadInput("This is no token of @BotFather, which looks like 123456:ABC-DEF1234ghIkl.") from None


def _addresses(settings: TelegramSettings) -> list[str]:
    """A server of one's own stays named."""
    names = ("base_url", "base_file_url")
    usual = TelegramSettings()
    return [f"{name}: {getattr(settings, name)}" for name in names if getattr(settings, name) != getattr(usual, name)]
