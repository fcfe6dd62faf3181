"""The write-ahead log of a served repository. No commit is lost, the log stays short, and a fossil started by Quarry
follows the rules of src/repository/store/wal_lock_rules.h. tests/unit/repository/store/wal_guard_vfs_test.cc replays
the race that the rules prevent.

    QUARRY_STRESS_SECONDS   duration of the stress test (default: 6, with --full 180)
"""

import contextlib
import http.client
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import proof
from support import places, process, repofile, wire
from support.process import wait_until

KIB = 1 << 10
#: Number of bytes that fill more than 1000 frames. A guarded fossil does not run a checkpoint if the log is shorter.
LONG = 5 << 20

#: A program that locks byte 121 of a log's index, as a checkpoint does. The program ends at the end of its input.
HOLD_CHECKPOINT = """
import fcntl, sys
with open(sys.argv[1], "r+b") as index:
    fcntl.lockf(index, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 121)
    print("held", flush=True)
    sys.stdin.read()
"""


def log_of(repository: Path) -> Path:
    return repository.with_name(repository.name + "-wal")


def index_of(repository: Path) -> Path:
    return repository.with_name(repository.name + "-shm")


def contents(repository: Path) -> str:
    """Returns the contents of the file. Another process reads the file, because a process loses SQLite's locks on a
    file when it closes the file."""
    return subprocess.run(["sha256sum", repository], capture_output=True, text=True, check=True).stdout


def generation(repository: Path) -> bytes:
    """Returns the part of the log's header that changes when the log is restarted: a counter and two salts."""
    with log_of(repository).open("rb") as log:
        return log.read(24)[12:]


@pytest.fixture
def with_log(fresh):
    """Returns a repository in WAL mode, and a connection that keeps it open and does not make checkpoints."""
    with repofile.database(fresh, write=True) as connection:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("INSERT INTO config VALUES('one','1',1)")
        yield fresh, connection


def run_sql(fossil, repository: Path, sql: str, guarded: bool) -> str:
    environment = {**fossil.environment, **({"LD_PRELOAD": str(places.log_guard())} if guarded else {})}
    done = subprocess.run(["fossil", "sql", "-R", repository, sql], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("guarded", [False, True])
def test_a_guarded_fossil_does_not_checkpoint_while_another_process_writes(with_log, fossil, guarded):
    repository, connection = with_log
    connection.execute("INSERT INTO config VALUES('long',zeroblob(?),1)", (LONG,))
    connection.execute("BEGIN IMMEDIATE")
    before = contents(repository)
    run_sql(fossil, repository, "PRAGMA wal_checkpoint", guarded)
    copied = contents(repository) != before
    assert copied != guarded
    connection.execute("ROLLBACK")
    run_sql(fossil, repository, "PRAGMA wal_checkpoint", guarded)
    assert contents(repository) != before


@pytest.mark.parametrize("guarded", [False, True])
def test_a_guarded_fossil_does_not_restart_the_log_during_a_checkpoint(with_log, fossil, guarded):
    repository, connection = with_log
    connection.execute("PRAGMA wal_checkpoint(FULL)")
    before = generation(repository)
    with subprocess.Popen([sys.executable, "-c", HOLD_CHECKPOINT, index_of(repository)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        run_sql(fossil, repository, "INSERT INTO config VALUES('two','2',2)", guarded)
        assert (generation(repository) == before) == guarded
        holder.stdin.close()
    assert connection.execute("SELECT count(*) FROM config WHERE name IN ('one','two')").fetchone() == (2,)
    connection.execute("PRAGMA wal_checkpoint(FULL)")
    run_sql(fossil, repository, "INSERT INTO config VALUES('three','3',3)", guarded)
    assert generation(repository) != before


def test_the_library_does_not_affect_other_programs(tmp_path):
    """The rules do not apply to a file that is not part of a repository. In such a file, the library must allow locks
    on bytes 120 to 127 in any order."""
    (tmp_path / "file").write_bytes(b"")
    done = subprocess.run([sys.executable, "-c", """
import fcntl, sys, os
with open(sys.argv[1], "r+b") as file:
    for start, count in ((121, 1), (123, 1), (124, 4)):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, count, start)
    pid = os.fork()
    if pid == 0:
        with open(sys.argv[1], "r+b") as other:
            for start, count in ((120, 1), (122, 1)):
                fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, count, start)
            try:
                fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 125)
            except OSError:
                os._exit(0)
        os._exit(1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""", tmp_path / "file"], env={**os.environ, "LD_PRELOAD": str(places.log_guard())}, timeout=60, check=False)
    assert done.returncode == 0


def test_a_fossil_that_we_start_preloads_the_library(quarry, fresh, tmp_path):
    """`quarry clone file:…?fossil=…` starts a fossil on a file that other programs might be using."""
    program = places.executable(tmp_path / "noting-fossil",
                                f"#!/bin/sh\nprintf %s \"$LD_PRELOAD\" > {tmp_path}/preloaded\nexec fossil \"$@\"\n")
    clone = tmp_path / "clone.fossil"
    quarry("clone", f"file://{fresh}?fossil={program}", clone)
    assert (tmp_path / "preloaded").read_text() == str(places.log_guard())
    assert repofile.public_artifacts(clone) == repofile.public_artifacts(fresh)


@pytest.mark.slow
def test_the_log_stays_short_while_requests_overlap(launch_gateway, generated, peer_of):
    """Workers make checkpoints after replies. tests/unit/repository/store/write_ahead_log_test.cc contains a
    deterministic test."""
    server = launch_gateway(generated, workers=4, settings={"repository.wal_size": "64K"})
    crowd = Crowd(server, generated, peer_of)
    for _ in range(2):
        crowd.begin(crowd.push)
        crowd.begin(crowd.read)
    crowd.work(6, until=lambda: len(crowd.logs) > 3)
    assert crowd.acknowledged and crowd.reads
    # Without checkpoints after replies, the log is never restarted while requests overlap.
    assert len(crowd.logs) > 3


class Crowd:
    """Threads that use a served repository in a loop and record the acknowledged writes."""

    def __init__(self, server, repository: Path, peer_of):
        self.server = server
        self.repository = repository
        self.peers = [peer_of(server, f"hand{number}") for number in range(6)]
        self.random = random.Random(1)
        self.stop = threading.Event()
        self.threads = []
        self.failures = []
        self.acknowledged = set()
        self.rows = set()
        self.runs_of_fossil = 0
        self.reads = 0
        self.kills = 0
        self.longest_log = 0
        self.logs = set()

    def begin(self, work, *arguments) -> None:
        def repeat():
            try:
                while not self.stop.is_set():
                    work(*arguments)
            except BaseException as error:
                self.failures.append(error)
                self.stop.set()
        self.threads.append(threading.Thread(target=repeat))

    def work(self, seconds: float, until=lambda: True) -> None:
        """Works for SECONDS, and then for up to another minute until UNTIL is true."""
        for thread in self.threads:
            thread.start()
        self.stop.wait(seconds)
        end = time.monotonic() + 60
        while not until() and time.monotonic() < end and not self.stop.wait(0.1):
            pass
        self.stop.set()
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def push(self) -> None:
        data = self.random.randbytes(self.random.randrange(1, 40 * KIB))
        # A killed worker sends no reply or an incomplete reply.
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            answer = self.random.choice(self.peers).push(wire.file_card(data))
            if answer.status == 200 and not answer.errors():
                self.acknowledged.add(wire.sha3(data))
        with contextlib.suppress(FileNotFoundError):
            self.longest_log = max(self.longest_log, log_of(self.repository).stat().st_size)
            self.logs.add(generation(self.repository))

    def read(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            peer = self.random.choice(self.peers)
            peer.clone(3, 1) if self.random.random() < 0.5 else peer.pull()
            self.reads += 1

    def run_fossil(self, environment: dict[str, str], is_killed: bool) -> None:
        """Runs a fossil that writes a row, reads, and makes checkpoints. If IS_KILLED is true, the fossil is sometimes
        killed."""
        name = f"row-{self.random.getrandbits(60):x}"
        mode = self.random.choice(["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
        sql = f"INSERT INTO config VALUES('{name}','x',1); PRAGMA wal_checkpoint({mode}); SELECT count(*) FROM blob;"
        with subprocess.Popen(["fossil", "sql", "-R", self.repository, sql], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
            if is_killed and self.random.random() < 0.2:
                time.sleep(self.random.random() / 20)
                started.kill()
            _, errors = started.communicate(timeout=60)
        if started.returncode == 0 and not errors:
            self.rows.add(name)
        self.runs_of_fossil += 1

    def kill_a_worker(self) -> None:
        self.stop.wait(self.random.random())
        workers = self.server.workers()
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.random.choice(workers), signal.SIGKILL)
            self.kills += 1


def stress_seconds(config: pytest.Config) -> float:
    return float(os.environ.get("QUARRY_STRESS_SECONDS", 180 if config.getoption("--full") else 6))


def test_nothing_is_lost_beside_a_fossil_while_workers_are_killed(launch_gateway, fresh, fossil, peer_of, request):
    """Clients push and read. One fossil writes with the library, and another fossil writes without the library. Workers
    and fossils are killed. Every acknowledged write is stored, the file is intact, and the log stays short."""
    server = launch_gateway(fresh, workers=4, settings={"repository.wal_size": "128K"})
    crowd = Crowd(server, fresh, peer_of)
    for _ in range(3):
        crowd.begin(crowd.push)
    crowd.begin(crowd.read)
    crowd.begin(crowd.run_fossil, fossil.environment, True)
    crowd.begin(crowd.run_fossil, {**fossil.environment, "LD_PRELOAD": str(places.log_guard())}, True)
    crowd.begin(crowd.kill_a_worker)
    crowd.work(stress_seconds(request.config))
    print(f"{len(crowd.acknowledged)} pushes, {len(crowd.rows)} rows by {crowd.runs_of_fossil} fossils, {crowd.reads} reads,"
          f" {crowd.kills} workers killed, the log {crowd.longest_log // KIB} KiB at most")
    assert crowd.acknowledged and crowd.rows and crowd.kills

    assert crowd.acknowledged <= repofile.artifacts(fresh)
    assert crowd.rows <= {name for name, in repofile.query(fresh, "SELECT name FROM config")}
    assert repofile.value(fresh, "PRAGMA integrity_check") == "ok"
    assert crowd.longest_log < 32 * 128 * KIB
    server.stop()
    wait_until(lambda: not process.exists(server.main.pid), "quarryd to end")
    repofile.execute(fresh, "DELETE FROM config WHERE name LIKE 'row-%'")
    proof.check(fresh, fossil)
