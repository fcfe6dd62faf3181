"""The disk becomes full at each step of the queue. Change sets stay intact in their folder, show the reason, and
continue when space is available."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import proof
from support import changes, places, repofile
from support.changes import Queue, Somebody, somebody, tarball
from support.disk import empty, fill_up, small_disk
from support.process import Process, wait_until

OVER = ("done", "fail", "term", "abandon")
FULL = "the disk of the queue is full"


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "6m,mode=0700") as made:
        yield made


def fill(folder: Path, keep: int = 0) -> None:
    """Fills the disk, except for KEEP bytes."""
    fill_up(folder, keep)
    if not keep:
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            (folder / "one more").write_bytes(bytes(1 << 16))
        (folder / "one more").unlink()


class Daemons:
    def __init__(self, repository: Path, base: Path, folder: Path, *words: str):
        self.repository, self.base, self.folder = repository, base, folder
        self.words = [part for word in ("changes.scan=300ms", "changes.retry_delay=200ms", *words) for part in ("--set", word)]
        self.started: dict[str, Process] = {}

    def start(self, kind: str) -> None:
        environment = {**os.environ, "TZ": "UTC"}
        self.started[kind] = Process([places.program("quarry-changes"), kind, self.repository, "--queue", self.base,
                                      *self.words], self.folder / f"{kind}.log", env=environment)

    def log(self, kind: str) -> str:
        return self.started[kind].output()

    def stop(self) -> None:
        for each in self.started.values():
            assert each.is_running(), each.output()
        self.end()

    def end(self) -> None:
        for each in self.started.values():
            if each.is_running():
                each.stop()


@pytest.fixture
def make_daemons(repository, tmp_path):
    made: list[Daemons] = []

    def make(base: Path, *words: str) -> Daemons:
        made.append(Daemons(repository, base, tmp_path, *words))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def queued(launch_idle, repository, disk) -> tuple[Somebody, Queue]:
    """Starts a server without daemons. The folder of its queue is on the small disk."""
    server = launch_idle(repository, settings={"changes": "on", "changes.base": str(disk)})
    return somebody(server.port, repository), Queue(disk / "fresh.changes")


def why(writer, id_):
    return writer.get(f"/queue/{id_}.json?ask=why").json["why"]


def check_ins(repository):
    return repofile.value(repository, "SELECT count(*) FROM event WHERE type='ci'")


def stays(queue: Queue, id_: str, stage: str, daemons: Daemons, kind: str) -> None:
    """Waits until the daemon KIND has failed twice, and checks that the job is still intact in STAGE."""
    def failures() -> int:
        return daemons.log(kind).count("No space left")

    wait_until(lambda: failures() >= 1, f"a failure of {kind}")
    seen = failures()
    wait_until(lambda: failures() > seen, f"another failure of {kind}")
    assert queue.stage_of(id_) == stage
    # The job file is still empty in prequeue/, and complete in the other folders.
    assert (queue.job(id_) == "") == (stage == "prequeue")


def test_each_step_waits_for_disk_space(queued, make_daemons, repository, disk, fossil):
    writer, queue = queued
    content = os.urandom(200_000)
    daemons = make_daemons(queue.base)
    id_ = writer.submit(tarball({"new.bin": content})).json["id"]
    size = len((queue.base / "data" / queue.names("prequeue")[0]).read_bytes())

    fill(disk)
    answer = writer.submit(tarball({"other.bin": content}))
    assert answer.status == 507 and answer.json == {"error": "the server's disk is full"}
    assert len(queue.names("prequeue")) == 1 and queue.names("tmp") == []

    for kind, stage, next_ in (("prequeue", "prequeue", "queue"), ("queueing", "queue", "pending"),
                               ("execution", "run", "done")):
        if kind == "execution":
            # Cached contents are deleted, because the daemon could use them without disk space, or delete them itself
            # to free space.
            for kept in (queue.base / "tmp").glob("*.content"):
                kept.unlink()
        fill(disk)
        daemons.start(kind)
        if kind != "execution":
            stays(queue, id_, stage, daemons, kind)
        else:
            # Moving the job to run/ does not need space, but extracting the tarball does.
            wait_until(lambda: queue.names("run"), "its execution")
            # The first failure is logged when the daemon cannot write its pid file.
            wait_until(lambda: daemons.log("execution").count("No space left") >= 3, "failures")
            assert queue.stage_of(id_) == "run"
        assert FULL in why(writer, id_), why(writer, id_)
        if stage == "queue":
            repofile.add_user(repository, "boss", "pen", "a")
            answer = somebody(writer.port, repository, "boss").act(id_, "hold")
            assert answer.status == 507, answer.body
            assert "##held" not in queue.job(id_)
        empty(disk)
        wait_until(lambda next_=next_: queue.is_in(id_, next_), f"its move to {next_}/")
        if next_ != "done":
            assert FULL not in why(writer, id_)
    daemons.stop()
    assert check_ins(repository) == 3
    assert (queue.base / "data" / queue.names("done")[0]).stat().st_size == size
    assert queue.names("tmp") == []
    proof.check(repository, fossil)


def test_a_landing_on_a_full_disk_is_not_repeated(queued, make_daemons, repository, disk, fossil, everybodys):
    """The disk fills up while the gate runs. The check-in is stored, but the job cannot be moved."""
    writer, queue = queued
    gate = places.executable(everybodys / "gate",
                             f"#!/bin/sh\ntouch {everybodys}/asked\nuntil [ -e {everybodys}/go ]; do sleep 0.1; done\n")
    id_ = writer.submit(tarball({"a.txt": b"changed\n"})).json["id"]
    # With this limit, a single crash makes the change set fail. A full disk does not count as a crash.
    daemons = make_daemons(queue.base, f"changes.gate={gate}", "changes.gate_sandbox=no", "changes.gate_user=nobody",
                      "changes.max_crashes=1", "changes.max_put_off=0")
    for kind in ("prequeue", "queueing", "execution"):
        daemons.start(kind)
    wait_until(lambda: (everybodys / "asked").exists(), "the gate")
    fill(disk)
    (everybodys / "go").touch()
    wait_until(lambda: check_ins(repository) == 3, "the check-in")
    wait_until(lambda: "No space left" in daemons.log("execution"), "a move that fails")
    assert queue.stage_of(id_) == "run"
    assert FULL in why(writer, id_)
    empty(disk)
    wait_until(lambda: queue.is_in(id_, *OVER), "its end")
    assert queue.stage_of(id_) == "done" and "already landed" in queue.job(id_), queue.job(id_)
    daemons.stop()
    assert check_ins(repository) == 3
    proof.check(repository, fossil)


def test_many_change_sets_that_wait_for_space_all_land(queued, make_daemons, repository, disk, fossil):
    """The disk becomes full repeatedly, and a little space is freed each time."""
    writer, queue = queued
    daemons = make_daemons(queue.base)
    ids = [writer.submit(tarball({f"{number}.bin": os.urandom(50_000)})).json["id"] for number in range(12)]
    fill(disk)
    for kind in ("prequeue", "queueing", "execution"):
        daemons.start(kind)
    end = time.monotonic() + 120
    keep = 0
    while sum(len(queue.names(stage)) for stage in OVER) < len(ids):
        assert time.monotonic() < end, [queue.names(stage) for stage in changes.STAGES]
        empty(disk)
        fill(disk, keep=keep)
        keep = (keep + 8_192) % 400_000 if time.monotonic() < end - 60 else 2 << 20
        time.sleep(0.1)
    empty(disk)
    assert {id_: queue.stage_of(id_) for id_ in ids} == dict.fromkeys(ids, "done"), [queue.job(id_) for id_ in ids]
    daemons.stop()
    assert check_ins(repository) == 2 + len(ids)
    proof.check(repository, fossil)


def test_a_full_disk_of_the_repository_only_delays_the_check_in(launch, repository, disk, fossil, tmp_path):
    path = repofile.copy(repository, disk / "small.fossil")
    base = tmp_path / "queues"
    base.mkdir()
    server = launch(path, settings={"changes": "on", "changes.base": str(base), "changes.scan": "500ms",
                                    "changes.retry_delay": "200ms", "changes.max_put_off": "1"})
    writer, queue = somebody(server.port, path), Queue(base / "small.changes")
    before = check_ins(path)
    # The remaining space is enough to open the repository, but not to store the files.
    fill(disk, keep=150_000)
    id_ = writer.submit(tarball({"new.bin": os.urandom(300_000)})).json["id"]

    def times() -> int:
        with contextlib.suppress(FileNotFoundError, AssertionError, StopIteration):
            return queue.job(id_).count("the server's disk is full")
        return 0

    # If the reason were not a full disk, changes.max_put_off would not allow so many attempts.
    wait_until(lambda: times() >= 3, "some attempts")
    seen = writer.get(f"/queue/{id_}.json").json
    assert seen["state"] in ("pending", "running") and str(disk) not in str(seen)
    empty(disk)
    wait_until(lambda: queue.is_in(id_, *OVER), "its end")
    assert queue.stage_of(id_) == "done", queue.job(id_)
    server.stop()
    assert check_ins(path) == before + 1
    proof.check(path, fossil)
