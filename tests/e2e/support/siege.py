"""A server for all attacks of a test file. The server is checked after each attack."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import process, repofile, wire
from .servers import Server

CLIENT = "127.0.0.1"


@dataclass
class Siege:
    server: Server
    repository: Path
    peer: wire.Peer
    children: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.children = set(process.children(self.server.main.pid))

    @contextlib.contextmanager
    def nothing_happens(self) -> Iterator[None]:
        """Checks that the block does not change the file or stop the server, and that a log mentions the client."""
        logs = self.server.all_logs()
        with repofile.unchanged(self.repository):
            yield
            assert self.server.is_running()
            assert not self.peer.pull().errors(), "the next request is served as ever"
        if self.server.kind != "fossil":
            process.wait_until(lambda: CLIENT in self.server.all_logs()[len(logs):], "a line in the log")

    def own_log_lines(self, after: int) -> list[str]:
        """Returns the lines about clients in quarryd's log after the first AFTER characters."""
        return [line for line in self.server.log()[after:].splitlines() if CLIENT in line]

    def peak_memory_mib(self) -> float:
        """Returns the largest memory peak of our processes. Checks that no process was replaced, because the peak of a
        replaced process is unknown."""
        pids = set(process.children(self.server.main.pid))
        assert self.children <= pids
        return max(process.memory_kib(pid, "VmHWM") for pid in pids) / 1024


def is_refused(answer: wire.Answer) -> bool:
    """Returns whether the reply contains only an error card, or is an HTTP error with a reason."""
    if answer.status == 200:
        matter = [card.operator for card in answer.cards if card.operator not in ("#", "pragma")]
        # The reply that refuses a clone begins with `push`. The `push` card gives the client the project code.
        return matter in (["error"], ["push", "error"]) and bool(answer.errors()[0].strip())
    return 400 <= answer.status < 600 and answer.status != 500 and len(answer.raw.strip()) > 0
