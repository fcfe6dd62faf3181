"""More clients of the HTTP front than it has places: who is silent keeps nobody out."""

import contextlib
import resource
import socket
from collections.abc import Iterator

import pytest

from support import process
from support.daemon import Daemon, user

CROWD = 1100
GET = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@pytest.fixture
def port(start) -> int:
    """Of a front with what is there by default: 1024 places."""
    number = process.free_port()
    server: Daemon = start(http={"listen": f"127.0.0.1:{number}", **user()})
    assert "connections, not" not in server.log(), "too few open files for so many"
    return number


@pytest.fixture(autouse=True)
def enough_open_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(port: int, address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(address, 0))


def rotating(number: int) -> str:
    return f"127.0.{1 + number // 200}.{1 + number % 200}"


@pytest.mark.parametrize("address_of", [lambda _: "127.0.0.1", rotating], ids=["one address", "rotating addresses"])
@pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\nx"],
                         ids=["silent", "slow bodies"])
def test_crowd_keeps_nobody_out(port, address_of, sent):
    with contextlib.ExitStack() as crowd:
        for number in range(CROWD):
            with contextlib.suppress(ConnectionError):  # who is over the bound may be gone already
                crowd.enter_context(connect(port, address_of(number))).sendall(sent)
        with connect(port, "127.0.0.2") as client:
            client.settimeout(60)  # a silent client is closed by itself after 30 s
            client.sendall(GET)
            assert client.recv(12) == b"HTTP/1.1 200"
