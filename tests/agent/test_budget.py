"""The caps on what tasks may use."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agent import budget
from agent.budget import BudgetSettings
from agent.errors import BudgetExceeded

CAPS = BudgetSettings(task_tokens=1_000, task_usd=Decimal(1), member_day_usd=Decimal(5), total_day_usd=Decimal(50))


def test_below_its_caps_a_task_goes_on() -> None:
    """Nothing is raised as long as every cap has something left."""
    budget.check_task(CAPS, tokens=999, usd=Decimal("0.999"))
    budget.check_day(CAPS, member_usd=Decimal("4.99"), total_usd=Decimal("49.99"))


def test_tokens_count_where_no_price_is_known() -> None:
    """C6: an unknown cost is never taken for 0 and enough: the token cap ends the task."""
    with pytest.raises(BudgetExceeded, match=r"used 1,000 tokens and `agent.budget.task_tokens` allows 1,000"):
        budget.check_task(CAPS, tokens=1_000, usd=Decimal(0))


@pytest.mark.parametrize(("usd", "said"), [("1", "1.00 USD"), ("1.0005", "1.0005 USD"), ("1234.5", "1,234.50 USD")])
def test_the_cost_of_a_task_is_capped(usd: str, said: str) -> None:
    """The sentence names the cap, the exact amount and what to do."""
    with pytest.raises(BudgetExceeded) as refused:
        budget.check_task(CAPS, tokens=1, usd=Decimal(usd))
    assert str(refused.value) == (
        f"it cost {said} and `agent.budget.task_usd` allows 1.00 USD. Ask for less at once, or raise the cap."
    )


@pytest.mark.parametrize(
    ("member", "total", "key"), [("5", "5", "member_day_usd"), ("1", "50", "total_day_usd"), ("9", "99", "member_day")]
)
def test_the_cost_of_a_day_is_capped(member: str, total: str, key: str) -> None:
    """For the requester and for everybody together."""
    with pytest.raises(BudgetExceeded, match=key):
        budget.check_day(CAPS, member_usd=Decimal(member), total_usd=Decimal(total))


def test_a_members_own_cap_replaces_everybodys() -> None:
    """It may be higher or lower, and the message names the key that holds."""
    budget.check_day(CAPS, member_usd=Decimal(19), total_usd=Decimal(20), own_cap=Decimal(20))
    with pytest.raises(BudgetExceeded, match=r"your `budget_day_usd` in `people` allows 2\.00 USD"):
        budget.check_day(CAPS, member_usd=Decimal(2), total_usd=Decimal(2), own_cap=Decimal(2))
