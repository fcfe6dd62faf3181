"""What the remaining limits of the configuration do, seen from outside."""

import contextlib
import os
import socket
import threading
from pathlib import Path

import pytest

from support import fastcgi, process, repofile, wire
from support.daemon import Daemon, user
from support.pool import stopped
from support.process import wait_until


@pytest.fixture
def front(start):
    """Starts quarryd with an HTTP front of the test's own words. Returns it, and the front's port."""
    def make(http: dict[str, object], pool: dict[str, object] | None = None) -> tuple[Daemon, int]:
        port = process.free_port()
        return start(pool, http={"listen": f"127.0.0.1:{port}", **user(), **http}), port
    return make


def read_reply(connection: socket.socket) -> bytes:
    """One reply of a kept connection; what there is of it where the server closes."""
    reply = b""
    while b"\r\n\r\n" not in reply:
        if not (piece := connection.recv(65536)):
            return reply
        reply += piece
    head, _, body = reply.partition(b"\r\n\r\n")
    length = int(next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")).split()[1])
    while len(body) < length and (piece := connection.recv(65536)):
        body += piece
    return head + b"\r\n\r\n" + body


GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


# --- the HTTP front ------------------------------------------------------------------------------------


def test_keepalive_timeout(front):
    """A kept connection ends by itself, and not before its time."""
    _, port = front({"keepalive_timeout": "1s"})
    with connect(port) as short:
        short.sendall(GET)
        assert read_reply(short).startswith(b"HTTP/1.1 200")
        short.settimeout(60)  # the default is 15
        assert short.recv(1) == b""
    _, port = front({"keepalive_timeout": "60s"})
    with connect(port) as long:
        long.sendall(GET)
        read_reply(long)
        long.settimeout(2)
        with pytest.raises(TimeoutError):
            long.recv(1)


def test_pool_timeout(front):
    server, port = front({"pool_timeout": "1s"})
    with stopped([server.child()]), connect(port) as client:
        client.sendall(GET)
        assert read_reply(client).startswith(b"HTTP/1.1 504 ")
    server.wait_for_log("504 GET /: ")


def test_max_reply(front):
    server, port = front({"max_reply": "200"})
    peer = wire.Peer(port)
    assert peer.post(b"", method="GET").status == 200
    answer = peer.clone(3, 1)
    assert answer.status == 502 and answer.raw.count(b"\n") == 1
    server.wait_for_log("over the limit of 200 bytes")


def test_max_bodies(front):
    """Of two bodies that are too much together one is refused; alone, each is taken."""
    server, port = front({"max_bodies": "3M"})
    body = b"# " + b"x" * 2_000_000 + b"\n"
    head = f"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: {wire.PLAIN}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with connect(port) as first, connect(port) as second:
        for each in (first, second):
            threading.Thread(target=each.sendall, args=(head + body[:-1],), daemon=True).start()
        server.wait_for_log("503 too many large requests at the same time")
        for each in (first, second):
            with contextlib.suppress(ConnectionError):
                each.sendall(body[-1:])
        assert sorted(read_reply(each)[:12] for each in (first, second)) == [b"HTTP/1.1 200", b"HTTP/1.1 503"]
    with connect(port) as alone:
        alone.sendall(head + body)
        assert read_reply(alone).startswith(b"HTTP/1.1 200")


def test_max_connections(front):
    """One more than that waits until one of them has its reply, and takes the place of one that is idle."""
    server, port = front({"max_connections": "2", "keepalive_timeout": "60s"})
    with connect(port) as first, connect(port) as second, connect(port) as third, connect(port) as fourth:
        with stopped([server.child()]):
            for each in (first, second, third):
                each.sendall(GET)
            third.settimeout(1)
            with pytest.raises(TimeoutError):
                third.recv(1)
            third.settimeout(60)
        assert read_reply(first).startswith(b"HTTP/1.1 200")
        assert read_reply(second).startswith(b"HTTP/1.1 200")
        assert read_reply(third).startswith(b"HTTP/1.1 200")
        fourth.sendall(GET)
        assert read_reply(fourth).startswith(b"HTTP/1.1 200")
        assert first.recv(1) == b"" and second.recv(1) == b""


def test_max_connections_per_address(front):
    server, port = front({"max_connections_per_address": "1"})
    with connect(port) as first, connect(port) as second:
        with stopped([server.child()]):
            first.sendall(GET)
            second.sendall(GET)
            assert read_reply(second).startswith(b"HTTP/1.1 503 ")
        assert read_reply(first).startswith(b"HTTP/1.1 200")
    server.wait_for_log("client 127.0.0.1: 503 more than 1 connections from one address")


# --- pools ---------------------------------------------------------------------------------------------


def started_at(pid: int) -> float:
    """Seconds since the machine came up."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def test_max_spawn_rate(start):
    """One a second, where two, four and more would come by default."""
    server = start({"pm": "dynamic", "pm.max_children": 9, "pm.start_servers": 4, "pm.min_spare_servers": 4,
                    "pm.max_spare_servers": 5, "pm.max_spawn_rate": 1})
    wait_until(lambda: len(server.children()) == 4, "start_servers")
    held = [fastcgi.hold(server.socket) for _ in range(4)]
    wait_until(lambda: len(server.children()) == 8, "four in reserve")
    later = sorted(started_at(pid) for pid in server.children())[4:]
    assert all(after - before > 0.5 for before, after in zip(later, later[1:]))
    for each in held:
        each.close()


@pytest.mark.parametrize("size, kept", [(1, 1), (2, 2), (8, 3)])
def test_repository_cache(start, fresh, fossil, tmp_path, size, kept):
    """A worker has so many repositories open, those that were asked for last."""
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("one", "two", "three"):
        repofile.copy(fresh, folder / f"{name}.fossil")
    server = start({"repositories": folder, "repository": None, "repository.cache": size})
    for name in ("one", "two", "three"):
        assert b"A Fossil repository" in fastcgi.get(server.socket, f"/{name}")
    open_files = {os.readlink(f"/proc/{server.child()}/fd/{fd}") for fd in os.listdir(f"/proc/{server.child()}/fd")}
    names = [name for name in ("one", "two", "three") if f"{folder}/{name}.fossil" in open_files]
    assert names == ["one", "two", "three"][3 - kept:]


def test_content_cache(start, generated):
    """What is remembered is not put together again from its deltas: that takes the worker less time."""
    repofile.add_user(generated, "hand", "written", "gio")
    code = repofile.project_code(generated)
    names = [name for name, in repofile.query(generated, "SELECT uuid FROM event JOIN blob ON rid=objid WHERE type='ci'"
                                                         " ORDER BY rid LIMIT 200")]
    spent = {}
    for size in ("1", "64M"):
        port = process.free_port()
        server = start({"repository.content_cache": size}, repository=generated,
                       http={"listen": f"127.0.0.1:{port}", **user()})
        peer = wire.Peer(port, project_code=code)
        for _ in range(5):
            assert len(peer.pull(*[f"gimme {name}" for name in names]).names("file")) == len(names)
        spent[size] = int(Path(f"/proc/{server.child()}/schedstat").read_text().split()[0])
    assert spent["1"] > 2 * spent["64M"], spent


# --- the sync protocol ---------------------------------------------------------------------------------


def test_max_gimme(launch, fresh, peer_of):
    peer = peer_of(launch(fresh, settings={"sync.max_gimme": "3"}))
    answer = peer.push(*[f"igot {number:064x}" for number in range(1, 11)])
    assert len(answer.of("gimme")) == 3


@pytest.mark.parametrize("switch", ["yes", "no"])
def test_refuse_own_server_code(launch, fresh, peer_of, switch):
    """A client that is this very repository: the old protocol refused it."""
    own = repofile.value(fresh, "SELECT value FROM config WHERE name='server-code'")
    peer = peer_of(launch(fresh, settings={"sync.refuse_own_server_code": switch}))
    answer = peer.ask(f"pull {own} {peer.project_code}\n")
    assert bool(answer.errors()) == (switch == "yes")


@pytest.mark.parametrize("switch", ["yes", "no"])
def test_single_login(launch, fresh, peer_of, switch):
    peer = peer_of(launch(fresh, settings={"sync.single_login": switch}))
    cards = wire.body(f"pull {wire.SERVER_CODE} {peer.project_code}")
    twice = wire.signed(wire.signed(cards, peer.login, peer.secret), peer.login, peer.secret)
    answer = peer.post(twice)
    assert bool(answer.errors()) == (switch == "yes")
