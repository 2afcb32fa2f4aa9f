"""Every length and count of blocks and modals: the most is taken, one more is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.servers.slack.block_kit import message_problems, too_long
from tests.servers.slack.limits import maximum
from tests.servers.slack.modals import is_too_large, view_problems

Json = dict[str, Any]


def plain(size: int) -> Json:
    return {"type": "plain_text", "text": "x" * size}


def actions(element: Json) -> Json:
    return {"type": "actions", "elements": [element]}


def button(**more: Any) -> Json:
    return actions({"type": "button", "text": plain(1), **more})


def confirm(**more: Any) -> Json:
    return button(confirm={"title": plain(1), "text": plain(1), "confirm": plain(1), "deny": plain(1), **more})


def option(*, value: int = 1, **more: Any) -> Json:
    return {"text": plain(1), "value": "v" * value, **more}


def choice(kind: str, size: int = 1, **more: Any) -> Json:
    return actions({"type": kind, "options": [option(**more) for _ in range(size)]})


def picture(**more: Any) -> Json:
    return {"type": "image", "image_url": "u", "alt_text": "a", **more}


def feedback(size: int) -> Json:
    value = {"text": plain(1), "value": "v"}
    element = {"type": "feedback_buttons", "positive_button": value, "negative_button": value}
    return {"type": "context_actions", "elements": [element] * size}


def row(size: int) -> Json:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": "x" * size}]]}


def field(element: Json | None = None, **more: Any) -> Json:
    element = {"type": "plain_text_input", **(element or {})}
    return {"type": "input", "label": plain(1), "element": element, **more}


MESSAGE: list[tuple[str, Callable[[int], Json]]] = [
    ("action_id", lambda size: button(action_id="x" * size)),
    ("button.text", lambda size: button(text=plain(size))),
    ("button.value", lambda size: button(value="x" * size)),
    ("button.url", lambda size: button(url="x" * size)),
    ("button.accessibility_label", lambda size: button(accessibility_label="x" * size)),
    ("confirm.title", lambda size: confirm(title=plain(size))),
    ("confirm.text", lambda size: confirm(text=plain(size))),
    ("confirm.button", lambda size: confirm(deny=plain(size))),
    ("option.text", lambda size: choice("static_select", text=plain(size))),
    ("option.value", lambda size: choice("static_select", value=size)),
    ("option.description", lambda size: choice("static_select", description=plain(size))),
    ("select.options", lambda size: choice("static_select", size)),
    ("overflow.options", lambda size: choice("overflow", size)),
    ("choice.options", lambda size: choice("checkboxes", size)),
    ("placeholder", lambda size: actions({"type": "static_select", "options": [option()], "placeholder": plain(size)})),
    ("context_actions.elements", feedback),
    ("text", lambda size: {"type": "context", "elements": [{"type": "mrkdwn", "text": "x" * size}]}),
    ("image.url", lambda size: picture(image_url="x" * size)),
    ("image.alt_text", lambda size: picture(alt_text="x" * size)),
    ("image.title", lambda size: picture(title=plain(size))),
    ("table.text", row),
]
MODAL: list[tuple[str, Callable[[int], Json]]] = [
    ("input.label", lambda size: field(label=plain(size))),
    ("input.hint", lambda size: field(hint=plain(size))),
    ("plain_text_input", lambda size: field({"initial_value": "x" * size})),
    ("plain_text_input", lambda size: field({"max_length": size})),
]


def in_modal(block: Json) -> Json:
    return {"type": "modal", "title": plain(1), "submit": plain(1), "blocks": [block]}


@pytest.mark.parametrize(("limit", "block"), MESSAGE)
def test_blocks_of_a_message(limit: str, block: Callable[[int], Json]) -> None:
    """SLL-06, SLL-07, SLB-03."""
    assert message_problems([block(maximum(limit))]) == []
    assert len(message_problems([block(maximum(limit) + 1)])) == 1


@pytest.mark.parametrize(("limit", "block"), MODAL)
def test_blocks_of_a_modal(limit: str, block: Callable[[int], Json]) -> None:
    """What a person can fill in."""
    assert view_problems(in_modal(block(maximum(limit)))) == []
    assert len(view_problems(in_modal(block(maximum(limit) + 1)))) == 1


def test_blocks_together() -> None:
    """SLL-04: all markdown of a message, all text of a message, all bytes of a modal."""
    half = {"type": "markdown", "text": "x" * 6_000}
    assert not too_long([half, half])
    assert too_long([half, half, {"type": "markdown", "text": "x"}])
    words = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 1_000}}
    assert not too_long([words] * 13)
    assert too_long([words] * 14)
    assert is_too_large({"private_metadata": "x" * 250_000})
