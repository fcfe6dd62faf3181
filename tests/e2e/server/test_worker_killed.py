"""A worker is killed during a push. The file stays correct, and the next sync completes the push."""

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

import proof
from support import repofile, wire
from support.process import wait_until

KILLS = 50
CALM = 5


def bytes_read(pid):
    """Returns the number of bytes that the process has read. The number grows when a request arrives."""
    try:
        return int(Path(f"/proc/{pid}/io").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0


def sleeps(pid):
    """Returns whether the process is in an interruptible sleep."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Watcher(threading.Thread):
    """Waits until the worker gets a request, and kills the worker KILL_AFTER seconds later. If KILL_AFTER is None,
    measures the duration of the request instead."""

    def __init__(self, worker, kill_after):
        super().__init__()
        self.worker = worker
        self.kill_after = kill_after
        self.worked = 0.0
        self.push_is_over = threading.Event()

    def run(self):
        idle = bytes_read(self.worker)
        while bytes_read(self.worker) < idle + 1000 and not self.push_is_over.is_set():
            time.sleep(0.0002)
        began = time.monotonic()
        if self.kill_after is not None:
            time.sleep(self.kill_after)
            os.kill(self.worker, signal.SIGKILL)
            return
        while not (sleeps(self.worker) and sleeps(self.worker)):
            time.sleep(0.0002)
        self.worked = time.monotonic() - began


def push_under_watch(fossil, server, url, client, kill_after=None):
    """Pushes. Returns whether the push succeeded, and the time for which the worker processed the first request of the
    push."""
    wait_until(lambda: server.workers(), "a worker")
    watcher = Watcher(server.workers()[0], kill_after)
    watcher.start()
    # The client's exit status is 0 even if the server reports an error.
    status, output = fossil.attempt("push", "--once", url, "-R", client)
    watcher.push_is_over.set()
    watcher.join()
    return status == 0 and "server says" not in output and "rror" not in output, watcher.worked


def batches(path, count):
    """Returns all public artifacts, divided into COUNT parts in the order of their arrival."""
    public = repofile.public_artifacts(path)
    names = [name for name, in repofile.query(path, "SELECT uuid FROM blob ORDER BY rid") if name in public]
    return [names[len(names) * part // count:len(names) * (part + 1) // count] for part in range(count)]


def offer(client, names):
    """Makes the client's next push offer exactly NAMES."""
    with repofile.database(client, write=True) as connection:
        connection.execute("DELETE FROM unsent")
        connection.executemany("INSERT INTO unsent SELECT rid FROM blob WHERE uuid=?", [(name,) for name in names])


@pytest.mark.slow
@pytest.mark.ours("it has no workers")
def test_fifty_kills_at_different_moments(launch, server_kind, generated_original, fossil, tmp_path):
    """A history arrives in many pushes. The worker is killed during fifty pushes, each time at a later moment. Behind a
    web server, ten kills are enough. A kill that comes too late is repeated in the next push."""
    client = repofile.copy(generated_original, tmp_path / "client.fossil")
    # Without these rows, the client does not send igot cards, and each push contains only its own batch.
    repofile.execute(client, "DELETE FROM unclustered")
    served = fossil.new(tmp_path / "served.fossil")
    repofile.make_empty(served, repofile.project_code(client))
    repofile.add_user(served, "writer", "pen", "gio")
    server = launch(served, workers=1, settings={"pm.max_requests": "0"})
    url = server.url_for("writer", "pen")

    kills = KILLS if server_kind == "gateway" else 10
    chance = random.Random(50)
    parts = batches(client, CALM + 3 * kills)
    worked = []
    for names in parts[:CALM]:
        offer(client, names)
        went_through, duration = push_under_watch(fossil, server, url, client)
        assert went_through
        worked.append(duration)
    interrupted = 0
    for number, names in enumerate(parts[CALM:]):
        if interrupted == kills:
            break
        offer(client, names)
        moment = sorted(worked)[CALM // 2] * (interrupted + chance.random()) / kills
        went_through, duration = push_under_watch(fossil, server, url, client, moment)
        interrupted += not went_through
        if went_through:
            worked = [*worked[1:], duration]
        assert repofile.query(served, "PRAGMA quick_check") == [("ok",)]
        offer(client, names)
        fossil("push", "--once", url, "-R", client)
        assert not set(names) - repofile.artifacts(served), f"push {number}: the client's next sync did not complete"
        if number % 25 == 0:
            proof.check(served, fossil)
    assert interrupted == kills, f"only {interrupted} kills met a push"
    repofile.execute(client, "DELETE FROM unsent")
    repofile.execute(client, "INSERT INTO unsent SELECT rid FROM blob")
    fossil("push", "--once", url, "-R", client)
    assert not repofile.public_artifacts(client) - repofile.artifacts(served)
    proof.check(served, fossil)


@pytest.mark.ours("it has no workers")
def test_a_confirmed_push_survives_a_kill(launch, fresh, fossil, peer_of):
    """The server sends the reply after the commit. A kill after the reply therefore loses nothing."""
    server = launch(fresh, workers=2)
    peer = peer_of(server)
    for number in range(20):
        data = b"told %d\n" % number
        told = []

        def is_told():
            # A worker that was just killed can still get a request, which then fails.
            with contextlib.suppress(OSError):
                told.append(peer.push(wire.file_card(data)))
            return told and told[-1].status == 200
        wait_until(is_told, "a worker that answers")
        assert not told[-1].errors()
        for pid in server.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert wire.sha3(data) in repofile.artifacts(fresh)
    proof.check(fresh, fossil)
