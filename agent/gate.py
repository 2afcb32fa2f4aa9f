"""The gate: what becomes of the calls of a turn. Every entrance and every tool passes it; there is no other way."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from agent import policy, policy_texts, progress, texts
from agent.asking import Asking, Places
from agent.domain import COLLECTED, Address, ApprovalKind, ApproverRule, Call, DeliveryKind, Entry, Task
from agent.edits import told
from agent.effects import Effects, answer
from agent.endings import tool_entry
from agent.errors import BadArguments
from agent.llm.call_text import new_call_id
from agent.ports.models import Turn
from agent.ports.store import ApprovalChange, CallChange, KeptItem, NewApproval, NewDelivery, Step
from agent.rules import Rules
from agent.run import Run, Stopped
from agent.tool import clean, digest, normalised, parse

Answered = Literal["answered", "parked"]
REMINDER = 0.75
"""After which part of its time a card is brought to mind."""
REISSUES = 3
"""How often a call that needs no person is previewed anew when its file keeps changing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """Takes the calls of a turn as far as it can without a person."""

    effects: Effects
    rules: Rules
    asking: Asking

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
            case "approved" if isinstance(await self._rule(run, call), policy.Deny):  # since it was approved
                answer(run, call, texts.denied_by_policy(call.capability), "denied")
            case "approved":
                same = _same_before(run, call)
                if same is None:
                    return await self._change(run, call)
                answer(run, call, told(call) + texts.joined(same.data["text"]), "done")
            case "started":
                return await self._after_crash(run, call)
            case "waiting" | "unknown":
                return "parked"
            case "denied":
                answer(run, call, _denied(run, call), "denied")
            case _:
                answer(run, call, call.reason or texts.CLOSED_CALL, call.status)
        return "answered"

    # --- the rule ---

    async def _gated(self, run: Run, call: Call) -> Answered:
        if not self._may_go_on(run, call):
            return "answered"
        match await self._rule(run, call):
            case policy.Deny():
                answer(run, call, texts.denied_by_policy(call.capability), "denied")
            case policy.Ask():
                return await self._ask(run)
            case policy.Allow() if call.capability.endswith(":read"):
                await self.effects.read(run, call)
            case policy.Allow():
                return await self._change(run, await self.effects.preview(run, call, "approved"))
        return "answered"

    async def _rule(self, run: Run, call: Call) -> policy.Rule:
        return await self.rules.rule(run.state, call.capability)

    def _may_go_on(self, run: Run, call: Call) -> bool:
        refusal = progress.refusal(run.state.entries, call, self.effects.progress)
        if refusal is not None:
            answer(run, call, refusal, "failed")
        return refusal is None

    async def _ask(self, run: Run) -> Answered:
        """One card for every call of the turn that needs a person; the calls before the first have been answered."""
        asked: list[tuple[Call, ApproverRule]] = []
        for call in run.open_calls():
            rule = await self._rule(run, call)
            if call.status != "proposed" or call.joined_to is not None or not isinstance(rule, policy.Ask):
                continue
            if not self._may_go_on(run, call):
                continue
            shown = await self.effects.preview(run, call, "waiting")
            if shown.status == "waiting":
                asked.append((shown, rule.rule))
        if not asked:
            return "answered"
        await run.write(await self._card(run, asked))
        return "parked"

    async def _card(
        self,
        run: Run,
        asked: Sequence[tuple[Call, ApproverRule]],
        kind: ApprovalKind = "change",
        note: str = "",
        kept: Call | None = None,
    ) -> Step:
        """The step that parks the task until these calls are decided, or the first of them expires. `kept` is a call
        as an earlier card showed it."""
        rules = [rule for _, rule in asked]
        places = await self.asking.places(run.state, rules)
        now, token = self.effects.clock.now(), secrets.token_urlsafe(12)
        seconds = min(rule.expires_seconds for rule in rules)
        card = NewApproval(
            token=token,
            kind=kind,
            expires_at=now + timedelta(seconds=seconds),
            call_ids=tuple(call.call_id for call, _ in asked),
            remind_at=now + timedelta(seconds=seconds * REMINDER),
            shown_at=places.card,
            note="\n".join(filter(None, (note, places.note))),
        )
        return Step(
            entries=(Entry(kind="status", data={"status": "waiting_approval"}),),
            call_changes=tuple(
                CallChange(call_id=call.call_id, status=call.status, rule=rule, votes=(), reason="")
                for call, rule in asked
            ),
            approval=card,
            approval_changes=_kept(run, kept),
            deliveries=_sent(run.state.task, card, places),
            status="waiting_approval",
        )

    # --- the effect ---

    async def _change(self, run: Run, call: Call) -> Answered:
        """Run an approved call; when its file changed since, ask again with the new difference."""
        for _ in range(REISSUES):
            if call.status == "failed" or await self.effects.change(run, call) == "answered":
                return "answered"
            rule = await self._rule(run, call)
            if isinstance(rule, policy.Ask):
                return await self._reissue(run, call, rule.rule)
            call = await self.effects.preview(run, call, "approved")
        answer(run, call, texts.KEEPS_CHANGING, "failed")
        return "answered"

    async def _reissue(self, run: Run, call: Call, rule: ApproverRule) -> Answered:
        shown = await self.effects.preview(run, call, "waiting")
        if shown.status == "failed":
            return "answered"
        await run.write(await self._card(run, [(shown, rule)], note=texts.CHANGED_SINCE, kept=call))
        return "parked"

    async def _after_crash(self, run: Run, call: Call) -> Answered:
        """A started effect was found: run it again only if that changes nothing more, else ask what happened."""
        tool = self.effects.registry.get(call.tool)
        if tool is not None and (tool.idempotent or call.targets):
            return await self._change(run, call)
        rule = await self._rule(run, call)
        asked = rule.rule if isinstance(rule, policy.Ask) else policy.DEFAULT_RULE
        unknown = replace(call, status="unknown")
        await run.write(await self._card(run, [(unknown, asked)], kind="outcome", note=texts.EFFECT_UNKNOWN, kept=call))
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


def _denied(run: Run, call: Call) -> str:
    """What the model reads about a call that a person did not want as it is."""
    wishes = (entry.data for entry in run.state.entries if entry.kind == "decision")
    if any(said.get("verdict") == "changes" and call.call_id in said.get("call_ids", ()) for said in wishes):
        return texts.changes_wanted(call.decided_by, call.reason)
    return texts.denied(call.decided_by, call.reason)


def _kept(run: Run, call: Call | None) -> tuple[ApprovalChange, ...]:
    """The earlier card of a call keeps what it showed and how that was decided."""
    card = next((one for one in run.state.approvals if call and one.approval_id == call.approval_id), None)
    if call is None or card is None:
        return ()
    item = KeptItem(
        call_id=call.call_id,
        arguments=call.arguments,
        title=call.title,
        preview=call.preview,
        status="approved",
        decided_by=call.decided_by,
        votes=call.votes,
    )
    return (ApprovalChange(approval_id=card.approval_id, status=card.status, kept=(item,)),)


def _sent(task: Task, card: NewApproval, places: Places) -> tuple[NewDelivery, ...]:
    """The card to where it is shown, and to whoever waits for an answer elsewhere where that is."""
    elsewhere = [to for to in task.reply_to if to not in card.shown_at]
    text = policy_texts.asked_elsewhere(places.where, places.note)
    return (
        *(_delivery(card, "approval", number, to) for number, to in enumerate(card.shown_at)),
        *(_delivery(card, "notice", number, to, text) for number, to in enumerate(elsewhere)),
    )


def _delivery(card: NewApproval, kind: DeliveryKind, number: int, to: Address, text: str = "") -> NewDelivery:
    return NewDelivery(
        kind=kind,
        to=to,
        text=text,
        dedup_key=f"{kind}:{card.token}:{number}",
        expires_at=card.expires_at,
        collected=to.channel in COLLECTED,
    )


def _same_before(run: Run, call: Call) -> Entry | None:
    """The result of an equal call that ran earlier in the turn: proposed so, or made equal by a person's edit."""
    for other in run.state.calls:
        if (other.turn, other.sha256) == (call.turn, call.sha256) and other.position < call.position:
            result = run.result_of(other.call_id)
            if result is not None and result.data["status"] == "done":
                return result
    return None


def _join(run: Run, call: Call) -> Answered:
    """The same call stood earlier in the turn and ran once: this one has its result."""
    first = run.result_of(call.joined_to or "")
    if first is None:
        return "parked"
    answer(run, call, texts.joined(first.data["text"]), first.data["status"])
    return "answered"
