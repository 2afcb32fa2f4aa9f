"""What the product itself says about tasks and cards, to people and to the model; chat words: `command_texts`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent.domain import Approval, ApproverRule, Call

CONTINUE = 'Reply "continue" to go on.'
RESULT_SHOWN = 400
"""Characters of a tool result that people see."""


# --- to people ----------------------------------------------------------------------------------------------------


def failed(reason: str) -> str:
    """The reply of a task that could not finish."""
    return f"This could not be finished: {reason}"


CANCELLED = "Stopped, as asked. What was already approved and done stays; nothing else was changed."
STOP_FAILED = "The work was told to stop and did not end in time; a change may still happen."
EXPIRED = (
    "Nobody decided in time, so nothing was run and the task has ended. "
    "Ask again to have the same change proposed once more."
)
CRASHED = "the process died three times while working on it. The log names the place; ask again after mending it."
DAMAGED = "a row of this task in the database is damaged. Restore a backup, or ask again."
INTERNAL = "an unexpected error in Signoff itself. The log has the details under this task's number."
NO_ANSWER = "the model gave an empty answer twice. Try again, or choose another model."
NO_TOOL_CALL = (
    "the model gave no tool call but wrote one as text. If this model always does, set `text_tool_calls: true` "
    "for it in config.yaml."
)


def too_many_calls(count: int, most: int) -> str:
    """Why a turn with calls without end was not run."""
    return f"the model asked for {count} tool calls at once, more than the {most} of one turn. {CONTINUE}"


DRAINING = "Signoff is stopping and takes no new work. Try again in a moment."
CUT_ANSWER = "(The answer was cut at the model's output limit.)"


def not_fetched(name: str, reason: str) -> str:
    """Tells whoever sent a file that it is missing; `reason` is a sentence."""
    return f"I could not get {name}: {reason}"


def too_large(size_bytes: int, most_bytes: int) -> str:
    """Why a file is not fetched."""
    return f"It has {size_bytes / 2**20:.1f} MiB; at most {most_bytes / 2**20:.1f} MiB of a file are taken."


def fallback_used(model: str) -> str:
    """Appended to an answer that a fallback model gave."""
    return f"(Answered by the fallback model {model}.)"


def ask_again(prompt: str) -> str:
    """The prompt of the task that an expired card's "Ask again" makes."""
    return f"The approval expired before anybody decided. If the change is still needed, propose it again.\n\n{prompt}"


# --- cards --------------------------------------------------------------------------------------------------------


def card_title(approval: Approval, number: int) -> str:
    """Which approval it is, of which task, and which card of that task."""
    which = f", card {number} of this task" if number > 1 else ""
    title = f"Approval {approval.approval_id} (task {approval.task_id}{which})"
    if approval.status != "open":
        return title
    return f"{title}: {'did this happen?' if approval.kind == 'outcome' else 'please decide'}"


def who(rule: ApproverRule, requester: str | None = None, writer: str | None = None) -> str:
    """Whom a rule names, in words; without a `requester` whoever that may be. `writer`: who edited it."""
    named = " and also ".join(" or ".join(group) or "nobody" for group in rule.groups) or "nobody"
    count = f"{rule.quorum} of " if rule.quorum > 1 else ""
    asked = f"{requester}, who asked" if requester else "whoever asks"
    edited_ = f", nor {writer}, who edited it" if writer else ""
    return f"{count}{named}" + (f", but not {asked}{edited_}" if rule.other else "")


def who_decides(rule: ApproverRule, able: Sequence[str], requester: str, writer: str | None = None) -> str:
    """Who may approve, or what an admin must do when too few may."""
    if len(able) >= max(rule.quorum, 1):
        return f"For {who(rule, requester, writer)}."
    few = f"there is only {', '.join(able)}" if able else "there is no such person"
    why = f"it takes {who(rule, requester, writer)}, and {few}" if rule.groups and all(rule.groups) else NAMES_NOBODY
    return (
        f"Nobody may approve this: {why}. An admin adds people with `signoff people`, or names others in "
        "`agent.policy` of config.yaml."
    )


NAMES_NOBODY = "the policy names nobody for it"


def votes(names: Sequence[str], quorum: int) -> str:
    """How far several people have come who must approve."""
    return f"{len(names)} of {quorum}: {', '.join(names)}"


def edited_item(call: Call) -> str:
    """Why an item does not show what the model proposed."""
    return f"Item {call.item} was edited by {call.edited_by}."


def how_to_decide(approval: Approval, where: Literal["chat", "terminal"]) -> str:
    """The words that decide a card where it is read."""
    number, chat = approval.approval_id, where == "chat"
    if approval.status == "expired":
        return "" if chat else f"Still needed? signoff approve {number} --ask-again"
    if approval.kind == "outcome":
        return f"{'/approve' if chat else 'signoff approve'} {number} {'' if chat else '--outcome '}happened|again|skip"
    if chat:
        words = f"/approve {number}, /deny {number} reason, or /changes {number} what should be different"
        single = f"a single item: /approve {number} 1, /deny {number} 1 reason"
    else:
        words = (
            f"signoff approve {number}, signoff deny {number} --reason TEXT, or signoff changes {number} --reason TEXT"
        )
        single = "a single item: --item 1"
    return f"{words} ({single})" if len(approval.items) > 1 else words


def item_verdict(approval: Approval, call: Call) -> str:
    """What became of an item."""
    by, reason = call.decided_by, _brief(call.reason)
    if approval.kind == "outcome" and by is not None:
        return {"done": f"it happened, says {by}", "cancelled": f"left by {by}"}.get(call.status, f"again, says {by}")
    match call.status:
        case "denied":
            return f"denied by {by}: {reason}" if reason else f"denied by {by}"
        case "expired":
            return "expired, not run"
        case "cancelled" | "superseded":
            return "cancelled, not run"
        case _:
            return f"approved by {', '.join(call.votes) or by}"


def card_verdict(approval: Approval) -> str:
    """What became of a card."""
    match approval.status:
        case "expired":
            return "Expired: nobody decided in time, so nothing was run."
        case "cancelled":
            return "Cancelled with its task; nothing was run."
        case "superseded":
            return "Replaced by a newer card."
        case "changes":
            return f"Nothing was run: {approval.decided_by} asked for changes."
        case _:
            return f"{approval.status.capitalize()} by {approval.decided_by}."


def counted(approval: Approval, pressed: Sequence[Call], items: Sequence[Call]) -> str:
    """For whoever pressed: what became of which items, and how many still wait for somebody."""
    by_words: dict[str, list[str]] = {}
    for call in pressed:
        by_words.setdefault(_so_far(approval, call), []).append(str(call.item))
    left = sum(call.status in {"waiting", "unknown"} for call in items)
    if len(items) == 1:
        return f"Approval {approval.approval_id}: {', '.join(by_words)}."
    parts = [
        f"{'item' if len(numbers) == 1 else 'items'} {', '.join(numbers)} {words}"
        for words, numbers in by_words.items()
    ]
    more = f" {left} {'item still waits' if left == 1 else 'items still wait'} for a decision." if left else ""
    return f"Approval {approval.approval_id}: {'; '.join(parts)}.{more}"


def _brief(reason: str) -> str:
    """A reason in one line, so that it cannot pass for a part of the card."""
    line = " ".join(reason.split())
    return line if len(line) <= RESULT_SHOWN else f"{line[: RESULT_SHOWN - 1]}…"


def _so_far(approval: Approval, call: Call) -> str:
    if call.status in {"waiting", "unknown"} and call.rule is not None:
        return f"approved by {votes(call.votes, call.rule.quorum)}"
    return item_verdict(approval, call)


def changes_asked(approval: Approval) -> str:
    """For whoever asked for changes."""
    return (
        f"Approval {approval.approval_id}: nothing of it is run, and what should be different goes back to the agent."
    )


def edited(approval: Approval, item: int) -> str:
    """For whoever edited an item."""
    return f"Item {item} of approval {approval.approval_id} is shown anew as you wrote it, and waits for a decision."


# --- refusals of a press ------------------------------------------------------------------------------------------


def already_decided(approval: Approval) -> str:
    """For the loser of a double press and for late ones."""
    match approval.status:
        case "expired":
            return f"Approval {approval.approval_id} has expired; nothing was run. Ask again if it is still needed."
        case "cancelled":
            return f"Approval {approval.approval_id} was cancelled with its task; nothing was run."
        case "superseded":
            return f"Approval {approval.approval_id} was replaced by a newer card."
        case _:
            by = approval.decided_by or "somebody"
            return f"Approval {approval.approval_id} was already decided by {by}: {approval.status}."


def item_decided(call: Call) -> str:
    """For a press on an item that has its verdict."""
    return f"Item {call.item} was already decided by {call.decided_by or 'somebody'}: {call.status}."


def unknown_item(approval: Approval, number: int) -> str:
    """For a press on an item that a card does not have."""
    return f"Approval {approval.approval_id} has the items 1 to {len(approval.items)}; {number} is none of them."


def not_an_approver(name: str, approval: Approval, rules: Sequence[ApproverRule], requester: str) -> str:
    """For a press by somebody who may not decide."""
    named = "; ".join(dict.fromkeys(who(rule, requester) for rule in rules)) or "nobody"
    return f"{name} may not decide approval {approval.approval_id}; it is for {named}."


def card_changed(approval: Approval) -> str:
    """For a press on what a card showed before."""
    return (
        f"Approval {approval.approval_id} was edited meanwhile and shows something else now. Look again, then decide."
    )


def voted_already(call: Call, names: Sequence[str]) -> str:
    """For a second approval by the same person."""
    quorum = call.rule.quorum if call.rule else 1
    return f"You have approved item {call.item} already ({votes(names, quorum)}); somebody else must approve it, too."


def quorum_impossible(rule: ApproverRule, able: Sequence[str], requester: str, writer: str | None = None) -> str:
    """For an approval that could never be enough."""
    return f"{who_decides(rule, able, requester, writer)} It can still be denied."


def own_edit(call: Call) -> str:
    """For an approval of what the same person wrote, where the policy asks for another one."""
    return f"You have edited item {call.item}, so somebody else must approve it. You can deny it or edit it again."


NOT_CHANGED = "Nothing was changed: these are the arguments that the card shows already."
NO_EDIT_OF_OUTCOME = "This card asks what happened; there is nothing to edit."
NO_CHANGES_TO_OUTCOME = "This card asks what happened; there is nothing to propose differently."
CHANGES_TO_ALL = "Changes are asked for to the whole card; deny a single item with a reason."
CHANGES_NEED_REASON = "Say what should be different."


# --- to the model -------------------------------------------------------------------------------------------------


def unknown_tool(name: str, known: Sequence[str]) -> str:
    """The result of a call to a tool that does not exist."""
    return f"There is no tool {name!r}. The tools are: {', '.join(sorted(known))}."


def cut_call(problem: str) -> str:
    """The result of a call that was cut at the model's output limit."""
    return (
        f"Not run: your message was cut at the output limit, so the call is incomplete. Write less at once. {problem}"
    )


def denied_by_policy(capability: str) -> str:
    """The result of a call whose power the policy denies."""
    return f"Not run: the policy of this workspace denies {capability}. Do not try another way; say so to the person."


def denied(by: str | None, reason: str | None) -> str:
    """The result of a call that a person denied."""
    because = f" Reason: {reason}" if reason else ""
    return f"Not run: {by or 'a person'} denied it.{because}"


def changes_wanted(by: str | None, reason: str) -> str:
    """The result of a call in whose place a person wants something else."""
    return f"Not run: {by or 'a person'} wants it changed: {reason}\nPropose it again with that."


def edited_call(by: str | None, diff: str) -> str:
    """What stands before the result of a call that did not run as the model wrote it."""
    return f"[{by} changed the arguments of this call before approving it:]\n{diff}"


def joined(first_result: str) -> str:
    """The result of a call that was the same as an earlier one of its turn."""
    return f"Same call as before in this turn, answered once. Its result: {first_result}"


def shown_of(text: str, total: int, path: str) -> str:
    """A result too long for the model, with the way to the rest."""
    return f"{text}\n\n[{len(text)} of {total} characters shown. Read on with read_file({path!r}, offset={len(text)}).]"


def rest_lost(text: str, total: int, reason: str) -> str:
    """A result too long for the model whose rest could not be kept anywhere."""
    return f"{text}\n\n[{len(text)} of {total} characters shown. The rest could not be kept: {reason}]"


EXPIRED_CALL = "Expired, not run: nobody decided in time. Ask again if it is still needed."
CANCELLED_CALL = "Cancelled, not run."
INTERRUPTED_CALL = "Stopped while it ran: it may have happened or not."
CLOSED_CALL = "Not run: the task ended before it."
SKIPPED_CALL = "It is unknown whether this happened; a person decided to leave it. Do not run it again."
HAPPENED_CALL = "A person looked and confirmed that this happened."
ALREADY_DONE = "Done: the file has exactly this content already."
DONE_BEFORE_STOP = "Done: the file was written before the task stopped."
ARGUMENTS_CHANGED = "Not run: the stored arguments are not those that were approved."
KEEPS_CHANGING = "Not run: the file is being changed by something else again and again."
CHANGED_SINCE = "The file changed since the last card, so here is the new difference."
EFFECT_UNKNOWN = "The process died while this ran, so it may have happened or not."
