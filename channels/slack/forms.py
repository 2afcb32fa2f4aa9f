"""A form as a modal, and what a person sent with it. Pure."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from agent.domain import Address
from agent.errors import BadInput
from agent.ports.channels import Form, FormField
from channels.slack.events import CHANNEL, Json, record, text

CALLBACK_ID = "signoff_form"
# https://docs.slack.dev/reference/views/modal-views, .../block-kit/block-elements/plain-text-input-element
TITLE, BUTTON, BLOCK_ID, LABEL, INPUT = 24, 24, 255, 2_000, 3_000
_ACTION = "value"


def modal(form: Form, place: Address) -> Json:
    """The view to open; `place` is where the button was pressed. BadInput for what Slack has no room for."""
    kept = {"value": form.value, "in": [place.conversation, place.thread or ""]}
    return {
        "type": "modal",
        "callback_id": CALLBACK_ID,
        "private_metadata": orjson.dumps(kept).decode(),
        "title": _plain(form.title, TITLE),
        "submit": _plain(form.submit, BUTTON),
        "close": _plain("Cancel", BUTTON),
        "blocks": [_input(field) for field in form.fields],
    }


def sent(view: Json) -> tuple[str, Address, dict[str, str]] | None:
    """The button's value, where it was pressed, and the fields; None for a view that is not ours."""
    if text(view, "callback_id") != CALLBACK_ID:
        return None
    try:
        kept = orjson.loads(text(view, "private_metadata"))
        conversation, thread = kept["in"]
        value = str(kept["value"])
    except (ValueError, KeyError, TypeError):
        return None
    states = record(record(view, "state"), "values")
    fields = {name: text(record(record(states, name), _ACTION), "value") for name in states}
    return value, Address(channel=CHANNEL, conversation=conversation, thread=thread or None), fields


def fingerprint(view: Json) -> str:
    """What one submission is known by: the same words sent again are the same, corrected ones are not."""
    fields = orjson.dumps(record(view, "state"), option=orjson.OPT_SORT_KEYS)
    return f"{text(view, 'id')}:{hashlib.sha256(fields).hexdigest()[:16]}"


def complaint(view: Json, said: str) -> Json:
    """The answer to a submission that keeps the modal open: what was said stands below the field it begins with."""
    names = list(record(record(view, "state"), "values"))
    about = next((name for name in names if said.startswith(f"{name}:")), names[0] if names else "")
    return {"response_action": "errors", "errors": {about: said}}


def _input(field: FormField) -> Json:
    if len(field.value) > INPUT or len(field.name) > BLOCK_ID:
        raise BadInput(
            f"{field.label} has {len(field.value):,} characters; a form in Slack takes {INPUT:,}. "
            "Edit it in the console, or request changes instead."
        )
    element: dict[str, Any] = {
        "type": "plain_text_input",
        "action_id": _ACTION,
        "multiline": field.multiline,
        "max_length": INPUT,
    }
    element |= {"initial_value": field.value} if field.value else {}
    return {
        "type": "input",
        "block_id": field.name,
        "label": _plain(field.label, LABEL),
        "element": element,
        "optional": not field.required,
    }


def _plain(text_: str, longest: int) -> Json:
    cut = text_ if len(text_) <= longest else f"{text_[: longest - 1]}…"
    return {"type": "plain_text", "text": cut}
