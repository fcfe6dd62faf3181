"""The server's command line, and signals to it."""

import http.client
import os
import pwd
import re
import shutil
import signal
import socket
import tempfile

import pytest

from support import daemon, places, process, repofile, wire
from support.daemon import bytes_read
from support.process import Process, free_port, wait_until
from support.program import quarryd


@pytest.mark.parametrize("arguments", [["--no-such-option"], ["--serve"], ["--http", "127.0.0.1:1"], [], ["--serve", "/", "-tt"]])
def test_wrong_usage(arguments):
    done = quarryd(*arguments)
    assert done.returncode == 2 and done.stderr.strip()


def test_version_is_printed():
    done = quarryd("--version")
    assert done.returncode == 0 and re.fullmatch(r"quarryd \d+\.\d+\S*\n", done.stdout)


def test_serving_a_file_that_does_not_exist(tmp_path):
    done = quarryd("--serve", tmp_path / "absent.fossil", "--http", f"127.0.0.1:{free_port()}")
    assert done.returncode == 1 and "absent.fossil" in done.stderr + done.stdout


def test_serving_a_file_that_is_not_a_repository(tmp_path):
    path = tmp_path / "notes.fossil"
    path.write_text("not a database\n")
    done = quarryd("--serve", path, "--http", f"127.0.0.1:{free_port()}")
    assert done.returncode == 1 and f"{path} is not a Fossil repository" in done.stderr + done.stdout


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="requires root")


@AS_ROOT
def test_files_of_root_are_served_as_root_only_with_user_root(fresh):
    address = ["--http", f"127.0.0.1:{free_port()}"]
    for path in (fresh, fresh.parent):
        for more in (["--test"], []):
            done = quarryd("--serve", path, *address, *more)
            assert done.returncode == 1
            assert done.stderr == (f"quarryd: {path} belongs to root, but must not be served as root; give it to another user "
                                   f"(chown -R USER {path}), or confirm with --user root\n")
        assert quarryd("--serve", path, "--user", "root", *address, "--test").returncode == 0
    done = quarryd("--serve", fresh, "--user", "no-such-user", *address)
    assert done.returncode == 1 and 'user "no-such-user" does not exist' in done.stderr


@AS_ROOT
def test_all_children_run_as_the_given_user(fresh, open_folder, tmp_path, fossil):
    path = open_folder / "one.fossil"
    fresh.rename(path)
    shutil.chown(path, "daemon", "daemon")
    port = free_port()
    server = Process([places.program("quarryd"), "--serve", path, "--user", "daemon", "--http", f"127.0.0.1:{port}"],
                     tmp_path / "log", env=fossil.environment)
    wait_until(lambda: process.port_answers(port) or not server.is_running(), "quarryd")
    wait_until(lambda: {"pool www", "gateway"} <= {process.name(pid) for pid in process.children(server.pid)}, "children")
    users = {daemon.status(pid, "Uid").split()[1] for pid in process.children(server.pid)}
    assert users == {str(pwd.getpwnam("daemon").pw_uid)}
    server.stop()


@AS_ROOT
@pytest.mark.skipif(not places.is_open_to_others(), reason="needs a build folder that other users can enter")
def test_only_root_can_serve_as_another_user(open_folder):
    done = quarryd("--serve", open_folder, "--user", "daemon", user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1
    assert done.stderr == "quarryd: --user requires root: start quarryd as root, or omit --user\n"


@pytest.fixture
def running(fresh, tmp_path, fossil):
    port = free_port()
    # The path of the folder must be short, because socket paths are limited to 107 bytes. The folder is deleted
    # afterwards, because a killed server does not remove its socket.
    with tempfile.TemporaryDirectory() as folder:
        server = Process([places.program("quarryd"), *daemon.serve(fresh), "--http", f"127.0.0.1:{port}"], tmp_path / "log",
                         env={**fossil.environment, "TMPDIR": folder})
        wait_until(lambda: process.port_answers(port) or not server.is_running(), "quarryd")
        assert server.is_running(), server.output()
        yield server, port
        server.kill_group()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT, signal.SIGINT])
def test_signals_stop_the_server(running, number):
    server, port = running
    wait_until(lambda: len(process.children(server.pid)) >= 2, "children")
    children = process.children(server.pid)
    server.send(number)
    assert server.wait() == 0, server.output()
    assert not any(process.exists(pid) for pid in children)
    assert not process.port_answers(port)


def test_sigquit_finishes_in_flight_requests(running, fresh):
    """A request that has been received only in part is still answered."""
    server, port = running
    body = b"# a comment\n" * 10
    wait_until(lambda: "gateway" in [process.name(pid) for pid in process.children(server.pid)], "the gateway")
    gateway, = (pid for pid in process.children(server.pid) if process.name(pid) == "gateway")
    before = bytes_read(gateway)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"POST / HTTP/1.0\r\nHost: x\r\nContent-Type: {wire.PLAIN}\r\nContent-Length: {len(body)}\r\n"
                           "\r\n".encode() + body[:20])
        wait_until(lambda: bytes_read(gateway) > before, "the first half to be read")
        server.send(signal.SIGQUIT)
        wait_until(lambda: not process.port_answers(port), "the end of listening")
        connection.sendall(body[20:])
        with connection.makefile("rb") as reply:
            assert b" 200 " in reply.read()
    assert server.wait() == 0


def test_get_shows_a_description(fresh, tmp_path, fossil):
    port = free_port()
    server = Process([places.program("quarryd"), *daemon.serve(fresh), "--http", f"127.0.0.1:{port}", "--no-pages"], tmp_path / "log",
                     env=fossil.environment)
    wait_until(lambda: process.port_answers(port), "quarryd")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for path, status, expected in (("/", 200, "fossil clone"), ("/ping", 404, "no such"), ("/status", 404, "no such")):
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read().decode()
        assert response.status == status
        assert expected in text
    connection.close()
    server.stop()


def test_the_schema_of_a_served_file_is_unchanged(running, fresh, fossil):
    _, port = running
    assert wire.Peer(port).post(b"").status == 200
    names = [name for name, in repofile.query(fresh, "SELECT name FROM sqlite_schema")]
    assert not [name for name in names if "quarry" in name and not name.startswith("fx_quarry_")]
