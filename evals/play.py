"""Plays one case on the product, wired as `signoff ask` wires it, with a database file of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.domain import OPERATOR, TERMINAL, Address, Approval, ButtonPress, IncomingFile, IncomingMessage, Member
from agent.errors import BadInput, SignoffError
from agent.ports.store import TaskState
from bot.app import working
from bot.clock import SystemClock
from bot.config import Config
from bot.services import Services, connected
from evals.case import Ask, AskAgain, Cancel, Case, Change, Press, Restart, Step, Wait
from evals.judge import Observed
from evals.world import World

STRANGER = Member(name="stranger")
ENOUGH = 20
"""How many cards of a real model are decided before the case is given up."""


class Otherwise(Exception):
    """A step went otherwise than the case says."""


class TurnedClock(SystemClock):
    """The real time, and what the case says has passed."""

    def __init__(self) -> None:
        self._passed = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self._passed

    def turn(self, seconds: int) -> None:
        """Let time pass."""
        self._passed += timedelta(seconds=seconds)


async def play(case: Case, world: World, config: Config, *, real: bool) -> tuple[Observed, list[str]]:
    """Take the steps of a case in its world; what came of it, and every step that went otherwise than said."""
    before = dict(world.snapshot())
    shown: dict[int, Approval] = {}
    clock = TurnedClock()
    misses: list[str] = []
    for part in _between_restarts(case.steps):
        async with connected(config, clock) as services, working(services):
            stage = Stage(services=services, world=world, clock=clock, before=before, shown=shown, real=real)
            for number, step in part:
                try:
                    await stage.take(step)
                except SignoffError as error:
                    misses.append(f"step {number}: {type(error).__name__}: {error}")
                except Otherwise as miss:
                    misses.append(f"step {number}: {miss}")
            tasks = await stage.states()
    return Observed(tasks=tasks, shown=shown, before=before, after=world.snapshot()), misses


def _between_restarts(steps: Sequence[Step]) -> Iterator[list[tuple[int, Step]]]:
    part: list[tuple[int, Step]] = []
    for number, step in enumerate(steps, start=1):
        if isinstance(step, Restart):
            yield part
            part = []
        else:
            part.append((number, step))
    yield part


@dataclass(kw_only=True)
class Stage:
    """The product between two restarts, and the people around it."""

    services: Services
    world: World
    clock: TurnedClock
    before: dict[str, bytes]
    shown: dict[int, Approval]
    real: bool
    sent: int = field(default=0)

    async def take(self, step: Step) -> None:
        """Take a step and wait until nothing moves any more; Otherwise when it went so."""
        match step:
            case Ask():
                await self._ask(step)
            case Press() if self.real:
                await self._press_whatever_is_open(step)
            case Press():
                await self._press(step)
            case Change():
                self._change(step)
            case Wait():
                self.clock.turn(step.wait)
                await self.services.approvals.sweep()
            case Cancel():
                await self.services.approvals.cancel((await self.states())[-1].task.task_id)
            case AskAgain():
                await self.services.approvals.ask_again((await self._card(None)).approval_id)
            case Restart():
                raise TypeError("a restart is between two stages")
        await self._settled()
        for card in await self._cards():
            self.shown.setdefault(card.approval_id, card)

    async def states(self) -> list[TaskState]:
        """Every task with its rows, oldest first."""
        tasks = await self.services.store.tasks(limit=100)
        return [await self.services.store.load(task.task_id) for task in reversed(tasks)]

    async def _ask(self, step: Ask) -> None:
        earlier = (await self.states())[-1:] if step.follow_up else []
        self.sent += 1
        key = f"{step.origin}:{self.clock.now().timestamp()}:{self.sent}"
        address = earlier[0].session.address if earlier else Address(channel=step.origin, conversation=key)
        message = IncomingMessage(
            dedup_key=key,
            address=address,
            sender=OPERATOR.name if step.origin == "cli" else "hook",
            text=step.ask,
            origin=step.origin,
            received_at=self.clock.now(),
            files=tuple(IncomingFile(name=name, content=text.encode()) for name, text in step.files.items()),
            reply_to=(address,),
            follow_up_of=earlier[0].task.task_id if earlier else None,
        )
        if step.refused is None:
            await self.services.inbox.accept(message)
        elif (refusal := await self._refused(message)) is None or step.refused not in refusal:
            raise Otherwise(f"the request was answered {refusal!r} instead of {step.refused!r} (null: accepted)")

    async def _refused(self, message: IncomingMessage) -> str | None:
        try:
            await self.services.inbox.accept(message)
        except SignoffError as error:
            return str(error)
        return None

    async def _press(self, step: Press) -> None:
        card = await self._card(step.card)
        refusals = await asyncio.gather(*(self._pressed(step, card) for _ in range(step.at_once)))
        wanted = [None if step.at_once > 1 else step.refused, *[step.refused] * (step.at_once - 1)]
        if sorted(map(str, refusals)) != sorted(map(str, wanted)):
            raise Otherwise(f"the press was answered {refusals} instead of {wanted} (null: taken)")

    async def _pressed(self, step: Press, card: Approval) -> str | None:
        """Press a card; the code of the refusal, or None."""
        self.sent += 1
        press = ButtonPress(
            dedup_key=f"press:{self.sent}",
            presser=OPERATOR if step.by == "operator" else STRANGER,
            verdict="approved" if step.press == "approve" else "denied",
            pressed_at=self.clock.now(),
            token=card.token,
            items=step.items,
            reason=step.reason,
        )
        try:
            await self.services.approvals.decide(press)
        except BadInput as refusal:
            return refusal.code
        return None

    async def _press_whatever_is_open(self, step: Press) -> None:
        """A real model asks for what it wants, in as many cards as it wants: each gets the verdict of the step."""
        for _ in range(ENOUGH):
            card = next((card for card in await self._cards() if card.status == "open"), None)
            if card is None:
                return
            await self._pressed(step.model_copy(update={"items": ()}), card)
            await self._settled()

    def _change(self, step: Change) -> None:
        """What somebody else changes is no change of the product's."""
        self.world.change(step.change)
        after = self.world.snapshot()
        for path in step.change:
            if path in after:
                self.before[path] = after[path]
            else:
                self.before.pop(path, None)

    async def _card(self, number: int | None) -> Approval:
        """The card of a number in order of their making, or the newest."""
        cards = await self._cards()
        if not 1 <= (number or len(cards)) <= len(cards):
            raise Otherwise(f"there is no card {number or 'at all'}, but {len(cards)} in all")
        return cards[(number or len(cards)) - 1]

    async def _cards(self) -> list[Approval]:
        cards = [card for state in await self.states() for card in state.approvals]
        return sorted(cards, key=lambda card: card.approval_id)

    async def _settled(self) -> None:
        """Return when every task has ended, waits for a person, or stands behind one that does."""
        while True:
            tasks = [task for task in await self.services.store.tasks(limit=100) if task.status not in TERMINAL]
            parked = {task.session_id for task in tasks if task.status == "waiting_approval"}
            moving = [task for task in tasks if task.status != "waiting_approval" and task.session_id not in parked]
            if not moving:
                return
            await self.services.store.doorbell.wait(f"task:{moving[-1].task_id}", 0.2)
