"""Runs single tool calls: reads at once, changes exactly once and only on what their preview showed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from agent import progress, texts
from agent.artifacts import describe
from agent.domain import Call, CallStatus, Entry, Target
from agent.edits import previewed, told
from agent.endings import tool_entry
from agent.errors import TargetChanged, ToolError
from agent.ports.clock import Clock
from agent.ports.files import Blobs, WorkspaceFiles, Workspaces
from agent.ports.store import CallChange, Step
from agent.progress import ProgressSettings
from agent.run import Run, Stopped
from agent.tool import ToolContext, ToolRegistry, clean, digest, in_thread, parse

RESULT_LIMIT = 16_000
"""Characters of a result that the model gets; the whole goes to a file of the workspace."""

Ran = Literal["answered", "target_changed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Effects:
    """Runs calls with the tools of the registry, in the task's workspace."""

    registry: ToolRegistry
    workspaces: Workspaces
    blobs: Blobs
    clock: Clock
    progress: ProgressSettings

    async def preview(self, run: Run, call: Call, status: CallStatus) -> Call:
        """The call with its preview, noted under the given status; `failed` when the tool refuses to preview it."""
        tool = self.registry[call.tool]
        try:
            arguments = parse(tool, call.arguments)
            shown = await run.interruptible(previewed(tool, self._context(run, call), arguments))
        except ToolError as error:
            answer(run, call, str(error), "failed")
            return replace(call, status="failed")
        change = CallChange(
            call_id=call.call_id, status=status, title=shown.title, preview=shown.text, targets=shown.targets
        )
        run.note(Step(call_changes=(change,)))
        return replace(call, status=status, title=shown.title, preview=shown.text, targets=shown.targets)

    async def read(self, run: Run, call: Call) -> None:
        """A call without an effect; its result is noted, to be committed together with others."""
        tool, began = self.registry[call.tool], self.clock.now()
        try:
            text = await run.interruptible(tool.run(self._context(run, call), parse(tool, call.arguments)))
        except ToolError as error:
            answer(run, call, str(error), "failed", seconds=self._since(began))
        else:
            await self._finish(run, call, text, changed=False, seconds=self._since(began))

    async def change(self, run: Run, call: Call) -> Ran:
        """Run an approved call if its arguments and its target are still what the approval was given for.

        `started` is committed before the effect and `done` after it. A target that already has the intended content
        was written before a crash: nothing is written again.
        """
        if digest(call.tool, call.arguments) != call.sha256:
            answer(run, call, texts.ARGUMENTS_CHANGED, "failed")
            return "answered"
        files = self.workspaces.open(run.state.task.workspace)
        standing = await in_thread(_standing, files, call.targets)
        if standing == "changed":
            return "target_changed"
        try:
            if standing == "intended":
                return await self._already(run, call, files, texts.ALREADY_DONE)
            await self._keep(files, call.targets)
        except ToolError as error:
            answer(run, call, str(error), "failed")
            return "answered"
        await run.write(Step(call_changes=(CallChange(call_id=call.call_id, status="started"),)))
        return await self._effect(run, call)

    async def _already(self, run: Run, call: Call, files: WorkspaceFiles, text: str) -> Ran:
        if call.capability == "file:write":  # memory is written too, and never handed out
            for target in call.targets:
                await self._publish(run, files, target.path)
        await self._finish(run, call, text, changed=True)
        await run.write()
        return "answered"

    async def _effect(self, run: Run, call: Call) -> Ran:
        tool, began = self.registry[call.tool], self.clock.now()
        try:
            text = await run.interruptible(tool.run(self._context(run, call), parse(tool, call.arguments)))
        except TargetChanged:
            return "target_changed"
        except ToolError as error:
            answer(run, call, told(call) + str(error), "failed", seconds=self._since(began))
        except Stopped as stopped:
            if stopped.clean and call.targets:
                await self._after_stop(run, call)
            raise
        else:
            await self._finish(run, call, text, changed=True, seconds=self._since(began))
        await run.write()
        return "answered"

    async def _after_stop(self, run: Run, call: Call) -> None:
        """The tool was stopped in the middle, but a thread that writes finishes its file: what is there counts."""
        files = self.workspaces.open(run.state.task.workspace)
        standing = await in_thread(_standing, files, call.targets)
        if standing == "base":
            answer(run, call, texts.CANCELLED_CALL, "cancelled")
        elif standing == "intended":
            with suppress(ToolError):  # gone again since: it stays unknown what came of the call
                await self._already(run, call, files, texts.DONE_BEFORE_STOP)

    def _since(self, began: datetime) -> float:
        return round((self.clock.now() - began).total_seconds(), 3)

    async def _finish(self, run: Run, call: Call, text: str, *, changed: bool, seconds: float | None = None) -> None:
        shown = await self._capped(run, told(call) + clean(text))
        verdict = progress.judge(run.state.entries, call, shown, changed=changed, settings=self.progress)
        entry = tool_entry(call, shown + verdict.warning, status="done", net=verdict.net, seconds=seconds)
        run.note(Step(entries=(entry,), call_changes=(CallChange(call_id=call.call_id, status="done"),)))

    async def _capped(self, run: Run, text: str) -> str:
        """A result within the model's share; what is longer goes whole into a file that the model can read on."""
        if len(text) <= RESULT_LIMIT:
            return text
        path = f".signoff/results/{run.key.task_id}/{len(run.state.entries) + 1}.txt"
        files = self.workspaces.open(run.state.task.workspace)
        try:
            await in_thread(_replace, files, path, text.encode())
        except ToolError as error:
            # `.signoff` is a link, or the disk is full: what the tool did has happened all the same.
            return texts.rest_lost(text[: RESULT_LIMIT - 400], len(text), str(error))
        return texts.shown_of(text[: RESULT_LIMIT - 200], len(text), path)

    async def _keep(self, files: WorkspaceFiles, targets: tuple[Target, ...]) -> None:
        """Put what is about to be replaced into the blob store, so that it can be brought back."""
        for target in targets:
            if target.base_sha256 is not None:
                await self.blobs.put(await in_thread(files.read, target.path))

    async def _publish(self, run: Run, files: WorkspaceFiles, path: str) -> None:
        content = await in_thread(files.read, path)
        await self.blobs.put(content)
        made = describe(path, content)
        data = {"name": made.name, "path": path, "media_type": made.media_type, "size_bytes": made.size_bytes}
        entry = Entry(kind="artifact", data={**data, "sha256": made.sha256})
        run.note(Step(entries=(entry,), artifacts=(made,)))

    def _context(self, run: Run, call: Call) -> ToolContext:
        files = self.workspaces.open(run.state.task.workspace)

        async def publish(path: str) -> None:
            await self._publish(run, files, path)

        return ToolContext(
            task_id=run.key.task_id,
            workspace=files,
            publish=publish,
            clock=self.clock,
            base={target.path: target.base_sha256 for target in call.targets},
        )


def answer(run: Run, call: Call, text: str, status: CallStatus, *, seconds: float | None = None) -> None:
    """Note a call's result that is no tool's, or of a tool that failed after `seconds`."""
    changes = () if call.status == status else (CallChange(call_id=call.call_id, status=status, reason=text),)
    run.note(Step(entries=(tool_entry(call, text, status=status, seconds=seconds),), call_changes=changes))


def _standing(files: WorkspaceFiles, targets: tuple[Target, ...]) -> Literal["base", "intended", "changed"]:
    """What the targets are now: as the preview showed them, as the run would leave them, or something else."""
    try:
        found = [files.sha256(target.path) for target in targets]
    except ToolError:  # a link or a folder stands there now
        return "changed"
    if all(sha256 == target.base_sha256 for sha256, target in zip(found, targets, strict=True)):
        return "base"
    if all(sha256 == target.intended_sha256 for sha256, target in zip(found, targets, strict=True)):
        return "intended"
    return "changed"


def _replace(files: WorkspaceFiles, path: str, content: bytes) -> None:
    files.write(path, content, expected=files.sha256(path), area="system")
