"""Pictures on their way to a provider, over both ways."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Literal

import pytest
from pydantic import SecretStr

from agent.llm.models import ConfiguredModels
from agent.llm.settings import ModelSettings
from agent.pictures import TOKENS, UNSEEN, Pictures, with_pictures
from agent.ports.models import Turn
from tests.clock import FakeClock
from tests.pictures import JPEG, PNG, of_size
from tests.servers.llm import FakeLLM, Reply

URLS = tuple(
    f"data:image/{kind};base64,{base64.b64encode(content).decode()}" for kind, content in (("png", PNG), ("jpeg", JPEG))
)
ASK = with_pictures({"role": "user", "content": "What is this?"}, Pictures(urls=URLS))
pytestmark = [
    pytest.mark.parametrize("transport", ["direct", "litellm"]),
    # litellm's own, and it would take the error for a broken stream
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:pydantic.warnings.PydanticDeprecatedSince211"),
]


@pytest.fixture
async def fake() -> AsyncIterator[FakeLLM]:
    server = FakeLLM()
    await server.start()
    yield server
    await server.close()


@pytest.fixture
async def models(fake: FakeLLM, transport: Literal["direct", "litellm"]) -> AsyncIterator[ConfiguredModels]:
    def model(*fallback: str, vision: bool) -> ModelSettings:
        return ModelSettings(
            model="openai/some-model",
            api_base=fake.base_url,
            api_key=SecretStr("x"),
            transport=transport,
            vision=vision,
            fallback=fallback,
        )

    seeing = {"sees": model(vision=True), "to the blind": model("blind", vision=True)}
    more = {"blind": model(vision=False), "to one that sees": model("sees", vision=True)}
    configured = ConfiguredModels(seeing | more, FakeClock())
    yield configured
    await configured.close()


async def turn(models: ConfiguredModels, name: str = "sees", ask: dict[str, object] = ASK) -> Turn:
    last = [event async for event in models.stream(name, [ask], [])][-1]
    assert isinstance(last, Turn)
    return last


async def test_pictures_arrive_as_they_are(fake: FakeLLM, models: ConfiguredModels) -> None:
    """Text first, then each picture whole, in order; a strict provider takes it."""
    fake.will("A cat.")
    assert (await turn(models)).text == "A cat."
    assert fake.refusals == []
    [message] = fake.requests[0]["messages"]
    assert message["content"][0] == {"type": "text", "text": "What is this?"}
    assert tuple(part["image_url"]["url"] for part in message["content"][1:]) == URLS


async def test_a_damaged_picture_would_be_refused(fake: FakeLLM, models: ConfiguredModels) -> None:
    """So that the test before cannot pass by chance."""
    bad = with_pictures({"role": "user", "content": "?"}, Pictures(urls=(URLS[0].replace("image/png", "image/gif"),)))
    with pytest.raises(Exception, match="no picture of a kind"):
        await turn(models, ask=bad)
    assert len(fake.refusals) == 1


async def test_a_fallback_that_does_not_see_gets_none(fake: FakeLLM, models: ConfiguredModels) -> None:
    """It is told so instead of refusing the request; one that sees gets them."""
    fake.will(Reply(status=401, error="bad key"), "I cannot see it.")
    await turn(models, "to the blind")
    assert fake.requests[-1]["messages"] == [{"role": "user", "content": f"What is this?\n\n{UNSEEN}"}]
    fake.will(Reply(status=401, error="bad key"), "A cat.")
    await turn(models, "to one that sees")
    assert len(fake.requests[-1]["messages"][0]["content"]) == 3
    assert fake.refusals == []


async def test_a_picture_is_not_counted_as_text(fake: FakeLLM, models: ConfiguredModels) -> None:
    """Where the provider counts nothing: 600 kB in Base64 would be a quarter of a million tokens."""
    url = f"data:image/png;base64,{base64.b64encode(of_size(600_000)).decode()}"
    fake.will(Reply(text="A cat.", usage=None), Reply(text="A cat.", usage=(1000, 5)))
    ask = with_pictures({"role": "user", "content": "What is this?"}, Pictures(urls=(url,)))
    assert 10 < (await turn(models, ask=ask)).usage.input_tokens < TOKENS + 200
    assert (await turn(models, ask=ask)).usage.input_tokens == 1000
