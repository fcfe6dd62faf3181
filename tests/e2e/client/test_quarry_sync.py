"""`quarry sync`: both ways, with fossil and with quarryd, over every transport; and what must not happen."""

import os
import pty
import subprocess
import threading

import pytest

import proof
from support import places, process, repofile
from support.client import Pretender, received, round_trips, sent
from support.fossil import Checkout


@pytest.fixture
def pair(serve, quarry, fresh, fossil, tmp_path):
    """A served repository, and a clone of it with a checkout."""
    server = serve(fresh)
    clone = tmp_path / "clone.fossil"
    quarry("clone", server.url_for("writer", "pen"), clone, "--save-password", "--quiet")
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout("user", "default", "writer")
    return server, checkout


def add(checkout, name, text, *options):
    checkout.write(name, text)
    checkout("add", name)
    checkout.commit(f"add {name}", *options)


def assert_equal(one, other):
    ours, theirs = (repofile.artifacts(path) - repofile.clusters(path) for path in (one, other))
    assert ours == theirs
    assert not repofile.phantoms(one) and not repofile.phantoms(other)


@pytest.mark.slow
def test_two_people_meet_in_a_merge(pair, quarry, fresh, fossil, tmp_path):
    server, left = pair
    other = tmp_path / "other.fossil"
    quarry("clone", server.url_for("writer", "pen"), other, "--save-password")
    right = Checkout(fossil, other, tmp_path / "other")
    right("user", "default", "writer")
    add(left, "shared.txt", "one\ntwo\nthree\nfour\nfive\n")
    assert sent(quarry("sync", left.repository)) > 0
    assert received(quarry("sync", right.repository)) > 0
    right("update")
    left.write("shared.txt", "ONE\ntwo\nthree\nfour\nfive\n")
    left.commit("louder at the beginning")
    right.write("shared.txt", "one\ntwo\nthree\nfour\nFIVE\n")
    right.commit("louder at the end")
    quarry("sync", left.repository)
    quarry("sync", right.repository)
    right("merge", left.head())
    right.commit("both")
    quarry("sync", right.repository)
    quarry("sync", left.repository)
    left("update")
    assert (left.folder / "shared.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"
    for repository in (left.repository, right.repository):
        assert_equal(repository, fresh)
        proof.check(repository, fossil)
    proof.check(fresh, fossil)


def test_whole_history_travels(serve, quarry, small, fresh, fossil, tmp_path):
    """From a clone that has everything to a server that has nothing, and on to an empty one."""
    repofile.set_config(fresh, "project-code", repofile.project_code(small))
    repofile.add_user(fresh, "writer", "pen", "giox")
    empty = repofile.copy(fresh, tmp_path / "empty.fossil")
    server = serve(fresh)
    url = server.url_for("writer", "pen")
    repofile.set_config(small, "max-upload", 20000)
    all_of_it = len(repofile.public_artifacts(small))
    told = quarry("sync", small, url, "--once")
    # In many requests, each of which the server answers with what it lacks; it gets everything once.
    assert sent(told) == all_of_it and round_trips(told) > 10
    quarry("sync", empty, url, "--once")
    assert repofile.public_artifacts(empty) >= repofile.public_artifacts(small) - repofile.clusters(small)
    assert not repofile.phantoms(empty)
    proof.check(empty, fossil)
    assert not repofile.phantoms(fresh)
    assert repofile.artifacts(fresh) >= repofile.public_artifacts(small) - repofile.clusters(small)
    if server.kind == "fossil":
        fossil("rebuild", fresh)  # its own tables depend on the order in which things came
    proof.check(fresh, fossil)


def test_nothing_new_is_one_round_trip(pair, quarry):
    _, checkout = pair
    add(checkout, "a.txt", "a\n")
    quarry("sync", checkout.repository)
    assert quarry("sync", checkout.repository).startswith("round trips: 1  artifacts sent: 0  received: 0 ")


def test_directions_can_be_chosen(pair, quarry, fresh, fossil, tmp_path):
    _, checkout = pair
    there = Checkout(fossil, fresh, tmp_path / "there")
    add(there, "theirs.txt", "theirs\n")
    add(checkout, "mine.txt", "mine\n")
    assert sent(quarry("sync", checkout.repository, "--pull")) == 0
    assert "add theirs.txt" in fossil.timeline(checkout.repository)
    assert "add mine.txt" not in fossil.timeline(fresh)
    there.write("theirs.txt", "more of theirs\n")
    there.commit("and more")
    assert received(quarry("sync", checkout.repository, "--push")) == 0
    assert "add mine.txt" in fossil.timeline(fresh)
    assert "and more" not in fossil.timeline(checkout.repository)


def test_private_branches_travel_only_when_they_are_asked_for(pair, quarry, fresh, fossil):
    _, checkout = pair
    add(checkout, "a.txt", "a\n")
    add(checkout, "secret.txt", "secret\n", "--private")
    quarry("sync", checkout.repository)
    assert "add secret.txt" not in fossil.timeline(fresh)
    quarry("sync", checkout.repository, "--private")
    assert_equal(checkout.repository, fresh)
    count = "SELECT count(*) FROM private"
    assert repofile.value(fresh, count) == repofile.value(checkout.repository, count) > 0
    proof.check(fresh, fossil)


def unversioned(repository):
    return repofile.query(repository, "SELECT name, mtime, hash FROM unversioned WHERE hash IS NOT NULL ORDER BY name")


def test_unversioned_files_travel_both_ways(pair, quarry, fresh, fossil, tmp_path):
    _, checkout = pair
    repofile.set_capabilities(fresh, "writer", "gioxy")
    def put(repository, name, text, mtime):
        (tmp_path / "text").write_text(text)
        fossil("uv", "add", tmp_path / "text", "--as", name, "-R", repository, "--mtime", mtime)
    clone = checkout.repository
    put(fresh, "theirs", "theirs\n", "2024-01-01 00:00:00")
    put(fresh, "both", "old\n", "2024-01-01 00:00:00")
    put(fresh, "touched", "same\n", "2024-01-01 00:00:00")
    put(clone, "mine", "x" * 400000, "2024-01-01 00:00:00")
    put(clone, "both", "new\n", "2024-02-01 00:00:00")
    put(clone, "touched", "same\n", "2024-02-01 00:00:00")
    put(clone, "also-mine", "y" * 400000, "2024-01-01 00:00:00")
    quarry("sync", clone)
    assert len(unversioned(fresh)) == 3 and len(unversioned(clone)) == 4
    quarry("sync", clone, "--uv")
    assert unversioned(fresh) == unversioned(clone) and len(unversioned(clone)) == 5
    assert fossil("uv", "cat", "both", "-R", fresh) == "new\n"
    fossil("uv", "rm", "theirs", "-R", clone)
    fossil("uv", "rm", "mine", "-R", fresh)
    quarry("sync", clone, "--uv")
    assert unversioned(fresh) == unversioned(clone) and len(unversioned(clone)) == 3
    assert quarry("sync", clone, "--uv").startswith("round trips: 1 ")


def test_who_may_not_write_unversioned_files_only_takes_them(pair, quarry, fresh, fossil, tmp_path):
    _, checkout = pair
    (tmp_path / "text").write_text("text\n")
    fossil("uv", "add", tmp_path / "text", "--as", "theirs", "-R", fresh)
    fossil("uv", "add", tmp_path / "text", "--as", "mine", "-R", checkout.repository)
    quarry("sync", checkout.repository, "--uv")
    assert [row[0] for row in unversioned(fresh)] == ["theirs"]
    assert [row[0] for row in unversioned(checkout.repository)] == ["mine", "theirs"]


def test_what_was_overlooked_is_sent_verily(pair, quarry, fresh, fossil):
    _, checkout = pair
    add(checkout, "a.txt", "a\n")
    for table in ("unsent", "unclustered"):
        repofile.execute(checkout.repository, f"DELETE FROM {table}")
    quarry("sync", checkout.repository)
    assert "add a.txt" not in fossil.timeline(fresh)
    quarry("sync", checkout.repository, "--verily")
    assert "add a.txt" in fossil.timeline(fresh)


def test_who_may_only_read_is_told_so_and_pulls(pair, quarry, fresh, fossil, tmp_path):
    server, checkout = pair
    add(Checkout(fossil, fresh, tmp_path / "there"), "theirs.txt", "theirs\n")
    repofile.add_user(fresh, "reader-only", "pen", "go")
    output = quarry("sync", checkout.repository, server.url_for("reader-only", "pen"), "--once")
    assert "pull only" in output and received(output) > 0


@pytest.mark.slow
@pytest.mark.parametrize("program", ["fossil", "quarry"])
def test_over_a_file(quarry, fresh, fossil, tmp_path, program):
    clone = repofile.copy(fresh, tmp_path / "clone.fossil")
    checkout = Checkout(fossil, clone, tmp_path / "work")
    add(checkout, "a.txt", "a\n")
    quarry("sync", clone, f"file://{fresh}?fossil=fossil" if program == "fossil" else fresh)
    assert_equal(clone, fresh)
    assert not repofile.value(clone, "SELECT count(*) FROM unsent")


def test_over_ssh(quarry, fresh, fossil, tmp_path):
    clone = repofile.copy(fresh, tmp_path / "clone.fossil")
    checkout = Checkout(fossil, clone, tmp_path / "work")
    for number in range(30):
        checkout.write("a.txt", os.urandom(30000).hex())
        checkout("addremove")
        checkout.commit(f"number {number}")
    quarry("sync", clone, f"ssh://host/{fresh}")
    assert_equal(clone, fresh)
    assert quarry.ssh_arguments.read_text().count("test-http") == 1, "one connection for all of it"


def test_wrong_password_unknown_project_and_no_server_change_nothing(pair, quarry, fresh, fossil, tmp_path):
    server, checkout = pair
    add(checkout, "a.txt", "a\n")
    other = tmp_path / "another-project.fossil"
    fossil.new(other)
    url = f"http://writer@127.0.0.1:{server.port}/"
    nowhere = f"http://127.0.0.1:{process.free_port()}/"
    with repofile.unchanged(fresh), repofile.unchanged(checkout.repository):
        wrong = quarry.password("wrong")
        assert "login failed" in quarry.refused("sync", checkout.repository, url, "--password-file", wrong)
        quarry.refused("sync", checkout.repository, nowhere)
        quarry.refused("sync", checkout.repository, server.url + "nothing/there.html")
    with repofile.unchanged(fresh), repofile.unchanged(other):
        assert "wrong project" in quarry.refused("sync", other, server.url)


def test_server_that_ends_in_the_middle_leaves_what_there_was(pair, quarry):
    def answer(handler, _):
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: application/x-fossil\r\nContent-Length: 1000\r\n\r\nabc")
    _, checkout = pair
    add(checkout, "a.txt", "a\n")
    pretender = Pretender(answer)
    try:
        with repofile.unchanged(checkout.repository):
            quarry.refused("sync", checkout.repository, pretender.url())
    finally:
        pretender.stop()
    assert sent(quarry("sync", checkout.repository)) > 0


def test_without_a_url_and_without_a_sync_before(quarry, fresh):
    assert "URL" in quarry.refused("sync", fresh)


def test_remotes_that_fossil_has_named_can_be_named(pair, serve, quarry, fresh, fossil, tmp_path):
    _, checkout = pair
    kept = "SELECT name, value FROM config WHERE name GLOB '*sync-url*' OR name GLOB '*sync-pw*' ORDER BY name"
    other = repofile.copy(fresh, tmp_path / "backup.fossil")
    fossil("remote", "add", "backup", serve(other).url_for("writer", "pen"), "-R", checkout.repository)
    before = repofile.query(checkout.repository, kept)
    assert len(before) == 4
    add(checkout, "a.txt", "a\n")
    quarry("sync", checkout.repository, "backup")
    assert "add a.txt" in fossil.timeline(other) and "add a.txt" not in fossil.timeline(fresh)
    assert repofile.query(checkout.repository, kept) == before
    quarry("sync", checkout.repository, "default")
    assert "add a.txt" in fossil.timeline(fresh)
    assert "nowhere" in quarry.refused("sync", checkout.repository, "nowhere")


@pytest.mark.parametrize(("query", "shown"), [("", ""), ("?token=uncommon", "?token=*"), ("?a=uncommon&b=uncommon", "?a=*"),
                                              ("?uncommon", "?*")])
def test_password_and_query_are_not_in_the_list_of_processes(quarry, fresh, query, shown):
    """Not those of the URL either, once the program runs."""
    seen, may_answer = threading.Event(), threading.Event()

    def answer(handler, _):
        seen.set()
        may_answer.wait(60)
        handler.send_error(500)
    pretender = Pretender(answer)
    command = [places.program("quarry"), "sync", fresh, pretender.url("writer:extraordinary") + query]
    running = subprocess.Popen([str(word) for word in command], env=quarry.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert seen.wait(60)
        arguments = open(f"/proc/{running.pid}/cmdline", encoding="utf-8").read()
        assert "writer:*@localhost" in arguments and arguments.rstrip("\0").endswith(f"{pretender.port}/" + shown)
        assert "extraordinary" not in arguments and "uncommon" not in arguments
    finally:
        may_answer.set()
        _, errors = running.communicate(timeout=60)
        pretender.stop()
    assert "warning: a password on the command line" in errors and "extraordinary" not in errors


def answer_on_a_terminal(quarry, arguments: list[str], passwords: list[bytes]) -> tuple[int, bytes]:
    """Runs the program at a terminal where each question is answered with the next of PASSWORDS."""
    pid, terminal = pty.fork()
    if pid == 0:
        program = str(places.program("quarry"))
        os.execve(program, [program, *arguments], quarry.environment)
    shown = b""
    for asked, password in enumerate(passwords, start=1):
        while shown.count(b"password for writer") < asked:
            shown += os.read(terminal, 1000)
        os.write(terminal, password + b"\n")
    try:
        while part := os.read(terminal, 1000):
            shown += part
    except OSError:
        pass  # the end of a terminal
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown


def test_password_is_asked_for_without_showing_it(serve, quarry, fresh):
    server = serve(fresh)
    status, shown = answer_on_a_terminal(
        quarry, ["sync", str(fresh), f"http://writer@127.0.0.1:{server.port}/"], [b"pen"])
    assert status == 0, shown.decode()
    assert b"pen" not in shown and b"round trips: 1" in shown


def test_password_that_is_not_taken_is_asked_for_again(serve, quarry, fresh, tmp_path):
    server = serve(fresh)
    url = f"http://writer@127.0.0.1:{server.port}/"
    status, shown = answer_on_a_terminal(quarry, ["sync", str(fresh), url], [b"quill", b"pen"])
    assert status == 0 and shown.count(b"login failed") == 1, shown.decode()
    status, shown = answer_on_a_terminal(quarry, ["clone", url, str(tmp_path / "clone.fossil")], [b"quill", b"pen"])
    assert status == 0 and (tmp_path / "clone.fossil").exists(), shown.decode()
    status, shown = answer_on_a_terminal(quarry, ["sync", str(fresh), url], [b"quill"] * 3)
    assert status == 1 and shown.count(b"login failed") == 3, shown.decode()


@pytest.mark.parametrize("year,words", [("2001", "behind"), ("2999", "ahead of")])
def test_clocks_that_are_apart_are_told_of(pair, quarry, year, words):
    _, checkout = pair
    assert "clock" not in quarry.attempt("sync", checkout.repository)[2]

    def answer(handler, _):
        cards = f"# timestamp {year}-01-01T00:00:00 errors 0\n".encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-fossil-debug")
        handler.send_header("Content-Length", str(len(cards)))
        handler.end_headers()
        handler.wfile.write(cards)

    pretender = Pretender(answer)
    try:
        code, _, told = quarry.attempt("sync", checkout.repository, pretender.url(), "--once")
    finally:
        pretender.stop()
    assert code == 0
    assert f"s {words} this machine's" in told
