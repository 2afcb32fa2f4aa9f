"""Who really asks, and under which address, when a reverse proxy stands between."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, Any
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import BeforeValidator

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_HOST = re.compile(r"[A-Za-z0-9.\-_]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_WITH_PORT = re.compile(r"\[(?P<six>[^\]]+)\](?::[0-9]+)?|(?P<four>[0-9.]+):[0-9]+")


def _network(value: Any) -> Any:
    try:
        return ip_network(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"{value!r} is no address; write one like 10.0.0.7, or a range like 10.0.0.0/8") from None


TrustedProxy = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
"""A settings field: the address of a proxy, or a range of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A request as its sender made it: their IP address, the origins that this server has for them, and whether one
    of those is https."""

    client: str
    secure: bool
    origins: frozenset[str]


class Proxies:
    """Believes `X-Forwarded-For`, `-Proto` and `-Host` only when they come from a trusted address."""

    def __init__(self, trusted: Sequence[Network], public_url: str | None) -> None:
        self._trusted = tuple(trusted)
        public = urlsplit(public_url or "")
        self._public_origin = origin(public.scheme, public.netloc) if public_url else None

    def arrival(self, request: web.BaseRequest) -> Arrival:
        """Where a request comes from."""
        peer = _address(request.remote or "")
        scheme, host, client = request.scheme, request.host, peer
        if peer is not None and self._trusts(peer):
            client = self._client(peer, _values(request, "X-Forwarded-For"))
            scheme = _last(request, "X-Forwarded-Proto", {"http", "https"}.__contains__) or scheme
            host = _last(request, "X-Forwarded-Host", lambda value: bool(_HOST.fullmatch(value))) or host
        origins = {origin(scheme, host)} | ({self._public_origin} if self._public_origin else set())
        secure = any(each.startswith("https:") for each in origins)
        return Arrival(client=str(client or ""), secure=secure, origins=frozenset(origins))

    def _client(self, peer: Address, chain: list[str]) -> Address:
        """The last address of the chain that no trusted proxy has; what lies before it may be made up."""
        client = peer
        for text in reversed(chain):
            address = _address(text)
            if address is None:
                return client
            client = address
            if not self._trusts(address):
                return client
        return client

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._trusted)


def origin(scheme: str, host: str) -> str:
    """An origin as browsers write it: without the port that goes without saying."""
    host = host.lower()
    default = {"http": ":80", "https": ":443"}.get(scheme, "")
    return f"{scheme}://{host.removesuffix(default) if default else host}"


def _address(text: str) -> Address | None:
    if match := _WITH_PORT.fullmatch(text):
        text = match["six"] or match["four"]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def _values(request: web.BaseRequest, header: str) -> list[str]:
    return [part.strip() for value in request.headers.getall(header, ()) for part in value.split(",") if part.strip()]


def _last(request: web.BaseRequest, header: str, fits: Callable[[str], bool]) -> str | None:
    """The value that the nearest proxy wrote, when it makes sense."""
    values = _values(request, header)
    return values[-1] if values and fits(values[-1]) else None
