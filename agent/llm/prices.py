"""What a model call costs: the configured price, else litellm's price file read as data, else unknown."""

from __future__ import annotations

import importlib.util
import json
import mmap
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from agent.llm.assemble import Counts
from agent.llm.settings import ModelSettings

_FILE = "model_prices_and_context_window_backup.json"
_MILLION = Decimal(1_000_000)
_LONGEST_ENTRY_BYTES = 32_768


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """USD per token."""

    input: Decimal
    output: Decimal
    cached: Decimal


def price_of(settings: ModelSettings) -> Price | None:
    """The price of a configured model; None when nobody knows it."""
    if (own := settings.price) is not None:
        cached = own.input if own.cached is None else own.cached
        return Price(input=own.input / _MILLION, output=own.output / _MILLION, cached=cached / _MILLION)
    return _listed(settings.model)


def cost_usd(price: Price | None, counts: Counts) -> Decimal | None:
    """The cost of a call by its tokens. A cost that the provider reports is not used: several report 0 for unknown."""
    if price is None:
        return None
    fresh = counts.input_tokens - counts.cached_tokens
    return fresh * price.input + counts.cached_tokens * price.cached + counts.output_tokens * price.output


@cache
def _listed(model: str) -> Price | None:
    provider, _, rest = model.partition("/")
    entry = _entry(model) or _entry(rest)
    if entry is None or entry.get("litellm_provider") != provider:
        return None
    paid, got = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not paid or not got:  # the file says 0 also where it does not know
        return None
    return Price(input=paid, output=got, cached=entry.get("cache_read_input_token_cost") or paid)


def _entry(name: str) -> dict[str, Any] | None:
    """One entry of the file, found as text: parsing all its 3.5 MB would cost 30 ms and 20 MB."""
    spec = importlib.util.find_spec("litellm")  # finds it without importing it
    path = Path(spec.origin).with_name(_FILE) if spec and spec.origin else None
    if path is None or not path.is_file():
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(f"\n    {json.dumps(name)}: {{".encode())
        if start < 0:
            return None
        begin = data.find(b"{", start)
        text = data[begin : begin + _LONGEST_ENTRY_BYTES].decode(errors="replace")
    value, _ = json.JSONDecoder(parse_float=Decimal).raw_decode(text)
    return value if isinstance(value, dict) else None
