"""Modals: what Slack takes as one, and what a person fills in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.servers.slack.block_kit import MODAL_BLOCKS, elements, plain, together
from tests.servers.slack.limits import maximum
from tests.servers.slack.shapes import array, boolean, complaint, one_of, record, string, variant

Json = dict[str, Any]
_VIEW = record(
    {
        "type": one_of("modal"),
        "title": plain(maximum("view.title")),
        "blocks": array(variant(MODAL_BLOCKS), maximum("view.blocks"), least=0),
    },
    {
        "submit": plain(maximum("view.button")),
        "close": plain(maximum("view.button")),
        "private_metadata": string(maximum("view.private_metadata")),
        "callback_id": string(maximum("view.callback_id"), shortest=1),
        "external_id": string(255),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)


def view_problems(view: Any) -> list[str]:
    """Why Slack answers `invalid_arguments`."""
    found = list(_VIEW(view, "/view"))
    if isinstance(view, dict) and isinstance(view.get("blocks"), list):
        found += together(view["blocks"])
        if "submit" not in view and any(block.get("type") == "input" for block in view["blocks"]):
            found.append(complaint("missing required field: submit", "/view"))
    return found


def is_too_large(view: Any) -> bool:
    return len(json.dumps(view).encode()) > maximum("view.bytes")


def filled(view: Json, values: Mapping[str, str | list[str] | None]) -> Json:
    """The `state.values` of a modal in which a person filled in `values`, by label, action id or block id.

    What is not named keeps its initial value. An AssertionError is what Slack's own client would not let pass.
    """
    left = dict(values)
    state: Json = {}
    for block in view["blocks"]:
        for element in elements(block):
            names = (block.get("label", {}).get("text"), element.get("action_id"), block.get("block_id"))
            given = next((left.pop(name) for name in names if name in left), _initial(element))
            if block["type"] == "input":
                _check(block, element, given)
            state.setdefault(block["block_id"], {})[element["action_id"]] = _state(element, given)
    assert not left, f"the modal has no field {sorted(left)}"
    return {"values": state}


def _initial(element: Json) -> str | list[str] | None:
    if "initial_options" in element:
        return [option["value"] for option in element["initial_options"]]
    if "initial_option" in element:
        return str(element["initial_option"]["value"])
    return element.get("initial_value")


def _check(block: Json, element: Json, given: str | list[str] | None) -> None:
    label = block["label"]["text"]
    assert given or block.get("optional"), f"{label}: please complete this required field"
    if element["type"] == "plain_text_input" and given:
        most = element.get("max_length", maximum("plain_text_input"))
        assert element.get("min_length", 0) <= len(given) <= most, f"{label}: {len(given)} characters, at most {most}"


def _state(element: Json, given: str | list[str] | None) -> Json:
    kind = element["type"]
    if kind == "plain_text_input":
        return {"type": kind, "value": given or None}
    if kind == "checkboxes":
        return {"type": kind, "selected_options": [_option(element, value) for value in given or []]}
    return {"type": kind, "selected_option": _option(element, str(given)) if given else None}


def _option(element: Json, value: str) -> Json:
    """By value or by what the person reads."""
    for option in element["options"]:
        if value in {option["value"], option["text"]["text"]}:
            return {"text": option["text"], "value": option["value"]}
    raise AssertionError(f"no option {value}")
