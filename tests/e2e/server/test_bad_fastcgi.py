"""Connections with invalid requests to a pool's socket are closed and logged. Such requests do not affect other
clients, and the time and memory for them are limited."""

import contextlib
import os
import random
import resource
import select
import socket
import struct

import pytest

from support import fastcgi, process
from support.daemon import section, user
from support.fastcgi import BEGIN, PARAMS, RESPONDER, STDIN, pair, record
from support.places import is_sanitized
from support.process import wait_until

ABORT = 2
PING = {"ping.path": "/ping"}


def begin() -> bytes:
    return struct.pack(">BBHHBB", 1, BEGIN, 1, 8, 0, 0) + struct.pack(">HB5x", RESPONDER, 0)


def long_length(size: int) -> bytes:
    return struct.pack(">I", size | 0x80000000)


GOOD = fastcgi.head("GET", "/ping") + record(STDIN)

# tests/unit/worker/fastcgi/head_check_test.cc tests the checks in detail.
GARBAGE = {
    "random bytes": random.Random(3).randbytes(4000).replace(b"\1", b"\2"),
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    "HTTP": b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(100000),
    "a name of 2 GB": begin() + record(PARAMS, long_length(0x7FFFFFFF) + b"\1AB") + record(PARAMS),
    "very many parameters": begin() + record(PARAMS, pair("A", "b") * 301) + record(PARAMS),
    "parameters without end": begin() + record(PARAMS, pair("A", "b" * 100)) * 4000,
}


def is_closed(connection: socket.socket) -> bool:
    """Returns whether the server closes the connection without a reply."""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        return connection.recv(100) == b""
    return True


def send(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):  # the server can close early
        connection.sendall(data)


def pings(address) -> bool:
    return fastcgi.get(address, "/ping").endswith(b"\r\n\r\npong")


@pytest.fixture
def server(start):
    return start(PING)


def test_garbage_closes_the_connection_and_is_logged(server):
    worker = server.child()
    for number, (what, data) in enumerate(GARBAGE.items(), 1):
        with fastcgi.connect(server.socket) as connection:
            send(connection, data)
            assert is_closed(connection), what
        complaint = f"connection from process {os.getpid()} of user {os.geteuid()} closed: "
        wait_until(lambda: server.log().count(complaint) == number, f"a line about {what}")
    assert pings(server.socket)
    assert server.children() == [worker]
    if not is_sanitized():
        assert process.memory_kib(worker, "VmHWM") < 60 << 10


def test_the_log_shows_the_address_of_a_client_that_sends_garbage(start):
    port = process.free_port()
    server = start({"listen": f"127.0.0.1:{port}"})
    with fastcgi.connect(port) as connection:
        send(connection, b"garbage")
        assert is_closed(connection)
    server.wait_for_log("connection from 127.0.0.1 closed: not a FastCGI request")


@pytest.mark.parametrize("sent, complaint", [(b"", "closed: no request within 1 s"),
                                             (GOOD[:30], "closed: the request was incomplete after 1 s")],
                         ids=["nothing", "half of it"])
def test_an_incomplete_request_occupies_a_worker_for_params_timeout(start, sent, complaint):
    server = start({**PING, "params_timeout": "1s"})
    with fastcgi.connect(server.socket) as silent:
        silent.sendall(sent)
        assert pings(server.socket), "the only worker answers, after it has given up the other"
        assert is_closed(silent)
    assert complaint in server.log()


@pytest.mark.parametrize("body", [b"\2" * 100, record(STDIN, b"x")[:5], record(PARAMS, b"xx"), record(BEGIN, bytes(8)),
                                  record(ABORT)], ids=["garbage", "half a record", "parameters", "a beginning", "an abort"])
def test_an_invalid_body_is_refused(server, body):
    worker = server.child()
    with fastcgi.connect(server.socket) as connection:
        head = fastcgi.head("POST", "/xfer", CONTENT_TYPE="application/x-fossil-debug", CONTENT_LENGTH="100")
        send(connection, head + body)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            assert b"Status: 200" not in fastcgi.read_reply(connection)
    assert pings(server.socket) and server.children() == [worker]


CROWD = 1000


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CROWD + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("this process may not have so many connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("words", [b"", GOOD[:30], b"\1\1\0\1\xff\xff\0\0"],
                         ids=["nothing", "half a head", "a long record announced"])
def test_a_thousand_silent_clients_of_one_pool_do_not_affect_another(start, fresh, tmp_path, many_descriptors, words):
    other = tmp_path / "other.sock"
    more = section("other", {"listen": other, "repository": fresh, "pm.max_children": 2, **PING, **user()})
    server = start({**PING, "pm.max_children": 4, "listen.backlog": 4096, "params_timeout": "10m"}, more=more)
    wait_until(lambda: len(server.children()) == 4, "workers")
    workers = server.children()
    with contextlib.ExitStack() as crowd:
        clients = [crowd.enter_context(fastcgi.connect(server.socket)) for _ in range(min(CROWD, places_to_wait()))]
        for client in clients:
            client.sendall(words)
        late = crowd.enter_context(fastcgi.connect(server.socket))
        late.sendall(GOOD)
        assert all(pings(other) for _ in range(50))
        if not words:
            assert not select.select([late], [], [], 0)[0], "all workers of this pool are held"
        if not is_sanitized():
            assert all(process.memory_kib(pid, "VmHWM") < 60 << 10 for pid in workers)
            assert process.memory_kib(server.main.pid, "VmRSS") < 30 << 10
    assert pings(server.socket)
    assert server.children() == workers


def places_to_wait() -> int:
    """Returns the kernel's limit on connections that wait to be accepted."""
    with open("/proc/sys/net/core/somaxconn", encoding="ascii") as limit:
        return int(limit.read())
