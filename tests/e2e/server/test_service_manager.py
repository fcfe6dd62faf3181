"""quarryd under a service manager: readiness, reload, watchdog, socket activation, the pid file and the sample
units."""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from support import daemon, fastcgi, places, process
from support.process import Process, wait_until
from support.program import fails, quarryd
from support.servers import pool_config

NOBODY_ELSE = 54321


class Manager:
    """A service manager that receives the messages sent to NOTIFY_SOCKET."""

    def __init__(self, folder: Path):
        self.path = folder / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(60)

    def next(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())

    def expect(self, key: str) -> dict[str, str]:
        """Returns the next message that is not a watchdog keep-alive."""
        while "WATCHDOG" in (message := self.next()):
            pass
        assert message.get(key) == "1", message
        return message


@pytest.fixture
def manager(tmp_path):
    made = Manager(tmp_path)
    yield made
    made.socket.close()


@pytest.fixture
def config(tmp_path, fresh) -> Path:
    path = tmp_path / "quarryd.conf"
    path.write_text(pool_config(fresh, str(tmp_path / "pool.sock"), 1, {})
                    .replace("[global]", f"[global]\npid = {tmp_path}/pid"))
    return path


@pytest.fixture
def run(tmp_path):
    started = []

    def make(*arguments: object, **environment: str) -> Process:
        started.append(Process([*arguments], tmp_path / f"log-{len(started)}", env={**os.environ, **environment}))
        return started[-1]
    yield make
    for each in started:
        each.kill_group()


def test_readiness_reload_and_stop_are_notified(manager, config, run):
    server = run(places.program("quarryd"), "--config", config, NOTIFY_SOCKET=str(manager.path))
    ready = manager.expect("READY")
    assert ready["MAINPID"] == str(server.pid) and "generation 1" in ready["STATUS"]
    server.send(signal.SIGUSR2)
    assert int(manager.expect("RELOADING")["MONOTONIC_USEC"]) > 0
    assert "generation 2" in manager.expect("READY")["STATUS"]
    server.send(signal.SIGTERM)
    manager.expect("STOPPING")
    assert server.wait() == 0


def test_the_watchdog_is_notified_in_time(manager, config, run):
    run(places.program("quarryd"), "--config", config, NOTIFY_SOCKET=str(manager.path), WATCHDOG_USEC="300000")
    manager.expect("READY")
    for _ in range(3):
        assert manager.next() == {"WATCHDOG": "1"}


def test_the_watchdog_is_notified_by_each_generation(manager, config, run):
    # The interval is so long that only messages from the start of a generation arrive.
    server = run(places.program("quarryd"), "--config", config, NOTIFY_SOCKET=str(manager.path), WATCHDOG_USEC="600000000")
    for _ in range(3):
        wait_until(lambda: "WATCHDOG" in manager.next(), "a keep-alive")
        server.send(signal.SIGUSR2)
        wait_until(lambda: "RELOADING" in manager.next(), "a reload")


def test_the_status_is_notified_regularly(manager, config, run, fresh, tmp_path):
    text = config.read_text().replace("[global]", "[global]\nsystemd_interval = 50ms\nprocess.max = 1")
    config.write_text(text + text[text.index("[www]"):].replace("[www]", "[other]").replace("pool.sock", "other.sock"))
    server = run(places.program("quarryd"), "--config", config, NOTIFY_SOCKET=str(manager.path))

    def hear(words: str) -> None:
        wait_until(lambda: re.search(words, manager.next().get("STATUS", "")), words)

    hear(r"^Processes active: 0, idle: \d, Requests: 0, slow: 0, Traffic: 0.0req/sec; generation 1, 2 pools")
    hear(r"idle: 1, .*; short of workers: other$")
    for _ in range(3):
        assert fastcgi.get(tmp_path / "pool.sock")
    hear(r"Requests: 3, slow: 0, Traffic: \d")
    held = fastcgi.hold(tmp_path / "pool.sock")
    hear(r"active: 1, idle: 0, ")
    held.close()
    server.send(signal.SIGUSR2)
    hear("^reloading$")
    hear(r"Requests: \d+, .*; generation 2, 2 pools")
    server.send(signal.SIGTERM)
    hear("^stopping$")


def test_a_missing_notify_socket_is_ignored(config, run, tmp_path):
    server = run(places.program("quarryd"), "--config", config, NOTIFY_SOCKET=str(tmp_path / "gone"))
    wait_until(lambda: "ready: " in server.output(), "quarryd")
    assert server.stop() == 0


def test_an_activated_socket_is_used_and_not_removed(config, run, tmp_path):
    path = tmp_path / "pool.sock"
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(path))
        opened.listen()
        waiting = fastcgi.connect(path)
        waiting.sendall(fastcgi.head("GET", "/") + fastcgi.record(fastcgi.STDIN))
        server = Process(daemon.with_socket(opened, places.program("quarryd"), "--config", config),
                         tmp_path / "log", pass_fds=[opened.fileno()])
    try:
        assert b"A Fossil repository" in fastcgi.read_reply(waiting)
        inode = path.stat().st_ino
        server.send(signal.SIGUSR2)
        wait_until(lambda: server.output().count("ready: ") == 2, "the reload")
        assert b"A Fossil repository" in fastcgi.get(path)
        assert server.stop() == 0
        assert path.stat().st_ino == inode, "it is the service manager's"
    finally:
        server.kill_group()


def test_a_pid_file_of_a_running_server_prevents_the_start(config, run, tmp_path):
    first = run(places.program("quarryd"), "--config", config)
    wait_until(lambda: "ready: " in first.output(), "quarryd")
    assert (tmp_path / "pid").read_text() == f"{first.pid}\n"
    other = tmp_path / "other.conf"
    other.write_text(config.read_text().replace("pool.sock", "other.sock"))
    second = run(places.program("quarryd"), "--config", other)
    assert second.wait() == 1
    assert f"{tmp_path}/pid belongs to process {first.pid}, a running quarryd" in second.output()
    assert b"A Fossil repository" in fastcgi.get(tmp_path / "pool.sock")
    workers = process.children(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    wait_until(lambda: not any(map(process.exists, workers)), "the end of its workers")
    third = run(places.program("quarryd"), "--config", config)
    wait_until(lambda: "ready: " in third.output(), "quarryd, where the file is of nobody")
    assert third.stop() == 0 and not (tmp_path / "pid").exists()


def test_daemonize_returns_when_the_server_is_ready(config, tmp_path):
    log = tmp_path / "error.log"
    config.write_text(config.read_text().replace("error_log = stderr", f"error_log = {log}"))
    done = quarryd("--config", config, "--daemonize")
    pid = int((tmp_path / "pid").read_text())
    try:
        assert done.returncode == 0 and "ready: " in log.read_text()
        assert b"A Fossil repository" in fastcgi.get(tmp_path / "pool.sock")
        assert os.getsid(pid) == pid
        for standard in range(3):
            assert os.readlink(f"/proc/{pid}/fd/{standard}") == "/dev/null"
        os.kill(pid, signal.SIGUSR2)
        wait_until(lambda: log.read_text().count("ready: ") == 2, "the reload")
        assert int((tmp_path / "pid").read_text()) == pid
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not process.exists(pid), "its end")


def test_nodaemonize_overrides_the_configuration(config, run, tmp_path):
    config.write_text(config.read_text().replace("[global]", "[global]\ndaemonize = yes"))
    server = run(places.program("quarryd"), "--config", config, "-F")
    wait_until(lambda: "ready: " in server.output() or not server.is_running(), "quarryd")
    assert (tmp_path / "pid").read_text() == f"{server.pid}\n" and server.stop() == 0
    both = run(places.program("quarryd"), "--config", config, "-F", "-D")
    assert both.wait() == 2


def test_relative_paths_refer_to_the_prefix(fresh, run, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = elsewhere / "quarryd.conf"
    path.write_text(pool_config(fresh, "./pool.sock", 1, {"access.log": "access.log"})
                    .replace("[global]\nerror_log = stderr", "[global]\npid = q.pid\nerror_log = error.log")
                    .replace(str(fresh), fresh.name))
    server = run(places.program("quarryd"), "-c", path, "-p", f"{elsewhere}/..")
    wait_until(lambda: (tmp_path / "error.log").exists() and "ready: " in (tmp_path / "error.log").read_text()
               or not server.is_running(), "quarryd")
    assert b"A Fossil repository" in fastcgi.get(tmp_path / "pool.sock")
    assert (tmp_path / "access.log").read_text() and (tmp_path / "q.pid").read_text() == f"{server.pid}\n"
    server.send(signal.SIGUSR2)
    wait_until(lambda: (tmp_path / "error.log").read_text().count("ready: ") == 2, "the reload")
    assert b"A Fossil repository" in fastcgi.get(tmp_path / "pool.sock")
    assert "q.pid is relative to the --prefix of its quarryd" in fails("status", "--config", path)
    assert server.stop() == 0
    without = run(places.program("quarryd"), "-c", path)
    assert without.wait() == 1 and '"q.pid" is not an absolute path' in without.output()
    nowhere = run(places.program("quarryd"), "-c", path, "-p", tmp_path / "none")
    assert nowhere.wait() == 2


def test_errors_are_printed_before_going_to_the_background(config, tmp_path):
    config.write_text(config.read_text().replace("error_log = stderr", f"error_log = {tmp_path}/log")
                      .replace("pool.sock", "no/such/folder/pool.sock"))
    done = quarryd("--config", config, "--daemonize")
    assert done.returncode == 1 and "no/such/folder" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user, whose number of processes is bounded")
@pytest.mark.parametrize("where", ["background", "foreground"])
def test_a_start_fails_if_no_child_can_be_started(open_folder, where):
    """The limit on processes does not allow quarryd to start a child."""
    path = open_folder / "quarryd.conf"
    path.write_text(f"[global]\nerror_log = {open_folder}/error.log\npid = {open_folder}/pid\n"
                    f"[www]\nlisten = {open_folder}/pool.sock\nrepositories = {open_folder}\npm.max_children = 2\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(open_folder / "notify"))
        (open_folder / "notify").chmod(0o666)
        most = 2 if where == "background" else 1
        done = quarryd("--config", path, *(["--daemonize"] if where == "background" else []), user=NOBODY_ELSE,
                       group=NOBODY_ELSE, extra_groups=[], env={**os.environ, "NOTIFY_SOCKET": str(open_folder / "notify")},
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)))  # noqa: PLW1509
        assert done.returncode == 1
        assert "[pool www] cannot start any child: cannot create a process" in done.stderr
        assert "ready:" not in (open_folder / "error.log").read_text()
        assert not (open_folder / "pid").exists() and not (open_folder / "pool.sock").exists()
        manager.setblocking(False)
        messages = []
        with contextlib.suppress(BlockingIOError):
            while True:
                messages.append(manager.recv(4096))
        assert not any(b"READY" in each for each in messages)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_sample_units_are_right(tmp_path):
    source = places.nginx_sample().parent.parent / "systemd"
    for name in ("quarryd.service", "quarryd.socket"):
        text = (source / name).read_text().replace("/usr/local/sbin/quarryd", str(places.program("quarryd").resolve()))
        (tmp_path / name).write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / "quarryd.service", tmp_path / "quarryd.socket"],
                          capture_output=True, text=True, timeout=60, check=False)
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if re.search(r"quarryd\.(service|socket)", line)]
    assert done.returncode == 0 and not complaints, complaints or done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_sample_unit_is_confined():
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=50",
                           places.TOP / "conf" / "systemd" / "quarryd.service"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
