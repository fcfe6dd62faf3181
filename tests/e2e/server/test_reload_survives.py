"""A reload never ends the server. Files that cannot be opened are reported before the reload. A reload does not fail if
a file is removed after this check."""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
from pathlib import Path

import pytest

from support import daemon, fastcgi, places, process, tls, wire
from support.daemon import WITHOUT_HANDLERS, Daemon
from support.process import free_port, wait_until
from support.program import quarry
from support.tls import Authority
from test_fastcgi_protocol import kept


@pytest.mark.parametrize(("section", "line", "reason"), [
    ("global", "error_log = /nobody/has/it.log", "error_log: cannot open the log /nobody/has/it.log"),
    ("global", "error_log = syslog:/nobody/listens", "error_log: cannot reach the logging daemon at /nobody/listens"),
    ("global", "pid = /nobody/has/it.pid\ncontrol.socket = off", "pid: cannot write the pid file /nobody/has/it.pid"),
    ("www", "access.log = /nobody/has/it.log", "[www] access.log: cannot open the log /nobody/has/it.log"),
    ("www", "slowlog = /nobody/has/it.log\nrequest_slowlog_timeout = 1s", "[www] slowlog: cannot open the log"),
])
def test_a_log_or_pid_file_that_cannot_be_opened_prevents_a_reload(start, section, line, reason):
    server = start()
    text = server.config.read_text()
    if line.startswith("error_log"):
        text = "\n".join(each for each in text.split("\n") if not each.startswith("error_log"))
    before = [server.child()]
    server.config.write_text(text.replace(f"[{section}]", f"[{section}]\n{line}", 1))
    server.main.send(signal.SIGUSR2)
    server.wait_for_log("not reloaded")
    server.wait_for_log(reason)
    assert server.children() == before and server.is_served()


@pytest.mark.parametrize("what", ["the pool's", "the control"])
def test_a_removed_socket_does_not_prevent_a_reload(start, tmp_path, what):
    server = start({"ping.path": "/ping"}, settings={"pid": tmp_path / "q.pid", "control.socket": tmp_path / "q.control"})
    connected = fastcgi.connect(server.socket)
    (server.socket if what == "the pool's" else tmp_path / "q.control").unlink()
    server.reload()
    assert "the socket gets no new connections" in server.log()
    connected.sendall(fastcgi.request(fastcgi.params_for("/ping")))
    assert fastcgi.read_page(connected).body == b"pong"
    assert server.main.is_running()


@pytest.mark.parametrize("kind", ["link to a file", "another socket", "file"])
def test_a_file_that_replaced_a_socket_is_not_changed(start, tmp_path, kind):
    """A user with write access to the folder must not be able to make root change the mode of other files."""
    server = start({"ping.path": "/ping", "listen.mode": "0666"})
    victim = tmp_path / "victim"
    server.socket.unlink()
    other = socket.socket(socket.AF_UNIX)
    if kind == "another socket":
        victim = server.socket
        other.bind(str(victim))
    elif kind == "file":
        victim = server.socket
        victim.touch()
    else:
        victim.touch()
        server.socket.symlink_to(victim)
    victim.chmod(0o600)
    server.reload()
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
    server.stop()
    other.close()
    assert os.path.lexists(server.socket), "what is not its own is not removed"


def test_pid_file_that_is_a_link_is_refused(start, tmp_path):
    (tmp_path / "victim").write_text("precious\n")
    (tmp_path / "q.pid").symlink_to(tmp_path / "victim")
    server = start(settings={"pid": tmp_path / "q.pid", "control.socket": "off"}, wait=False)
    assert server.main.wait() == 1
    assert "the pid file" in server.log()
    assert (tmp_path / "victim").read_text() == "precious\n"


def test_pid_file_moves_with_the_configuration(start, tmp_path):
    server = start({}, settings={"pid": tmp_path / "old.pid", "control.socket": "off"})
    server.change("old.pid", "new.pid")
    server.reload()
    assert (tmp_path / "new.pid").read_text() == f"{server.main.pid}\n"
    assert not (tmp_path / "old.pid").exists()


def test_a_crash_loop_is_backed_off_and_shown_with_emergency_restarts_too(start):
    server = start({"pm.max_children": 2, "pm.status_path": "/status"}, settings={"emergency_restart_threshold": 2, "emergency_restart_interval": "1h"},
                   env=WITHOUT_HANDLERS)

    def has_had_enough():
        for pid in server.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSEGV)
        return "children exit too soon after they start; next start in 5000 ms" in server.log()
    wait_until(has_had_enough, "the longest pause between starts")
    assert server.log().count("becomes ") == 1
    assert "all children were already replaced within this time" in server.log()
    figures = json.loads(fastcgi.ask(server.socket, "/status", "json").text)
    assert figures["restarts backed off"] >= 1 and "signal 11" in figures["backoff reason"]


def test_an_emergency_replaces_children_despite_an_invalid_configuration(start):
    server = start({"pm.max_children": 2}, settings={"emergency_restart_threshold": 1, "emergency_restart_interval": "1h"},
                   env=WITHOUT_HANDLERS)
    wait_until(lambda: len(server.children()) == 2, "two workers")
    one, other = server.children()
    server.change("pm = static", "pm = static\ncolour = red")
    os.kill(one, signal.SIGSEGV)
    server.wait_for_log("not reloaded")
    wait_until(lambda: not process.exists(other) and len(server.children()) == 2, "others in their place")


def test_time_limits_and_slow_log_apply_to_old_workers(start, tmp_path):
    server = start({"request_terminate_timeout": "3s", "request_slowlog_timeout": "1s", "slowlog": tmp_path / "slow.log"},
                   settings={"process_control_timeout": "60s"})
    old = server.child()
    held = fastcgi.hold(server.socket)
    server.reload()
    server.wait_for_log(f"child {old}, request POST \"/xfer\": executing too slow")
    server.wait_for_log(f"child {old} is killed: POST \"/xfer\" took longer than 3 s")
    server.wait_for_log(f"child {old} of generation 1 was killed by signal 9")
    held.close()
    assert (tmp_path / "slow.log").read_text().count(f" pid={old} ") == 1


@pytest.mark.parametrize("why", ["used up", "told to finish"])
def test_request_that_waits_on_a_kept_connection_is_answered_before_the_worker_ends(start, why):
    server = start({"ping.path": "/ping", "pm.max_requests": 2 if why == "used up" else 0})
    worker = server.child()
    first, second = fastcgi.connect(server.socket), fastcgi.connect(server.socket)
    for connection in (first, second)[:1 if why == "used up" else 2]:
        connection.sendall(kept("/ping"))
        assert fastcgi.read_records(connection, fastcgi.END)
    os.kill(worker, signal.SIGSTOP)
    first.sendall(kept("/ping"))
    second.sendall(kept("/ping"))
    if why == "told to finish":
        os.kill(worker, signal.SIGQUIT)
    os.kill(worker, signal.SIGCONT)
    for connection in (first, second):
        assert any(b"pong" in content for _, content in fastcgi.read_records(connection, fastcgi.END))
    wait_until(lambda: not process.exists(worker), "its end")


def test_worker_serves_no_more_than_max_requests_under_load(start):
    server = start({"ping.path": "/ping", "pm.max_requests": 1, "pm.status_path": "/status"})
    seen = []
    connections = []
    for _ in range(20):
        connection = fastcgi.connect(server.socket)
        connection.sendall(fastcgi.request(fastcgi.params_for("/status", "json&full")))
        connections.append(connection)
    for connection in connections:
        page = fastcgi.read_page(connection).body
        seen.append(page[page.index(b"\"pid\""):].split(b",")[0])
    assert len(set(seen)) == 20


def run_after_check(program: Path, command: str) -> None:
    """Replaces PROGRAM by a script that runs COMMAND after a successful check, before the master executes the program
    again."""
    real, script = program.with_suffix(".real"), program.with_suffix(".script")
    script.write_text(f"#!/bin/sh\n{real} \"$@\" || exit 1\n{command}\nmv {real} {program}\n")
    script.chmod(0o755)
    program.rename(real)
    script.rename(program)


@pytest.fixture
def start_replaced(start, tmp_path, monkeypatch):
    """Returns a function that starts a server, and then calls run_after_check() with COMMAND."""
    program = tmp_path / "quarryd"
    shutil.copy(places.program("quarryd"), program)
    (tmp_path / "quarry-courier").symlink_to(places.program("quarry-courier"))
    programs = places.program
    monkeypatch.setattr(places, "program", lambda name: program if name == "quarryd" else programs(name))

    def begin(command: str, *args: object, **options: object) -> Daemon:
        server = start(*args, **options)
        run_after_check(program, command)
        return server
    return begin


@pytest.mark.parametrize("change", ["a mistake", "no file", "an address in use", "a removed key"])
def test_a_server_continues_with_its_configuration_if_a_file_changes_after_the_check(start_replaced, tmp_path, change):
    authority = Authority(tmp_path / "authority")
    issued = authority.issue("localhost")
    port = free_port()
    other = tmp_path / "other.conf"
    control = tmp_path / "control"
    server = start_replaced(f"mv {other} {tmp_path / 'daemon-0' / 'quarryd.conf'}" if change != "a removed key" else f"rm {issued.key}",
                            settings={"control.socket": control}, http={"listen": f"127.0.0.1:{port} ssl", **issued.directives()},
                            more=f"[courier]\nsocket = {tmp_path}/events\nspool.directory = {tmp_path}/spool\n")
    good = server.config.read_text()
    key = issued.key.read_bytes()
    courier = server.child("quarry-courier")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        other.write_text({"a mistake": "[global]\nnonsense = 1\n" + good, "no file": good + "\n[more]\ninclude = /no/file\n"}.get(
            change, good.replace(f"127.0.0.1:{port}", f"127.0.0.1:{taken.getsockname()[1]}")))
        server.main.send(signal.SIGUSR2)
        server.wait_for_log("the children of earlier generations have exited")
        assert "has become invalid since its check" in server.log()
        worker = server.child()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: server.children() not in ([], [worker]), "a new worker")
        assert server.is_served()
        front = server.child("gateway")
        os.kill(front, signal.SIGKILL)
        wait_until(lambda: server.children("gateway") not in ([], [front]), "a new front")
        tls.connect(port, authority.context()).close()
        shown = json.loads(quarry("status", "--json", "--socket", control).stdout)
        assert shown["state"] == "running" and shown["pools"][0]["pool"] == "www"
        # A new courier would read the wrong configuration.
        assert next(each["children"] for each in shown["services"] if each["service"] == "courier") == [courier]
    server.config.write_text(good)
    issued.key.write_bytes(key)
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: server.log().count("ready: process") == 3, "the reload")
    wait_until(lambda: server.children("quarry-courier") not in ([], [courier]), "a new courier")
    assert server.is_served()
    server.stop()
    assert not server.socket.exists()


def test_a_served_repository_that_vanishes_after_the_check_does_not_end_the_server(fresh, tmp_path):
    program, served, moved = tmp_path / "quarryd", tmp_path / "one.fossil", tmp_path / "moved"
    shutil.copy(places.program("quarryd"), program)
    (tmp_path / "quarry").symlink_to(places.program("quarry"))
    shutil.copy(fresh, served)
    port = free_port()
    server = process.Process([program, *daemon.serve(served), "--http", f"127.0.0.1:{port}"], tmp_path / "output")
    try:
        wait_until(lambda: "ready: " in server.output(), "quarryd")
        run_after_check(program, f"mv {served} {moved}")
        server.send(signal.SIGUSR2)
        wait_until(lambda: server.output().count("ready: ") == 2, "the previous configuration")
        assert "has become invalid since its check" in server.output()
        moved.rename(served)
        assert wire.Peer(port).post(wire.body(f"{wire.CLIENT_VERSION} 20230226 192424", "clone 3 1"), wire.PLAIN).status == 200
        assert server.stop() == 0
    finally:
        server.kill_group()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_server_that_continues_with_its_configuration_can_be_stopped(start_replaced, tmp_path, number):
    server = start_replaced(f"rm {tmp_path / 'daemon-0' / 'quarryd.conf'}")
    server.main.send(signal.SIGUSR2)
    server.wait_for_log("has become invalid since its check")
    server.main.send(number)
    assert server.main.wait() == 0
    assert not server.socket.exists()
