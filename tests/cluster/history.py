"""The history of a run: what clients did and were told, and what the nemesis did."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Operation:
    """An operation of a client on a host. Times are seconds since the start of the run."""

    client: str
    number: int
    kind: str
    host: int
    begin: float
    end: float = 0.0
    is_acknowledged: bool = False
    #: What every host must have if the operation was acknowledged, as (table, name). See support/replicas.py.
    facts: set[tuple[str, str]] = field(default_factory=set)
    #: Whether the host has promised that other hosts have stored the change.
    is_promised: bool = True
    #: The artifacts among the facts that did not exist before, with the time at which the client made them.
    made: dict[str, float] = field(default_factory=dict)
    #: The content's hash of each unversioned file that the operation has written; None for a deletion.
    unversioned: dict[str, str | None] = field(default_factory=dict)
    message: str = ""

    def __str__(self) -> str:
        outcome = "acknowledged" if self.is_acknowledged else f"failed: {self.message}"
        return f"{self.begin:8.3f} {self.end:8.3f}  {self.client} {self.number:<4} host {self.host}  {self.kind:<16} {outcome}"


@dataclass
class Isolation:
    """A period in which a host could not reach a quorum of the servers."""

    host: int
    begin: float
    end: float


@dataclass
class Loss:
    """The loss of a host's files. Everything that the host held at BEGIN was in the stream. Until END, changes that the host
    had not published were lost."""

    host: int
    begin: float
    end: float


class History:
    def __init__(self, path: Path):
        self._file = path.open("w")
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self.path = path
        self.operations: list[Operation] = []
        self.isolations: list[Isolation] = []
        self.losses: list[Loss] = []
        self.crashes: list[float] = []  # times after which a host can repeat mail

    def now(self) -> float:
        return self.seconds(time.monotonic())

    def seconds(self, monotonic: float) -> float:
        return monotonic - self._start

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()

    def add(self, operation: Operation) -> None:
        with self._lock:
            self.operations.append(operation)
            self._write(str(operation))

    def note(self, text: str, show: Callable[[str], None] = print) -> None:
        line = f"{self.now():8.3f}           {text}"
        with self._lock:
            self._write(line)
        show(line)

    def is_lost(self, operation: Operation) -> bool:
        """Returns whether the loss of a host's files can have lost the OPERATION, which other hosts have not confirmed."""
        return not operation.is_promised and any(loss.host == operation.host and loss.begin < operation.end and operation.begin < loss.end
                                                 for loss in self.losses)

    def totals(self) -> str:
        kinds = sorted({each.kind for each in self.operations})
        counts = ((kind, [each.is_acknowledged for each in self.operations if each.kind == kind]) for kind in kinds)
        return ", ".join(f"{kind} {sum(outcomes)} of {len(outcomes)}" for kind, outcomes in counts)
