"""Signed callbacks: what a receiver gets, and where they never go."""

from __future__ import annotations

import ipaddress
import socket
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain import Delivery
from agent.errors import BadInput, ChannelUnavailable, DeliveryRefused
from agent.ports.channels import Outgoing
from channels.callback import Callback, GuardedResolver, is_public, new_secret, signature
from channels.webhook import callback_address
from tests.channels.conftest import DAY, Site
from tests.servers.receiver import SECRET, Receiver, receiving


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
async def callback(site: Site) -> AsyncIterator[Callback]:
    await site.save_hook(callback_secret=SECRET)
    callback = Callback(site.store, site.outcomes, site.clock, allow_private=True)
    await callback.start()
    yield callback
    await callback.stop()


async def outgoing(site: Site, url: str) -> Outgoing:
    """The delivery of a task of the hook `orders` that has ended."""
    task_id = (await site.post({"text": "A"})).task_id
    await site.end(task_id, answer="Done.")
    now = site.clock.now()
    delivery = Delivery(
        delivery_id=1,
        task_id=task_id,
        kind="reply",
        to=callback_address("orders", url),
        text="Done.",
        dedup_key=f"reply:{task_id}:1",
        status="pending",
        attempts=0,
        next_attempt_at=now,
        expires_at=now + DAY,
    )
    return Outgoing(delivery=delivery, text="Done.")


async def test_the_receiver_gets_the_signed_state(site: Site, callback: Callback, receiver: Receiver) -> None:
    """The same body as at the status URL."""
    message = await outgoing(site, receiver.url)
    sent_as = await callback.send(message)
    ((message_id, body),) = receiver.got
    assert message_id == sent_as
    assert body == (await site.get(f"/hooks/orders/tasks/{message.delivery.task_id}")).json


async def test_an_attempt_is_repeated_under_the_same_id(site: Site, callback: Callback, receiver: Receiver) -> None:
    """So that a receiver that had it already can drop it; another delivery has another id."""
    message = await outgoing(site, receiver.url)
    receiver.status = 500
    for _ in range(2):
        with pytest.raises(ChannelUnavailable):
            await callback.send(message)
    receiver.status = 204
    site.clock.advance(60)
    await callback.send(message)
    other = replace(message, delivery=replace(message.delivery, dedup_key="reply:2:1"))
    await callback.send(other)
    first, second, third, fourth = [message_id for message_id, _ in receiver.got]
    assert first == second == third != fourth


async def test_a_new_database_does_not_repeat_ids(site: Site, callback: Callback, receiver: Receiver) -> None:
    """Rows are numbered anew there, and a receiver must not take its results for repeats."""
    message = await outgoing(site, receiver.url)
    later = replace(message, delivery=replace(message.delivery, expires_at=message.delivery.expires_at + DAY))
    assert await callback.send(message) != await callback.send(later)


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
async def test_a_receiver_in_trouble_is_tried_again(
    site: Site, callback: Callback, receiver: Receiver, status: int
) -> None:
    """Not before the time it names."""
    receiver.status, receiver.headers = status, {"Retry-After": "120"}
    with pytest.raises(ChannelUnavailable) as error:
        await callback.send(await outgoing(site, receiver.url))
    assert error.value.retry_after == 120


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("Mon, 02 Mar 2026 09:05:00 GMT", 300), ("Mon, 02 Mar 2020 09:05:00 GMT", 0), ("9" * 20, 86_400), ("soon", None)],
)
async def test_retry_after_has_two_forms(
    site: Site, callback: Callback, receiver: Receiver, header: str, seconds: float | None
) -> None:
    """Seconds or a date; a day at the most; nonsense is as none."""
    receiver.status, receiver.headers = 503, {"Retry-After": header}
    with pytest.raises(ChannelUnavailable) as error:
        await callback.send(await outgoing(site, receiver.url))
    assert error.value.retry_after == seconds


@pytest.mark.parametrize("status", [400, 401, 404, 410])
async def test_a_receiver_that_says_no_is_left_alone(
    site: Site, callback: Callback, receiver: Receiver, status: int
) -> None:
    """A repeat would be refused as well."""
    receiver.status = status
    with pytest.raises(DeliveryRefused, match=f"answered {status}"):
        await callback.send(await outgoing(site, receiver.url))


async def test_redirects_are_not_followed(site: Site, callback: Callback, receiver: Receiver) -> None:
    """They could lead anywhere, and take the signed body along."""
    receiver.status, receiver.headers = 307, {"Location": receiver.url}
    with pytest.raises(DeliveryRefused, match="Redirects are not followed"):
        await callback.send(await outgoing(site, receiver.url))
    assert len(receiver.got) == 1


async def test_a_receiver_that_is_down_is_tried_again(site: Site, callback: Callback) -> None:
    """No connection is no answer."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        message = await outgoing(site, f"http://127.0.0.1:{unused.getsockname()[1]}/cb")
        with pytest.raises(ChannelUnavailable, match="could not be reached"):
            await callback.send(message)


async def test_a_hook_without_a_secret_sends_nothing(site: Site, callback: Callback, receiver: Receiver) -> None:
    """Unsigned results would be worth nothing."""
    message = await outgoing(site, receiver.url)
    await site.save_hook(callback_secret=None)
    with pytest.raises(DeliveryRefused, match="no callback secret"):
        await callback.send(message)
    assert receiver.got == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"])
async def test_private_addresses_get_nothing_unless_allowed(
    site: Site, callback: Callback, receiver: Receiver, host: str
) -> None:
    """However they are written; nothing is connected to."""
    guarded = Callback(site.store, site.outcomes, site.clock, allow_private=False)
    message = await outgoing(site, receiver.url.replace("127.0.0.1", host))
    with pytest.raises(DeliveryRefused, match="not a public address"):
        await guarded.send(message)
    await guarded.stop()
    assert receiver.got == []


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    """A name is resolved by the guard itself for the connection too, so it cannot turn private in between."""
    resolver = GuardedResolver(allow_private=False)
    with pytest.raises(BadInput, match="not a public address"):
        await resolver.resolve("localhost", 80)
    allowed = await GuardedResolver(allow_private=True).resolve("localhost", 80)
    assert {ipaddress.ip_address(found["host"]).is_loopback for found in allowed} == {True}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "example.com",
        "https://",
        "http://[::1",
        "http://a..b/",
        "https://me:pw@example.com/",
        "http://a:99999/",
    ],
)
async def test_what_is_no_web_address_is_refused(url: str) -> None:
    """Before anything is looked up."""
    with pytest.raises(BadInput):
        await GuardedResolver(allow_private=True).check(url)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700:4700::1111", True),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:1.1.1.1", True),
        ("2002:0a00:0001::1", False),
        ("64:ff9b::10.0.0.1", False),
        ("64:ff9b::1.1.1.1", True),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    """Also those that wrap another one."""
    assert is_public(address) is public


@given(st.ip_addresses(v=4))
def test_a_wrapped_address_is_as_public_as_what_it_wraps(address: ipaddress.IPv4Address) -> None:
    """In the three ways IPv6 has for it."""
    expected = is_public(str(address))
    number = int(address)
    mapped = ipaddress.IPv6Address((0xFFFF << 32) | number)
    six_to_four = ipaddress.IPv6Address((0x2002 << 112) | (number << 80))
    nat64 = ipaddress.IPv6Address((0x64FF9B << 96) | number)
    assert [is_public(str(wrapped)) for wrapped in (mapped, six_to_four, nat64)] == [expected] * 3


def test_secrets_have_the_form_of_the_specification() -> None:
    """`whsec_` and Base64 of 24 to 64 bytes; each is new."""
    assert 24 <= len(b64decode(new_secret().removeprefix("whsec_"), validate=True)) <= 64
    assert new_secret() != new_secret()


def test_a_signature_is_that_of_the_published_example() -> None:
    """The values are those of the specification's own libraries (standardwebhooks on GitHub, their tests)."""
    assert (
        signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1614265330,
            b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
