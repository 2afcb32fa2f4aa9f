"""What `agent.models.NAME` of the configuration may say."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

UsdPerMillion = Annotated[Decimal, Field(ge=0)]


class PriceSettings(BaseModel):
    """USD per million tokens; `cached` None means that cached input costs as much as other input."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: UsdPerMillion
    output: UsdPerMillion
    cached: UsdPerMillion | None = None


class ModelSettings(BaseModel):
    """One configured model; `model` is PROVIDER/MODEL, `fallback` names other configured models. `vision`: it takes the
    pictures of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(pattern=r"^[a-z0-9_]+/.+$")
    api_base: str | None = Field(default=None, pattern=r"^https?://")
    api_key: SecretStr | None = None
    transport: Literal["auto", "direct", "litellm"] = "auto"
    context_tokens: int = Field(default=128_000, gt=0)
    price: PriceSettings | None = None
    fallback: tuple[str, ...] = ()
    text_tool_calls: bool = False
    vision: bool = False

    @property
    def provider(self) -> str:
        """The part before the first slash: it decides the transport."""
        return self.model.partition("/")[0]

    def without_key(self, text: str) -> str:
        """A provider's words without our key, which some repeat when they refuse it."""
        key = self.api_key.get_secret_value() if self.api_key else ""
        return text.replace(key, "[api_key]") if key else text

    @property
    def model_id(self) -> str:
        """The name the provider itself knows."""
        return self.model.partition("/")[2]
