"""`quarry clone`: from fossil and from quarryd, over every transport; and what keeps a clone from being made."""

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
from support.client import Pretender, answer_of, certificate, forward, redirect, round_trips
from support.fossil import Checkout


def files_beside(path: Path) -> list[str]:
    """What a clone that was not made may have left."""
    return sorted(each.name for each in path.parent.glob(f"{path.name}*"))


def assert_same_project(clone, original, fossil):
    """All that is not private there; what is named in clusters alone does not count, since a server makes them late."""
    assert repofile.project_code(clone) == repofile.project_code(original)
    assert repofile.public_artifacts(clone) >= repofile.public_artifacts(original) - repofile.clusters(original)
    assert not repofile.phantoms(clone)
    proof.check(clone, fossil)


def test_clone_is_perfect(serve, quarry, small, fossil, tmp_path):
    repofile.add_user(small, "writer", "pen", "gio")
    server = serve(small)
    clone = tmp_path / "clone.fossil"
    quarry("clone", server.url_for("writer", "pen"), clone)
    assert_same_project(clone, small, fossil)
    codes = "SELECT value FROM config WHERE name='server-code'"
    assert repofile.value(clone, codes) != repofile.value(small, codes)


def test_fossil_works_in_the_clone_and_syncs_it(serve, quarry, fresh, fossil, tmp_path):
    server = serve(fresh)
    clone = tmp_path / "clone.fossil"
    quarry("clone", server.url_for("writer", "pen"), clone, "--save-password")
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout("user", "default", "writer")
    checkout.commit_file("a.txt", "a\n", "made in the clone")
    # The URL and the password are where fossil looks for them.
    checkout("sync")
    assert "made in the clone" in fossil.timeline(fresh)
    assert repofile.value(clone, "SELECT value FROM config WHERE name='last-sync-url'") == (
        f"http://writer@127.0.0.1:{server.port}/")


def test_nothing_is_remembered_with_once_and_no_password_without_save_password(serve, quarry, fresh, tmp_path):
    server = serve(fresh)
    kept = "SELECT count(*) FROM config WHERE name LIKE 'last-sync-%'"
    once, twice = tmp_path / "once.fossil", tmp_path / "twice.fossil"
    quarry("clone", server.url_for("writer", "pen"), once, "--once", "--save-password")
    assert repofile.value(once, kept) == 0
    quarry("clone", server.url_for("writer", "pen"), twice)
    assert repofile.query(twice, "SELECT name FROM config WHERE name LIKE 'last-sync-%'") == [("last-sync-url",)]


def test_administrator_is_the_urls_user_with_a_new_password(serve, quarry, fresh, fossil, tmp_path):
    server = serve(fresh)
    clone = tmp_path / "clone.fossil"
    output = quarry("clone", server.url_for("writer", "pen"), clone)
    login, password = re.search(r'admin-user: (\S+) \(password is "(\S+)"\)', output).groups()
    assert login == "writer"
    assert repofile.value(clone, "SELECT cap FROM user WHERE login='writer'") == "s"
    assert repofile.value(clone, "SELECT pw FROM user WHERE login='writer'") == (
        wire.shared_secret(repofile.project_code(clone), "writer", password))
    people = "SELECT login FROM user WHERE login!='writer' ORDER BY login"
    assert [row[0] for row in repofile.query(clone, people)] == ["anonymous", "developer", "nobody", "reader"]


def test_private_branches_come_when_they_are_asked_for(serve, quarry, fresh, fossil, tmp_path):
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


def test_configuration_comes_as_far_as_its_user_may_have_it(serve, quarry, fresh, tmp_path):
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


def test_reports_on_tickets_are_the_servers(serve, quarry, fresh, tmp_path):
    reports = "SELECT title, sqlcode FROM reportfmt ORDER BY title"
    server = serve(fresh)
    quarry("clone", server.url_for("writer", "pen"), tmp_path / "first.fossil")
    assert [title for title, _ in repofile.query(tmp_path / "first.fossil", reports)] == ["All Tickets"]
    repofile.execute(fresh, "UPDATE reportfmt SET sqlcode='SELECT title FROM ticket', mtime=1700000000")
    repofile.execute(fresh, "INSERT INTO reportfmt(title, sqlcode, mtime) VALUES('Mine','SELECT 1',1700000000)")
    quarry("clone", server.url_for("writer", "pen"), tmp_path / "second.fossil")
    assert repofile.query(tmp_path / "second.fossil", reports) == repofile.query(fresh, reports)


def test_tickets_with_fields_of_their_own(serve, quarry, fresh, fossil, tmp_path):
    table = repofile.value(fresh, "SELECT sql FROM sqlite_schema WHERE name='ticket'")
    changed = table.replace("tkt_uuid TEXT UNIQUE,", "tkt_uuid TEXT UNIQUE, weight TEXT,")
    assert changed != table
    repofile.execute(fresh, "REPLACE INTO config(name,value,mtime) VALUES('ticket-table',?,1700000000)",
                     changed + ";\n" + repofile.value(fresh, "SELECT sql FROM sqlite_schema WHERE name='ticketchng'") + ";")
    repofile.execute(fresh, "REPLACE INTO config(name,value,mtime) VALUES('ticket-title-expr','weight',1700000000)")
    fossil("rebuild", fresh)
    fossil("ticket", "add", "title", "heavy", "weight", "100 kg", "-R", fresh, "--user", "writer")
    server = serve(fresh)
    clone = tmp_path / "clone.fossil"
    quarry("clone", server.url_for("writer", "pen"), clone)
    assert repofile.value(clone, "SELECT weight FROM ticket") == "100 kg"
    proof.check(clone, fossil)


def test_ticket_table_that_is_no_good_keeps_nobody_from_cloning(serve, quarry, fresh, fossil, tmp_path):
    fossil("ticket", "add", "title", "heavy", "-R", fresh, "--user", "writer")
    server = serve(fresh)
    repofile.execute(fresh, "REPLACE INTO config(name,value,mtime) VALUES('ticket-table',?,1700000000)",
                     "CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid, tkt_mtime); DROP TABLE blob;")
    clone = tmp_path / "clone.fossil"
    status, _, errors = quarry.attempt("clone", server.url_for("writer", "pen"), clone)
    assert status == 0 and "ticket-table: not authorized: DROP TABLE blob;" in errors, errors
    assert files_beside(clone) == [clone.name]
    assert repofile.value(clone, "SELECT title FROM ticket") == "heavy"


def test_unversioned_files_come_when_they_are_asked_for(serve, quarry, fresh, fossil, tmp_path):
    (tmp_path / "news.txt").write_text("news\n")
    fossil("uv", "add", tmp_path / "news.txt", "--as", "news.txt", "-R", fresh)
    server = serve(fresh)
    without, clone = tmp_path / "without.fossil", tmp_path / "clone.fossil"
    quarry("clone", server.url_for("writer", "pen"), without)
    assert "news.txt" not in fossil("uv", "list", "-R", without)
    quarry("clone", server.url_for("writer", "pen"), clone, "--uv")
    assert fossil("uv", "cat", "news.txt", "-R", clone) == "news\n"


@pytest.mark.parametrize("options", [[], ["--uv"]])
def test_unversioned_files_that_a_project_gives_to_all_come_once(serve, quarry, fresh, fossil, tmp_path, options):
    (tmp_path / "large").write_bytes(os.urandom(300000))
    fossil("uv", "add", tmp_path / "large", "--as", "large", "-R", fresh)
    there = repofile.query(fresh, "SELECT name, mtime, hash, sz FROM unversioned")
    repofile.set_config(fresh, "uv-sync", "1")
    server = serve(fresh)
    clone, theirs = tmp_path / "clone.fossil", tmp_path / "theirs.fossil"
    output = quarry("clone", server.url_for("writer", "pen"), clone, *options)
    assert int(re.search(r"bytes sent: \d+ +received: (\d+)", output)[1]) < 500000
    fossil.clone(server.url_for("writer", "pen"), theirs)
    for each in (clone, theirs):
        assert repofile.query(each, "SELECT name, mtime, hash, sz FROM unversioned") == there


@pytest.mark.parametrize("path", ["plain", "file"])
def test_from_a_file_beside(quarry, small, fossil, tmp_path, path):
    clone = tmp_path / "clone.fossil"
    quarry("clone", str(small) if path == "plain" else f"file://{small}?fossil=fossil", clone)
    assert_same_project(clone, small, fossil)


def test_over_ssh_from_fossil(quarry, small, fossil, tmp_path):
    clone = tmp_path / "clone.fossil"
    quarry("clone", f"ssh://ann@host:2222/{small}", clone)
    assert_same_project(clone, small, fossil)
    arguments = quarry.ssh_arguments.read_text().splitlines()
    assert arguments == ["-e", "none", "-T", "-p", "2222", "--", "ann@host", f"'fossil' test-http '{small}'"]


def test_far_side_of_ssh_runs_no_word_of_the_url(quarry, fossil, tmp_path):
    """The path is one word to the shell there, whatever is in it."""
    trap = tmp_path / "trap"
    target = tmp_path / "it's; touch $(echo trap) `touch trap` &.fossil"
    fossil.new(target)
    clone = tmp_path / "clone.fossil"
    url = f"ssh://host/{target}".replace(" ", "%20").replace("`", "%60")
    quarry("clone", url, clone)
    assert repofile.project_code(clone) == repofile.project_code(target)
    assert not trap.exists() and not (quarry.folder / "trap").exists()


def test_host_that_looks_like_an_option_is_none(quarry, tmp_path):
    assert "dash" in quarry.refused("clone", "ssh://-oProxyCommand/repo", tmp_path / "clone.fossil")
    assert "dash" in quarry.refused("clone", "ssh://-v@host/repo", tmp_path / "clone.fossil")
    assert not quarry.ssh_arguments.exists()


def test_existing_file_is_left_alone(quarry, fresh, tmp_path):
    there = tmp_path / "there.fossil"
    there.write_text("mine")
    assert "already exists" in quarry.refused("clone", fresh, there)
    assert there.read_text() == "mine"


def test_wrong_password_leaves_nothing(serve, quarry, fresh, tmp_path):
    server = serve(fresh)
    repofile.set_capabilities(fresh, "nobody", "")
    clone = tmp_path / "clone.fossil"
    url = f"http://writer@127.0.0.1:{server.port}/"
    assert "login failed" in quarry.refused("clone", url, clone, "--password-file", quarry.password("wrong"))
    assert not files_beside(clone)
    quarry("clone", url, clone, "--password-file", quarry.password("pen"))
    assert files_beside(clone) == [clone.name]


def test_password_has_to_come_from_somewhere(serve, quarry, fresh, tmp_path):
    server = serve(fresh)
    assert "--password-file" in quarry.refused("clone", f"http://writer@127.0.0.1:{server.port}/", tmp_path / "c.fossil")


def test_no_server_and_no_such_repository(quarry, serve, fresh, tmp_path):
    clone = tmp_path / "clone.fossil"
    port = process.free_port()
    assert f"127.0.0.1:{port}" in quarry.refused("clone", f"http://127.0.0.1:{port}/", clone)
    assert "nothing.fossil: No such file" in quarry.refused("clone", tmp_path / "nothing.fossil", clone)
    assert not files_beside(clone)


def test_file_that_is_none_is_told_of_as_a_file(quarry, tmp_path):
    clone, other = tmp_path / "clone.fossil", tmp_path / "other.fossil"
    other.write_text("no repository\n" * 100)
    for url in (other, f"file://{other}"):
        told = quarry.refused("clone", url, clone)
        assert f"{other}: file is not a database" in told and "HTTP" not in told
    other.unlink()
    other.mkdir()
    told = quarry.refused("clone", other, clone)
    assert str(other) in told and "HTTP" not in told
    assert not files_beside(clone)


def test_folder_that_is_not_there_is_told_of_before_the_password_is_asked_for(quarry, tmp_path):
    clone = tmp_path / "nowhere" / "clone.fossil"
    told = quarry.refused("clone", "http://writer@127.0.0.1:1/", clone)
    assert told == f"quarry: {clone}: No such file or directory"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("by", ["http", "file"])
def test_interrupted_it_leaves_nothing(quarry, fresh, tmp_path, number, by):
    asked, ended = threading.Event(), threading.Event()

    def answer(handler, _):
        asked.set()
        ended.wait(60)
        handler.send_error(500)

    waiting = tmp_path / "waiting"
    waiting.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 600\n")
    waiting.chmod(0o755)
    pretender = Pretender(answer)
    clone = tmp_path / "clone.fossil"
    url = pretender.url() if by == "http" else f"file://{fresh}?fossil={waiting}"
    running = subprocess.Popen([places.program("quarry"), "clone", url, clone], env=quarry.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               # Whoever runs the tests may have had them ignore it, as nohup does.
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    try:
        process.wait_until(lambda: asked.is_set() or (tmp_path / "asked").exists(), "it asks")
        assert files_beside(clone)
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    finally:
        ended.set()
        pretender.stop()
    assert running.returncode == -number and errors == b""
    assert not files_beside(clone)


def test_interrupted_at_the_question_for_a_password_it_gives_the_terminal_back(quarry, tmp_path):
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


def test_server_that_ends_in_the_middle_leaves_nothing(quarry, tmp_path):
    def answer(handler, _):
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: application/x-fossil\r\nContent-Length: 1000\r\n\r\nabc")
    pretender = Pretender(answer)
    clone = tmp_path / "clone.fossil"
    try:
        quarry.refused("clone", pretender.url(), clone)
    finally:
        pretender.stop()
    assert not files_beside(clone)


@pytest.fixture
def in_parts(launch_fossil, small):
    """A server of a repository that takes many replies, and what it has."""
    repofile.set_config(small, "max-download", 20000)
    repofile.set_capabilities(small, "nobody", "gor")
    return launch_fossil(small)


def test_server_that_dies_after_some_replies_leaves_nothing(quarry, in_parts, tmp_path):
    def answer(handler, body):
        if len(pretender.bodies) <= 3:
            handler.wfile.write(answer_of(in_parts.port, handler, body))

    pretender = Pretender(answer)
    clone = tmp_path / "clone.fossil"
    try:
        assert str(pretender.port) in quarry.refused("clone", pretender.url(), clone)
    finally:
        pretender.stop()
    assert len(pretender.bodies) == 4
    assert not files_beside(clone)


def test_artifact_that_is_not_what_its_name_says_is_found_in_whatever_reply_it_comes(quarry, in_parts, tmp_path):
    lies = []

    def answer(handler, body):
        reply = answer_of(in_parts.port, handler, body)
        whole = re.search(rb"\ncfile ([0-9a-f]+) \d+ \d+\n", reply)
        if not lies and len(pretender.bodies) > 2 and whole:
            name = whole[1]
            lies.append((b"0" * 8 + name[8:]).decode())
            reply = reply.replace(b"\ncfile " + name, b"\ncfile " + lies[0].encode(), 1)
        handler.wfile.write(reply)

    pretender = Pretender(answer)
    clone = tmp_path / "clone.fossil"
    try:
        told = quarry.refused("clone", pretender.url(), clone)
    finally:
        pretender.stop()
    assert lies and f"artifact {lies[0]}: its content does not have that hash" in told
    assert not files_beside(clone)


@pytest.mark.parametrize("when", ["while it receives", "once all has come"])
def test_interrupted_in_the_middle_it_leaves_nothing(quarry, in_parts, tmp_path, when):
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

    pretender = Pretender(answer)
    clone = tmp_path / "clone.fossil"
    running = subprocess.Popen([places.program("quarry"), "clone", pretender.url(), clone], env=quarry.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert reached.wait(60)
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=60)
    finally:
        ended.set()
        pretender.stop()
    assert running.returncode == -signal.SIGTERM and errors == b""
    assert not files_beside(clone)


def test_what_was_cloned_in_parts_is_perfect(quarry, in_parts, small, fossil, tmp_path):
    clone = tmp_path / "clone.fossil"
    assert round_trips(quarry("clone", in_parts.url, clone)) > 5
    assert_same_project(clone, small, fossil)
    # Served beside others from now on, like any file of ours.
    assert repofile.value(clone, "PRAGMA journal_mode") == "wal"


def test_page_for_people_is_no_clone(quarry, tmp_path):
    def answer(handler, _):
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>")
    pretender = Pretender(answer)
    try:
        assert "text/html" in quarry.refused("clone", pretender.url(), tmp_path / "clone.fossil")
    finally:
        pretender.stop()


def test_certificate_is_checked(quarry, launch_fossil, fresh, fossil, tmp_path):
    server = launch_fossil(fresh)
    made = certificate(tmp_path)
    pretender = Pretender(forward(server.port), made)
    clone = tmp_path / "clone.fossil"
    try:
        assert "certificate" in quarry.refused("clone", pretender.url(), clone)
        assert not pretender.bodies, "it spoke to a server that it did not believe"
        wrong_name = pretender.url().replace("localhost", "127.0.0.1")
        assert "127.0.0.1" in quarry.refused("clone", wrong_name, clone, "--ca-file", made)
        quarry("clone", pretender.url(), clone, "--ca-file", made)
        # What fossil takes is taken.
        assert "ssl-ca-location" in quarry.refused("sync", clone)
        quarry("sync", clone, env={"SSL_CERT_FILE": str(made)})
        repofile.set_config(clone, "ssl-ca-location", str(made))
        quarry("sync", clone)
    finally:
        pretender.stop()
    assert repofile.project_code(clone) == repofile.project_code(fresh)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_followed_without_the_login(quarry, launch_fossil, fresh, tmp_path, status):
    server = launch_fossil(fresh)
    there = Pretender(forward(server.port))
    here = Pretender(redirect(there.url(), status))
    clone = tmp_path / "clone.fossil"
    repofile.set_capabilities(fresh, "nobody", "gor")
    try:
        quarry("clone", here.url("writer"), clone, "--password-file", quarry.password("pen"))
    finally:
        here.stop()
        there.stop()
    assert repofile.project_code(clone) == repofile.project_code(fresh)
    assert not any(b"login " in wire.decompress(body) for body in there.bodies)
    remembered = repofile.value(clone, "SELECT value FROM config WHERE name='last-sync-url'")
    assert remembered == (there.url() if status in (301, 308) else here.url("writer"))


@pytest.mark.slow
def test_redirects_that_are_not_followed(quarry, tmp_path):
    clone = tmp_path / "clone.fossil"
    made = certificate(tmp_path)
    for target, reason in (("file:///etc/passwd", "not redirected"), ("ssh://ann:secret@host/x", "not redirected"),
                           ("/relative", "not redirected"), ("http://localhost:1/", "not encrypted")):
        pretender = Pretender(redirect(target), made)
        try:
            told = quarry.refused("clone", pretender.url(), clone, "--ca-file", made)
            assert reason in told and "secret" not in told
        finally:
            pretender.stop()
    around = Pretender(lambda handler, body: redirect(around.url())(handler, body))
    try:
        assert "redirects" in quarry.refused("clone", around.url(), clone)
    finally:
        around.stop()
    assert not files_beside(clone)
