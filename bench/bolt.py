"""Slack's own Bolt with listeners that do nothing: what taking an event costs at least.

`python -m bench.bolt --slack http://127.0.0.1:9300/api/`
"""

from __future__ import annotations

import argparse
import asyncio

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bench.fake_slack import APP_TOKEN, BOT_TOKEN


async def serve(url: str) -> None:
    """Take what comes, for ever."""
    app = AsyncApp(client=AsyncWebClient(BOT_TOKEN, base_url=url), process_before_response=True)

    async def take() -> None:
        """Nothing."""

    app.event("message")(take)
    app.event("app_mention")(take)
    await AsyncSocketModeHandler(app, APP_TOKEN).start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--slack", required=True)
    asyncio.run(serve(parser.parse_args().slack))
