"""Children exit, are killed, and are replaced."""

import json
import os
import random
import resource
import signal
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import daemon, fastcgi, process, wire
from support.daemon import WITHOUT_HANDLERS, Daemon
from support.process import free_port, wait_until


def test_a_worker_is_replaced_after_max_requests(start):
    server = start({"pm.max_requests": 3})
    first = server.child()
    for _ in range(3):
        assert fastcgi.get(server.socket)
    wait_until(lambda: server.children() and server.children() != [first], "another worker")
    assert not process.exists(first)
    second = server.child()
    assert fastcgi.get(server.socket)
    assert server.children() == [second]


def test_worker_that_takes_too_long_is_killed_and_replaced(start):
    server = start({"request_terminate_timeout": "300ms"})
    first = server.child()
    held = fastcgi.hold(server.socket)
    server.wait_for_log(f"[pool www] child {first} is killed: POST \"/xfer\" took longer than 300 ms")
    held.close()
    wait_until(lambda: server.children() not in ([], [first]), "another in its place")
    assert fastcgi.get(server.socket)


def is_refused(port: int) -> bool:
    """Returns whether the pool closes a connection from a forbidden address without a reply."""
    with socket.create_connection(("127.0.0.1", port), timeout=60, source_address=("127.0.0.2", 0)) as connection:
        return connection.recv(1) == b""


def test_a_refused_client_does_not_make_a_worker_overdue(start, fresh, tmp_path):
    port = free_port()
    other = {"listen": tmp_path / "other.sock", "repository": fresh, "request_terminate_timeout": "1s", **daemon.user()}
    server = start({"listen": f"127.0.0.1:{port}", "listen.allowed_clients": "127.0.0.1", "pm.status_path": "/status",
                    "pm.status_listen": tmp_path / "status.sock", "request_terminate_timeout": "1s"},
                   more=daemon.section("other", other))
    assert is_refused(port)
    figures = json.loads(fastcgi.ask(tmp_path / "status.sock", "/status", "json").text)
    assert figures["active processes"] == 0 and figures["accepted conn"] == 0
    # The following request is terminated for its timeout. By then, the master has also checked the worker that refused
    # the client.
    held = fastcgi.hold(tmp_path / "other.sock")
    server.wait_for_log("[pool other] child")
    held.close()
    assert "is killed" in server.log() and "[pool www] child" not in server.log()


def test_an_ondemand_worker_that_refused_a_client_ends_when_idle(start):
    port = free_port()
    server = start({"listen": f"127.0.0.1:{port}", "listen.allowed_clients": "127.0.0.1", "pm": "ondemand",
                    "pm.process_idle_timeout": "1s"})
    assert is_refused(port)
    server.wait_for_log("refused: not in listen.allowed_clients")
    wait_until(lambda: not server.children(), "no worker")


def test_a_slow_reader_is_terminated_only_with_track_finished(start, fossil, tmp_path):
    """The reply is larger than the socket's buffer, and the client does not read."""
    path = fossil.new(tmp_path / "large.fossil")
    checkout = tmp_path / "large"
    checkout.mkdir()
    fossil("open", path, cwd=checkout)
    (checkout / "large.bin").write_bytes(random.Random(1).randbytes(3 << 20))
    fossil("add", "large.bin", cwd=checkout)
    fossil("commit", "-m", "large", "--no-warnings", cwd=checkout)
    fossil("user", "capabilities", "nobody", "gz", "-R", path)
    body = wire.body(wire.CLIENT_VERSION, "clone 3 1")
    ended = {}
    for word in ("no", "yes"):
        server = start({"request_terminate_timeout": "1s", "request_terminate_timeout_track_finished": word,
                        "pm.max_children": 2}, repository=path)
        held = fastcgi.hold(server.socket, size=len(body))
        held.connection.sendall(fastcgi.record(fastcgi.STDIN, body) + fastcgi.record(fastcgi.STDIN))
        # The following request is terminated for its timeout. By then, the master has also checked the worker with the
        # slow reader.
        later = fastcgi.hold(server.socket)
        wait_until(lambda s=server: s.log().count("is killed") >= (2 if word == "yes" else 1), "an end")
        ended[word] = server.log().count("is killed")
        later.close()
        held.close()
    assert ended == {"no": 1, "yes": 2}


def test_process_max_limits_all_pools_together(start, fresh, tmp_path):
    server = start({"pm.max_children": 3}, settings={"process.max": 4}, http={"pool": "www"},
                   more=daemon.section("other", {"listen": tmp_path / "other.sock", "repository": fresh,
                                                 "pm.max_children": 3, **daemon.user()}))

    def count():
        return len(server.children("pool www")), len(server.children("pool other")), len(server.children("gateway"))

    wait_until(lambda: count() == (3, 1, 1), "as many children as may be")
    assert "[pool other] process.max (4) is reached: running 1 of 3 children" in server.log()
    first = server.child()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not process.exists(first) and sum(count()) == 5, "its successor")


def test_a_pool_starved_by_process_max_grows_first(start, fresh, tmp_path):
    """The separate process of the status page does not count towards process.max."""
    words = {"listen": tmp_path / "other.sock", "repository": fresh, "pm": "ondemand", "pm.max_children": 3,
             "pm.status_path": "/status", "pm.status_listen": tmp_path / "status.sock", **daemon.user()}
    server = start({"pm.max_children": 2}, settings={"process.max": 2}, more=daemon.section("other", words))

    def figures() -> tuple[int, int]:
        page = json.loads(fastcgi.ask(tmp_path / "status.sock", "/status", "json").text)
        return page["children held back"], page["process max reached"]
    assert figures() == (0, 0)
    held = fastcgi.hold(tmp_path / "other.sock", size=6)
    wait_until(lambda: figures() == (1, 1), "word of it on the page")
    assert "[pool other] process.max (2) is reached: running 0 of 3 children" in server.log()
    os.kill(server.child(), signal.SIGKILL)
    assert b"Status: 200" in held.finish(b"# abc\n")
    wait_until(lambda: figures() == (0, 1), "the end of it")


def test_a_pool_limited_by_process_max_is_reported_once(start, tmp_path):
    server = start({"pm": "ondemand", "pm.max_children": 10, "pm.status_path": "/status",
                    "pm.status_listen": tmp_path / "status.sock"}, settings={"process.max": 1})

    def ask(_client: int) -> bool:
        return all(fastcgi.get(server.socket) for _ in range(100))
    with ThreadPoolExecutor(8) as clients:
        assert all(clients.map(ask, range(8)))
    page = json.loads(fastcgi.ask(tmp_path / "status.sock", "/status", "json").text)
    assert page["process max reached"] == 1
    assert server.log().count("process.max (1) is reached") == 1


@pytest.mark.parametrize("manager", ["static", "ondemand"])
def test_a_server_that_cannot_start_workers_keeps_trying(start, manager):
    server = start({"pm": manager})
    limits = resource.prlimit(server.main.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.main.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    for child in server.children():
        os.kill(child, signal.SIGKILL)
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(fastcgi.head() + fastcgi.record(fastcgi.STDIN))
        server.wait_for_log("Too many open files")
        # The master retries every second and sleeps in between.
        before = process.times_waited(server.main.pid)
        wait_until(lambda: process.times_waited(server.main.pid) >= before + 3, "more tries")
        assert server.main.is_running() and server.log().count("Too many open files") == 1
        resource.prlimit(server.main.pid, resource.RLIMIT_NOFILE, limits)
        assert b"Status: 200" in fastcgi.read_reply(connection)


def crash(server: Daemon, pid: int, number: int) -> None:
    os.kill(pid, number)
    server.wait_for_log(f"child {pid} was killed by signal {number:d}")


def test_many_crashes_replace_all_children(start):
    server = start({"pm.max_children": 3}, settings={"emergency_restart_threshold": 2, "emergency_restart_interval": "1h"},
                   http={}, env=WITHOUT_HANDLERS)
    wait_until(lambda: len(server.children()) == 3, "three workers")
    gateway = server.child("gateway")
    one, two, three = server.children()
    crash(server, one, signal.SIGSEGV)
    wait_until(lambda: len(server.children()) == 3, "a successor")
    assert "emergency" not in server.log() and process.exists(three)
    crash(server, two, signal.SIGBUS)
    server.wait_for_log("2 children crashed within 3600 s (emergency_restart_threshold); replacing all children")
    wait_until(lambda: not process.exists(three) and not process.exists(gateway), "the end of all")
    wait_until(lambda: len(server.children()) == 3 and server.children("gateway"), "successors")
    assert fastcgi.get(server.socket)


def test_a_stopped_worker_continues_its_request(start):
    """Stopping the process interrupts a read with a timeout. The worker must then continue to read."""
    server = start()
    pid = server.child()
    had_read = daemon.bytes_read(pid)
    held = fastcgi.hold(server.socket, size=6)
    wait_until(lambda: daemon.bytes_read(pid) > had_read, "a worker that has read the head")
    wait_until(lambda: daemon.status(pid, "State").startswith("S"), "a worker that waits")
    for _ in range(3):
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: daemon.status(pid, "State").startswith("T"), "a stopped worker")
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: daemon.status(pid, "State").startswith("S"), "a worker that waits again")
    assert b"Status: 200" in held.finish(b"# abc\n")
