"""Arguments that a person writes in place of the model's: checked like those, previewed anew, shown again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent import texts
from agent.decisions import (
    Decided,
    able,
    card_of,
    check_open,
    check_revision,
    entered,
    forbidden,
    received,
    refused,
    undecided,
    was_edited,
)
from agent.domain import Call, Edit, Member
from agent.endings import settles
from agent.errors import BadInput, Conflict, ToolError
from agent.ports.clock import Clock
from agent.ports.files import Workspaces
from agent.ports.store import ApprovalChange, CallChange, Step, TaskState
from agent.previews import shorten, unified_diff, visible
from agent.tool import Arguments, Preview, Tool, ToolContext, ToolRegistry, digest, normalised, parse

DIFF_CHARACTERS = 2_000
"""How much of a person's changes the model reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """New arguments of a call as they would run, with what they would do, made for a revision of the card."""

    arguments: str
    sha256: str
    preview: Preview
    revision: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafts:
    """Makes drafts with the tools of the registry, outside a run."""

    registry: ToolRegistry
    workspaces: Workspaces
    clock: Clock

    async def draft(self, state: TaskState, edit: Edit, people: Mapping[str, Member]) -> Draft:
        """What an edit would make of its item; a BadInput says why it cannot be made."""
        call = editable(state, edit, people)
        tool = self.registry.get(call.tool)
        if tool is None:
            raise BadInput(texts.unknown_tool(call.tool, list(self.registry)), code="bad_arguments")
        try:
            arguments = parse(tool, edit.arguments)
            preview = await previewed(tool, self._context(state), arguments)
        except ToolError as error:
            raise BadInput(str(error), code="bad_arguments", field="arguments") from None
        text = normalised(arguments)
        revision = card_of(state, edit.approval_id).revision
        return Draft(arguments=text, sha256=digest(tool.name, text), preview=preview, revision=revision)

    def _context(self, state: TaskState) -> ToolContext:
        return ToolContext(
            task_id=state.task.task_id,
            workspace=self.workspaces.open(state.task.workspace),
            publish=_nothing_to_publish,
            clock=self.clock,
        )


async def previewed(tool: Tool, context: ToolContext, arguments: Arguments) -> Preview:
    """What a call would do; a tool that cannot say it shows its arguments."""
    if tool.preview is None:
        return Preview(title=tool.name, text=normalised(arguments))
    return await tool.preview(context, arguments)


def editable(state: TaskState, edit: Edit, people: Mapping[str, Member]) -> Call:
    """The item of an edit, if this person may edit it now: whoever may decide it. BadInput says why not."""
    card = card_of(state, edit.approval_id)
    mine = [call for call in card.items if edit.editor.name in able(state, call, people)]
    if not mine:
        raise forbidden(state, card, edit.editor.name, card.items)
    check_open(card, edit.edited_at)
    check_revision(card, edit.revision)
    if card.kind == "outcome":
        raise BadInput(texts.NO_EDIT_OF_OUTCOME)
    call = undecided(card, edit.item)
    if call not in mine:
        raise forbidden(state, card, edit.editor.name, [call])
    return call


def edition(state: TaskState, edit: Edit, draft: Draft | BadInput, people: Mapping[str, Member]) -> Decided:
    """What an edit changes: the card shows the draft and asks everybody again. `draft` may be why there is none."""
    card = card_of(state, edit.approval_id)
    try:
        call = editable(state, edit, people)
        if isinstance(draft, BadInput):
            raise draft
        check_revision(card, draft.revision)
        if draft.arguments == call.arguments:
            raise Conflict(texts.NOT_CHANGED, code="not_changed")
    except BadInput as refusal:
        return refused(card, edit, refusal)
    said = {"verdict": "edited", "by": edit.editor.name, "reason": "", "before": call.arguments}
    step = Step(
        entries=(entered(card, [call], **said | {"sha256": [draft.sha256], "after": draft.arguments}),),
        call_changes=(_changed(call, draft, edit),),
        approval_changes=(ApprovalChange(approval_id=card.approval_id, status=card.status, revised=True),),
        deliveries=settles(state, card, edit.edited_at),
        received=received(edit, "edited", texts.edited(card, edit.item)),
    )
    return Decided(step=step)


def told(call: Call) -> str:
    """What stands before the result of a call that a person has changed: who, and how its arguments differ."""
    if call.original is None or not was_edited(call):
        return ""
    diff = "\n".join(_differences(json.loads(call.original), json.loads(call.arguments)))
    return texts.edited_call(call.edited_by, shorten(diff, DIFF_CHARACTERS, "the approval card")) + "\n\n"


def _changed(call: Call, draft: Draft, edit: Edit) -> CallChange:
    return CallChange(
        call_id=call.call_id,
        status=call.status,
        title=draft.preview.title,
        preview=draft.preview.text,
        targets=draft.preview.targets,
        votes=(),
        arguments=draft.arguments,
        sha256=draft.sha256,
        original=call.original or call.arguments,
        edited_by=edit.editor.name,
    )


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """A line for each argument that differs, a diff for a text of several lines."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
            yield unified_diff(name, old, new)
        else:
            yield visible(f"{name}: {_value(before, name)} → {_value(after, name)}")


def _value(arguments: Mapping[str, Any], name: str) -> str:
    return json.dumps(arguments[name], ensure_ascii=False) if name in arguments else "(not given)"


async def _nothing_to_publish(path: str) -> None:
    """A preview makes no artifacts."""
