"""One suite for both ways to a provider, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import SecretStr

from agent.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable
from agent.llm.models import ConfiguredModels
from agent.llm.settings import ModelSettings
from agent.ports.models import ChatMessage, ModelEvent, Restarted, TextDelta, Turn
from tests.clock import QuickClock
from tests.servers.llm import FakeLLM, Reply, chunk, piece

ASK: list[ChatMessage] = [{"role": "user", "content": "hello"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]
pytestmark = [
    pytest.mark.parametrize("transport", ["direct", "litellm"]),
    # litellm's own, and it would take the error for a broken stream
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:pydantic.warnings.PydanticDeprecatedSince211"),
]


@pytest.fixture
async def fake() -> AsyncIterator[FakeLLM]:
    server = FakeLLM(key="sk-test")
    await server.start()
    yield server
    await server.close()


@pytest.fixture
def clock() -> QuickClock:
    return QuickClock()


@pytest.fixture
async def models(
    fake: FakeLLM, clock: QuickClock, transport: Literal["direct", "litellm"]
) -> AsyncIterator[ConfiguredModels]:
    def model(name: str, key: str = "sk-test", **settings: Any) -> ModelSettings:
        return ModelSettings(
            model=name, api_base=fake.base_url, api_key=SecretStr(key), transport=transport, **settings
        )

    configured = ConfiguredModels(
        {
            "main": model("openai/some-model", price={"input": "1", "output": "2", "cached": "0.5"}),
            "unpriced": model("openai/my-local-7b"),
            "locked out": model("openai/some-model", key="sk-wrong"),
            "with fallback": model("openai/some-model", fallback=["second"]),
            "second": model("openai/second-model"),
        },
        clock,
    )
    yield configured
    await configured.close()


async def events(
    models: ConfiguredModels, name: str = "main", messages: Sequence[ChatMessage] = ASK, tools: Any = TOOLS
) -> list[ModelEvent]:
    return [event async for event in models.stream(name, messages, tools)]


async def turn(models: ConfiguredModels, name: str = "main", messages: Sequence[ChatMessage] = ASK) -> Turn:
    last = (await events(models, name, messages))[-1]
    assert isinstance(last, Turn)
    return last


async def test_text_arrives_in_pieces_and_whole(fake: FakeLLM, models: ConfiguredModels) -> None:
    """The pieces add up to the text of the turn, and the usage is the provider's, priced with the configured price."""
    fake.will(Reply(text="All is well 好 😀.", usage=(1000, 500), cached_tokens=400))
    got = await events(models)
    last = got[-1]
    assert isinstance(last, Turn)
    assert "".join(event.text for event in got if isinstance(event, TextDelta)) == last.text == "All is well 好 😀."
    assert (last.finish_reason, last.model, last.calls) == ("stop", "openai/some-model", ())
    assert (last.usage.input_tokens, last.usage.output_tokens, last.usage.cached_tokens) == (1000, 500, 400)
    assert last.usage.cost_usd == Decimal("0.0018")
    assert fake.refusals == []
    assert fake.requests[0]["stream_options"] == {"include_usage": True}


async def test_calls_arrive_whole(fake: FakeLLM, models: ConfiguredModels) -> None:
    """Two calls of one turn keep their ids, names and arguments, and the next request with them is legal."""
    fake.will(Reply(calls=[("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})], reasoning="hm"))
    first = await turn(models)
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("read_file", '{"path": "a.txt"}'),
        ("read_file", '{"path": "b.txt"}'),
    ]
    assert (first.finish_reason, first.reasoning) == ("tool_calls", "hm")
    calls = [
        {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in first.calls
    ]
    results = [{"role": "tool", "tool_call_id": call.call_id, "content": "text"} for call in first.calls]
    fake.will("done")
    second = await turn(models, messages=[*ASK, {"role": "assistant", "content": None, "tool_calls": calls}, *results])
    assert second.text == "done"
    assert fake.refusals == []


async def test_calls_decide_not_the_reason(fake: FakeLLM, models: ConfiguredModels) -> None:
    """A15: complete calls under finish_reason stop are calls."""
    fake.will(Reply(calls=[("read_file", {"path": "a.txt"})], finish_reason="stop"))
    assert (await turn(models)).finish_reason == "tool_calls"


@pytest.mark.parametrize("reason", ["length", "tool_calls", "stop"])
async def test_a_cut_call_is_visible(fake: FakeLLM, models: ConfiguredModels, reason: str) -> None:
    """A13: arguments that end in the middle make the turn a cut one, whatever the provider says."""
    fake.will(Reply(calls=[("read_file", '{"path": "a.t')], finish_reason=reason))
    got = await turn(models)
    assert (got.finish_reason, got.calls[0].arguments) == ("length", '{"path": "a.t')


async def test_usage_first_and_empty_choices(fake: FakeLLM, models: ConfiguredModels) -> None:
    """A8, C9: a chunk without choices breaks nothing; its tokens count and are priced, not the 0 cost beside them."""
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17, "cost": 0}
    fake.will(Reply(chunks=[chunk({"content": "hi"}), chunk({}, "stop"), {**chunk({}), "choices": [], "usage": usage}]))
    got = await turn(models)
    assert (got.text, got.usage.input_tokens, got.usage.output_tokens) == ("hi", 12, 5)
    assert got.usage.cost_usd == Decimal("0.000022")


async def test_no_usage_is_estimated(fake: FakeLLM, models: ConfiguredModels) -> None:
    """A stream without usage is estimated, so that a token cap still counts it."""
    fake.will(Reply(text="word " * 60, usage=None))
    usage = (await turn(models)).usage
    assert usage.input_tokens > 0
    assert usage.output_tokens >= 60


async def test_unknown_price(fake: FakeLLM, models: ConfiguredModels) -> None:
    """C6: a model without a price answers, and its cost is unknown, not 0."""
    fake.will("hi")
    got = await turn(models, "unpriced")
    assert (got.text, got.usage.cost_usd) == ("hi", None)
    assert models.profile("unpriced").priced is False
    assert models.profile("main").priced is True


async def test_a_broken_stream_starts_again(fake: FakeLLM, models: ConfiguredModels, clock: QuickClock) -> None:
    """A26: after a cut in mid-stream a Restarted says so, and the second attempt is delivered whole."""
    fake.will(Reply(text="one two three four", cut_after=3), "one two three four")
    got = await events(models)
    restart = next(i for i, event in enumerate(got) if isinstance(event, Restarted))
    assert "".join(event.text for event in got[:restart] if isinstance(event, TextDelta)).startswith("one")
    text = "".join(event.text for event in got[restart:] if isinstance(event, TextDelta))
    assert isinstance(got[-1], Turn)
    assert text == got[-1].text == "one two three four"
    assert len(clock.slept) == 1


async def test_an_error_inside_the_stream_starts_again(fake: FakeLLM, models: ConfiguredModels) -> None:
    """An error object after the first words is a broken stream, not an answer."""
    error = {"error": {"code": 502, "message": "Provider disconnected"}}
    fake.will(Reply(chunks=[chunk({"content": "half"}), error]), "whole")
    assert (await turn(models)).text == "whole"


async def test_one_limit_for_all_tries(fake: FakeLLM, models: ConfiguredModels, clock: QuickClock) -> None:
    """C12, C13: four tries in all, each pause longer than the one before and none 0."""
    fake.default = Reply(status=429, error="Rate limit reached")
    with pytest.raises(ModelUnavailable, match="Rate limit reached"):
        await events(models)
    assert len(fake.requests) == 4
    assert len(clock.slept) == 3
    assert 0 < clock.slept[0] < clock.slept[1] < clock.slept[2]


@pytest.mark.parametrize("status", [429, 400])
async def test_a_wrapped_overload_is_retried(fake: FakeLLM, models: ConfiguredModels, status: int) -> None:
    """C14: a bare '429 Provider returned error' without a header is tried again."""
    fake.will(Reply(status=status, error="429 Provider returned error"), "back again")
    assert (await turn(models)).text == "back again"


async def test_retry_after_is_kept(fake: FakeLLM, models: ConfiguredModels, clock: QuickClock) -> None:
    """The provider's Retry-After is waited for when it is longer than our own pause."""
    fake.will(Reply(status=429, headers={"Retry-After": "17"}), "later")
    assert (await turn(models)).text == "later"
    assert clock.slept == [17.0]


async def test_retry_after_of_days_fails_now(fake: FakeLLM, models: ConfiguredModels, clock: QuickClock) -> None:
    """C11: a Retry-After over the cap is no wait; the reason reaches the caller at once."""
    fake.will(Reply(status=429, headers={"Retry-After": "1382400"}, error="monthly limit"))
    with pytest.raises(ModelUnavailable, match="monthly limit"):
        await events(models)
    assert (len(fake.requests), clock.slept) == (1, [])


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(status=401, error="bad key"), ModelRefused),
        (Reply(status=402, error="Insufficient Balance"), ModelRefused),
        (Reply(status=404, error="no such model"), ModelRefused),
        (Reply(status=400, error="unexpected field"), ModelRefused),
        (Reply(status=429, error="You exceeded your current quota, insufficient_quota"), ModelRefused),
        (Reply(status=400, error="This model's maximum context length is 8192 tokens"), ContextTooLong),
    ],
)
async def test_refusals_are_not_retried(
    fake: FakeLLM, models: ConfiguredModels, clock: QuickClock, reply: Reply, expected: type[ModelError]
) -> None:
    """What a second try cannot mend is raised at once, as the class that says what happens next."""
    fake.will(reply)
    with pytest.raises(expected):
        await events(models)
    assert (len(fake.requests), clock.slept) == (1, [])


async def test_the_key_is_sent(fake: FakeLLM, models: ConfiguredModels) -> None:
    """A wrong key is refused with advice, and is not in the message, although the provider repeats it."""
    with pytest.raises(ModelRefused, match="api_key") as caught:
        await events(models, "locked out")
    assert "sk-wrong" not in str(caught.value)


async def test_fallback_names_itself(fake: FakeLLM, models: ConfiguredModels) -> None:
    """When the retries are spent the fallback answers, the turn says so, and foreign reasoning is not sent to it."""
    history = [*ASK, {"role": "assistant", "content": "hi", "reasoning_content": "R"}, *ASK]
    fake.will(*[Reply(status=503)] * 4, "from the second")
    fake.reasoning = "ignored"
    got = await events(models, "with fallback", history)
    assert isinstance(got[-1], Turn)
    assert (got[-1].text, got[-1].model) == ("from the second", "openai/second-model")
    assert Restarted() in got
    assert fake.requests[-1]["model"] == "second-model"
    assert "reasoning_content" not in fake.requests[-1]["messages"][1]


async def test_probe(fake: FakeLLM, models: ConfiguredModels, clock: QuickClock) -> None:
    """A probe returns the answer, and fails at the first error."""
    fake.will("ready", Reply(status=503))
    assert await models.probe("main") == "ready"
    with pytest.raises(ModelUnavailable):
        await models.probe("main")
    assert clock.slept == []


async def test_leaving_early_closes_the_stream(fake: FakeLLM, models: ConfiguredModels) -> None:
    """A caller that stops in mid-stream leaves no request open at the provider."""
    fake.will(Reply(text="word " * 500, pieces=500, delay_seconds=0.02))
    async with aclosing(models.stream("main", ASK, TOOLS)) as stream:
        async for _ in stream:
            break
    async with asyncio.timeout(5):
        await fake.idle.wait()


async def test_a_lone_surrogate_is_replaced(fake: FakeLLM, models: ConfiguredModels) -> None:
    """A20: half an emoji becomes U+FFFD, two halves in two chunks the emoji."""
    fake.will(Reply(chunks=[chunk({"content": "ok\ud83d"}), chunk({"content": " "}), chunk({}, "stop")]))
    fake.will(Reply(chunks=[chunk({"content": "ok\ud83d"}), chunk({"content": "\ude00"}), chunk({}, "stop")]))
    assert (await turn(models)).text == "ok\ufffd "
    assert (await turn(models)).text == "ok😀"


async def test_no_id_gets_one(fake: FakeLLM, models: ConfiguredModels) -> None:
    """A24: two calls of one tool without ids get different ids of nine letters and digits."""
    calls = [
        {"index": index, "id": None, "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
        for index in range(2)
    ]
    fake.will(Reply(chunks=[piece(*calls), chunk({}, "tool_calls")]))
    got = await turn(models)
    ids = {call.call_id for call in got.calls}
    assert len(ids) == 2
    assert all(len(call_id) >= 9 for call_id in ids)
