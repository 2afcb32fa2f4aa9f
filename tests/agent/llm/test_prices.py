"""What a call costs, and that looking it up does not import litellm."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest

from agent.llm.assemble import Counts
from agent.llm.prices import Price, cost_usd, price_of
from agent.llm.settings import ModelSettings

COUNTS = Counts(input_tokens=1000, output_tokens=500, cached_tokens=200)


def test_configured_price() -> None:
    """USD per million tokens, cached input at its own price, and at the input's when none is given."""
    settings = ModelSettings.model_validate({"model": "x/y", "price": {"input": "1", "output": "2", "cached": "0.1"}})
    assert cost_usd(price_of(settings), COUNTS) == Decimal("0.00182")
    settings = ModelSettings.model_validate({"model": "x/y", "price": {"input": "1", "output": "2"}})
    assert cost_usd(price_of(settings), COUNTS) == Decimal("0.002")


def test_listed_price() -> None:
    """A model of litellm's file has the file's price, exact to the last digit, with and without the provider's name."""
    assert price_of(ModelSettings(model="openai/gpt-4o")) == Price(
        input=Decimal("0.0000025"), output=Decimal("0.00001"), cached=Decimal("0.00000125")
    )
    assert price_of(ModelSettings(model="mistral/mistral-large-latest")) is not None


@pytest.mark.parametrize(
    "model", ["openai/my-local-7b", "mistral/gpt-4o", "vllm/gpt-4o", "ollama/llama3", "openai/sample_spec"]
)
def test_unknown_price(model: str) -> None:
    """C6, C9: a model that is not listed, is another provider's, or is listed at 0 has an unknown price, not 0."""
    price = price_of(ModelSettings(model=model))
    assert price is None
    assert cost_usd(price, COUNTS) is None


def test_a_price_of_0_that_is_configured_is_0() -> None:
    """Whoever runs the model may say that it is free."""
    settings = ModelSettings.model_validate({"model": "ollama/llama3", "price": {"input": 0, "output": 0}})
    assert cost_usd(price_of(settings), COUNTS) == 0


def test_nothing_here_imports_litellm() -> None:
    """Wiring the models and looking up a listed price leaves litellm, 190 MB and two seconds of it, unloaded."""
    code = (
        "import sys; from agent.llm.models import ConfiguredModels; from agent.llm.settings import ModelSettings;"
        "models = ConfiguredModels({'m': ModelSettings(model='anthropic/claude-sonnet-4-5')}, None);"
        "assert models.profile('m').priced; assert 'litellm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
