"""Change sets pass the whole queue from `quarry submit` to a check-in that the real fossil accepts, and are rolled
back."""

import contextlib
import html
import json
import os
import re
import subprocess
import time

import pytest

import proof
from support import places, repofile
from support.changes import Queue, somebody, tarball
from support.courier import sections
from support.fossil import Checkout
from support.process import wait_until

ON = {"changes": "on", "changes.scan": "1s"}


@pytest.fixture
def server(launch, fresh, fossil, tmp_path):
    base = Checkout(fossil, fresh, tmp_path / "base")
    for name in ("a.txt", "b.txt"):
        base.write(name, "".join(f"{name} {i}\n" for i in range(20)))
        base("add", name)
    base.commit("base")
    return launch(fresh, settings=ON)


@pytest.fixture
def writer(server, fresh):
    return somebody(server.port, fresh)


def outcome(somebody_, id_, queue="/queue"):
    """Waits until the change set is finished and returns its JSON."""
    seen = {}

    def is_over():
        seen.update(somebody_.get(f"{queue}/{id_}.json").json)
        return seen["state"] in ("landed", "failed", "terminated", "abandoned")

    wait_until(is_over, f"the outcome of {id_}")
    return seen


def content(fossil, repository, name):
    return fossil("cat", name, "-r", "trunk", "-R", repository)


def test_submitted_from_two_folders_and_rolled_back(server, fresh, fossil, quarry, tmp_path):
    def submit(folder, name, text):
        done = subprocess.run([places.program("quarry"), "submit", "--to", server.url, "--user", "writer",
                               "--password-file", quarry.password("pen"), "--target", "trunk", "--comment", f"say {name}",
                               "--wait", *([] if (folder / ".fslckout").exists() else [name])],
                              cwd=folder, env=quarry.environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[0]

    work = Checkout(fossil, fresh, tmp_path / "work")
    work.write("new.txt", "from a check-out\n")
    work("add", "new.txt")
    first = submit(work.folder, "new.txt", "")
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "note.txt").write_text("from a folder\n")
    second = submit(plain, "note.txt", "")
    decomposed = "u\u0308.txt"
    (plain / decomposed).write_text("decomposed Unicode\n")
    third = submit(plain, decomposed, "")
    assert content(fossil, fresh, "new.txt") == "from a check-out\n"
    assert content(fossil, fresh, "note.txt") == "from a folder\n"
    assert content(fossil, fresh, decomposed) == "decomposed Unicode\n"
    timeline = fossil("timeline", "-n", 5, "-W", 0, "-R", fresh)
    assert "say new.txt (user: writer" in timeline and "say note.txt (user: writer" in timeline

    id_ = quarry("queue", "rollback", first, "-R", fresh).split()[0]
    assert outcome(somebody(server.port, fresh), id_)["state"] == "landed"
    status, _ = fossil.attempt("cat", "new.txt", "-r", "trunk", "-R", fresh)
    assert status != 0
    assert content(fossil, fresh, "note.txt") == "from a folder\n"
    listed = json.loads(quarry("queue", "list", "-R", fresh, "--json"))
    assert {each["id"] for each in listed["jobs"]} == {first, second, third, id_}
    assert fossil.integrity(fresh) == ""
    server.stop()
    proof.check(fresh, fossil)


def test_the_owner_of_a_queue_submits_without_a_server(server, writer, fresh, fossil):
    queue = Queue.of(fresh)
    wait_until(lambda: (queue.base / "prequeue").is_dir(), "the queue has folders")
    name = f"{os.urandom(8).hex()}_{2**62 + 10 + int(time.time()):016x}00000000_1_host_DC_writer"
    (queue.base / "tmp" / name).write_bytes(tarball({"by hand.txt": b"by hand\n"}))
    (queue.base / "tmp" / name).rename(queue.base / "data" / name)
    (queue.base / "prequeue" / name).touch()
    assert outcome(writer, name[:16])["state"] == "landed"
    assert content(fossil, fresh, "by hand.txt") == "by hand\n"
    assert "user: writer" in fossil("timeline", "-n", 1, "-W", 0, "-R", fresh)


def test_reasons_in_a_local_queue_follow_the_rules_of_the_pool(launch, fresh, quarry):
    writer = somebody(launch(fresh, settings={**ON, "changes.needs_approval": "DC"}).port, fresh)
    id_ = writer.submit(tarball({"a.txt": b"1\n"})).json["id"]
    wait_until(lambda: Queue.of(fresh).is_in(id_, "staging"), "the change set waits")
    reason = "it is waiting for an approval"
    assert reason in quarry("queue", "why", id_, "-R", fresh)
    job, = json.loads(quarry("queue", "list", "-R", fresh, "--json"))["jobs"]
    assert reason in job["remark"] and "expected_ms" not in job


def test_a_gate_that_cannot_be_executed_stops_the_queue(launch, fresh, fossil, quarry, everybodys, tmp_path):
    Checkout(fossil, fresh, tmp_path / "base").commit_file("a.txt", "a\n", "base")
    gate = everybodys / "gate"
    server = launch(fresh, settings={**ON, "changes.gate": gate,
                                     **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})
    writer = somebody(server.port, fresh)
    ids = [writer.submit(tarball({f"f{i}.txt": b"1\n"})).json["id"] for i in range(3)]
    reason = "the gate cannot be run: see the server's log"
    wait_until(lambda: writer.get("/queue.json").json.get("stopped") == reason, "the queue has stopped")
    wait_until(lambda: all(Queue.of(fresh).is_in(id_, "pending") for id_ in ids), "they wait")
    assert reason in quarry("queue", "status", "-R", fresh) and reason in quarry("queue", "why", ids[0], "-R", fresh)
    assert f"The queue has stopped:</strong> {reason}" in html.unescape(writer.get("/queue").body.decode())
    line = rf"error: \[execution www\] child \d+: .*cannot execute {re.escape(str(gate))}: it does not exist"
    assert re.search(line, server.all_logs())
    places.executable(gate, "#!/bin/sh\nexit 0\n")
    for id_ in ids:
        assert outcome(writer, id_)["state"] == "landed" and outcome(writer, id_)["put_off"] == 0
    assert "stopped" not in writer.get("/queue.json").json


def test_the_history_says_why_a_change_set_failed(writer, fresh):
    root = repofile.value(fresh, "SELECT uuid FROM blob JOIN event ON objid=rid WHERE type='ci' ORDER BY mtime LIMIT 1")
    for body, part in ((tarball({"a.txt": b"x"}, target="nowhere"), "branch nowhere does not exist"),
                       (tarball({"a.txt": b"x"}, kind="EM"), "##movetype"),
                       (tarball({"../a.txt": b"x"}), "must be a relative path"),
                       (tarball({"a.txt": b"x"}, author="somebody else"), "changes.author"),
                       (tarball({"a.txt": b"x"}, approval="my own"), "changes.approve"),
                       (tarball({"none.txt": None}), "none.txt"),
                       (tarball({"a.txt": b"x"}, merges=f"merge {root}"), "nothing to merge"),
                       (b"no tarball at all", "")):
        answer = writer.submit(body)
        assert answer.status == 202
        seen = outcome(writer, answer.json["id"])
        assert seen["state"] == "failed" and part in seen["why"], seen["why"]
    assert repofile.value(fresh, "SELECT count(*) FROM event WHERE type='ci'") == 2


def test_a_change_set_that_expands_too_much_fails(launch, server, fresh):
    server.stop()
    writer = somebody(launch(fresh, settings=ON | {"changes.max_expanded": "1M"}).port, fresh)
    before = repofile.value(fresh, "SELECT count(*) FROM blob")
    bomb = tarball({f"{number}.txt": bytes(100_000) for number in range(20)})
    assert len(bomb) < 10_000
    named = tarball({"a.txt": b"x\n", "b.txt": None, "none.txt": None})
    for body, part in ((bomb, "expand"), (named, "none.txt")):
        seen = outcome(writer, writer.submit(body).json["id"])
        assert seen["state"] == "failed" and part in seen["why"], seen["why"]
    assert repofile.value(fresh, "SELECT count(*) FROM blob") == before
    assert outcome(writer, writer.submit(tarball({"a.txt": b"good\n"})).json["id"])["state"] == "landed"


def test_repositories_that_appear_later_have_queues_too(launch, fresh, fossil, tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    server = launch(folder, settings=ON)
    one = repofile.copy(fresh, folder / "one.fossil")
    work = Checkout(fossil, one, tmp_path / "work")
    work.commit_file("a.txt", "a\n", "base")
    writer = somebody(server.port, one)
    for text in (b"first\n", b"second\n"):
        answer = writer.submit(tarball({"a.txt": text}), queue="/one/queue")
        assert answer.status == 202, answer.body
        assert outcome(writer, answer.json["id"], "/one/queue")["state"] == "landed"
        assert content(fossil, one, "a.txt").encode() == text
    assert Queue.of(one).names("prequeue") == []
    with contextlib.suppress(FileNotFoundError):
        assert not list((folder / "one.fossil.changes" / "tmp").iterdir())


def test_every_move_is_sent_to_the_courier(start, fresh, fossil, tmp_path):
    work = Checkout(fossil, fresh, tmp_path / "work")
    work.commit_file("a.txt", "a\n", "base")
    events = tmp_path / "events"
    more = sections(tmp_path, {"all": {"type": "file", "path": events, "events": "change-set"}})
    repofile.set_config(fresh, "project-name", "the queue's")
    repofile.set_config(fresh, "email-url", "https://example.org/q")
    server = start(ON, http={}, more=more)
    writer = somebody(server.port, fresh)
    id_ = writer.submit(tarball({"a.txt": b"b\n"})).json["id"]
    assert outcome(writer, id_)["state"] == "landed"

    def told():
        lines = events.read_text().splitlines() if events.exists() else []
        return [json.loads(line)["change_set"] for line in lines]

    wait_until(lambda: any(each["state"] == "landed" for each in told()), "the event of the landing")
    assert {each["id"] for each in told()} == {id_}
    # Three daemons report moves. The events of one daemon are in order, but those of different daemons can be mixed.
    assert sorted((each["from"], each["state"]) for each in told()) == [
        ("pending", "running"), ("queued", "pending"), ("running", "landed"), ("submitted", "queued")]
    assert [each["state"] for each in told()][-1] == "landed"
    assert told()[-1]["submitter"] == "writer"
    for line in events.read_text().splitlines():
        event = json.loads(line)
        assert event["project"] == {"code": writer.code, "name": "the queue's"}, event
        assert (event["repository"], event["url"]) == (fresh.stem, "https://example.org/q")
