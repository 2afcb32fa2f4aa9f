"""What the product itself says about policies: what a rule means, where a card was shown, which holes there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent import texts
from agent.policy import Allow, Ask, Rule

# --- rules --------------------------------------------------------------------------------------------------------


def rule(said: Rule, able: Sequence[str]) -> str:
    """What becomes of a use of a power; `able` are those who may decide."""
    if not isinstance(said, Ask):
        return "runs without asking" if isinstance(said, Allow) else "never runs"
    always = ", always" if said.rule.always_ask else ""
    return f"asks {texts.who(said.rule)}{always}: {', '.join(able) or 'nobody there is'}"


# --- places -------------------------------------------------------------------------------------------------------


def conversation(entry: str, channel: str, *, runs: bool) -> str:
    """A conversation where a card is shown, or why it is not."""
    return entry if runs else f"{entry} (the channel {channel} does not run)"


def console(*, runs: bool) -> str:
    """The console, likewise."""
    return "the console" if runs else "the console (it does not run)"


def on_no_channel(name: str) -> str:
    """Somebody to whom a card cannot be shown."""
    return f"{name} (known on no channel that runs)"


def nobody_able(entry: str) -> str:
    """A role or person to be asked who could not decide."""
    return f"{entry} (none who may decide this)"


def not_asked(missed: Iterable[str]) -> str:
    """On a card that could not be shown wherever it should."""
    return f"It should also be asked, and could not be: {'; '.join(missed)}."


def asked_elsewhere(where: str, note: str) -> str:
    """For whoever waits for the answer, when the card is not where they are."""
    return f"This needs an approval, which was asked for in another place: {where or 'the console'}. {note}".strip()


def listed(names: Iterable[str]) -> str:
    """Several in a sentence."""
    *others, last = tuple(names) or ("",)
    return f"{', '.join(others)} and {last}" if others else last
