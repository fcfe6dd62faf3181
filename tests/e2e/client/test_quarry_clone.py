"""`quarry clone` from fossil and from quarryd, over every transport, and its failures."""

import os
import pty
import re
import signal
import subprocess
import termios
import threading
from pathlib import Path

import pytest

import proof
from support import places, process, repofile, wire
from support.client import Pretender, answer_of, forward, redirect, reply, round_trips
from support.fossil import Checkout
from support.tls import self_signed


def files_beside(path: Path) -> list[str]:
    """Returns the files that a failed clone has left beside PATH."""
    return sorted(each.name for each in path.parent.glob(f"{path.name}*"))


def assert_same_project(clone, original, fossil):
    """Checks that CLONE has all public artifacts of ORIGINAL. Clusters can be missing, because the server might have
    created them after the clone began."""
    assert repofile.project_code(clone) == repofile.project_code(original)
    assert repofile.public_artifacts(clone) >= repofile.public_artifacts(original) - repofile.clusters(original)
    assert not repofile.phantoms(clone)
    proof.check(clone, fossil)


def test_clone_is_perfect(serve, quarry, small, fossil, clone):
    repofile.add_user(small, "writer", "pen", "gio")
    server = serve(small)
    quarry("clone", server.url_for("writer", "pen"), clone)
    assert_same_project(clone, small, fossil)
    codes = "SELECT value FROM config WHERE name='server-code'"
    assert repofile.value(clone, codes) != repofile.value(small, codes)


def test_fossil_works_in_the_clone_and_syncs_it(serve, quarry, fresh, fossil, clone, tmp_path):
    server = serve(fresh)
    quarry("clone", server.url_for("writer", "pen"), clone, "--save-password")
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout("user", "default", "writer")
    checkout.commit_file("a.txt", "a\n", "made in the clone")
    checkout("sync")
    assert "made in the clone" in fossil.timeline(fresh)
    assert repofile.value(clone, "SELECT value FROM config WHERE name='last-sync-url'") == (
        f"http://writer@127.0.0.1:{server.port}/")


def test_once_and_save_password(serve, quarry, fresh, tmp_path):
    server = serve(fresh)
    kept = "SELECT count(*) FROM config WHERE name LIKE 'last-sync-%'"
    once, twice = tmp_path / "once.fossil", tmp_path / "twice.fossil"
    quarry("clone", server.url_for("writer", "pen"), once, "--once", "--save-password")
    assert repofile.value(once, kept) == 0
    quarry("clone", server.url_for("writer", "pen"), twice)
    assert repofile.query(twice, "SELECT name FROM config WHERE name LIKE 'last-sync-%'") == [("last-sync-url",)]


def test_the_administrator_is_the_urls_user_with_a_new_password(serve, quarry, fresh, fossil, clone):
    server = serve(fresh)
    output = quarry("clone", server.url_for("writer", "pen"), clone)
    login, password = re.search(r'admin-user: (\S+) \(password is "(\S+)"\)', output).groups()
    assert login == "writer"
    assert repofile.value(clone, "SELECT cap FROM user WHERE login='writer'") == "s"
    assert repofile.value(clone, "SELECT pw FROM user WHERE login='writer'") == (
        wire.shared_secret(repofile.project_code(clone), "writer", password))
    people = "SELECT login FROM user WHERE login!='writer' ORDER BY login"
    assert [row[0] for row in repofile.query(clone, people)] == ["anonymous", "developer", "nobody", "reader"]


def test_private_branches_are_cloned_only_with_the_option(serve, quarry, fresh, fossil, tmp_path):
    checkout = Checkout(fossil, fresh, tmp_path / "work")
    checkout.commit_file("a.txt", "a\n", "public")
    checkout.write("a.txt", "secret\n")
    checkout.commit("not for everybody", "--private")
    repofile.set_capabilities(fresh, "writer", "giox")
    server = serve(fresh)
    public, private = tmp_path / "public.fossil", tmp_path / "private.fossil"
    quarry("clone", server.url_for("writer", "pen"), public)
    assert "not for everybody" not in fossil.timeline(public)
    quarry("clone", server.url_for("writer", "pen"), private, "--private")
    assert repofile.artifacts(private) >= repofile.artifacts(fresh) - repofile.clusters(fresh)
    count = "SELECT count(*) FROM private"
    assert repofile.value(private, count) == repofile.value(fresh, count) > 0
    proof.check(private, fossil)


def test_configuration_is_cloned_as_far_as_the_user_may_read_it(serve, quarry, fresh, tmp_path):
    execute = "REPLACE INTO config(name,value,mtime) VALUES(?,?,1700000000)"
    repofile.execute(fresh, execute, "project-description", "all about it")
    repofile.execute(fresh, execute, "backoffice-nodelay", "1")
    repofile.add_user(fresh, "boss", "pen", "s")
    repofile.execute(fresh, "UPDATE user SET mtime=1700000000 WHERE login='writer'")
    server = serve(fresh)
    value = "SELECT value FROM config WHERE name=?"
    for login, knows_people in (("writer", 0), ("boss", 1)):
        clone = tmp_path / f"{login}.fossil"
        quarry("clone", server.url_for(login, "pen"), clone, "--admin-user", "me")
        assert repofile.value(clone, value, "project-description") == "all about it"
        assert repofile.query(clone, value, "backoffice-nodelay") == []
        assert repofile.value(clone, "SELECT count(*) FROM user WHERE login='writer'") == knows_people


def test_ticket_reports_are_cloned(serve, quarry, fresh, tmp_path):
    reports = "SELECT title, sqlcode FROM reportfmt ORDER BY title"
    server = serve(fresh)
    quarry("clone", server.url_for("writer", "pen"), tmp_path / "first.fossil")
    assert [title for title, _ in repofile.query(tmp_path / "first.fossil", reports)] == ["All Tickets"]
    repofile.execute(fresh, "UPDATE reportfmt SET sqlcode='SELECT title FROM ticket', mtime=1700000000")
    repofile.execute(fresh, "INSERT INTO reportfmt(title, sqlcode, mtime) VALUES('Mine','SELECT 1',1700000000)")
    quarry("clone", server.url_for("writer", "pen"), tmp_path / "second.fossil")
    assert repofile.query(tmp_path / "second.fossil", reports) == repofile.query(fresh, reports)


def test_custom_ticket_fields(serve, quarry, fresh, fossil, clone):
    table = repofile.value(fresh, "SELECT sql FROM sqlite_schema WHERE name='ticket'")
    changed = table.replace("tkt_uuid TEXT UNIQUE,", "tkt_uuid TEXT UNIQUE, weight TEXT,")
    assert changed != table
    repofile.execute(fresh, "REPLACE INTO config(name,value,mtime) VALUES('ticket-table',?,1700000000)",
                     changed + ";\n" + repofile.value(fresh, "SELECT sql FROM sqlite_schema WHERE name='ticketchng'") + ";")
    repofile.execute(fresh, "REPLACE INTO config(name,value,mtime) VALUES('ticket-title-expr','weight',1700000000)")
    fossil("rebuild", fresh)
    fossil("ticket", "add", "title", "heavy", "weight", "100 kg", "-R", fresh, "--user", "writer")
    server = serve(fresh)
    quarry("clone", server.url_for("writer", "pen"), clone)
    assert repofile.value(clone, "SELECT weight FROM ticket") == "100 kg"
    proof.check(clone, fossil)


def test_an_invalid_ticket_table_does_not_prevent_a_clone(serve, quarry, fresh, fossil, clone):
    fossil("ticket", "add", "title", "heavy", "-R", fresh, "--user", "writer")
    server = serve(fresh)
    repofile.execute(fresh, "REPLACE INTO config(name,value,mtime) VALUES('ticket-table',?,1700000000)",
                     "CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid, tkt_mtime); DROP TABLE blob;")
    status, _, errors = quarry.attempt("clone", server.url_for("writer", "pen"), clone)
    assert status == 0 and "ticket-table setting: not authorized: DROP TABLE blob;" in errors, errors
    assert files_beside(clone) == [clone.name]
    assert repofile.value(clone, "SELECT title FROM ticket") == "heavy"


@pytest.mark.parametrize("options", [[], ["--uv"]])
def test_unversioned_files_arrive_once(serve, quarry, fresh, fossil, clone, tmp_path, options):
    """The clone includes unversioned files if the project's setting uv-sync is on, or if --uv is given."""
    (tmp_path / "large").write_bytes(os.urandom(300000))
    fossil("uv", "add", tmp_path / "large", "--as", "large", "-R", fresh)
    there = repofile.query(fresh, "SELECT name, mtime, hash, sz FROM unversioned")
    server = serve(fresh)
    quarry("clone", server.url_for("writer", "pen"), tmp_path / "without.fossil")
    assert "large" not in fossil("uv", "list", "-R", tmp_path / "without.fossil")
    repofile.set_config(fresh, "uv-sync", "1")
    theirs = tmp_path / "theirs.fossil"
    output = quarry("clone", server.url_for("writer", "pen"), clone, *options)
    assert int(re.search(r"bytes sent: \d+ +received: (\d+)", output)[1]) < 500000
    fossil.clone(server.url_for("writer", "pen"), theirs)
    for each in (clone, theirs):
        assert repofile.query(each, "SELECT name, mtime, hash, sz FROM unversioned") == there


@pytest.mark.parametrize("path", ["plain", "file"])
def test_from_a_file(quarry, small, fossil, clone, path):
    quarry("clone", str(small) if path == "plain" else f"file://{small}?fossil=fossil", clone)
    assert_same_project(clone, small, fossil)


def test_over_ssh_from_fossil(quarry, small, fossil, clone):
    quarry("clone", f"ssh://ann@host:2222/{small}", clone)
    assert_same_project(clone, small, fossil)
    arguments = quarry.ssh_arguments.read_text().splitlines()
    assert arguments == ["-e", "none", "-T", "-p", "2222", "--", "ann@host", f"'fossil' test-http '{small}'"]


def test_the_path_in_an_ssh_url_runs_no_command(quarry, fossil, clone, tmp_path):
    trap = tmp_path / "trap"
    target = fossil.new(tmp_path / "it's; touch $(echo trap) `touch trap` &.fossil")
    url = f"ssh://host/{target}".replace(" ", "%20").replace("`", "%60")
    quarry("clone", url, clone)
    assert repofile.project_code(clone) == repofile.project_code(target)
    assert not trap.exists() and not (quarry.folder / "trap").exists()


def test_a_host_that_looks_like_an_option_is_refused(quarry, tmp_path):
    assert "dash" in quarry.refused("clone", "ssh://-oProxyCommand/repo", tmp_path / "clone.fossil")
    assert "dash" in quarry.refused("clone", "ssh://-v@host/repo", tmp_path / "clone.fossil")
    assert not quarry.ssh_arguments.exists()


def test_wrong_password_leaves_nothing(serve, quarry, fresh, clone):
    server = serve(fresh)
    repofile.set_capabilities(fresh, "nobody", "")
    url = f"http://writer@127.0.0.1:{server.port}/"
    assert "login failed" in quarry.refused("clone", url, clone, "--password-file", quarry.password("wrong"))
    assert not files_beside(clone)
    quarry("clone", url, clone, "--password-file", quarry.password("pen"))
    assert files_beside(clone) == [clone.name]


def test_reasons_why_a_clone_fails(quarry, fresh, clone, tmp_path):
    text, folder, absent = tmp_path / "text.fossil", tmp_path / "folder.fossil", tmp_path / "absent.fossil"
    text.write_text("no repository\n" * 100)
    folder.mkdir()
    port = process.free_port()
    for url, why in ((text, f"{text}: file is not a database"), (f"file://{text}", f"{text}: file is not a database"),
                     (folder, str(folder)), (absent, f"{absent}: No such file"),
                     (f"http://127.0.0.1:{port}/", f"127.0.0.1:{port}"),
                     (f"http://writer@127.0.0.1:{port}/", "--password-file")):
        message = quarry.refused("clone", url, clone)
        assert why in message and "HTTP" not in message
        assert not files_beside(clone)
    with Pretender(reply(200, b"<html>", Content_Type="text/html")) as pretender:
        assert "text/html" in quarry.refused("clone", pretender.url(), clone)
    # The error is reported before the password is requested.
    nowhere = tmp_path / "nowhere" / "clone.fossil"
    assert quarry.refused("clone", "http://writer@127.0.0.1:1/", nowhere) == f"quarry: {nowhere}: No such file or directory"
    assert "already exists" in quarry.refused("clone", fresh, text)
    assert text.read_text().startswith("no repository")


def assert_cleans_up_after(number, is_reached, quarry, url, clone):
    """Interrupts a clone with the signal NUMBER. Checks that the clone leaves no files and is terminated by that
    signal."""
    running = subprocess.Popen([places.program("quarry"), "clone", url, clone], env=quarry.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               # nohup and similar programs make their child processes ignore this signal.
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    try:
        process.wait_until(is_reached, "the moment to interrupt")
        assert files_beside(clone)
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == -number and errors == b""
    assert not files_beside(clone)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("by", ["http", "file"])
def test_an_interrupted_clone_leaves_nothing(quarry, fresh, clone, tmp_path, number, by):
    asked, ended = threading.Event(), threading.Event()

    def answer(*_):
        asked.set()
        ended.wait(60)

    waiting = places.executable(tmp_path / "waiting", f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 600\n")
    with Pretender(answer) as pretender:
        assert_cleans_up_after(number, lambda: asked.is_set() or (tmp_path / "asked").exists(), quarry,
                               pretender.url() if by == "http" else f"file://{fresh}?fossil={waiting}", clone)
        ended.set()


def test_an_interrupted_password_prompt_restores_the_terminal(quarry, tmp_path):
    pid, terminal = pty.fork()
    if pid == 0:
        program = str(places.program("quarry"))
        os.execve(program, [program, "clone", "http://writer@127.0.0.1:1/", str(tmp_path / "clone.fossil")],
                  quarry.environment)
    shown = b""
    while b"password for writer" not in shown:
        shown += os.read(terminal, 1000)
    process.wait_until(lambda: not termios.tcgetattr(terminal)[3] & termios.ECHO, "the echo is off")
    os.kill(pid, signal.SIGTERM)
    ended = []
    process.wait_until(lambda: ended.extend(os.waitpid(pid, os.WNOHANG)) or ended[-2] == pid, "its end")
    status = ended[-1]
    assert os.WTERMSIG(status) == signal.SIGTERM
    assert termios.tcgetattr(terminal)[3] & termios.ECHO
    os.close(terminal)


@pytest.fixture
def in_parts(launch_fossil, small):
    """A server that needs many replies for a clone, because each reply is limited to 20 kB."""
    repofile.set_config(small, "max-download", 20000)
    repofile.set_capabilities(small, "nobody", "gor")
    return launch_fossil(small)


def test_server_that_dies_after_some_replies_leaves_nothing(quarry, in_parts, clone):
    def answer(handler, body):
        if len(pretender.bodies) <= 3:
            handler.wfile.write(answer_of(in_parts.port, handler, body))

    with Pretender(answer) as pretender:
        assert str(pretender.port) in quarry.refused("clone", pretender.url(), clone)
    assert len(pretender.bodies) == 4
    assert not files_beside(clone)


def test_an_artifact_with_a_wrong_name_is_found_in_any_reply(quarry, in_parts, clone):
    lies = []

    def answer(handler, body):
        reply = answer_of(in_parts.port, handler, body)
        whole = re.search(rb"\ncfile ([0-9a-f]+) \d+ \d+\n", reply)
        if not lies and len(pretender.bodies) > 2 and whole:
            name = whole[1]
            lies.append((b"0" * 8 + name[8:]).decode())
            reply = reply.replace(b"\ncfile " + name, b"\ncfile " + lies[0].encode(), 1)
        handler.wfile.write(reply)

    with Pretender(answer) as pretender:
        message = quarry.refused("clone", pretender.url(), clone)
    assert lies and f"artifact {lies[0]}: its content does not match its hash" in message
    assert not files_beside(clone)


@pytest.mark.parametrize("when", ["while it receives", "once all has come"])
def test_a_clone_interrupted_in_the_middle_leaves_nothing(quarry, in_parts, clone, when):
    reached, ended = threading.Event(), threading.Event()

    def answer(handler, body):
        is_third = len(pretender.bodies) == 3
        reply = answer_of(in_parts.port, handler, body)
        handler.wfile.write(reply)
        handler.wfile.flush()
        if b"\nclone_seqno 0\n" in reply if when == "once all has come" else is_third:
            reached.set()
        elif reached.is_set():
            ended.wait(60)

    with Pretender(answer) as pretender:
        assert_cleans_up_after(signal.SIGTERM, reached.is_set, quarry, pretender.url(), clone)
        ended.set()


def test_a_clone_in_many_parts_is_perfect(quarry, in_parts, small, fossil, clone):
    assert round_trips(quarry("clone", in_parts.url, clone)) > 5
    assert_same_project(clone, small, fossil)
    assert repofile.value(clone, "PRAGMA journal_mode") == "wal"


def test_certificate_is_checked(quarry, launch_fossil, fresh, fossil, clone, tmp_path):
    server = launch_fossil(fresh)
    made, key = self_signed(tmp_path)
    with Pretender(forward(server.port), (made, key)) as pretender:
        assert "certificate" in quarry.refused("clone", pretender.url(), clone)
        assert not pretender.bodies, "it sent a request to an untrusted server"
        wrong_name = pretender.url().replace("localhost", "127.0.0.1")
        assert "127.0.0.1" in quarry.refused("clone", wrong_name, clone, "--ca-file", made)
        quarry("clone", pretender.url(), clone, "--ca-file", made)
        quarry("sync", clone, env={"SSL_CERT_FILE": str(made)})
        # Unlike fossil, quarry ignores this setting, because users can change it over the web.
        repofile.set_config(clone, "ssl-ca-location", str(made))
        assert "--ca-file" in quarry.refused("sync", clone)
    assert repofile.project_code(clone) == repofile.project_code(fresh)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_followed_without_the_login(quarry, launch_fossil, fresh, clone, status):
    server = launch_fossil(fresh)
    repofile.set_capabilities(fresh, "nobody", "gor")
    with Pretender(forward(server.port)) as there, Pretender(redirect(there.url(), status)) as here:
        quarry("clone", here.url("writer"), clone, "--password-file", quarry.password("pen"))
    assert repofile.project_code(clone) == repofile.project_code(fresh)
    assert not any(b"login " in wire.decompress(body) for body in there.bodies)
    remembered = repofile.value(clone, "SELECT value FROM config WHERE name='last-sync-url'")
    assert remembered == (there.url() if status in (301, 308) else here.url("writer"))


@pytest.mark.slow
def test_redirects_that_are_not_followed(quarry, clone, tmp_path):
    made, key = self_signed(tmp_path)
    for target, reason in (("file:///etc/passwd", "refusing the redirect"), ("ssh://ann:secret@host/x", "refusing the redirect"),
                           ("/relative", "refusing the redirect"), ("http://localhost:1/", "not encrypted")):
        with Pretender(redirect(target), (made, key)) as pretender:
            message = quarry.refused("clone", pretender.url(), clone, "--ca-file", made)
        assert reason in message and "secret" not in message
    with Pretender(lambda handler, body: redirect(around.url())(handler, body)) as around:
        assert "redirects" in quarry.refused("clone", around.url(), clone)
    assert not files_beside(clone)
