"""`quarry sync` in both directions, with fossil and with quarryd, and its failures."""

import os
import pty
import subprocess
import threading

import pytest

import proof
from support import places, process, repofile
from support.client import Pretender, received, reply, round_trips, sent
from support.fossil import Checkout


@pytest.fixture
def pair(serve, quarry, fresh, fossil, tmp_path):
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


def test_a_whole_history_is_synced(serve, quarry, small, fresh, fossil, tmp_path):
    """The history is pushed to a server with an empty repository, and then pulled into an empty clone."""
    repofile.set_config(fresh, "project-code", repofile.project_code(small))
    repofile.add_user(fresh, "writer", "pen", "giox")
    empty = repofile.copy(fresh, tmp_path / "empty.fossil")
    server = serve(fresh)
    url = server.url_for("writer", "pen")
    repofile.set_config(small, "max-upload", 20000)
    all_of_it = len(repofile.public_artifacts(small))
    output = quarry("sync", small, url, "--once")
    # The push takes many requests. Each reply requests missing artifacts, and every artifact is sent only once.
    assert sent(output) == all_of_it and round_trips(output) > 10
    quarry("sync", empty, url, "--once")
    assert repofile.public_artifacts(empty) >= repofile.public_artifacts(small) - repofile.clusters(small)
    assert not repofile.phantoms(empty)
    proof.check(empty, fossil)
    assert not repofile.phantoms(fresh)
    assert repofile.artifacts(fresh) >= repofile.public_artifacts(small) - repofile.clusters(small)
    if server.kind == "fossil":
        fossil("rebuild", fresh)  # the derived tables depend on the order of arrival
    proof.check(fresh, fossil)


def test_nothing_new_is_one_round_trip(pair, quarry):
    _, checkout = pair
    add(checkout, "a.txt", "a\n")
    quarry("sync", checkout.repository)
    assert quarry("sync", checkout.repository).startswith("round trips: 1  artifacts sent: 0  received: 0 ")


def test_push_and_pull(pair, quarry, fresh, fossil, tmp_path):
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


def test_private_branches_are_synced_only_with_the_option(pair, quarry, fresh, fossil):
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


def test_unversioned_files_are_synced_in_both_directions(pair, quarry, fresh, fossil, tmp_path):
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


def test_without_the_right_to_write_unversioned_files_they_are_only_received(pair, quarry, fresh, fossil, tmp_path):
    _, checkout = pair
    (tmp_path / "text").write_text("text\n")
    fossil("uv", "add", tmp_path / "text", "--as", "theirs", "-R", fresh)
    fossil("uv", "add", tmp_path / "text", "--as", "mine", "-R", checkout.repository)
    quarry("sync", checkout.repository, "--uv")
    assert [row[0] for row in unversioned(fresh)] == ["theirs"]
    assert [row[0] for row in unversioned(checkout.repository)] == ["mine", "theirs"]


def test_verily_sends_artifacts_that_were_missed(pair, quarry, fresh, fossil):
    _, checkout = pair
    add(checkout, "a.txt", "a\n")
    for table in ("unsent", "unclustered"):
        repofile.execute(checkout.repository, f"DELETE FROM {table}")
    quarry("sync", checkout.repository)
    assert "add a.txt" not in fossil.timeline(fresh)
    quarry("sync", checkout.repository, "--verily")
    assert "add a.txt" in fossil.timeline(fresh)


def test_a_user_who_may_only_read_pulls(pair, quarry, fresh, fossil, tmp_path):
    server, checkout = pair
    add(Checkout(fossil, fresh, tmp_path / "there"), "theirs.txt", "theirs\n")
    repofile.add_user(fresh, "reader-only", "pen", "go")
    output = quarry("sync", checkout.repository, server.url_for("reader-only", "pen"), "--once")
    assert "pull only" in output and received(output) > 0


def test_a_failed_sync_changes_nothing(pair, quarry, fresh, fossil, tmp_path):
    server, checkout = pair
    add(checkout, "a.txt", "a\n")
    other = fossil.new(tmp_path / "another-project.fossil")
    url = f"http://writer@127.0.0.1:{server.port}/"
    nowhere = f"http://127.0.0.1:{process.free_port()}/"
    with repofile.unchanged(fresh), repofile.unchanged(checkout.repository):
        wrong = quarry.password("wrong")
        assert "login failed" in quarry.refused("sync", checkout.repository, url, "--password-file", wrong)
        quarry.refused("sync", checkout.repository, nowhere)
        quarry.refused("sync", checkout.repository, server.url + "nothing/there.html")
        with Pretender(reply(200, b"x" * 9, Content_Type="application/x-fossil")) as pretender:
            quarry.refused("sync", checkout.repository, pretender.url())
    with repofile.unchanged(fresh), repofile.unchanged(other):
        assert "wrong project" in quarry.refused("sync", other, server.url)


def test_a_first_sync_needs_a_url(quarry, fresh):
    assert "URL" in quarry.refused("sync", fresh)


def test_named_remotes(pair, serve, quarry, fresh, fossil, tmp_path):
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
def test_the_list_of_processes_shows_no_password_or_query(quarry, fresh, query, shown):
    seen, may_answer = threading.Event(), threading.Event()

    def answer(*_):
        seen.set()
        may_answer.wait(60)
    with Pretender(answer) as pretender:
        command = [places.program("quarry"), "sync", fresh, pretender.url("writer:extraordinary") + query]
        running = subprocess.Popen([str(word) for word in command], env=quarry.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert seen.wait(60)
        arguments = open(f"/proc/{running.pid}/cmdline", encoding="utf-8").read()
        may_answer.set()
        _, errors = running.communicate(timeout=60)
        assert "writer:*@localhost" in arguments and arguments.rstrip("\0").endswith(f"{pretender.port}/" + shown)
    assert "extraordinary" not in arguments and "uncommon" not in arguments
    assert "warning: a password on the command line" in errors and "extraordinary" not in errors


def answer_on_a_terminal(quarry, arguments: list[str], passwords: list[bytes]) -> tuple[int, bytes]:
    """Runs the program on a terminal, and answers its prompts with PASSWORDS."""
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
        pass
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown


def test_the_password_prompt_does_not_echo(serve, quarry, fresh):
    server = serve(fresh)
    status, shown = answer_on_a_terminal(
        quarry, ["sync", str(fresh), f"http://writer@127.0.0.1:{server.port}/"], [b"pen"])
    assert status == 0, shown.decode()
    assert b"pen" not in shown and b"round trips: 1" in shown


def test_a_wrong_password_is_asked_for_again(serve, quarry, fresh, tmp_path):
    server = serve(fresh)
    url = f"http://writer@127.0.0.1:{server.port}/"
    status, shown = answer_on_a_terminal(quarry, ["sync", str(fresh), url], [b"quill", b"pen"])
    assert status == 0 and shown.count(b"login failed") == 1, shown.decode()
    status, shown = answer_on_a_terminal(quarry, ["clone", url, str(tmp_path / "clone.fossil")], [b"quill", b"pen"])
    assert status == 0 and (tmp_path / "clone.fossil").exists(), shown.decode()
    status, shown = answer_on_a_terminal(quarry, ["sync", str(fresh), url], [b"quill"] * 3)
    assert status == 1 and shown.count(b"login failed") == 3, shown.decode()


@pytest.mark.parametrize("year,words", [("2001", "behind"), ("2999", "ahead of")])
def test_different_clocks_are_reported(pair, quarry, year, words):
    _, checkout = pair
    assert "clock" not in quarry.attempt("sync", checkout.repository)[2]
    cards = f"# timestamp {year}-01-01T00:00:00 errors 0\n".encode()
    with Pretender(reply(200, cards, Content_Type="application/x-fossil-debug")) as pretender:
        code, _, message = quarry.attempt("sync", checkout.repository, pretender.url(), "--once")
    assert code == 0
    assert f"s {words} this machine's" in message
