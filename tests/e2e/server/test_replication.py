"""Pushes and pages of a replicated pool wait for quarry-replica, which is a service of quarryd. Here, the tests
use a fake quarry-replica; tests/cluster runs the real one."""

import json
import os
import signal
import time

import pytest

from support import repofile
from support.browser import Browser
from support.fake_replica import FakeReplica
from support.fossil import clone_and_open
from support.process import wait_until
from support.program import fails, succeeds

UNCONFIRMED = "stored on this host, but the other hosts have not confirmed it"


@pytest.fixture
def replica(tmp_path, monkeypatch) -> FakeReplica:
    return FakeReplica(tmp_path, monkeypatch)


@pytest.fixture
def server(start, replica, tmp_path):
    return start({"pages": "fossil"}, http={}, settings={"control.socket": tmp_path / "control.sock"}, more=replica.section(tmp_path))


@pytest.fixture
def checkout(server, fossil, tmp_path):
    return clone_and_open(fossil, f"http://writer:pen@127.0.0.1:{server.port}/", tmp_path)[1]


def push(checkout) -> str:
    """Returns the output of `fossil push`, which can fail."""
    return checkout.fossil.attempt("push", cwd=checkout.folder)[1]


def test_a_push_waits_for_other_hosts(server, replica, checkout, fresh):
    checkout.commit_file("a.txt", "a\n", "one")
    replica.answer("error no leader")
    assert UNCONFIRMED in push(checkout)
    assert checkout.head() in repofile.artifacts(fresh), "the push is stored"
    server.wait_for_log("no leader")
    assert UNCONFIRMED in push(checkout), "a repeated push does not succeed either"
    replica.answer("ok {}")
    assert UNCONFIRMED not in push(checkout)
    assert set(replica.questions()) == {"publish www "}


def test_a_killed_or_replaced_replica_does_not_lose_a_push(server, replica, checkout):
    for change in ("kill", "reload"):
        pid = server.child("quarry-replica")
        checkout.commit_file(f"{change}.txt", "a\n", change)
        if change == "kill":
            os.kill(pid, signal.SIGKILL)
        else:
            server.main.send(signal.SIGUSR2)
        assert UNCONFIRMED not in push(checkout)
        wait_until(lambda before=pid: server.children("quarry-replica") not in ([], [before]), "another process")


def test_without_an_answer_a_push_fails_in_time(start, replica, tmp_path, fossil):
    server = start(http={}, more=replica.section(tmp_path, acknowledge_timeout="100ms"))
    checkout = clone_and_open(fossil, f"http://writer:pen@127.0.0.1:{server.port}/", tmp_path)[1]
    os.kill(server.child("quarry-replica"), signal.SIGSTOP)
    checkout.commit_file("a.txt", "a\n", "one")
    assert UNCONFIRMED in push(checkout)
    os.kill(server.child("quarry-replica"), signal.SIGCONT)


def test_with_acknowledge_local_a_push_does_not_wait(start, replica, tmp_path, fossil):
    replica.answer("error no leader")
    server = start(http={}, more=replica.section(tmp_path, acknowledge="local"))
    checkout = clone_and_open(fossil, f"http://writer:pen@127.0.0.1:{server.port}/", tmp_path)[1]
    checkout.commit_file("a.txt", "a\n", "one")
    assert UNCONFIRMED not in push(checkout)
    wait_until(lambda: replica.questions() == ["notify www "], "the notification")


def test_a_check_in_lock_is_also_one_of_other_hosts(server, replica, checkout, fresh, fossil):
    def commit(name: str, answer: str) -> str:
        checkout.write(name, "text")
        checkout("add", name)
        replica.answer(answer)
        return fossil.attempt("commit", "--no-warnings", "--no-prompt", "-m", name, cwd=checkout.folder)[1]

    checkout("settings", "autosync", "on")
    parent = checkout.head()
    held = commit("a.txt", f"ok other/{int(time.time())}/anna")
    assert 'Might fork due to a check-in race with user "anna"' in held
    assert replica.questions()[0].startswith(f"claim ci-lock.{parent} ")
    assert repofile.query(fresh, "SELECT 1 FROM config WHERE name GLOB 'ci-lock-*'") == []
    # A lock that has expired is removed.
    old = f"other/{int(time.time()) - 61}/anna"
    assert "New_Version" in commit("b.txt", f"ok {old}")
    assert f"release ci-lock.{parent} {old} www " in replica.questions()
    # Without other hosts, a lock is local.
    assert "New_Version" in commit("c.txt", "error no leader")
    server.wait_for_log("cannot ask other hosts for a check-in lock: no leader")


@pytest.mark.usefixtures("checkout")
def test_a_page_that_changes_the_repository_waits_for_other_hosts(server, replica, fresh):
    """The clone has opened the repository in a worker, so the process of a page does not make a checkpoint when it ends."""
    repofile.add_user(fresh, "editor", "word", "cdefijkmnorstuwz2345")
    visitor = Browser(server.port)

    def post_until(status: int, **fields: str) -> None:
        """Posts until the reply has STATUS. Fossil answers 400 while the process of the previous page is still writing."""
        wait_until(lambda: visitor.post("/forumnew", content="text", mimetype="text/plain", **fields).status == status,
                   f"status {status}")

    assert visitor.log_in("/login", "editor", "word").status == 302
    replica.answer("error no leader")
    # A checkpoint also changes the file, so some previews can fail, too.
    post_until(200, title="A preview", preview="Preview")
    post_until(503, title="A question", submit="Submit")
    server.wait_for_log(f"{UNCONFIRMED}: no leader")
    assert "A question" in visitor.get("/forum").text, "the post is stored"
    replica.answer("ok {}")
    post_until(302, title="Another question", submit="Submit")
    assert set(replica.questions()) == {"publish www "}


def state_of_replica(tmp_path, text: str, age: float = 0) -> None:
    path = tmp_path / "replica" / "state"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    os.utime(path, (time.time() - age,) * 2)


def test_a_push_is_refused_early_if_the_other_hosts_are_known_to_be_away(server, replica, checkout, fresh, tmp_path):
    checkout.commit_file("a.txt", "a\n", "one")
    state_of_replica(tmp_path, "3000 1 no server of the stream answers")
    trace = checkout.fossil.attempt("push", "--httptrace", cwd=checkout.folder)[1]
    assert "Error: the push was not stored, because the other hosts cannot be reached: push again later" in trace
    assert checkout.head() not in repofile.artifacts(fresh) and not replica.questions()
    assert any("Retry-After: 5" in path.read_text(errors="replace") for path in checkout.folder.glob("http-reply-*"))
    server.wait_for_log("no server of the stream answers")
    assert "Error" not in checkout.fossil("pull", cwd=checkout.folder), "pulls continue"
    state_of_replica(tmp_path, "3000 1 no server of the stream answers", age=3600)
    assert "Error" not in push(checkout), "an old state does not count"


def test_a_ping_fails_while_this_host_lags(start, replica, tmp_path):
    server = start({"ping.path": "/ping"}, http={}, more=replica.section(tmp_path))
    browser = Browser(server.port)

    def ping(query: str) -> tuple[int, str]:
        reply = browser.get(f"/ping{query}")
        return reply.status, reply.text

    assert ping("") == (200, "pong")
    assert ping("?max_lag=5") == (503, "quarry-replica does not run\n")
    for status, text, state in ((200, "pong", "0 0 "), (200, "pong", "5000 0 "),
                                (503, "this host lags 7 seconds behind the other hosts\n", "7200 0 "),
                                (503, "no server answers\n", "0 1 no server answers")):
        state_of_replica(tmp_path, state)
        assert ping("?max_lag=5") == (status, text)
    state_of_replica(tmp_path, "0 0 ", age=3600)
    assert ping("?max_lag=5")[0] == 503
    assert ping("?max_lag=soon")[0] == 400
    assert ping("") == (200, "pong")


def test_a_ping_without_replication_ignores_the_lag(start):
    server = start({"ping.path": "/ping"}, http={})
    assert Browser(server.port).get("/ping?max_lag=5").text == "pong"


def test_the_status(server, replica, tmp_path):
    status = {"host": "one", "group": "team", "connected": False, "error": "no server answers", "position": 7,
              "clock_difference_seconds": -90.2, "lag_messages": 2, "lag_seconds": 1.5, "repositories": 3, "failed": 1, "need_sync": 0,
              "touched": [{"pool": "www", "name": "team/a", "position": 7, "is_published": False, "unpublished_seconds": 2,
                           "publish_error": "", "apply_error": "the disk is full"}]}
    replica.answer("ok " + json.dumps(status))
    shown = succeeds("replica", "status", "--config", server.config).splitlines()
    assert shown[0] == "host one of group team: not connected: no server answers"
    assert shown[1] == "position 7, lag 1.5s (2 messages); 3 repositories, 1 failed, 0 different"
    assert shown[2] == "the clock of this host is 90 seconds behind that of the NATS servers"
    assert shown[-1].split(maxsplit=6) == ["www", "team/a", "7", "0", "0us", "2.0s", "the disk is full"]
    assert json.loads(succeeds("replica", "status", "--config", server.config, "--json")) == status
    replica.answer("error stopping")
    assert "stopping" in fails("replica", "status", "--config", server.config)
    services = json.loads(succeeds("status", "--config", server.config, "--json"))["services"]
    assert "replica" in [each["service"] for each in services]
