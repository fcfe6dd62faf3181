"""Measures syncs with nothing new while the access log goes to a local file, to a syslog server over TCP, and to an
unreachable server, for which the lines are queued on disk. Also counts the lines that were lost."""

import contextlib
import json
import socket
import statistics
import threading
from collections.abc import Iterator
from pathlib import Path

from support import repofile
from support.courier import sections
from support.daemon import Daemon
from support.process import free_port, wait_until
from support.program import succeeds

from measures import Results, nothing_new_at
from workload import Workload

SIDES = {"file": "local file", "remote": "syslog over TCP", "away": "receiver down"}
#: A small queue in memory, so that lines soon go to the disk; and a limit, so that they do not fill it up.
QUEUE = {"queue.size": 10_000, "queue.maxdiskspace": "1g"}


@contextlib.contextmanager
def sink() -> Iterator[int]:
    """Runs a server that reads everything. Yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def read() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        buffer = bytearray(1 << 20)
                        while connection.recv_into(buffer):
                            pass

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def lost_lines(daemon: Daemon) -> int:
    status = json.loads(succeeds("status", "--json", "--socket", daemon.folder / "control"))
    in_queue = sum(each["log delivery"]["lost"] for each in status["services"] if "log delivery" in each)
    return in_queue + status["pools"][0]["lost access log lines"]


@contextlib.contextmanager
def servers(workload: Workload, folder: Path) -> Iterator[dict[str, Daemon]]:
    """Runs a server for each side."""
    folder.mkdir()
    started = {}
    with sink() as port:
        try:
            for side in SIDES:
                place = folder / f"{side}-spool"
                place.mkdir()
                to = port if side == "remote" else free_port()
                destination = {"type": "syslog", "url": f"syslog://127.0.0.1:{to}", "logs": "yes"} | QUEUE
                log = folder / "access.log" if side == "file" else "destination:main"
                daemon = Daemon(folder / side, repofile.copy(workload.served, folder / f"{side}.fossil"),
                                {"access.log": log, "pm.max_children": 4}, http={}, env=workload.fossil.environment,
                                settings={"control.socket": folder / side / "control"},
                                more="" if side == "file" else sections(place, {"main": destination}))
                started[side] = daemon
                daemon.wait_until_ready()
                wait_until((daemon.folder / "control").exists, "the control socket")
            yield started
        finally:
            for daemon in started.values():
                daemon.stop()


def measure(workload: Workload, folder: Path, runs: int, seconds: int) -> Results:
    results = Results()
    with servers(workload, folder) as started:
        for _ in range(runs):
            for side, daemon in started.items():
                before = lost_lines(daemon)
                url = f"http://127.0.0.1:{daemon.port}/"
                results.note("requests", side, nothing_new_at(url, workload, seconds, False))
                results.note("lost", side, lost_lines(daemon) - before)
    return results


def table(results: Results) -> str:
    medians = {side: statistics.median(results["requests"][side]) for side in SIDES}
    rows = ["| access log | requests/s | ratio | lost lines |", "| --- | ---: | ---: | ---: |"]
    rows += [f"| {title} | {medians[side]:,.0f} | {medians[side] / medians['file']:.2f} × | {sum(results['lost'][side]):,.0f} |"
             for side, title in SIDES.items()]
    return "\n".join(rows)
