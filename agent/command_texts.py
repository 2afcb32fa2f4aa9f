"""What is answered at once in chat, by words or to strangers: plain text that reads well as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from agent.domain import Member, TaskStatus
from agent.ports.desk import CardLine, Desk, PowerLine, SkillLines, Spent, TaskLine
from agent.ports.files import FileInfo
from agent.ports.people import Pairing
from agent.previews import visible

FILES_SHOWN = 40
LINE = 100
"""Characters of a request that a list shows."""
MEMORY_SHOWN = 4_000
"""Characters of the memory that an answer shows; the end of it, which is what the model sees, too."""

HELP = """\
Write what should be done, or one of these words:

- `/new` begins another conversation
- `/stop` stops what is being worked on here
- `/status` says what is going on, `/tasks` lists the newest tasks
- `/approve ID` or `/approve ID N` signs off a whole card or its item N
- `/deny ID reason` or `/deny ID N reason` refuses it
- `/changes ID reason` has a card proposed differently; while it is open here, a plain answer does the same
- `/files` or `/files FOLDER` lists files
- `/model` or `/model NAME` lists the models or chooses one for this conversation
- `/workspace` or `/workspace NAME` lists the workspaces or begins a conversation in one
- `/memory` shows what is remembered, `/skills` what there are instructions for
- `/usage` says what was spent, `/whoami` who you are here and what you may ask for
- `/pair` lists who asks to be let in, `/pair CODE` or `/pair CODE NAME` lets somebody in (for admins)"""
NEW = "A new conversation. What came before is not part of it."
NOTHING_TO_STOP = "Nothing is being worked on in this conversation."
HOW_TO_APPROVE = (
    "Write /approve and the number of the approval, for a single item also its number: /approve 12 or /approve 12 2. "
    "Where it asks what happened, add happened, again or skip."
)
HOW_TO_DENY = (
    "Write /deny, the number of the approval and the reason: /deny 12 wrong quarter; "
    "for a single item also its number: /deny 12 2 wrong quarter."
)
HOW_TO_ASK_FOR_CHANGES = (
    "Write /changes, the number of the approval and what should be different: /changes 12 by region."
)
DIRECT_ONLY = "I do not know you yet. Write me a direct message, and I tell you how to be let in."
NOT_KNOWN = "I do not know you, so this did nothing. Write me a direct message, and I tell you how to be let in."

_STATUS = {
    "queued": "waits for its turn",
    "running": "is being worked on",
    "waiting_approval": "waits for an approval",
    "done": "done",
    "failed": "failed",
    "cancelled": "stopped",
    "expired": "expired",
}


def unknown(word: str) -> str:
    """For a word that there is not."""
    return f"There is no /{word}; /help lists the words."


def stopped(task: TaskLine, behind: int) -> str:
    """After a request to stop; one that runs ends at its next step."""
    said = f"Task {task.task_id} is told to stop." if task.status == "running" else f"Task {task.task_id} is stopped."
    more = f" {behind} more {'waits' if behind == 1 else 'wait'} behind it; /stop again stops the next."
    return said + (more if behind else "")


def status(desk: Desk, unfinished: Sequence[TaskLine], cards: Sequence[CardLine]) -> str:
    """Where requests work, with what, and what is unfinished."""
    lines = [f"Workspace {desk.workspace}, model {desk.model}."]
    lines += [f"- Task {task.task_id} {_STATUS[task.status]}: {_line(task.prompt)}" for task in unfinished]
    if not unfinished:
        lines += ["Nothing is being worked on in this conversation."]
    if cards:
        lines += ["", "Waiting for a person:", *(_card(card) for card in cards)]
    return "\n".join(lines)


def tasks(found: Sequence[TaskLine], timezone: str) -> str:
    """The newest tasks."""
    lines = [
        f"- {task.task_id}, {_time(task.created_at, timezone)}, {_STATUS[task.status]}: {_line(task.prompt)}"
        for task in found
    ]
    return "\n".join(lines) or "There are no tasks yet."


def files(workspace: str, path: str, found: Sequence[FileInfo]) -> str:
    """What lies in a folder."""
    where = f"{workspace}/{path}" if path else workspace
    if not found:
        return f"{where} is empty."
    lines = [f"- {one.path}{'/' if one.kind == 'folder' else f' ({one.size_bytes:,} bytes)'}" for one in found]
    more = [f"… and {len(found) - FILES_SHOWN} more."] if len(found) > FILES_SHOWN else []
    return "\n".join([f"In {where}:", *lines[:FILES_SHOWN], *more])


def models(names: Sequence[str], chosen: str) -> str:
    """The models that can be chosen."""
    lines = [f"- {name}{' (chosen)' if name == chosen else ''}" for name in names]
    return "\n".join(["Models; `/model NAME` chooses one for this conversation:", *lines])


def model_chosen(name: str) -> str:
    """After a choice."""
    return f"The next requests of this conversation are answered by {name}."


def usage(periods: Sequence[Spent], models_: Sequence[Spent]) -> str:
    """What was spent."""
    lines = [f"- {_spent(one)}" for one in periods]
    if models_:
        lines += ["", "By model:", *(f"- {_spent(one)}" for one in models_)]
    return "\n".join(lines)


def memory(workspace: str, text: str) -> str:
    """What is remembered."""
    if not text.strip():
        return f"Nothing is remembered in {workspace} yet."
    end = text.strip()
    return end if len(end) <= MEMORY_SHOWN else f"…{end[-MEMORY_SHOWN:]}"


def skills(found: SkillLines) -> str:
    """What there are instructions for, and what could not be loaded."""
    lines = [f"- {skill.name}: {_line(skill.description)}" for skill in found.skills] or ["There are no skills."]
    return "\n".join([*lines, *(f"- Not loaded: {problem}" for problem in found.problems)])


def workspaces(names: Sequence[str], here: str) -> str:
    """The workspaces that can be used."""
    lines = [f"- {name}{' (here)' if name == here else ''}" for name in names]
    return "\n".join(["Workspaces; `/workspace NAME` begins a conversation in one:", *lines])


def workspace_chosen(name: str) -> str:
    """After a choice."""
    return f"A new conversation in the workspace {name}."


def whoami(desk: Desk, names: Sequence[str], powers: Sequence[PowerLine]) -> str:
    """Who writes, as whom they are known, what they may use and ask for."""
    member = desk.member
    roles = ", ".join(sorted(member.roles))
    known = f"Known as {', '.join(sorted(member.identities))}." if member.identities else "Known on no chat platform."
    lines = [
        f"You are {member.name} ({roles}), time zone {member.timezone}.",
        f"{known} Workspaces: {', '.join(names)}.",
        *(["", f"Asked for in {desk.workspace}:"] if powers else []),
        *(f"- {one.power}: {one.rule}" for one in powers),
    ]
    return "\n".join(lines)


def strangers(waiting: Sequence[Pairing], timezone: str) -> str:
    """Who asks to be let in; their codes are for them to tell."""
    if not waiting:
        return "Nobody asks to be let in."
    lines = [f"- {_named(one)}, since {_time(one.asked_at, timezone)}" for one in waiting]
    return "\n".join(["Who asks to be let in; `/pair CODE` admits whoever tells you their code:", *lines])


def admitted(member: Member) -> str:
    """After somebody was let in."""
    return f"{member.name} ({', '.join(sorted(member.roles))}) is let in as {', '.join(sorted(member.identities))}."


def asked_again(task_id: int) -> str:
    """After an expired card was to be proposed again."""
    return f"Task {task_id} proposes it again."


def queued(behind: TaskStatus) -> str:
    """To whoever asks in a chat for something while something else is unfinished there."""
    return f"Noted. {waits(behind)} /status shows what goes on, /stop stops that one."


def waits(behind: TaskStatus) -> str:
    """Why a request is not begun at once."""
    return f"It waits behind an earlier request here, which {_STATUS[behind]}."


def _named(one: Pairing) -> str:
    """The name is whatever they call themselves."""
    return f"{_line(one.shown_name)} ({one.identity})" if one.shown_name.strip() else one.identity


def _card(card: CardLine) -> str:
    return f"- Approval {card.approval_id}: {_line('; '.join(card.titles))}"


def _spent(one: Spent) -> str:
    unknown_ = f", {one.unpriced} of them at an unknown price" if one.unpriced else ""
    return f"{one.label}: {one.tokens:,} tokens, {one.cost_usd:.2f} USD, {one.calls:,} calls{unknown_}"


def _line(text: str) -> str:
    """Whatever people and models wrote: cut, and with what is unseen in it."""
    line = " ".join(text.split())
    return visible(line if len(line) <= LINE else f"{line[: LINE - 1]}…")


def _time(at: datetime, timezone: str) -> str:
    return f"{at.astimezone(ZoneInfo(timezone)):%Y-%m-%d %H:%M}"
