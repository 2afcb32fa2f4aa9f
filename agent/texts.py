"""What the product itself says about tasks and cards, to people and to the model; chat words: `command_texts`."""

from __future__ import annotations

from collections.abc import Sequence

from agent.domain import Approval, Call

CONTINUE = 'Reply "continue" to go on.'
RESULT_SHOWN = 400
"""Characters of a tool result that people see."""


# --- to people ----------------------------------------------------------------------------------------------------


def card(approval: Approval) -> str:
    """The text of an approval: what will happen, item by item, and how to decide without buttons."""
    many = len(approval.items) > 1
    lines = [_question(approval)]
    if approval.note:
        lines.append(approval.note)
    for call in approval.items:
        head = f"{call.item}. {call.title}" if many else call.title
        lines += ["", head, call.preview]
    lines += ["", how_to_decide(approval)]
    return "\n".join(lines).strip()


def _question(approval: Approval) -> str:
    count = len(approval.items)
    if approval.kind == "outcome":
        return f"Approval {approval.approval_id}: it is unknown whether this happened. Please look and say."
    changes = "a change" if count == 1 else f"{count} changes"
    return f"Approval {approval.approval_id}: {changes} to sign off"


def how_to_decide(approval: Approval) -> str:
    """Who may decide, and the words for it."""
    number = approval.approval_id
    if not approval.approvers:
        return "Nobody may approve this: an admin must name approvers in `agent.policy` of config.yaml."
    who = ", ".join(approval.approvers)
    until = f"{approval.expires_at:%Y-%m-%d %H:%M} UTC"
    if approval.kind == "outcome":
        return f"approve {number} --outcome happened|again|skip ({who}; until {until})"
    return f"approve {number} or deny {number} with a reason ({who}; until {until})"


def verdict(approval: Approval) -> str:
    """What became of a card; replaces its buttons."""
    number, by = approval.approval_id, approval.decided_by
    match approval.status:
        case "approved":
            return f"Approval {number}: approved by {by}.\n{_item_verdicts(approval.items)}".strip()
        case "denied" | "changes":
            return f"Approval {number}: denied by {by}.\n{_item_verdicts(approval.items)}".strip()
        case "expired":
            return f"Approval {number}: expired, nothing was run. Still needed? approve {number} --ask-again"
        case "cancelled":
            return f"Approval {number}: the task was cancelled, nothing was run."
        case "superseded":
            return f"Approval {number}: replaced by a newer card."
        case "open":
            return f"{card(approval)}\n{_item_verdicts(approval.items)}"


def _item_verdicts(items: Sequence[Call]) -> str:
    decided = [call for call in items if call.status != "waiting"]
    if len(items) < 2:
        return "".join(f"Reason: {call.reason}" for call in decided if call.reason)
    return "\n".join(f"{call.item}. {call.title}: {_verdict_of(call)}" for call in decided)


def _verdict_of(call: Call) -> str:
    word = "denied" if call.status == "denied" else "approved"
    return f"{word} ({call.reason})" if call.reason else word


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


def fallback_used(model: str) -> str:
    """Appended to an answer that a fallback model gave."""
    return f"(Answered by the fallback model {model}.)"


def ask_again(prompt: str) -> str:
    """The prompt of the task that an expired card's "Ask again" makes."""
    return f"The approval expired before anybody decided. If the change is still needed, propose it again.\n\n{prompt}"


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


def not_an_approver(name: str, approval: Approval) -> str:
    """For a press by somebody who may not decide."""
    if not approval.approvers:
        return how_to_decide(approval)
    return f"{name} may not decide approval {approval.approval_id}; it is for {', '.join(approval.approvers)}."


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


def joined(first_result: str) -> str:
    """The result of a call that was the same as an earlier one of its turn."""
    return f"Same call as before in this turn, run once. Its result: {first_result}"


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
