"""Processes that make pages follow the rules for the write-ahead log (src/repository/store/wal_lock_rules.h). These
processes copy frames of the log into the file only while they hold the write lock, and only if the log is long."""

import random
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from support import process, repofile, wire
from support.browser import Browser
from support.process import wait_until

# Bytes of the log's index that SQLite locks. A checkpoint requests an exclusive lock on a reader's byte before it
# copies frames.
WRITE, CHECKPOINT, READERS = 120, 121, range(123, 128)
CHECKPOINTS = 10
#: Number of bytes that fill more than 1000 frames.
LONG = 5 << 20

LOCK = re.compile(r"fcntl\(\d+<[^>]*/fresh\.fossil-shm>, F_SETLK, "
                  r"\{l_type=(\w+), l_whence=SEEK_SET, l_start=(\d+), l_len=(\d+)\}\) = (-?\d+)")
COPY = re.compile(r"pwrite64\(\d+<[^>]*/fresh\.fossil>, ")


@pytest.fixture
def serve(start):
    def begin(**more):
        server = start({"pages": "fossil", "pages.cache_ttl": "0s", "pm.max_children": 4, **more.pop("pool", {})},
                       http={}, **more)
        return server, server.port
    return begin


def page_processes(server) -> list[int]:
    """Returns the processes that make a page or wait for a request."""
    found, parents = [], server.children("pages www")
    while parents:
        parents = [child for parent in parents for child in process.children(parent)]
        found += [pid for pid in parents if process.name(pid) == "fossil"]
    return found


def contents(repository: Path) -> str:
    """Returns the contents of the file. Another process reads the file, because this process loses its SQLite locks
    when it closes the file."""
    return subprocess.run(["sha256sum", repository], capture_output=True, text=True, check=True).stdout


def test_a_page_copies_no_frames_while_another_process_writes(serve, fresh):
    with repofile.database(fresh, write=True) as writer:
        writer.isolation_level = None
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("PRAGMA wal_autocheckpoint=0")
        server, port = serve(pool={"pages.spare_children": 0})

        def show_page():
            assert Browser(port).get("/timeline").status == 200
            # fossil makes a checkpoint after its reply, so wait until its process has ended.
            wait_until(lambda: not page_processes(server), "the end of its process")

        show_page()  # fossil stores its base URL in the file on the first request
        before = contents(fresh)
        writer.execute("INSERT INTO config VALUES('one','1',1)")
        show_page()
        assert contents(fresh) == before, "the log is short"
        writer.execute("INSERT INTO config VALUES('long',zeroblob(?),1)", (LONG,))
        writer.execute("BEGIN IMMEDIATE")
        show_page()
        assert contents(fresh) == before
        writer.execute("ROLLBACK")
        show_page()
        assert contents(fresh) != before


class Crowd:
    """Runs clients that push and visitors that request pages, until the context ends."""

    def __init__(self, port: int, repository: Path):
        self.port = port
        self.peers = [wire.Peer(port, "/", f"hand{number}", repofile.add_user(repository, f"hand{number}", "written", "giox"),
                                repofile.project_code(repository)) for number in range(4)]
        self.ended = threading.Event()
        self.failures = []
        self.threads = [threading.Thread(target=self.repeat, args=(self.push, peer)) for peer in self.peers]
        self.threads += [threading.Thread(target=self.repeat, args=(self.visit, Browser(port))) for _ in range(4)]

    def __enter__(self):
        # After this push, a worker keeps the repository open, so a page process never closes the last connection.
        # SQLite uses different locks when it closes the last connection.
        self.push(self.peers[0])
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def repeat(self, work, *arguments) -> None:
        try:
            while not self.ended.is_set():
                work(*arguments)
        except Exception as error:
            self.failures.append(error)
            self.ended.set()

    def push(self, peer: wire.Peer) -> None:
        answer = peer.push(wire.file_card(random.randbytes(10_000)))
        assert answer.status == 200 and not answer.errors(), answer.raw

    def visit(self, browser: Browser) -> None:
        # fossil replies with 400 if another process was writing.
        assert browser.get("/timeline").status in (200, 400)


def page_checkpoints(server, traces: Path) -> list[bool]:
    """Returns whether each checkpoint by a page process held the write lock from beginning to end."""
    others = [server.main.pid, *process.children(server.main.pid)]
    return [held for trace in traces.iterdir() if int(trace.suffix[1:]) not in others for held in checkpoints(trace)]


def checkpoints(trace: Path) -> list[bool]:
    """Returns whether each checkpoint of one process held the write lock from beginning to end."""
    held, current, found = set(), [], []
    for line in trace.read_text().splitlines():
        lock = LOCK.match(line)
        asked = set(range(int(lock[2]), int(lock[2]) + int(lock[3]))) if lock else set()
        is_exclusive = lock is not None and lock[1] == "F_WRLCK"
        if CHECKPOINT in held and (COPY.match(line) or (is_exclusive and asked.intersection(READERS))):
            current.append(WRITE in held)
        if lock and lock[4] == "0":
            held = held | asked if is_exclusive else held - asked
        if CHECKPOINT not in held and current:
            found.append(all(current))
            current = []
    return found


def can_trace() -> bool:
    return shutil.which("strace") is not None and subprocess.run(["strace", "-qo", "/dev/null", "true"], check=False).returncode == 0


@pytest.mark.skipif(not can_trace(), reason="strace cannot trace processes here")
def test_during_pushes_pages_copy_frames_only_with_the_write_lock(serve, fresh, tmp_path):
    traces = tmp_path / "traces"
    traces.mkdir()
    # With -D the tracer is a separate process, and quarryd remains the direct child of the test.
    trace = ["strace", "-D", "-ff", "-qq", "-y", "-s", "0", "-e", "trace=fcntl,pwrite64", "-e", "signal=none",
             "-o", traces / "of"]
    # Leave the checkpoints to the pages.
    server, port = serve(pool={"repository.wal_size": "64M"}, command=trace)
    with Crowd(port, fresh) as crowd:
        wait_until(lambda: len(page_checkpoints(server, traces)) >= CHECKPOINTS or crowd.ended.is_set(),
                   "checkpoints by pages", 300, pause=0.5)
        seen = page_checkpoints(server, traces)
    assert not crowd.failures, crowd.failures[0]
    assert all(seen), f"{seen.count(False)} of {len(seen)} checkpoints began to copy without the write lock"
