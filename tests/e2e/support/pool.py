"""quarryd over one repository, asked for its status page by FastCGI."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from . import fastcgi, places, process, servers
from .process import Process, free_port, wait_until

WORKERS = 3
BACKLOG = 77
PAGES = {"pm.status_path": "/status", "ping.path": "/ping", "ping.response": "are you there",
         "listen.backlog": str(BACKLOG)}
FORMATS = ("", "json", "xml", "html", "openmetrics")


class Pool:
    """quarryd over one repository, with a pool socket, a status socket and the HTTP front."""

    def __init__(self, folder: Path, repository: Path, fossil, settings: dict[str, str], listen: str = ""):
        self.socket = folder / "pool.sock"
        self.status_socket = folder / "status.sock"
        self.port = free_port()
        self.target = repository
        config = folder / "quarryd.conf"
        config.write_text(servers.pool_config(repository, listen or str(self.socket), WORKERS, settings,
                                              f"127.0.0.1:{self.port}"))
        self.main = Process([places.program("quarryd"), "--config", config], folder / "log", env=fossil.environment)
        wait_until(lambda: process.port_answers(self.port) or not self.main.is_running(), "quarryd")
        assert self.main.is_running(), self.main.output()
        wait_until(lambda: len(self.workers()) == WORKERS, "all workers")

    def ask(self, path: str, query: str = "", method: str = "GET") -> fastcgi.Reply:
        return fastcgi.ask(self.socket, path, query, method)

    def figures(self, query: str = "json", address: Path | None = None) -> dict:
        return json.loads(fastcgi.ask(address or self.socket, "/status", query).text)

    def workers(self) -> list[int]:
        return self.children("pool")

    def status_process(self) -> int:
        wait_until(lambda: len(self.children("status")) == 1, "the status process")
        return self.children("status")[0]

    def children(self, kind: str) -> list[int]:
        return [pid for pid in process.children(self.main.pid) if process.name(pid).startswith(kind)]

    def stop(self) -> None:
        assert self.main.is_running(), f"quarryd died:\n{self.main.output()[-3000:]}"
        self.main.stop()


@contextlib.contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """PIDS are held by SIGSTOP."""
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
    """The figures once at least that many requests are finished: a worker counts after its reply."""
    seen = []

    def is_there():
        seen[:] = [pool.figures("json&full", address)]
        return seen[0]["requests"] >= requests
    wait_until(is_there, f"{requests} finished requests")
    return seen[0]
