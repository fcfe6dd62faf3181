"""Processes that a test starts, and what /proc shows about them.

Processes are stopped by process ID, because other tests might be running on the same machine.
"""

import contextlib
import itertools
import os
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

FIRST_PORT, LAST_PORT = 10_000, 32_000

#: Timeout in seconds that is only reached if a test fails.
PATIENCE = 120.0


def ports() -> Iterator[int]:
    """Returns an endless sequence of ports. A port is repeated only after all others. Concurrent tests use different
    ports."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = range(FIRST_PORT + worker, LAST_PORT, workers)
    return itertools.cycle(random.sample(share, len(share)))


PORTS = ports()


def free_port() -> int:
    """Returns a port that is free on all addresses of this machine. Ephemeral ports are not used, because the kernel
    assigns them to connections of other tests."""
    for number in itertools.islice(PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("0.0.0.0", number))
                return number
    raise AssertionError("no port is free")


def wait_until(condition: Callable[[], bool], what: str | Callable[[], str], seconds: float = PATIENCE,
               pause: float = 0.005) -> None:
    """Polls CONDITION every PAUSE seconds. WHAT, or what it returns, is used in the error message."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain for {what if isinstance(what, str) else what()}")
        time.sleep(pause)


def port_answers(port: int, address: str = "127.0.0.1") -> bool:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def tcp_input_is_read(port: int) -> bool:
    """Returns whether the server on PORT has accepted every connection and read all sent data."""
    lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return all(int(line[4].split(":")[1], 16) == 0 for line in lines if int(line[1].split(":")[1], 16) == port)


def socket_answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def children(pid: int) -> list[int]:
    try:
        listing = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(word) for word in listing.split()]


def processes(mark: str) -> list[int]:
    """Returns the processes with MARK in their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(folder.name))
    return found


def name(pid: int) -> str:
    """Returns the name that the process has set with prctl PR_SET_NAME, at most 15 characters."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def memory_kib(pid: int, field: str) -> int:
    """Returns a field of /proc/PID/status: VmRSS (current resident memory) or VmHWM (peak resident memory)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def pss_kib(pid: int, field: str = "Pss") -> int:
    """Returns the proportional set size (PSS), or one of its parts such as Pss_Anon. The size of a shared page is divided
    by the number of processes that share it."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    return 0


def sockets(pid: int) -> int:
    """Returns the number of open sockets of the process, or 0 if the process does not exist."""
    count = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                count += os.readlink(entry.path).startswith("socket:")
    return count


def exists(pid: int) -> bool:
    """Returns whether PID exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def group(number: int) -> list[str]:
    """Returns the processes of a process group, including zombies, as lines of ps(1)."""
    listing = subprocess.run(["ps", "-e", "-o", "pgid=,pid=,ppid=,stat=,args="], capture_output=True, text=True,
                             check=True).stdout
    return [line for line in listing.splitlines() if int(line.split()[0]) == number]


class Process:
    """A program in its own process group. The program's output goes to a file."""

    def __init__(self, arguments: list[object], output: Path, **more: object):
        """MORE contains further arguments of Popen."""
        self.output_path = output
        with output.open("ab") as sink:
            self._popen = subprocess.Popen([str(word) for word in arguments], stdin=subprocess.DEVNULL, stdout=sink,
                                           stderr=subprocess.STDOUT, start_new_session=True, **more)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def arguments(self) -> list[str]:
        return self._popen.args

    def is_running(self) -> bool:
        return self._popen.poll() is None

    def output(self) -> str:
        return self.output_path.read_text(errors="replace")

    def send(self, number: int) -> None:
        if self.is_running():
            os.kill(self.pid, number)

    def wait(self, seconds: float = PATIENCE) -> int:
        return self._popen.wait(seconds)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal and waits, then kills the rest of the group. Returns the exit status."""
        self.send(number)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            raise AssertionError(f"pid {self.pid} ({self._popen.args[0]}) did not stop on signal {number}:\n"
                                 + self.output()[-2000:]) from None
        finally:
            self.kill_group()
            self._popen.wait(PATIENCE)

    def kill_group(self) -> bool:
        """Kills the remaining processes of the group. Returns false if the group was empty."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def times_waited(pid: int) -> int:
    """Returns the number of voluntary context switches. This number grows each time that the process starts to wait."""
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])
