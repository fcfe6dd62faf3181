"""quarryd with a status page, which is read over FastCGI."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from . import fastcgi
from .daemon import Daemon
from .process import port_answers, wait_until

WORKERS = 3
BACKLOG = 77
PAGES = {"pm.status_path": "/status", "ping.path": "/ping", "ping.response": "are you there",
         "listen.backlog": str(BACKLOG)}
FORMATS = ("", "json", "xml", "html", "openmetrics")


class Pool(Daemon):
    """A pool of WORKERS workers behind the HTTP front."""

    def __init__(self, folder: Path, repository: Path, pool: dict[str, object], **more: object):
        super().__init__(folder, repository, {"pm.max_children": WORKERS, **pool}, http={}, **more)
        wait_until(lambda: port_answers(self.port) or not self.main.is_running(), "quarryd")
        assert self.main.is_running(), self.log()
        wait_until(lambda: len(self.children()) == WORKERS, "all workers")

    def page(self, path: str, query: str = "", method: str = "GET") -> fastcgi.Reply:
        return fastcgi.ask(self.socket, path, query, method)

    def figures(self, query: str = "json", address: Path | None = None) -> dict:
        return json.loads(fastcgi.ask(address or self.socket, "/status", query).text)


def corrupt_board(pid: int) -> None:
    """Overwrites the scoreboard of the process PID with random bytes."""
    line = next(line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "quarry-scoreboard" in line)
    begin, end = (int(number, 16) for number in line.split()[0].split("-"))
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(begin)
        memory.write(os.urandom(end - begin))


@contextlib.contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Stops PIDS with SIGSTOP until the end of the block."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: all(state_of(pid) == "T" for pid in pids), "stopped workers")
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def counted(pool: Pool, requests: int, address: Path | None = None) -> dict:
    """Waits until at least REQUESTS requests are finished, and returns the figures. A worker counts a request after its
    reply."""
    seen = []

    def is_there():
        seen[:] = [pool.figures("json&full", address)]
        return seen[0]["requests"] >= requests
    wait_until(is_there, f"{requests} finished requests")
    return seen[0]
