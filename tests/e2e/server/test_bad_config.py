"""All errors in a configuration are reported with file and line. After such an error, quarryd does not start any
process, and the processes that are already running stay unchanged.

The individual errors are tested in tests/unit/app/quarryd/configuration_test.cc."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from support import fastcgi, places
from support.daemon import section, user
from support.process import wait_until
from support.program import quarryd


def run(path: Path, *more: str, **how) -> subprocess.CompletedProcess[str]:
    return quarryd("--config", str(path), *more, **how)


@pytest.fixture
def world(tmp_path, fresh):
    """Returns a function that writes a configuration of a valid pool and MORE."""

    def write(more: str = "", name: str = "quarryd.conf", pool: str = "www") -> Path:
        words = {"listen": tmp_path / f"{pool}.sock", "repository": fresh, **user()}
        path = tmp_path / name
        path.write_text(section(pool, words) + more)
        return path
    return write


def complaint(path: Path) -> str:
    """Returns the output of --test. Checks that --test and a start print the same output and fail with exit status
    1."""
    tested, started = run(path, "--test"), run(path)
    assert tested.returncode == started.returncode == 1, tested.stderr + started.stderr
    assert not tested.stdout and tested.stderr == started.stderr
    return tested.stderr


MISTAKES = ("colour = red", "no equals sign", "group = \"root", "pm = sometimes", "pm.max_children = many", "listen.mode = 0999",
            "listen.acl_users = no-such-user", "request_slowlog_timeout = 5s")


def test_all_errors_are_reported_at_once_in_line_order(world, fresh):
    path = world()
    with path.open("a") as file:
        for number, line in enumerate(MISTAKES):
            words = {"listen": f"/tmp/{number}.sock", "repository": fresh, **user()}
            file.write(section(f"pool{number}", words) + line + "\n")
    lines = complaint(path).splitlines()
    numbers = [int(re.match(rf"{re.escape(str(path))}:(\d+): ", line)[1]) for line in lines]
    assert len(lines) == len(MISTAKES) and numbers == sorted(numbers)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have pools of others")
def test_a_gate_that_cannot_run_is_an_error(world):
    gate = "changes = yes\nchanges.gate = /bin/true\n"
    for name, more, said in (("nobody", "changes.gate_user = daemon\n", "cannot switch to daemon"),
                             ("root", "changes.gate_user = root\n", "gates may not run as root"),
                             ("root", "changes.gate_user = no-such-user\n", "no-such-user"),
                             ("root", "", "set changes.gate_user")):
        path = world(gate + more)
        path.write_text(path.read_text().replace("user = root\n", f"user = {name}\n"))
        said_of_it = complaint(path)
        assert said_of_it.startswith("[www] changes.gate") and said in said_of_it, said_of_it
    for name, more in (("root", "changes.gate_user = nobody\n"), ("nobody", "")):
        path = world(gate + more)
        path.write_text(path.read_text().replace("user = root\n", f"user = {name}\n"))
        assert "changes.gate" not in run(path, "--test").stderr


def test_process_max_below_the_first_children_is_a_notice(world):
    path = world("pm.max_children = 4\n[global]\nprocess.max = 3\n")
    done = run(path, "--test")
    number = path.read_text().count("\n")
    assert done.returncode == 0
    assert f"{path}:{number}: process.max: 3 is less than the 4 children that the pools start with" in done.stderr
    path.write_text(path.read_text().replace("process.max = 3", "process.max = 4"))
    assert not run(path, "--test").stderr


def test_a_file_of_random_bytes_is_rejected(tmp_path):
    path = tmp_path / "random.conf"
    path.write_bytes(os.urandom(100000))
    done = subprocess.run([places.program("quarryd"), "--config", path, "--test"], capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and done.stderr.startswith(str(path).encode())


def test_a_path_that_is_not_a_readable_file_is_reported(tmp_path, world):
    (tmp_path / "folder.conf").mkdir()
    os.mkfifo(tmp_path / "pipe.conf")
    (tmp_path / "huge.conf").write_text("; a comment\n" * 100000)
    (tmp_path / "dangling.conf").symlink_to(tmp_path / "nowhere")
    for name, why in (("folder", "it is a folder"), ("pipe", "it is not a regular file"), ("huge", "larger than"),
                      ("dangling", "No such file"), ("absent", "No such file")):
        path = tmp_path / f"{name}.conf"
        said = complaint(path)
        assert said.startswith(f"{path}: ") and why in said
        outer = world(f"[global]\ninclude = {name}.conf\n", name="outer.conf")
        number = outer.read_text().count("\n")
        assert complaint(outer).startswith(f"{outer}:{number}: include: {path}: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_an_unreadable_file_is_reported(open_folder):
    path = open_folder / "secret.conf"
    path.write_text("[www]\n")
    path.chmod(0o600)
    done = run(path, "--test", user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1 and done.stderr == f"{path}: cannot be read: permission denied\n"


def test_all_addresses_in_use_are_reported_with_file_and_line(world, fresh, tmp_path):
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(str(tmp_path / "www.sock"))
        unix.listen()
        port = tcp.getsockname()[1]
        path = world(section("other", {"repository": fresh, **user(), "listen": f"127.0.0.1:{port}"}))
        assert run(path, "--test").returncode == 0, "they may be those of a running server"
        done = run(path)
        number = path.read_text().count("\n")
        assert done.returncode == 1
        complaints = [line for line in done.stderr.splitlines() if line.startswith("quarryd: ")]
        assert complaints[0].startswith(f"quarryd: {path}:2: ") and "www.sock" in complaints[0]
        assert complaints[1] == f"quarryd: {path}:{number}: another program listens on 127.0.0.1:{port}"
        assert (tmp_path / "www.sock").exists(), "that of the other is left alone"


def test_a_courier_that_cannot_listen_prevents_the_start(world, tmp_path):
    nowhere = tmp_path / "nowhere" / "courier.sock"
    path = world(f"[courier]\nsocket = {nowhere}\nspool.directory = {tmp_path}/spool\n")
    number = path.read_text().split("\n").index("[courier]") + 1
    why = f"{path}:{number}: cannot bind {nowhere}: No such file or directory\n"
    assert why in run(path, "--test").stderr and why in run(path).stderr
    nowhere.parent.mkdir()
    assert run(path, "--test").returncode == 0 and not nowhere.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_socket_whose_owner_cannot_be_changed_is_removed(open_folder):
    path = open_folder / "quarryd.conf"
    path.write_text(section("www", {"listen": open_folder / "www.sock", "repositories": open_folder})
                    + f"[courier]\nuser = www-data\nsocket = {open_folder}/courier.sock\n")
    done = run(path, "--test", user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1
    assert "cannot change the owner" in done.stderr and not (open_folder / "courier.sock").exists()


def test_a_reload_with_errors_leaves_all_pools_unchanged(start, fresh, tmp_path):
    more = section("other", {"listen": tmp_path / "other.sock", "repository": fresh, "ping.path": "/ping",
                             "pm.max_children": 2, **user()})
    server = start({"ping.path": "/ping"}, more=more)

    def children() -> set[int]:
        return {*server.children(), *server.children("pool other")}
    wait_until(lambda: len(children()) == 3, "all workers")
    workers = children()
    good = server.config.read_text()
    for number, bad in enumerate([*MISTAKES, "[www]", "include = /nowhere/\0"], 1):
        server.config.write_text(good + bad + "\n")
        server.main.send(signal.SIGUSR2)
        wait_until(lambda: server.log().count("not reloaded") == number, f"the refusal of {bad}")
    server.wait_for_log(f"{server.config}:")
    server.wait_for_log("unknown directive colour")
    for address in (server.socket, tmp_path / "other.sock"):
        assert fastcgi.get(address, "/ping").endswith(b"pong")
    assert children() == workers
