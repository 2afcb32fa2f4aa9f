"""Results sent back as a signed POST after the Standard Webhooks specification (https://www.standardwebhooks.com)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import secrets
import socket
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
from aiohttp.abc import AbstractResolver, ResolveResult

from agent.domain import Address, Delivery
from agent.errors import BadInput, ChannelUnavailable, DeliveryRefused, NotFound
from agent.ports.channels import Feature, Outgoing, Shown
from agent.ports.clock import Clock
from agent.ports.store import Hooks
from channels.outcomes import Outcomes

TIMEOUT_SECONDS = 15
"""For a whole attempt; the specification advises 15 to 30 seconds."""
LONGEST_PAUSE_SECONDS = 86_400.0
"""A receiver may ask for a pause of a day; a delivery is given up after three."""
_TRY_AGAIN = frozenset({408, 425, 429})


class Callback:
    """The channel `callback`: an address is a hook and the URL it delivers to.

    Receivers know a repeat by its `webhook-id`, so an attempt whose answer was lost is made again.
    """

    name = "callback"
    features: frozenset[Feature] = frozenset()

    def __init__(self, hooks: Hooks, outcomes: Outcomes, clock: Clock, *, allow_private: bool) -> None:
        self._hooks = hooks
        self._outcomes = outcomes
        self._clock = clock
        self._resolver = GuardedResolver(allow_private=allow_private)
        self._client: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Connections are made when there is something to send."""

    async def stop(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def send(self, outgoing: Outgoing) -> str | None:
        """POST the state of the task, but not for each verdict on a card; its id is the same for every attempt."""
        delivery = outgoing.delivery
        if delivery.kind == "settle":
            return None  # what was sent stays as it was; the outcome follows
        if delivery.task_id is None or delivery.to.thread is None:
            raise DeliveryRefused("A callback tells the outcome of a hook's task.")
        hook = await self._hooks.hook(delivery.to.conversation)
        if hook is None or hook.callback_secret is None:
            raise DeliveryRefused(f"The hook {delivery.to.conversation} has no callback secret.")
        body = orjson.dumps(await self._outcomes.read(hook.name, delivery.task_id))
        message_id = _message_id(delivery)
        seconds = int(self._clock.now().timestamp())
        headers = {
            "Content-Type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(seconds),
            "webhook-signature": signature(hook.callback_secret, message_id, seconds, body),
        }
        await self._post(delivery.to.thread, body, headers)
        return message_id

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Nothing: what was sent stays as it was; the outcome follows."""

    async def progress(self, to: Address, shown: Shown) -> None:
        """Nothing: only what stays true is sent."""

    async def download(self, reference: str) -> bytes:
        """Nothing comes in this way."""
        raise NotFound(f"There is no file {reference}.")

    def routes(self) -> Sequence[Any]:
        """None."""
        return ()

    async def _post(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        data = BytesIO(body)  # sent in pieces, however large it is
        try:
            await self._resolver.check(url)
            async with self._connected().post(url, data=data, headers=headers, allow_redirects=False) as answer:
                _raise_for(answer, self._clock.now())
        except BadInput as error:
            raise DeliveryRefused(str(error)) from None
        except aiohttp.InvalidURL:
            raise DeliveryRefused(f"{_host(url)} is no address to connect to.") from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ChannelUnavailable(f"{_host(url)} could not be reached: {type(error).__name__}.") from None

    def _connected(self) -> aiohttp.ClientSession:
        if self._client is None:
            # Without a DNS cache, so that what was checked is what is connected to, each time.
            connector = aiohttp.TCPConnector(resolver=self._resolver, use_dns_cache=False)
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
            self._client = aiohttp.ClientSession(
                connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            )
        return self._client


class GuardedResolver(AbstractResolver):
    """Resolves names itself and gives out no address of this machine or its networks, unless that is allowed."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    async def check(self, url: str) -> None:
        """BadInput unless the URL is one a callback may go to; a name that does not resolve is not judged."""
        try:
            parts = urlsplit(url)
            port = parts.port or 0
        except ValueError as error:
            raise BadInput(f"{url} is no URL: {error}.") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise BadInput(f"{url} is no URL like https://example.com/path, without a user name.")
        try:
            await self.resolve(parts.hostname, port)
        except UnicodeError:
            raise BadInput(f"{url}: there can be no host of that name.") from None
        except OSError:
            return

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Every address of a host; BadInput when one of them is not public. Also called for what is an address."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        for _, _, _, _, (address, *_) in found:
            if not self._allow_private and not is_public(str(address)):
                raise BadInput(
                    f"{host} is {address}, which is not a public address; "
                    "channels.webhook.allow_private_callbacks allows it."
                )
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, protocol, _, (address, *_) in found
        ]

    async def close(self) -> None:
        """It holds nothing."""


def is_public(text: str) -> bool:
    """Whether an address lies in the open internet, also when it wraps an IPv4 address."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour or _nat64(address)
        if inside is not None:
            return is_public(str(inside))
    return address.is_global and not address.is_multicast


def new_secret() -> str:
    """A secret for a hook's callbacks: 256 bits, within the 24 to 64 bytes of the specification."""
    return "whsec_" + b64encode(secrets.token_bytes(32)).decode()


def signature(secret: str, message_id: str, seconds: int, body: bytes) -> str:
    """The `webhook-signature` header: HMAC-SHA256 over id, time and body with the Base64 key behind `whsec_`."""
    key = b64decode(secret.removeprefix("whsec_"))
    content = f"{message_id}.{seconds}.".encode() + body
    return "v1," + b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address behind the well-known prefix of RFC 6052."""
    if address in ipaddress.IPv6Network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _host(url: str) -> str | None:
    """What may be logged of a URL: the rest of it is a secret with some receivers."""
    return urlsplit(url).hostname


def _message_id(delivery: Delivery) -> str:
    """Stable over attempts; the expiry tells apart rows of a database that was begun anew."""
    identity = f"{delivery.dedup_key}\n{delivery.expires_at.isoformat()}\n{delivery.to.thread}"
    return "msg_" + hashlib.sha256(identity.encode()).hexdigest()[:32]


def _raise_for(answer: aiohttp.ClientResponse, now: datetime) -> None:
    if answer.status < 300:
        return
    problem = f"{answer.url.host} answered {answer.status}."
    if answer.status >= 500 or answer.status in _TRY_AGAIN:
        raise ChannelUnavailable(problem, retry_after=_retry_after(answer.headers.get("Retry-After", ""), now))
    if answer.status < 400:
        raise DeliveryRefused(f"{problem} Redirects are not followed; give the hook the address itself.")
    raise DeliveryRefused(problem)


def _retry_after(text: str, now: datetime) -> float | None:
    """Seconds, from either form of the header (RFC 9110, 10.2.3)."""
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_PAUSE_SECONDS)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    seconds = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return min(max(0.0, seconds), LONGEST_PAUSE_SECONDS)
