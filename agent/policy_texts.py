"""What the product itself says about policies: what a rule means, where a card was shown, which holes there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent import texts
from agent.domain import ApproverRule
from agent.policy import Allow, Ask, Rule

# --- rules --------------------------------------------------------------------------------------------------------


def rule(said: Rule, able: Sequence[str]) -> str:
    """What becomes of a use of a power; `able` are those who may decide."""
    names = f": {', '.join(able) or 'no such person'}" if isinstance(said, Ask) else ""
    return verdict(said) + names


def verdict(said: Rule) -> str:
    """What becomes of it, without the people who may decide today."""
    if not isinstance(said, Ask):
        return "runs without asking" if isinstance(said, Allow) else "never runs"
    return f"{'always ' if said.rule.always_ask else ''}asks {texts.who(said.rule)}"


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


# --- holes --------------------------------------------------------------------------------------------------------


def hole(powers: Iterable[str], workspaces: Iterable[str], by: str, problem: str) -> str:
    """What is wrong with some powers in some workspaces; `by` is what tightens them so, if it is that."""
    return f"{', '.join(powers)} in {listed(workspaces)}{by and f' (by {by})'}: {problem}"


def too_few(rule: ApproverRule, able: Sequence[str]) -> str:
    """Nobody can ever approve it."""
    if not all(rule.groups):
        return "it asks nobody, so it never runs. Name a role such as approver, or deny it."
    there = f"there is only {listed(able)}" if able else "there is no such person"
    return (
        f"it takes {texts.who(rule)}, and {there}, so it never runs. "
        "Add people with `signoff people`, or name others in the policy."
    )


def only_ones(able: Sequence[str]) -> str:
    """Those who may decide, and cannot decide what they ask for themselves."""
    return f"what {' or '.join(able)} asks for cannot be approved, since too few others may. Name more people."


PRIVATE = "private workspaces"
"""Those that the configuration does not name."""
ALLOWED = "it runs without asking anybody (webhooks and schedules ask all the same)."


def without_holder(role: str) -> str:
    """A role that is asked."""
    return f"Nobody but the operator has the role {role}, which is asked. Give it to somebody with `signoff people`."


def no_effect(place: str) -> str:
    """An entry that should tighten."""
    return f"{place} changes nothing: what it says holds without it. Take it out, or make it stricter."


def no_channel(place: str, channel: str) -> str:
    """A pattern over the addresses of a channel that does not run."""
    return f"{place} changes nothing: the channel {channel} does not run here."


def not_reached(workspace: str, missed: Iterable[str], *, anybody: bool) -> str:
    """Where a card should be shown and cannot."""
    only = "" if anybody else ", so nobody is told of a card"
    return f"workspaces.{workspace}.approvals.to does not reach {listed(missed)}{only}."


def open_to_all(channel: str) -> str:
    """A channel without a list of who may write."""
    return f"channels.{channel}.allow lets everybody in who finds it; name people or conversations instead."


def open_to_nobody(channel: str) -> str:
    """A channel on which we know nobody, and that lets nobody else in."""
    return (
        f"channels.{channel} lets nobody in: `allow` is empty and none of the people is known there. Write to it alone "
        "and admit yourself with the code it shows: `signoff people admit CODE`."
    )


def listed(names: Iterable[str]) -> str:
    """Several in a sentence."""
    *others, last = tuple(names) or ("",)
    return f"{', '.join(others)} and {last}" if others else last
