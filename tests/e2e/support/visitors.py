"""Simulates many visitors, or visitors that read slowly, from several addresses of the loopback interface."""

import asyncio
import contextlib
import multiprocessing
import os
import socket
from collections.abc import Iterator

from .process import PATIENCE


def ask(port: int, target: str, address: str = "127.0.0.1", buffer: int = 0) -> socket.socket:
    """Requests TARGET on a new connection from ADDRESS. BUFFER is the size of the receive buffer, or 0 for the
    default."""
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", port))
    connection.sendall(request(target))
    return connection


def request(target: str) -> bytes:
    return f"GET {target} HTTP/1.0\r\nHost: x\r\nUser-Agent: somebody\r\n\r\n".encode()


def reply(connection: socket.socket) -> tuple[int, bytes]:
    """Reads to the end of CONNECTION. Returns the status and the body."""
    with connection, connection.makefile("rb") as stream:
        head, _, body = stream.read().partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def get(port: int, target: str, address: str = "127.0.0.1") -> tuple[int, bytes]:
    return reply(ask(port, target, address))


@contextlib.contextmanager
def crowd(port: int, size: int, target: str) -> Iterator[None]:
    """Starts a process with SIZE visitors from 127.0.0.1, which repeatedly request TARGET with random queries."""
    process = multiprocessing.get_context("fork").Process(target=_request_repeatedly, args=(port, size, target), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _request_repeatedly(port: int, size: int, target: str) -> None:
    async def visit() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request(f"{target}&z={os.urandom(8).hex()}"))
                while await reader.read(1 << 16):
                    pass
                writer.close()

    async def visit_all() -> None:
        await asyncio.gather(*[visit() for _ in range(size)])

    asyncio.run(visit_all())
