"""The ids of what can be pressed in Slack, by which a press is understood; also after a restart. Pure."""

from __future__ import annotations

from agent.ports.channels import Button

PRESS = "press"
"""Acts at once; the button's value is that of our Button."""
FORM = "form"
"""Opens a form first."""
STOP = "stop"
"""Stops a task, whose id is the value."""


def action_id(button: Button) -> str:
    """Unique on a message, as Slack wants it; at most 255 characters, of which our values take 64."""
    return f"{FORM if button.form else PRESS}:{button.value}"


def stop_id(task_id: int) -> str:
    """Of the button that stops a task at work; its value is the task's id."""
    return f"{STOP}:{task_id}"


def kind(action: str) -> str:
    """What a pressed id stands for: PRESS, FORM, STOP, or something that is not ours."""
    return action.partition(":")[0]
