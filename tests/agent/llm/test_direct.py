"""What only our own client has to cope with: the wire."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelRefused, ModelUnavailable
from agent.llm.direct import DirectTransport, EventLines
from agent.llm.models import ConfiguredModels
from agent.llm.settings import ModelSettings
from agent.llm.transport import Request
from agent.ports.models import ChatMessage, Turn
from tests.clock import FakeClock
from tests.servers.llm import FakeLLM, Reply, chunk

ASK: list[ChatMessage] = [{"role": "user", "content": "hello"}]


@pytest.fixture
async def direct() -> AsyncIterator[DirectTransport]:
    transport = DirectTransport()
    yield transport
    await transport.close()


@pytest.fixture
async def fake() -> AsyncIterator[FakeLLM]:
    server = FakeLLM(knows_stream_options=False)
    await server.start()
    yield server
    await server.close()


def request_to(base_url: str, messages: list[ChatMessage] = ASK, model: str = "openai/m") -> Request:
    return Request(settings=ModelSettings(model=model, api_base=base_url), messages=messages, tools=())


async def chunks(direct: DirectTransport, request: Request) -> list[dict[str, Any]]:
    return [chunk async for batch in direct.stream(request) for chunk in batch]


async def test_stream_options_are_left_out_for_who_does_not_know_them(direct: DirectTransport, fake: FakeLLM) -> None:
    """C8: refused once, asked again without, and never sent to that server again."""
    fake.will("one", "two")
    for _ in range(2):
        assert await chunks(direct, request_to(fake.base_url))
    assert fake.refusals == ["unknown field stream_options"]
    assert ["stream_options" in body for body in fake.requests] == [False, False]


async def test_another_400_is_not_asked_twice(direct: DirectTransport, fake: FakeLLM) -> None:
    """C8: only a refusal that names the field is answered by leaving it out."""
    fake.will("learn", Reply(status=400, error="bad temperature"))
    await chunks(direct, request_to(fake.base_url))
    with pytest.raises(ModelRefused, match="bad temperature"):
        await chunks(direct, request_to(fake.base_url))
    assert len(fake.requests) == 2


WIRE = [
    pytest.param([b'data: {"a":1}\n\ndata: [DONE]\n\n'], id="plain"),
    pytest.param([b'data:{"a":1}\r\n\r\ndata: [DONE]\r\n\r\n'], id="CRLF, no blank after the colon"),
    pytest.param(
        [b": keep-alive\n\nevent: x\nid: 1\n\n", b'data: {"a":1}\n\ndata: [DONE]\n'], id="comments and fields"
    ),
    pytest.param([b"da", b'ta: {"a"', b":1}", b"\n\nda", b"ta: [DO", b"NE]\n\n"], id="split anywhere"),
    pytest.param([b'data: {"a":1}\n\n', b"data: \n\n", b'data: "ping"\n\n', b"data: [DONE]\n\n"], id="no objects"),
    pytest.param([b'data: {"a":1}\n\ndata: [DONE]\n\ndata: {"a":2}\n\n'], id="nothing counts after the end"),
]


@pytest.mark.parametrize("raw", WIRE)
async def test_the_wire(direct: DirectTransport, fake: FakeLLM, raw: list[bytes]) -> None:
    """Server-sent events in every form that was seen give the same chunk."""
    fake.will(Reply(raw=raw, delay_seconds=0.005))
    assert await chunks(direct, request_to(fake.base_url)) == [{"a": 1}]


async def test_a_connection_is_used_again_when_the_body_ends_late(direct: DirectTransport, fake: FakeLLM) -> None:
    """The end of a body comes behind `[DONE]` in a packet of its own: twenty calls still take one connection."""
    fake.default = Reply(raw=[b'data: {"a":1}\n\ndata: [DONE]\n\n', b"\n"], delay_seconds=0.005)
    for _ in range(20):
        assert await chunks(direct, request_to(fake.base_url)) == [{"a": 1}]
    assert len(fake.peers) == 1


@pytest.mark.parametrize("cut", [True, False])
async def test_a_body_without_an_end_is_an_answer(direct: DirectTransport, fake: FakeLLM, cut: bool) -> None:
    """A server that breaks the connection behind `[DONE]`, or never closes the body, has said everything."""
    parts = [b'data: {"a":1}\n\ndata: [DONE]\n\n', *([b"\n"] * 10_000)]
    fake.default = Reply(raw=parts, delay_seconds=0.005, cut_after=2 if cut else None)
    assert await chunks(direct, request_to(fake.base_url)) == [{"a": 1}]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(raw=[b'data: {"a":1}\n\n']), id="ended without its end"),
        pytest.param(Reply(raw=[b'data: {"a":1}\n\n', b"x"], cut_after=1), id="cut between two chunks"),
        pytest.param(Reply(raw=[b'data: {"a":1}\n\ndata: {"a', b"x"], cut_after=1), id="cut in a chunk"),
        pytest.param(Reply(raw=[b"<html>welcome to the hotel</html>"], content_type="text/html"), id="a web page"),
        pytest.param(Reply(raw=[b"data: {broken}\n\n"]), id="not JSON"),
    ],
)
async def test_a_cut_is_an_error(direct: DirectTransport, fake: FakeLLM, reply: Reply) -> None:
    """What ends before its end is ModelUnavailable, never a short answer."""
    fake.will(reply)
    with pytest.raises(ModelUnavailable, match="openai/m"):
        await chunks(direct, request_to(fake.base_url))


async def test_a_server_that_does_not_stream(direct: DirectTransport, fake: FakeLLM) -> None:
    """A plain JSON answer is taken as one chunk."""
    whole = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    fake.will(Reply(raw=[orjson.dumps(whole)], content_type="application/json"))
    assert await chunks(direct, request_to(fake.base_url)) == [whole]


async def test_nobody_listens(direct: DirectTransport, fake: FakeLLM) -> None:
    """A refused connection is ModelUnavailable and names the model."""
    await fake.close()
    with pytest.raises(ModelUnavailable, match="openai/m"):
        await chunks(direct, request_to(fake.base_url))


async def test_an_answer_whose_end_is_missing_counts(fake: FakeLLM) -> None:
    """A connection that breaks after the finish reason has lost nothing; without usage its cost is unknown."""
    fake.will(Reply(chunks=[chunk({"content": "hi"}), chunk({}, "stop"), chunk({})], cut_after=2))
    price = {"input": "1", "output": "1"}
    settings = ModelSettings.model_validate({"model": "openai/m", "api_base": fake.base_url, "price": price})
    models = ConfiguredModels({"m": settings}, FakeClock())
    turn = [event async for event in models.stream("m", ASK, ())][-1]
    await models.close()
    assert isinstance(turn, Turn)
    assert (turn.text, turn.usage.cost_usd) == ("hi", None)
    assert turn.usage.input_tokens > 0


@pytest.mark.parametrize("raw", [b"data: [DONE]\n\n", b'data: {"choices": []}\n\ndata: [DONE]\n\n'])
async def test_an_empty_stream_is_no_answer(fake: FakeLLM, raw: bytes) -> None:
    """A stream that ends properly and holds nothing is tried again, and then unavailable."""
    fake.default = Reply(raw=[raw])
    models = ConfiguredModels({"m": ModelSettings(model="openai/m", api_base=fake.base_url)}, ImpatientClock())
    with pytest.raises(ModelUnavailable, match="without an answer"):
        _ = [event async for event in models.stream("m", ASK, ())]
    await models.close()


class ImpatientClock:
    """A clock whose pauses end at once."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        await asyncio.sleep(0)


async def test_mistral_gets_ids_it_takes(direct: DirectTransport, fake: FakeLLM) -> None:
    """Call ids of another provider become nine letters and digits, the same in the call and its result."""
    calls = [
        {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for name in ("call_0", "abcDEF123")
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in calls]
    history = [*ASK, {"role": "assistant", "content": None, "tool_calls": calls}, *results]
    fake.will("ok")
    await chunks(direct, request_to(fake.base_url, history, "mistral/m"))
    sent = fake.requests[-1]["messages"]
    ids = [call["id"] for call in sent[1]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in sent[2:]]
    assert len(ids[0]) == 9
    assert ids[1] == "abcDEF123"


@given(st.lists(st.dictionaries(st.text(), st.text(), max_size=2), max_size=4), st.lists(st.integers(0, 200)))
def test_any_split_of_the_bytes_gives_the_same_chunks(sent: list[dict[str, str]], cuts: list[int]) -> None:
    """Where the network cuts the bytes makes no difference."""
    data = b"".join(b"data: " + orjson.dumps(chunk) + b"\r\n\r\n" for chunk in sent)
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    lines = EventLines()
    got = [chunk for start, end in itertools.pairwise(places) for chunk in lines.feed(data[start:end])]
    assert [*got, *lines.close()] == sent
