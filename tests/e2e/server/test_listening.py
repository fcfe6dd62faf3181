"""All forms of a listen address, and the clients that are allowed to connect."""

import contextlib
import http.client
import os
import re
import socket
from pathlib import Path

import pytest

from support import fastcgi
from support.process import PATIENCE, free_port, wait_until


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
BOTH = {"127.0.0.1", "::1"}


def reached(port: int) -> set[str]:
    """Returns the addresses of this machine at which a pool replies."""
    found = set()
    for address in BOTH:
        try:
            if b"pong" in fastcgi.ask((address, port), "/ping").body:
                found.add(address)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("listen, expected", [
    ("127.0.0.1:{}", {"127.0.0.1"}),
    ("localhost:{}", {"127.0.0.1"}),
    ("0.0.0.0:{}", {"127.0.0.1"}),
    pytest.param("[::1]:{}", {"::1"}, marks=needs_ipv6),
    pytest.param("[::]:{}", BOTH, marks=needs_ipv6),
    ("{}", {"127.0.0.1"}),
])
def test_pool_is_reached_where_it_listens_and_nowhere_else(start, listen, expected):
    port = free_port()
    start({"listen": listen.format(port), "ping.path": "/ping"})
    assert reached(port) == expected


@needs_ipv6
@pytest.mark.parametrize("listens", [("0.0.0.0", "[::]"), ("[::]", "0.0.0.0")], ids=" ".join)
def test_the_front_listens_on_one_port_with_an_address_for_each_family(start, listens):
    port = free_port()
    server = start(http={"listen": [f"{each}:{port}" for each in listens]})
    for _ in range(2):
        for host in BOTH:
            connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            connection.close()
        server.reload()


@needs_ipv6
@pytest.mark.parametrize("allowed, expected", [("::1", {"::1"}), ("127.0.0.1", {"127.0.0.1"}), ("192.0.2.1", set()),
                                               ("127.0.0.1, ::1", BOTH)])
def test_allowed_clients_are_distinguished_on_an_address_of_both_families(start, allowed, expected):
    port = free_port()
    start({"listen": f"[::]:{port}", "ping.path": "/ping", "listen.allowed_clients": allowed})
    assert reached(port) == expected


def test_sockets_of_a_worker_are_closed_on_exec(start):
    server = start({"listen": f"127.0.0.1:{free_port()}"})
    worker = server.child()
    port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", server.log())[1])
    held = fastcgi.hold(port)
    flags = {}

    def look() -> bool:
        for entry in Path(f"/proc/{worker}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if entry.readlink().name.startswith("socket:"):
                    info = Path(f"/proc/{worker}/fdinfo/{entry.name}").read_text()
                    flags[entry.name] = int(re.search(r"flags:\s+(\d+)", info)[1], 8)
        return len(flags) >= 3
    wait_until(look, "the listening socket, the connection and the master's channel")
    held.close()
    assert all(each & os.O_CLOEXEC for each in flags.values()), flags


def test_a_pool_on_any_free_port_logs_it(start):
    server = start({"listen": "127.0.0.1:0", "ping.path": "/ping"})
    port = int(re.search(r"\[pool www\] listening on 127\.0\.0\.1:(\d+)", server.log())[1])
    assert reached(port) == {"127.0.0.1"}
