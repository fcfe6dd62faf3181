"""Reload by signal: the master executes the program again in the same process, and no request is lost."""

import contextlib
import os
import shutil
import signal
import socket
import threading

import pytest

from support import daemon, fastcgi, places, process, wire
from support.daemon import bytes_read
from support.process import Process, free_port, wait_until


def test_a_reload_applies_the_configuration_in_the_same_process(start):
    pool = start({"pm.max_children": 2})
    wait_until(lambda: len(pool.children()) == 2, "two workers")
    before = set(pool.children())
    inode = os.stat(pool.socket).st_ino
    pool.change("pm.max_children = 2", "pm.max_children = 3\nlisten.mode = 0600")
    pool.reload()
    wait_until(lambda: len(pool.children()) == 3 and not before & set(pool.children()), "three new workers")
    assert os.stat(pool.socket).st_ino == inode, "the socket is the one that it was"
    assert os.stat(pool.socket).st_mode & 0o777 == 0o600
    assert pool.is_served()


def test_new_workers_take_requests_beside_old_ones_that_finish(start):
    pool = start()
    old = pool.child()
    request = b"pragma client-version 22100 20230226 192424\n"
    held = fastcgi.hold(pool.socket, size=len(request))
    pool.reload(signal.SIGHUP)
    assert pool.is_served()
    assert process.exists(old) and len(pool.children()) == 2
    assert b"200 OK" in held.finish(request)
    wait_until(lambda: not process.exists(old), "the end of the old worker")
    wait_until(lambda: len(pool.children()) == 1, "the new worker alone")


def test_an_address_in_use_prevents_a_reload(start, tmp_path):
    pool = start()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        text = pool.config.read_text()
        pool.config.write_text(text + text[text.index("[www]"):].replace("[www]", "[other]")
                               .replace(f"listen = {pool.socket}", f"listen = 127.0.0.1:{port}"))
        pool.main.send(signal.SIGUSR2)
        pool.wait_for_log("not reloaded")
        pool.wait_for_log(f"another program listens on 127.0.0.1:{port}")
        assert pool.is_served()
        assert pool.socket.exists()


def test_an_address_that_overlaps_the_servers_own_address_requires_a_restart(start):
    port = free_port()
    pool = start({"listen": f"127.0.0.1:{port}", "ping.path": "/ping"})
    pool.change(f"listen = 127.0.0.1:{port}", f"listen = 0.0.0.0:{port}")
    pool.main.send(signal.SIGUSR2)
    pool.wait_for_log(f"cannot listen on 0.0.0.0:{port}, because this server listens on 127.0.0.1:{port}: restart it")
    assert fastcgi.ask(port, "/ping").body == b"pong"


def test_a_program_that_cannot_run_prevents_a_reload(start, tmp_path, monkeypatch):
    program = tmp_path / "quarryd"
    shutil.copy(places.program("quarryd"), program)
    monkeypatch.setattr(places, "program", lambda name: program)
    pool = start()
    program.unlink()
    places.executable(program, "no program\n")
    pool.main.send(signal.SIGUSR2)
    pool.wait_for_log("not reloaded")
    assert pool.is_served()


@pytest.mark.parametrize("size", [0, 50_000])
def test_a_reload_with_an_incomplete_program_logs_the_reason(start, tmp_path, monkeypatch, size):
    program = tmp_path / "quarryd"
    shutil.copy(places.program("quarryd"), program)
    monkeypatch.setattr(places, "program", lambda name: program)
    pool = start()
    program.unlink()
    program.write_bytes(places.build_directory().joinpath("src/app/quarryd").read_bytes()[:size])
    program.chmod(0o755)
    pool.main.send(signal.SIGUSR2)
    reason = "Exec format error" if size == 0 else f"{program} --test was killed by signal 11; the program might be damaged"
    pool.wait_for_log("not reloaded: ")
    assert reason.lower() in next(line for line in pool.log().splitlines() if "not reloaded: " in line).lower()
    assert pool.is_served()


def test_a_reload_executes_the_new_program(start, tmp_path, monkeypatch):
    program = tmp_path / "quarryd"
    shutil.copy(places.program("quarryd"), program)
    monkeypatch.setattr(places, "program", lambda name: program)
    pool = start()
    shutil.copy(program, tmp_path / "newer")
    os.replace(tmp_path / "newer", program)
    pool.reload()
    assert os.stat(f"/proc/{pool.main.pid}/exe").st_ino == program.stat().st_ino
    assert pool.is_served()


def test_a_reload_adds_and_removes_a_pool(start, tmp_path):
    pool = start()
    other = tmp_path / "other.sock"
    text = pool.config.read_text()
    pool.config.write_text(text + text[text.index("[www]"):].replace("[www]", "[other]")
                           .replace(str(pool.socket), str(other)))
    pool.reload()
    assert b"A Fossil repository" in fastcgi.get(other)
    pool.config.write_text(text)
    pool.reload()
    assert pool.is_served()
    wait_until(lambda: not process.socket_answers(other), "the end of the other pool")
    assert not other.exists()


def test_a_reload_removes_one_of_very_many_pools(start):
    """The new program must be able to inherit more than a hundred sockets."""
    pool = start({"pm": "ondemand"})
    text = pool.config.read_text()
    www = text[text.index("[www]"):]

    def write(count: int) -> None:
        pool.config.write_text(text + "".join(
            www.replace("[www]", f"[p{number}]").replace("pool.sock", f"{number}.sock") for number in range(count)))
    for count in (129, 128, 128):
        write(count)
        pool.reload()
        assert b"A Fossil repository" in fastcgi.get(pool.folder / f"{count - 1}.sock")
    assert pool.is_served() and b"A Fossil repository" in fastcgi.get(pool.folder / "0.sock")
    assert not (pool.folder / "128.sock").exists()


@pytest.mark.slow
def test_a_worker_that_ignores_signals_is_killed(start):
    pool = start(settings={"process_control_timeout": "1s"})
    old = pool.child()
    os.kill(old, signal.SIGSTOP)  # a stopped process handles neither SIGQUIT nor SIGTERM
    pool.reload()
    wait_until(lambda: not process.exists(old), "the end of the old worker")
    assert pool.is_served()


def test_a_worker_that_does_not_finish_is_terminated_after_process_control_timeout(start):
    pool = start(settings={"process_control_timeout": "1s"})
    old = pool.child()
    read_before = bytes_read(old)
    held = fastcgi.hold(pool.socket)
    wait_until(lambda: bytes_read(old) > read_before, "the request in the worker's hands")
    pool.reload()
    pool.wait_for_log(f"child {old} of generation 1 did not exit within")
    wait_until(lambda: not process.exists(old), "the end of the old worker")
    held.close()


def test_a_reload_and_a_stop_during_reloads(start):
    pool = start({"pm.max_children": 2})
    for _ in range(20):
        pool.main.send(signal.SIGUSR2)
        pool.main.send(signal.SIGHUP)
        for pid in pool.children()[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    wait_until(lambda: "becomes" in pool.log(), "a reload")
    assert pool.is_served()
    pool.main.send(signal.SIGUSR2)
    assert pool.main.stop(signal.SIGQUIT) == 0
    assert not pool.socket.exists()


@pytest.mark.parametrize("reloads", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_under_full_load_reloads_and_killed_workers_fail_no_other_request(start, reloads):
    pool = start({"pm": "dynamic", "pm.max_children": 4, "pm.min_spare_servers": 2, "pm.max_spare_servers": 4})
    is_over = threading.Event()
    asked, failed, killed = [0], [], 0

    def ask_all_the_time() -> None:
        while not is_over.is_set():
            try:
                reply = pool.ask()
            except OSError as error:
                reply = repr(error).encode()
            asked[0] += 1
            if b"A Fossil repository" not in reply:
                failed.append(reply)

    crowd = [threading.Thread(target=ask_all_the_time) for _ in range(4)]
    for each in crowd:
        each.start()
    try:
        for _ in range(reloads):
            pool.reload()
            for pid in pool.children()[-1:]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            before = asked[0]
            wait_until(lambda so_far=before: asked[0] > so_far + 20, "more requests")
    finally:
        is_over.set()
        for each in crowd:
            each.join()
    assert killed > reloads // 2
    assert len(failed) <= killed, failed[:5]
    # A request is allowed to fail only because its worker was killed. The client then sees one of these errors.
    cut_off = (b"ConnectionResetError", b"BrokenPipeError")
    assert all(reply == b"" or reply.startswith(cut_off) for reply in failed), failed[:5]


class Regular:
    """A client that sends requests to the HTTP front over one connection. The client reconnects only after the front
    has announced that it will close the connection."""

    def __init__(self, port: int):
        self.port = port
        self.asked, self.closed, self.failures = 0, 0, []

    def ask_until(self, is_over: threading.Event) -> None:
        while not is_over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
                    while not is_over.is_set() and self.ask(connection):
                        pass
            except OSError as error:
                self.failures.append(repr(error))

    def ask(self, connection: socket.socket) -> bool:
        """Sends a request. Returns false if the client has to reconnect."""
        self.asked += 1
        connection.sendall(b"GET /ping HTTP/1.1\r\nHost: h\r\n\r\n")
        reply = b""
        while not reply.endswith(b"pong"):
            piece = connection.recv(4096)
            if not piece:
                self.failures.append(f"an end after {reply!r}")
                return False
            reply += piece
        is_last = b"Connection: close" in reply
        self.closed += is_last
        return not is_last


@pytest.mark.parametrize("reloads", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_no_request_fails_on_kept_connections_at_full_load_over_many_reloads(start, reloads):
    server = start({"pm.max_children": 4, "ping.path": "/ping"}, http={})
    is_over = threading.Event()
    clients = [Regular(server.port) for _ in range(16)]
    threads = [threading.Thread(target=client.ask_until, args=[is_over]) for client in clients]
    for each in threads:
        each.start()
    try:
        for _ in range(reloads):
            asked = [client.asked for client in clients]
            server.reload()
            wait_until(lambda a=asked: all(c.asked > before for c, before in zip(clients, a, strict=True)), "all clients")
    finally:
        is_over.set()
        for each in threads:
            each.join()
    failures = [failure for client in clients for failure in client.failures]
    assert not failures, f"{len(failures)} of {sum(c.asked for c in clients)}: {failures[:5]}"
    assert sum(client.closed for client in clients) >= reloads, "old fronts have ended kept connections"


def test_front_without_a_configuration_file_reloads_too(fresh, tmp_path):
    port = free_port()
    main = Process([places.program("quarryd"), *daemon.serve(fresh), "--http", f"127.0.0.1:{port}", "--children", 2],
                   tmp_path / "log")
    try:
        wait_until(lambda: process.port_answers(port), "quarryd")
        answers = []

        def ask() -> None:
            peer = wire.Peer(port)
            while len(answers) < 300:
                answers.append(peer.post(wire.body(f"{wire.CLIENT_VERSION} 20230226 192424", "clone 3 1"),
                                         wire.PLAIN).status)
        asking = threading.Thread(target=ask)
        asking.start()
        main.send(signal.SIGUSR2)
        asking.join()
        wait_until(lambda: "becomes 2" in main.output(), "the reload")
        assert set(answers) == {200}
        main.send(signal.SIGHUP)
        assert main.wait() == 0, "without a file a hang-up ends it"
    finally:
        main.kill_group()
