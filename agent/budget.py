"""The caps on what tasks may use."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import BudgetExceeded

Usd = Annotated[Decimal, Field(gt=0)]


class BudgetSettings(BaseModel):
    """The token cap of a task always counts; the USD caps count what is known, because an unknown price is not 0."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_tokens: int = Field(default=2_000_000, ge=1)
    task_usd: Usd = Decimal("1.0")
    member_day_usd: Usd = Decimal("5.0")
    total_day_usd: Usd = Decimal("50.0")


def check_task(settings: BudgetSettings, *, tokens: int, usd: Decimal) -> None:
    """BudgetExceeded when a task used its share; `tokens` in and out, `usd` the known part of its cost."""
    if tokens >= settings.task_tokens:
        raise BudgetExceeded(
            f"it used {tokens:,} tokens and `agent.budget.task_tokens` allows {settings.task_tokens:,}. "
            "Ask for less at once, or raise the cap."
        )
    if usd >= settings.task_usd:
        raise BudgetExceeded(
            f"it cost {_usd(usd)} and `agent.budget.task_usd` allows {_usd(settings.task_usd)}. "
            "Ask for less at once, or raise the cap."
        )


def check_day(
    settings: BudgetSettings, *, member_usd: Decimal, total_usd: Decimal, own_cap: Decimal | None = None
) -> None:
    """BudgetExceeded when the requester, or everybody together, used the share of the day (UTC).

    `own_cap` is the requester's own `budget_day_usd`, which holds instead of everybody's.
    """
    cap = settings.member_day_usd if own_cap is None else own_cap
    if member_usd >= cap:
        key = "`agent.budget.member_day_usd` allows" if own_cap is None else "your `budget_day_usd` in `people` allows"
        raise BudgetExceeded(
            f"your tasks of today cost {_usd(member_usd)} and {key} {_usd(cap)}. "
            "Go on tomorrow (UTC), or have an admin raise the cap."
        )
    if total_usd >= settings.total_day_usd:
        raise BudgetExceeded(
            f"all tasks of today cost {_usd(total_usd)} and `agent.budget.total_day_usd` allows "
            f"{_usd(settings.total_day_usd)}. Go on tomorrow (UTC), or have an admin raise the cap."
        )


def _usd(amount: Decimal) -> str:
    """Two decimals where they are exact, else all: 4.999 must not read as the cap of 5.00."""
    exact = amount == amount.quantize(Decimal("0.01"))
    return f"{amount:,.2f} USD" if exact else f"{amount:,f} USD"
