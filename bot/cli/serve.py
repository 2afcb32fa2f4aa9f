"""`run`: the server, until it is told to stop."""

from __future__ import annotations

import os
import signal
from asyncio import Event, Runner, create_task, get_running_loop

import uvloop

from bot.app import started
from bot.cli.options import DEFAULT_CONFIG, ConfigPath
from bot.config import Config, load_config
from bot.logs import start_logging


def run(config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Start Signoff. SIGTERM or Ctrl-C lets running tasks end and puts the rest back; a second one exits at once."""
    settings = load_config(config)
    start_logging(settings.bot.log, settings.secrets())
    with Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings))


async def _serve(config: Config) -> None:
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        get_running_loop().add_signal_handler(number, _asked_to_stop, stop)
    async with started(config) as app:
        for line in app.greeting:
            print(line)
        print("ready", flush=True)
        warming = create_task(app.services.models.warm())
        await stop.wait()
        warming.cancel()


def _asked_to_stop(stop: Event) -> None:
    if stop.is_set():
        # Whatever runs is requeued at the next start; nothing that was promised is lost.
        os._exit(1)
    stop.set()
