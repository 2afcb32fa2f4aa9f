"""Journal rows as the messages a model reads: legal for the strictest provider, the same bytes in every request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

import orjson

from agent.domain import Entry, Task
from agent.pictures import Pictures, is_named_picture, with_pictures
from agent.ports.models import ChatMessage
from agent.ports.store import PastTask, TaskState
from agent.tool import clean

SUMMARY_CHARACTERS = 2_000
"""How much of a request, and of its answer, stays when a task enters as its summary."""
EARLIER_TOKENS = 32_000
"""Earlier conversation takes at most a quarter of the model's context, and never more than this."""
TASK_WEIGHT, ENTRY_WEIGHT = 2_000, 1_500
"""What Python needs around the texts of a task, and of a journal row, that are kept in memory."""
OTHER_BYTES = 8_192
"""What a request carries besides its conversation: system prompt and tools."""

_NO_RESULT = "Not run: no result of this call was stored."
_EMPTY_RESULT = "(no output)"
_BAD_ARGUMENTS = "[The arguments of this call were not a JSON object and are shown as {}.] "


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """The messages of an ended task with their size in bytes, and the call ids in them."""

    model: str
    messages: list[ChatMessage]
    size: int
    ids: frozenset[str]


class Ended:
    """An ended task on its way into prompts: it never changes, so what is made of it is made once and kept."""

    def __init__(self, past: PastTask) -> None:
        self.past = past
        self.weight = _weight(past)
        self._kept: Rendered | None = None

    def rendered(self, model: str, taken: set[str]) -> Rendered:
        """For a model, behind messages that have `taken` call ids, which then holds this task's, too.

        Only calls differ between models, and an id only when it is taken: then all is made anew and not kept.
        """
        kept = self._kept
        if kept is None or (kept.ids and kept.model != model):
            kept = self._kept = self._rendered(model, set())
        if not kept.ids.isdisjoint(taken):
            kept = self._rendered(model, taken)
        taken |= kept.ids
        return kept

    def _rendered(self, model: str, taken: set[str]) -> Rendered:
        ids = set(taken)
        made = list(_ended(self.past, model, ids))
        return Rendered(model=model, messages=made, size=_bytes(made), ids=frozenset(ids - taken))


def messages(
    state: TaskState, past: Sequence[Ended], model: str, pictures: Pictures | None = None
) -> list[ChatMessage]:
    """Earlier tasks and the current one in the OpenAI chat format, without the system message.

    Every request begins with a header that numbers it, also while it is the newest: what is earlier conversation is
    told by the numbers, so no byte changes when the next request comes and a provider's prefix cache keeps hitting;
    only `pictures` go with the current request alone. `model` is the PROVIDER/MODEL that will answer. The messages of
    ended tasks are shared: nobody may change them.
    """
    taken: set[str] = set()
    earlier = [message for ended in past for message in ended.rendered(model, taken).messages]
    request, *turns = _turns(state.task, state.entries, model, taken)
    return [*earlier, with_pictures(request, pictures) if pictures else request, *turns]


def next_window(state: TaskState, past: Sequence[Ended], context_tokens: int) -> tuple[int, int] | None:
    """From which task seqs on the next request has tasks whole, and as summaries; None when nothing changes.

    To be asked when `state` ends, with the `past` that its requests had. While everything fits, nothing moves; when
    it does not, half the budget is given up at once, so that the beginning of the conversation rarely changes. A task
    that is too large to stay whole stays as its summary, however new it is.
    """
    made = dict.fromkeys(str(entry.data.get("path")) for entry in state.entries if entry.kind == "artifact")
    ended = [*past, Ended(PastTask(task=state.task, entries=state.entries, artifacts=tuple(made)))]
    tasks = [one.past for one in ended]
    model = next((str(entry.data.get("model")) for entry in reversed(state.entries) if entry.kind == "assistant"), "")
    taken: set[str] = set()
    sizes = [one.rendered(model, taken).size for one in ended]
    limit = min(context_tokens // 4, EARLIER_TOKENS) / _tokens_per_byte(state, sum(sizes[:-1]), model)
    if sum(sizes) > limit:
        window = _cut(tasks, sizes, limit, state.session.whole_from)
    else:
        window = next(one.task.seq for one in tasks if one.entries), tasks[0].task.seq
    return None if window == (state.session.whole_from, state.session.summary_from) else window


# --- messages -----------------------------------------------------------------------------------------------------


def _ended(ended: PastTask, model: str, taken: set[str]) -> Iterator[ChatMessage]:
    """A task with its turns when its entries are there, else as request, answer and files."""
    if not ended.entries:
        yield _request(ended.task, _short(ended.task.prompt))
        made = "".join(f"\n- {path}" for path in ended.artifacts)
        yield _said(_short(_answer(ended)) + (f"\n\nFiles made:{made}" if made else ""))
        return
    turns = list(_turns(ended.task, ended.entries, model, taken))
    yield from turns
    if turns[-1]["role"] != "assistant":
        # It failed or was stopped after a tool result: some providers refuse a user message right behind one.
        yield _said(_answer(ended))


def _turns(task: Task, entries: Sequence[Entry], model: str, taken: set[str]) -> Iterator[ChatMessage]:
    """The turns of one task. The first user entry is the request that the task's own row holds."""
    yield _request(task, task.prompt, _missing(entries))
    opened = False
    for index, entry in enumerate(entries):
        if entry.kind == "assistant":
            yield from _assistant(entry.data, _results(entries, index), model, taken)
        elif entry.kind == "user":
            if opened and isinstance(entry.data.get("text"), str):
                yield _request(task, entry.data["text"])
            opened = True


def _missing(entries: Sequence[Entry]) -> str:
    """Which of the request's files could not be fetched, from its own entry."""
    first = next((entry.data for entry in entries if entry.kind == "user"), {})
    found = first.get("missing")
    files = [file for file in found if isinstance(file, dict)] if isinstance(found, list) else []
    lines = [f"\n- {file.get('name')}: {file.get('reason')}" for file in files]
    return f"\n\nSent along, but it could not be fetched:{''.join(lines)}" if lines else ""


def _request(task: Task, text: str, missing: str = "") -> ChatMessage:
    """A user message. Its time is the task's own, so that a resumed task reads the same to the byte."""
    at = f"{task.created_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    sender = " ".join(task.requester.split())
    sent = "".join(f"\n- {path}" for path in task.files)
    along = f"\n\nFiles sent along:{sent}" if sent else ""
    head = f"[Request {task.seq} from {sender} by {task.origin}, {at}]"
    return {"role": "user", "content": clean(f"{head}\n{text}{along}{missing}")}


def _said(text: str) -> ChatMessage:
    return {"role": "assistant", "content": clean(text)}


def _answer(ended: PastTask) -> str:
    """What the requester was told at the end."""
    said = [entry.data.get("text") for entry in ended.entries if entry.kind == "assistant"]
    told = ended.task.answer or (said[-1] if said else None)
    return told if isinstance(told, str) and told.strip() else f"(Ended without an answer: {ended.task.status}.)"


def _assistant(data: dict[str, Any], results: dict[str, str], model: str, taken: set[str]) -> Iterator[ChatMessage]:
    """A turn of the model, its calls followed at once by exactly one result each, in call order."""
    text = clean(data["text"]) if isinstance(data.get("text"), str) else ""
    calls = _calls(data)
    if not calls:
        if text.strip():
            yield _said(text)
        return
    ids = [_unused(call["id"], taken) for call in calls]
    arguments = [_arguments(call.get("arguments")) for call in calls]
    message: ChatMessage = {
        "role": "assistant",
        "content": text if text.strip() else None,
        "tool_calls": [
            {"id": name, "type": "function", "function": {"name": _function(call["name"]), "arguments": given or "{}"}}
            for call, name, given in zip(calls, ids, arguments, strict=True)
        ],
    }
    if data.get("model") == model and isinstance(data.get("reasoning"), str):
        # Wanted back with every tool turn (https://api-docs.deepseek.com/guides/thinking_mode), refused elsewhere.
        message["reasoning_content"] = clean(data["reasoning"])
    yield message
    for call, name, given in zip(calls, ids, arguments, strict=True):
        # Taken out, so that a second call of the same id does not get the result of the first.
        result = results.pop(call["id"], _NO_RESULT)
        yield {"role": "tool", "tool_call_id": name, "content": f"{_BAD_ARGUMENTS if given is None else ''}{result}"}


def _calls(data: dict[str, Any]) -> list[dict[str, Any]]:
    calls = data.get("calls")
    if not isinstance(calls, list):
        return []
    return [
        call
        for call in calls
        if isinstance(call, dict) and all(isinstance(call.get(key), str) and call[key] for key in ("id", "name"))
    ]


def _results(entries: Sequence[Entry], turn: int) -> dict[str, str]:
    """The first result of each call id between a turn of the model and its next one."""
    found: dict[str, str] = {}
    for entry in entries[turn + 1 :]:
        if entry.kind == "assistant":
            break
        call_id, text = entry.data.get("call_id"), entry.data.get("text")
        if entry.kind == "tool" and isinstance(call_id, str) and isinstance(text, str):
            found.setdefault(call_id, clean(text) if text.strip() else _EMPTY_RESULT)
    return found


def _unused(call_id: str, taken: set[str]) -> str:
    """The id itself, which may carry meaning for its provider, else a numbered one: some models count from 0 again."""
    call_id = clean(call_id)
    name, number = call_id, 2
    while name in taken:
        name, number = f"{call_id}_{number}", number + 1
    taken.add(name)
    return name


def _function(name: str) -> str:
    """A made-up tool name in the alphabet and length that providers accept (OpenAI: a-z A-Z 0-9 _ -, at most 64)."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in name)[:64]


def _arguments(text: Any) -> str | None:
    """Argument text that is one JSON object, as it was stored; None for anything else."""
    if not isinstance(text, str):
        return None
    text = clean(text) or "{}"
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return text if isinstance(value, dict) else None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _short(text: str) -> str:
    left = len(text) - SUMMARY_CHARACTERS
    return text if left <= 0 else f"{text[:SUMMARY_CHARACTERS]} [… {left} more characters]"


def _weight(past: PastTask) -> int:
    """About how many bytes of memory a task takes with the messages made of it."""
    texts = len(past.task.prompt) + len(past.task.answer or "")
    return TASK_WEIGHT + 2 * texts + sum(ENTRY_WEIGHT + 2 * len(str(entry.data)) for entry in past.entries)


# --- the window ---------------------------------------------------------------------------------------------------


def _cut(tasks: Sequence[PastTask], sizes: Sequence[int], limit: float, whole_from: int) -> tuple[int, int]:
    """The window that fills half the limit: the newest tasks whole in most of it, older ones as summaries."""
    whole = [size for ended, size in zip(tasks, sizes, strict=True) if ended.task.seq >= whole_from]
    kept = _newest(whole, 3 / 8 * limit)
    older = [_bytes(_summary(ended)) for ended in tasks[: len(tasks) - kept]]
    summaries = _newest(older, limit / 2 - sum(whole[len(whole) - kept :]))
    if not kept and not summaries and older[-1] <= limit:
        summaries = 1  # the last request and answer are worth an earlier next cut
    starts = [*(ended.task.seq for ended in tasks), tasks[-1].task.seq + 1]
    return starts[len(tasks) - kept], starts[len(tasks) - kept - summaries]


def _summary(ended: PastTask) -> Iterator[ChatMessage]:
    task = replace(ended.task, answer=_answer(ended))
    return _ended(PastTask(task=task, artifacts=ended.artifacts), "", set())


def _newest(sizes: Sequence[int], room: float) -> int:
    """How many of the last sizes fit into the room."""
    count = 0
    for size in reversed(sizes):
        room -= size
        if room < 0:
            break
        count += 1
    return count


def _tokens_per_byte(state: TaskState, past_bytes: int, model: str) -> float:
    """A third of a token, corrected by what the provider counted for the last request of this task, unless pictures
    may have been a part of it."""
    if any(map(is_named_picture, state.task.files)):
        return 1 / 3
    for index, entry in reversed(list(enumerate(state.entries))):
        usage = entry.data.get("usage") if entry.kind == "assistant" else None
        tokens = usage.get("input_tokens") if isinstance(usage, dict) else None
        if isinstance(tokens, int) and tokens > 0:
            sent = past_bytes + _bytes(_turns(state.task, state.entries[:index], model, set())) + OTHER_BYTES
            return min(max(tokens / sent, 1 / 4), 1.0)  # outside of this the count is of something else
    return 1 / 3


def _bytes(messages: Iterable[ChatMessage]) -> int:
    return sum(len(orjson.dumps(message)) for message in messages)
