"""Helpers for logs: reads log lines, receives messages like a log daemon, and rotates logs like logrotate."""

import os
import re
import signal
import socket
import struct
from pathlib import Path

from .daemon import Daemon
from .process import wait_until

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
#: A log line. The groups do not include the id of the request.
LINE = re.compile(rf"\[({TIME})\] (debug|notice|warning|error|alert): (?:\[([^]]+)\] )?(.*?)(?: \[request \S+\])?")


class LogDaemon:
    """Receives datagrams as syslog and the journal do."""

    def __init__(self, path: Path, queue: int | None = None):
        path.unlink(missing_ok=True)
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if queue is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, queue)
        self.socket.bind(str(path))
        self.path.chmod(0o666)
        self.socket.settimeout(0.02)
        self.taken: list[bytes] = []

    def take(self) -> list[bytes]:
        """Returns all datagrams received so far."""
        try:
            while True:
                self.taken.append(self.socket.recv(1 << 20))
        except TimeoutError:
            return self.taken

    def wait_for(self, part: bytes) -> bytes:
        """Waits for a datagram that contains PART, and returns it."""
        wait_until(lambda: any(part in each for each in self.take()), f"{part!r} among {self.taken}")
        return next(each for each in self.taken if part in each)

    def close(self) -> None:
        self.socket.close()


def journal_fields(datagram: bytes) -> dict[str, str]:
    """Returns the fields of an entry in systemd's native protocol."""
    fields = {}
    while datagram:
        line, _, datagram = datagram.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            size, = struct.unpack("<Q", datagram[:8])
            value, datagram = datagram[8:8 + size], datagram[9 + size:]
        fields[name.decode()] = value.decode()
    return fields


def holds_open(pid: int, path: Path) -> bool:
    """Returns whether the process PID has opened the file that is now at PATH."""
    wanted = path.stat()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found = descriptor.stat()
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False


def move_away(path: Path) -> Path:
    """Rotates the log as logrotate does. Moves the file away, and creates a new file with the same owner and mode."""
    moved = path.with_suffix(".1")
    before = path.stat()
    path.rename(moved)
    path.touch()
    os.chmod(path, before.st_mode & 0o777)
    os.chown(path, before.st_uid, before.st_gid)
    return moved


def reopen(server: Daemon) -> None:
    server.main.send(signal.SIGUSR1)
