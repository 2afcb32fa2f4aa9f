"""What becomes of an update: it is handed to the chat, and whoever pressed something is told at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import structlog

from agent import buttons
from agent.approvals import NOT_FOUND
from agent.domain import Address
from agent.errors import BadInput, ChannelError
from agent.ports.channels import ChannelMessage, ChannelPress, Chat, Form, Receipt
from agent.ports.clock import Clock
from channels.telegram import forms, requests, updates
from channels.telegram.calls import Calls
from channels.telegram.gathering import Gathering
from channels.telegram.incoming import Me, joined
from channels.telegram.replies import Replies
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState
from channels.telegram.updates import Changed, Moved, Piece, Pressed, Stopped

log = structlog.get_logger()

REMEMBERED = 1_000
"""Messages of which it is known what they said, so that an edit of one can be told from other changes."""
