"""The gate: what becomes of the calls of a turn. Every entrance and every tool passes it; there is no other way."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from agent import policy, progress, texts
from agent.domain import COLLECTED, ApprovalKind, ApproverRule, Call, Entry
from agent.effects import Effects, answer
from agent.endings import tool_entry
from agent.errors import BadArguments
from agent.llm.call_text import new_call_id
from agent.policy import PolicySettings
from agent.ports.models import Turn
from agent.ports.store import CallChange, NewApproval, NewDelivery, Step
from agent.run import Run, Stopped
from agent.tool import clean, digest, normalised, parse

Answered = Literal["answered", "parked"]
REISSUES = 3
"""How often a call that needs no person is previewed anew when its file keeps changing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """Takes the calls of a turn as far as it can without a person."""

    effects: Effects
    powers: PolicySettings

    def propose(self, run: Run, turn: Turn) -> Step:
        """The step that stores a turn with its calls, checked, before anything is done about them."""
        taken = {call.call_id for call in run.state.calls}
        calls: list[Call] = []
        results: list[Entry] = []
        for position, proposed in enumerate(turn.calls, start=1):
            call_id = proposed.call_id if proposed.call_id not in taken else new_call_id()
            taken.add(call_id)
            arguments, problem = self._checked(proposed.name, proposed.arguments, cut=turn.finish_reason == "length")
            call = self._row(run, call_id, position, proposed.name, arguments)
            if problem is None:
                twin = next((c.call_id for c in calls if c.sha256 == call.sha256 and c.status == "proposed"), None)
                calls.append(replace(call, joined_to=twin))
            else:
                calls.append(replace(call, status="failed", reason=problem))
                results.append(tool_entry(call, problem, status="failed"))
        entry = Entry(kind="assistant", data=assistant(turn, calls))
        return Step(entries=(entry, *results), new_calls=tuple(calls), usage=(turn.usage,))

    async def settle(self, run: Run) -> Answered:
        """Answer the open calls in call order; `parked` when a person is needed first, the card being committed."""
        calls = run.open_calls()
        for call in calls:
            if run.stop.is_set():
                raise Stopped
            if run.result_of(call.call_id) is not None:
                continue  # refused while the card of an earlier call was made
            if await self._settle(run, call) == "parked":
                return "parked"
        if calls:
            await run.write()
        return "answered"

    async def _settle(self, run: Run, call: Call) -> Answered:
        if call.joined_to is not None and call.status in ("proposed", "waiting", "approved"):
            return _join(run, call)
        match call.status:
            case "proposed" | "approved" if call.tool not in self.effects.registry:  # a new start went without it
                answer(run, call, texts.unknown_tool(call.tool, list(self.effects.registry)), "failed")
            case "proposed":
                return await self._gated(run, call)
            case "approved":
                return await self._change(run, call)
            case "started":
                return await self._after_crash(run, call)
            case "waiting" | "unknown":
                return "parked"
            case "denied":
                answer(run, call, texts.denied(call.decided_by, call.reason), "denied")
            case _:
                answer(run, call, call.reason or texts.CLOSED_CALL, call.status)
        return "answered"

    # --- the rule ---

    async def _gated(self, run: Run, call: Call) -> Answered:
        if not self._may_go_on(run, call):
            return "answered"
        match self._rule(run, call):
            case policy.Deny():
                answer(run, call, texts.denied_by_policy(call.capability), "denied")
            case policy.Ask():
                return await self._ask(run)
            case policy.Allow() if call.capability.endswith(":read"):
                await self.effects.read(run, call)
            case policy.Allow():
                return await self._change(run, await self.effects.preview(run, call, "approved"))
        return "answered"

    def _rule(self, run: Run, call: Call) -> policy.Rule:
        return policy.rule(self.powers, call.capability, run.state.task.origin)

    def _may_go_on(self, run: Run, call: Call) -> bool:
        refusal = progress.refusal(run.state.entries, call, self.effects.progress)
        if refusal is not None:
            answer(run, call, refusal, "failed")
        return refusal is None

    async def _ask(self, run: Run) -> Answered:
        """One card for every call of the turn that needs a person; the calls before the first have been answered."""
        asked: list[tuple[str, ApproverRule]] = []
        for call in run.open_calls():
            rule = self._rule(run, call)
            if call.status != "proposed" or call.joined_to is not None or not isinstance(rule, policy.Ask):
                continue
            if self._may_go_on(run, call) and (await self.effects.preview(run, call, "waiting")).status == "waiting":
                asked.append((call.call_id, rule.rule))
        if not asked:
            return "answered"
        await run.write(self._card(run, tuple(call_id for call_id, _ in asked), [rule for _, rule in asked]))
        return "parked"

    def _card(
        self,
        run: Run,
        call_ids: tuple[str, ...],
        rules: list[ApproverRule],
        kind: ApprovalKind = "change",
        note: str = "",
    ) -> Step:
        """The step that parks the task: whoever may decide every item, until the first item expires."""
        token, task = secrets.token_urlsafe(12), run.state.task
        approvers = tuple(name for name in rules[0].approvers if all(name in rule.approvers for rule in rules))
        expires_at = self.effects.clock.now() + timedelta(seconds=min(rule.expires_seconds for rule in rules))
        return Step(
            entries=(Entry(kind="status", data={"status": "waiting_approval"}),),
            approval=NewApproval(
                token=token, kind=kind, approvers=approvers, expires_at=expires_at, call_ids=call_ids, note=note
            ),
            deliveries=tuple(
                NewDelivery(
                    kind="approval",
                    to=to,
                    dedup_key=f"approval:{token}:{number}",
                    expires_at=expires_at,
                    collected=to.channel in COLLECTED,
                )
                for number, to in enumerate(task.reply_to)
            ),
            status="waiting_approval",
        )

    # --- the effect ---

    async def _change(self, run: Run, call: Call) -> Answered:
        """Run an approved call; when its file changed since, ask again with the new difference."""
        for _ in range(REISSUES):
            if call.status == "failed" or await self.effects.change(run, call) == "answered":
                return "answered"
            rule = self._rule(run, call)
            if isinstance(rule, policy.Ask):
                return await self._reissue(run, call, rule.rule)
            call = await self.effects.preview(run, call, "approved")
        answer(run, call, texts.KEEPS_CHANGING, "failed")
        return "answered"

    async def _reissue(self, run: Run, call: Call, rule: ApproverRule) -> Answered:
        if (await self.effects.preview(run, call, "waiting")).status == "failed":
            return "answered"
        await run.write(self._card(run, (call.call_id,), [rule], note=texts.CHANGED_SINCE))
        return "parked"

    async def _after_crash(self, run: Run, call: Call) -> Answered:
        """A started effect was found: run it again only if that changes nothing more, else ask what happened."""
        tool = self.effects.registry.get(call.tool)
        if tool is not None and (tool.idempotent or call.targets):
            return await self._change(run, call)
        rule = self._rule(run, call)
        asked = rule.rule if isinstance(rule, policy.Ask) else policy.DEFAULT_RULE
        run.note(Step(call_changes=(CallChange(call_id=call.call_id, status="unknown"),)))
        await run.write(self._card(run, (call.call_id,), [asked], kind="outcome", note=texts.EFFECT_UNKNOWN))
        return "parked"

    # --- the turn as it is stored ---

    def _checked(self, name: str, arguments: str, *, cut: bool) -> tuple[str, str | None]:
        """The arguments as they would run, or as they came with what is wrong about them."""
        tool = self.effects.registry.get(name)
        if tool is None:
            return clean(arguments), texts.unknown_tool(name, list(self.effects.registry))
        try:
            return normalised(parse(tool, arguments)), None
        except BadArguments as error:
            return clean(arguments), texts.cut_call(str(error)) if cut else str(error)

    def _row(self, run: Run, call_id: str, position: int, name: str, arguments: str) -> Call:
        tool = self.effects.registry.get(name)
        return Call(
            call_id=call_id,
            task_id=run.key.task_id,
            turn=run.turn + 1,
            position=position,
            tool=name,
            capability=tool.capability if tool else "",
            arguments=arguments,
            sha256=digest(name, arguments),
            status="proposed",
        )


def assistant(turn: Turn, calls: list[Call]) -> dict[str, Any]:
    """The journal data of a model's turn; `calls` are its calls as they were stored."""
    usage = turn.usage
    return {
        "text": clean(turn.text),
        "calls": [{"id": call.call_id, "name": call.tool, "arguments": call.arguments} for call in calls],
        "reasoning": turn.reasoning,
        "model": turn.model,
        "finish_reason": turn.finish_reason,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_tokens,
            "cost_usd": None if usage.cost_usd is None else str(usage.cost_usd),
        },
    }


def _join(run: Run, call: Call) -> Answered:
    """The same call stood earlier in the turn and ran once: this one has its result."""
    first = run.result_of(call.joined_to or "")
    if first is None:
        return "parked"
    answer(run, call, texts.joined(first.data["text"]), first.data["status"])
    return "answered"
