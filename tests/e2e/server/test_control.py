"""`quarry status` and the control socket, on which the master reports its status."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest

from support import daemon, fastcgi, places, process
from support.pool import state_of, stopped
from support.process import Process, wait_until
from support.program import quarry

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else")


def status(*words: object, **more) -> subprocess.CompletedProcess[str]:
    return quarry("status", *words, **more)


def document(socket_path: Path, *words: object) -> dict:
    done = status("--json", "--socket", socket_path, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def row(text: str, first: str) -> dict[str, str]:
    """Returns the table row that begins with FIRST, as a map of column heads to values. The last column can contain
    spaces."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:1] == [first])
    head = max(i for i in range(at) if lines[i].split()[:1] in (["POOL"], ["PID"]))
    heads = lines[head].split()
    return dict(zip(heads, lines[at].split(maxsplit=len(heads) - 1), strict=False))


def connect(path: Path) -> socket.socket:
    return fastcgi.connect(path)


def heard(connection: socket.socket) -> bytes:
    out = b""
    try:
        while more := connection.recv(65536):
            out += more
    except ConnectionResetError:
        pass
    return out


@pytest.fixture
def watched(start, tmp_path):
    """Returns a function that starts quarryd with a control socket. The attribute `control` of the server is the path
    of the socket."""
    def make(pool: dict[str, object] | None = None, settings: dict[str, object] | None = None, **more):
        server = start(pool, settings={"control.socket": tmp_path / "control", **(settings or {})}, **more)
        server.control = tmp_path / "control"
        return server
    return make


def test_status_is_available_while_every_worker_is_stopped(watched):
    server = watched({"pm.max_children": 2})
    wait_until(lambda: len(server.children()) == 2, "two workers")
    workers = server.children()
    wait_until(lambda: document(server.control)["pools"][0]["idle processes"] == 2, "idle workers")
    with stopped(workers):
        waiting = [fastcgi.connect(server.socket) for _ in range(3)]
        whole = document(server.control, "--full")
        pool, = whole["pools"]
        assert pool["listen queue"] == 3 and pool["children"] == 2
        assert sorted(each["pid"] for each in pool["processes"]) == sorted(workers)
        text = status("--socket", server.control)
        assert text.returncode == 0 and row(text.stdout, "www")["QUEUE"] == "3"
        for each in waiting:
            each.close()
    assert whole["pid"] == server.main.pid and whole["generation"] == 1 and whole["state"] == "running"
    assert whole["config"] == str(server.config)


def test_status_equals_the_status_page(watched, tmp_path):
    server = watched({"pm.max_children": 2, "pm.status_path": "/status", "pm.status_listen": tmp_path / "status"})
    for _ in range(5):
        fastcgi.get(server.socket)

    def of_control():
        return document(server.control, "--full")["pools"][0]

    def of_page():
        return json.loads(fastcgi.ask(tmp_path / "status", "/status", "json&full").text)

    def still(page: dict) -> dict:
        """Removes from PAGE the figures that change over time."""
        for each in page["processes"]:
            del each["start since"]
        del page["start since"]
        return page
    wait_until(lambda: of_page()["requests"] == 5 and of_page()["idle processes"] == 2, "the last request's end")
    ours, page = of_control(), of_page()
    assert list(ours) == list(page), "names and their order"
    assert still(ours) == still(page)
    assert ours["requests"] == 5
    assert set(document(server.control)["pools"][0]) == {*page, "start since"} - {"processes"}


def test_the_table_has_a_line_for_each_pool_and_with_full_for_each_worker(watched):
    server = watched({"pm.max_children": 2}, more=daemon.section("other", {
        "listen": "127.0.0.1:0", "repositories": "/tmp", "pm": "ondemand", "pm.max_children": 7, **daemon.user()}))
    wait_until(lambda: len(server.children()) == 2, "two workers")
    assert b"A Fossil repository" in fastcgi.get(server.socket)
    wait_until(lambda: row(status("--socket", server.control).stdout, "www")["REQUESTS"] == "1", "the request's end")
    text = status("--socket", server.control).stdout
    www, other = row(text, "www"), row(text, "other")
    assert (www["PM"], www["CHILDREN"], www["IDLE"], www["ACTIVE"]) == ("static", "2/2", "2", "0")
    assert (other["PM"], other["CHILDREN"], other["REQUESTS"]) == ("ondemand", "0/7", "0")
    assert f"process {server.main.pid}," in text and str(server.config) in text
    alone = status("--socket", server.control, "other", "--full").stdout
    assert "www" not in alone and "[other]" in alone
    full = status("--socket", server.control, "--full").stdout
    for pid in server.children():
        assert row(full, str(pid))["STATE"] == "Idle"
    assert [pool["pool"] for pool in document(server.control, "other")["pools"]] == ["other"]


def test_client_cannot_write_to_the_terminal(watched):
    server = watched()
    evil = "/\x1b]0;owned\x07\x1b[2J\r\nfake  line\x9b"
    with fastcgi.connect(server.socket) as connection:
        params = {**fastcgi.params_for("/xfer", method="POST"), "REQUEST_URI": evil, "CONTENT_LENGTH": "9",
                  "CONTENT_TYPE": "application/x-fossil-debug"}
        connection.sendall(fastcgi.request(params)[:-8])
        wait_until(lambda: document(server.control)["pools"][0]["processes executing"] == 1, "the request")
        text = status("--socket", server.control, "--full").stdout
        assert "owned" in text and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        assert not any(line.startswith("fake") for line in text.splitlines())
        raw = status("--socket", server.control, "--full", "--json").stdout
        assert "owned" in raw and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", raw)


def test_children_of_earlier_generations_are_shown(watched):
    server = watched()
    old = server.child()
    held = fastcgi.hold(server.socket)
    wait_until(lambda: document(server.control)["pools"][0]["active processes"] == 1, "the request")
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: document(server.control)["generation"] == 2, "the reload")
    whole = document(server.control)
    assert whole["previous generation"] == [{"pid": old, "service": "pool www", "generation": 1}]
    assert whole["start time"] <= whole["generation start time"]
    assert "1 of earlier generations" in status("--socket", server.control).stdout
    held.close()
    wait_until(lambda: document(server.control)["previous generation"] == [], "its end")


def test_recent_crashes_are_shown(watched):
    server = watched(settings={"emergency_restart_threshold": 3, "emergency_restart_interval": "1h"})
    assert document(server.control)["crashes"] == 0 and "recent crashes" not in status("--socket", server.control).stdout
    os.kill(server.child(), signal.SIGSEGV)
    wait_until(lambda: document(server.control)["crashes"] == 1, "the crash")
    assert "recent crashes: 1 (after 3 crashes, " in status("--socket", server.control).stdout


def test_only_the_owner_may_connect_and_no_child_inherits_the_socket(watched):
    server = watched()
    mode = server.control.stat()
    assert stat.S_ISSOCK(mode.st_mode) and stat.S_IMODE(mode.st_mode) == 0o600 and mode.st_uid == os.geteuid()

    def listening(pid: int) -> bool:
        inodes = {line.split()[6] for line in Path("/proc/net/unix").read_text().splitlines()
                  if line.endswith(str(server.control))}
        held = {os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
        return bool(inodes) and any(f"socket:[{inode}]" in held for inode in inodes)
    assert listening(server.main.pid) and not listening(server.child())


def test_the_control_socket_is_found_through_the_configuration(start, tmp_path):
    beside = start(settings={"pid": tmp_path / "q.pid"})
    done = status("--config", beside.config)
    assert done.returncode == 0 and f"process {beside.main.pid}," in done.stdout
    assert (tmp_path / "q.control").exists()
    beside.stop()
    assert not (tmp_path / "q.control").exists()
    done = status("--config", beside.config)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "quarryd is not running" in done.stderr and "q.control" in done.stderr
    off = start(settings={"pid": tmp_path / "q.pid", "control.socket": "off"})
    assert not (tmp_path / "q.control").exists()
    assert "control.socket = off" in status("--config", off.config).stderr
    none = start()
    done = status("--config", none.config)
    assert done.returncode == 1 and "neither control.socket nor pid" in done.stderr


def test_the_control_socket_is_found_through_an_invalid_configuration(watched):
    server = watched()
    server.config.write_text(server.config.read_text() + "colour = red\n")
    done = status("--config", server.config)
    assert done.returncode == 0 and f"process {server.main.pid}," in done.stdout


def test_a_reload_keeps_the_control_socket_or_moves_it(watched, tmp_path):
    server = watched()
    inode = server.control.stat().st_ino
    server.main.send(signal.SIGUSR2)
    seen = 0
    while seen < 2:
        # Requests are also answered during the reload.
        seen = document(server.control)["generation"]
    assert server.control.stat().st_ino == inode
    moved = tmp_path / "elsewhere"
    server.config.write_text(server.config.read_text().replace(str(server.control), str(moved)))
    server.main.send(signal.SIGHUP)
    # The new socket alone does not show the end of the reload: the check of the new configuration temporarily binds a
    # socket at the same path.
    server.wait_for_log("generation 2 becomes 3")
    wait_until(lambda: status("--socket", moved).returncode == 0, "the new socket")
    assert document(moved)["generation"] == 3
    assert not server.control.exists()


def test_a_control_socket_in_use_prevents_a_reload(watched, tmp_path):
    server = watched()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "taken"))
        other.listen()
        server.config.write_text(server.config.read_text().replace(str(server.control), str(tmp_path / "taken")))
        server.main.send(signal.SIGUSR2)
        server.wait_for_log("not reloaded")
        server.wait_for_log("another program listens on")
    assert document(server.control)["generation"] == 1


def test_only_the_socket_of_a_dead_master_is_replaced(watched, start, tmp_path):
    first = watched()
    second = start(settings={"control.socket": first.control}, wait=False)
    assert second.main.wait() == 1
    assert f"control.socket: another program listens on {first.control}" in second.log()
    assert document(first.control)["pid"] == first.main.pid
    first.main.send(signal.SIGKILL)
    first.main.wait()
    done = status("--socket", first.control)
    assert done.returncode == 1 and "quarryd is not running" in done.stderr
    third = watched()
    assert document(first.control)["pid"] == third.main.pid


def test_a_file_in_place_of_the_control_socket_is_not_replaced(start, tmp_path):
    (tmp_path / "file").write_text("precious")
    server = start(settings={"control.socket": tmp_path / "file"}, wait=False)
    assert server.main.wait() == 1 and "is not a socket" in server.log()
    assert (tmp_path / "file").read_text() == "precious"


def test_without_a_configuration_the_control_socket_is_in_a_private_folder(fresh, tmp_path, fossil):
    server = Process([places.program("quarryd"), *daemon.serve(fresh), "--http", "127.0.0.1:0"], tmp_path / "log",
                     env=fossil.environment)
    try:
        wait_until(lambda: "ready: " in server.output(), "quarryd")
        path = Path(re.search(r"quarry status --socket (\S+)", server.output())[1])
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert document(path)["config"] == str(fresh)
        server.send(signal.SIGUSR2)
        wait_until(lambda: document(path)["generation"] == 2, "the reload")
        assert server.stop() == 0
        assert not path.parent.exists()
    finally:
        server.kill_group()


@AS_ROOT
def test_other_users_are_refused(watched, open_folder):
    server = watched(settings={"control.socket": open_folder / "control"})
    path = open_folder / "control"
    program = open_folder / "quarry"
    program.write_bytes(places.program("quarry").read_bytes())
    program.chmod(0o755)

    def as_nobody(*words):
        return subprocess.run([program, *words], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
                              text=True, timeout=60, check=False)
    done = as_nobody("status", "--socket", path)
    assert done.returncode == 1 and "permission denied" in done.stderr and done.stdout == ""
    path.chmod(0o666)
    for words in (["status"], ["status", "--json", "--full"], ["top", "--count", "1"]):
        done = as_nobody(*words, "--socket", path)
        assert done.returncode == 1 and "only root and the user" in done.stderr and done.stdout == ""
    assert document(path)["pid"] == server.main.pid


@pytest.mark.slow
def test_silent_and_incomplete_clients_are_disconnected(watched):
    server = watched()
    with connect(server.control) as silent, connect(server.control) as half:
        half.sendall(b"status")
        begin = time.monotonic()
        assert heard(silent) == b"" and heard(half) == b""
        assert time.monotonic() - begin > 1, "it was given time"
    assert document(server.control)["pid"] == server.main.pid


GARBAGE = {"a verb that is none": b"stop\n", "an empty line": b"\n", "zeros": b"\0" * 64, "no end": b"x" * 1_000_000,
           "all bytes": bytes(range(256)) * 16, "HTTP": b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n",
           "too many words": b"status full full\n"}


@pytest.mark.parametrize("garbage", GARBAGE)
def test_an_invalid_question_is_refused(watched, garbage):
    server = watched()
    garbage = GARBAGE[garbage]
    before = process.children(server.main.pid)
    with connect(server.control) as client:
        try:
            client.sendall(garbage)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert heard(client) in (b'{"error":"unknown request"}\n', b"")
    assert document(server.control)["state"] == "running"
    assert process.children(server.main.pid) == before


@pytest.mark.slow
def test_two_hundred_silent_clients_do_not_block_others(watched):
    server = watched(settings={"rlimit_files": 64})
    silent = [connect(server.control) for _ in range(200)]
    try:
        assert document(server.control)["pid"] == server.main.pid
        assert len(os.listdir(f"/proc/{server.main.pid}/fd")) <= 64
        before = daemon.processor_seconds(server.main.pid)
        for each in silent:
            assert heard(each) == b""
        assert daemon.processor_seconds(server.main.pid) - before < 1, "it waits for clients, it does not spin"
    finally:
        for each in silent:
            each.close()
    assert b"A Fossil repository" in fastcgi.get(server.socket)


@pytest.mark.slow
def test_status_gives_up_on_a_hanging_master(watched):
    server = watched()
    os.kill(server.main.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: state_of(server.main.pid) == "T", "a stopped master")
        done = status("--socket", server.control)
        assert done.returncode == 1 and "does not answer" in done.stderr
    finally:
        os.kill(server.main.pid, signal.SIGCONT)


def test_wrong_usage_of_status_and_top(watched, tmp_path):
    server = watched()
    done = status("--socket", server.control, "www", "nope")
    assert done.returncode == 1 and done.stdout == "" and '"nope"' in done.stderr and "the pools are www" in done.stderr
    assert status("--socket", server.control, "--config", server.config).returncode == 2
    assert status("--socket", server.control, "--colour").returncode == 2
    done = status("--config", tmp_path / "none.conf")
    assert done.returncode == 1 and "none.conf" in done.stderr
    done = status("--socket", server.socket)
    assert done.returncode == 1 and done.stderr.startswith("quarry: ") and done.stderr.count("\n") == 1
    for command in ("status", "top"):
        done = quarry(command, "--help")
        assert done.returncode == 0 and "--socket" in done.stdout
