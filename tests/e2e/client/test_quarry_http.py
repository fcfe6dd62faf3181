"""`quarry http` (inetd and CGI) and `quarry test-http` (over ssh), used by the stock client."""

import contextlib
import os
import shutil
import socket
import socketserver
import sqlite3
import subprocess
import sys
import threading

import pytest

import proof
from support import daemon, places, process, repofile, wire
from support.fossil import Checkout, clone_and_open

PROGRAM = places.program("quarry")


def run(arguments, data=b"", env=None):
    """Runs the program, which must succeed, and returns its standard output."""
    environment = {name: text for name, text in os.environ.items() if name not in ("GATEWAY_INTERFACE", "SSH_CONNECTION")}
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=data, capture_output=True, timeout=60, check=False,
                          env={**environment, **(env or {})})
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def post(body, path="/", kind="application/x-fossil-debug", more=""):
    return (f"POST {path} HTTP/1.0\r\nHost: h\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
            .encode() + body)


def parts(reply):
    """Splits a reply into the first line, the headers as one text, and the body."""
    head, body = reply.split(b"\r\n\r\n", 1)
    first, _, headers = head.decode().partition("\r\n")
    return first, headers, body


@pytest.fixture
def inetd(fresh):
    """Starts `quarry http` for each connection, as inetd does, with the connection as standard input and output."""
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            subprocess.run([PROGRAM, "http", self.server.target], stdin=self.request.fileno(),
                           stdout=self.request.fileno(), timeout=60, check=True)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.target = fresh
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_fossil_works_with_it_behind_inetd(inetd, fresh, fossil, tmp_path):
    url = f"http://writer:pen@127.0.0.1:{inetd.server_address[1]}/"
    _, checkout = clone_and_open(fossil, url, tmp_path)
    checkout("user", "default", "writer")
    checkout.commit_file("a.txt", "a\n", "made in the clone")
    checkout("sync")
    assert "made in the clone" in fossil.timeline(fresh)
    assert repofile.value(fresh, "SELECT ipaddr FROM rcvfrom ORDER BY rcvid DESC") == "127.0.0.1"
    proof.check(fresh, fossil)


#: A web server that only supports CGI. The server is a separate process because it changes its environment.
CGI_SERVER = """
import http.server, os, sys
os.chdir(sys.argv[1])
class Handler(http.server.CGIHTTPRequestHandler):
    have_fork = False
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""


def test_fossil_works_with_it_as_a_cgi_program(fresh, fossil, tmp_path):
    folder = tmp_path / "web" / "cgi-bin"
    folder.mkdir(parents=True)
    places.executable(folder / "repo", f"#!/bin/sh\nexec {PROGRAM} http {fresh}\n")
    port = process.free_port()
    server = process.Process([sys.executable, "-c", CGI_SERVER, tmp_path / "web", port], tmp_path / "web.log")
    try:
        process.wait_until(lambda: process.port_answers(port), "a web server")
        _, checkout = clone_and_open(fossil, f"http://writer:pen@127.0.0.1:{port}/cgi-bin/repo", tmp_path)
        checkout("user", "default", "writer")
        checkout.commit_file("a.txt", "a\n", "made in the clone")
        checkout("sync")
    finally:
        server.stop()
    assert "made in the clone" in fossil.timeline(fresh)


@pytest.mark.parametrize("far", ["", "?fossil={folder}/fossil"])
def test_fossil_works_with_it_over_ssh(quarry, fresh, fossil, clone, tmp_path, far):
    """On the server, the stock client only starts programs named `fossil`. In this test, `fossil` is a link to quarry.
    The client finds the link in PATH, or the URL contains the path of the link."""
    if places.is_sanitized():
        pytest.skip("fossil bounds the address space of what it starts, and AddressSanitizer needs all of it")
    folder = quarry.folder / "far"
    folder.mkdir()
    (folder / "fossil").symlink_to(PROGRAM)
    if not far:
        ssh = quarry.folder / "bin" / "ssh"
        ssh.write_text(ssh.read_text().replace("SSH_CONNECTION=", f"PATH={folder}:$PATH SSH_CONNECTION="))
    before, fossil.environment = fossil.environment, quarry.environment
    try:
        fossil("clone", "--no-open", f"ssh://host/{fresh}" + far.format(folder=folder), clone)
        checkout = Checkout(fossil, clone, tmp_path / "work")
        checkout("user", "default", "admin")
        checkout.commit_file("a.txt", "a\n", "made in the clone")
        checkout("sync")
    finally:
        fossil.environment = before
    assert "made in the clone" in fossil.timeline(fresh)
    proof.check(fresh, fossil)
    assert "test-http" in quarry.ssh_arguments.read_text()


def test_our_client_works_with_it_over_ssh(quarry, fresh, fossil, clone, tmp_path):
    url = f"ssh://host/{fresh}?fossil={PROGRAM}"
    quarry("clone", url, clone, "--admin-user", "ann")
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout("user", "default", "ann")
    checkout.commit_file("a.txt", "a\n", "made in the clone")
    # The URL is given on the command line, because quarry does not start a program that a stored URL names.
    quarry("sync", clone, url)
    assert "made in the clone" in fossil.timeline(fresh)
    assert quarry.ssh_arguments.read_text().count("test-http") == 2, "one connection for a whole clone or sync"


def test_capabilities_apply_except_over_ssh(fresh):
    repofile.set_capabilities(fresh, "nobody", "")
    code = repofile.project_code(fresh)
    push = post(wire.body(f"push {'9' * 40} {code}", wire.file_card(b"pushed\n")))
    with repofile.unchanged(fresh):
        _, _, body = parts(run(["http", fresh], push))
        assert b"error not\\sauthorized\\sto\\swrite" in body
    _, _, body = parts(run(["test-http", fresh], push))
    assert b"error" not in body.replace(b"errors 0", b"")
    assert wire.sha3(b"pushed\n") in repofile.artifacts(fresh)


def test_a_folder_serves_the_same_as_quarryd(fresh, tmp_path):
    folder = tmp_path / "served"
    (folder / "team").mkdir(parents=True)
    repofile.copy(fresh, folder / "team" / "one.fossil")
    (folder / "out.fossil").symlink_to(fresh)
    clone = wire.body(wire.CLIENT_VERSION, "clone 3 1")
    for path, status in (("/team/one", 200), ("/team/one/xfer", 200), ("/team/two", 404), ("/out", 404),
                         ("/team/../team/one", 404), ("/", 404), ("/team/%2e%2e/team/one", 404)):
        first, _, body = parts(run(["http", folder], post(clone, path)))
        assert first.startswith(f"HTTP/1.0 {status} "), path
        assert (b"clone_seqno" in body) == (status == 200)

    # Requests for missing repositories are not logged. Links that lead out of the folder are logged.
    for path, logged in (("/wp-login.php", b""), ("/absent", b""), ("/out", b"is outside of")):
        done = subprocess.run([PROGRAM, "http", folder], input=post(b"", path), capture_output=True, timeout=60, check=True)
        assert done.stdout.startswith(b"HTTP/1.0 404 ") and str(folder).encode() not in done.stdout
        assert logged in done.stderr and bool(logged) == bool(done.stderr)


@pytest.mark.parametrize("has_team", [True, False])
def test_a_name_that_cannot_be_checked_is_skipped(fresh, open_folder, has_team):
    """As in quarryd, the skipped name is logged if no shorter name matches."""
    folder = open_folder / "served"
    (folder / "team").mkdir(parents=True)
    if has_team:
        shutil.copy(fresh, folder / "team.fossil")
    if os.geteuid() == 0:
        for path in (folder, *folder.glob("*.fossil")):
            os.chown(path, 65534, 65534)
    (folder / "team").chmod(0 if os.geteuid() else 0o700)
    done = subprocess.run([PROGRAM, "http", folder], input=post(b"# nothing\n", "/team/one"), capture_output=True,
                          timeout=60, check=True)
    assert done.stdout.startswith(b"HTTP/1.0 200 " if has_team else b"HTTP/1.0 404 ")
    assert (b"cannot access team/one.fossil" in done.stderr) != has_team
    (folder / "team").chmod(0o700)


def test_the_log_is_not_in_the_reply_if_standard_error_is_the_connection(fresh):
    near, far = socket.socketpair()
    with near, far:
        body = wire.signed(b"# nothing\n", "writer", "0" * 40)
        near.sendall(post(body))
        subprocess.run([PROGRAM, "http", fresh], stdin=far, stdout=far, stderr=far, timeout=60, check=True)
        far.close()
        assert near.recv(1 << 16).startswith(b"HTTP/1.0 200 OK\r\n")


def test_errors_of_the_repository_are_logged_and_not_in_the_reply(fresh):
    repofile.set_capabilities(fresh, "nobody", "io")
    body = wire.body(f"push {'9' * 40} {repofile.project_code(fresh)}", wire.file_card(b"pushed\n"))
    repofile.execute(fresh, "CREATE TRIGGER t BEFORE INSERT ON rcvfrom BEGIN SELECT RAISE(ABORT, 'it is broken'); END")
    done = subprocess.run([PROGRAM, "http", fresh], input=post(body), capture_output=True, timeout=60, check=True)
    assert b"see\\sits\\slog" in done.stdout and b"broken" not in done.stdout
    assert b"it is broken" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be nobody's own")
def test_a_failure_to_change_user_is_not_in_the_reply(fresh):
    os.chown(fresh, 65534, 65534)
    near, far = socket.socketpair()
    with near, far:
        near.sendall(post(b"# nothing\n"))
        subprocess.run(["setpriv", "--bounding-set=-setuid,-setgid", PROGRAM, "http", fresh], stdin=far, stdout=far, stderr=far,
                       timeout=60, check=False)
        far.close()
        reply = near.recv(1 << 16)
    assert reply.startswith(b"HTTP/1.0 500 ") and b"become" not in reply


@pytest.mark.parametrize("where", ["pipe", "tcp"])
def test_a_request_ends_when_its_client_disconnects(fresh, where):
    """The client disconnects while its request waits for another writer."""
    body = post(wire.body(f"push {'9' * 40} {repofile.project_code(fresh)}", wire.file_card(b"pushed\n")))
    repofile.set_capabilities(fresh, "nobody", "io")
    with contextlib.ExitStack() as stack, contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as lock:
        lock.execute("PRAGMA journal_mode=wal")
        lock.execute("BEGIN IMMEDIATE")
        if where == "tcp":
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            near = stack.enter_context(socket.create_connection(listener.getsockname()))
            far = stack.enter_context(listener.accept()[0])
            child = subprocess.Popen([PROGRAM, "http", fresh], stdin=far, stdout=far)
            near.sendall(body)
        else:
            child = subprocess.Popen([PROGRAM, "http", fresh], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            near = stack.enter_context(child.stdout)
            with child.stdin as request:
                request.write(body)
        stack.enter_context(child)
        near.close()
        child.wait(60)
    assert wire.sha3(b"pushed\n") not in repofile.artifacts(fresh)


def test_cgi_variables(fresh):
    repofile.set_config(fresh, "remote_user_ok", "1")
    repofile.set_capabilities(fresh, "nobody", "")
    body = wire.body(f"pull {'9' * 40} {repofile.project_code(fresh)}")
    variables = {"GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "POST", "PATH_INFO": "/xfer",
                 "CONTENT_TYPE": "application/x-fossil-debug", "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "192.0.2.9"}
    first, headers, reply = parts(run(["http", fresh], body, variables))
    assert first == "Status: 200 OK" and "Content-Type: application/x-fossil-debug" in headers
    assert b"not\\sauthorized" in reply
    _, _, reply = parts(run(["http", fresh], body + b"what is beyond the length is not read",
                            {**variables, "REMOTE_USER": "writer"}))
    assert b"igot " in reply


def test_the_page_for_browsers(fresh):
    first, _, body = parts(run(["http", fresh], b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"))
    assert first == "HTTP/1.0 200 OK" and b"fossil clone http://example.org/" in body
    assert parts(run(["http", fresh], b"HEAD / HTTP/1.1\r\nHost: example.org\r\n\r\n"))[2] == b""


def test_a_file_that_is_not_a_repository(tmp_path):
    text = tmp_path / "text.fossil"
    text.write_text("just a text\n" * 1000)
    for path, status in ((text, 500), (tmp_path / "nothing.fossil", 404)):
        first, _, body = parts(run(["http", path], post(b"")))
        assert first.startswith(f"HTTP/1.0 {status} ") and str(path).encode() not in body


@pytest.mark.parametrize("request_text, status", [
    (b"nonsense\r\n\r\n", 400),
    (b"POST / HTTP/1.0\r\nContent-Type: application/x-fossil\r\n\r\n", 411),
    (b"POST / HTTP/1.0\r\nContent-Type: application/x-fossil\r\nContent-Length: 5\r\n\r\nabc", 400),
    (b"POST / HTTP/1.0\r\nContent-Type: application/x-fossil\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nabc", 400),
    (b"POST / HTTP/1.0\r\nContent-Type: application/x-fossil\r\nContent-Length: 99999999999\r\n\r\n", 413),
    (b"POST / HTTP/1.0\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc", 415),
    (b"DELETE / HTTP/1.0\r\n\r\n", 405),
    (b"GET /timeline HTTP/1.0\r\n\r\n", 404),
    (b"GET /%zz HTTP/1.0\r\n\r\n", 400),
    (b"POST / HTTP/1.0\r\nContent-Ty", 400),
    (b"GET / HTTP/1.0\r\nX: " + b"x" * 100000, 431),
])
def test_bad_requests_are_refused_and_change_nothing(fresh, request_text, status):
    repofile.set_config(fresh, "backoffice-disable", "1")
    with repofile.unchanged(fresh):
        for command in ("http", "test-http"):
            first, headers, body = parts(run([command, fresh], request_text))
            assert first.startswith(f"HTTP/1.0 {status} ")
            assert f"Content-Length: {len(body)}" in headers


def test_an_empty_request_gets_no_reply(fresh):
    assert run(["http", fresh]) == b"" and run(["test-http", fresh]) == b""


def test_several_requests_on_one_connection(fresh):
    request = post(wire.body(wire.CLIENT_VERSION, "clone 3 1"), more="X-Fossil-Transport: SSH\r\n")
    reply = run(["test-http", fresh], request + b"\r\n" + request)
    assert reply.count(b"Status: 200 OK\r\n") == 2
    assert run(["http", fresh], request + request).count(b"200 OK") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
@pytest.mark.parametrize("group", [65534, 0])
def test_root_becomes_the_owner_without_its_own_groups(fresh, group):
    os.chown(fresh, 65534, group)
    with subprocess.Popen([PROGRAM, "http", fresh], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          extra_groups=[0, 4]) as child:
        process.wait_until(lambda: daemon.status(child.pid, "Uid").split() == ["65534"] * 4, "the owner")
        assert daemon.status(child.pid, "Groups").split() == ["65534"]
        child.stdin.close()
