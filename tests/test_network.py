"""The guard of conftest.py: a test that leaves this machine is refused and fails."""

import asyncio
import socket
import threading

import pytest


def test_another_machine_is_refused_and_counted(refusals: list[str]) -> None:
    with pytest.raises(OSError, match="loopback only"):
        socket.create_connection(("192.0.2.1", 80))
    with pytest.raises(OSError, match="loopback only"):
        socket.getaddrinfo("example.com", 80)
    assert len(refusals) == 2
    refusals.clear()


def test_a_thread_is_watched_too(refusals: list[str]) -> None:
    def leave() -> None:
        with pytest.raises(OSError, match="loopback only"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"x", ("192.0.2.1", 80))

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    assert len(refusals) == 1
    refusals.clear()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_loopback_is_reached(host: str) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(host, server.sockets[0].getsockname()[1])
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
