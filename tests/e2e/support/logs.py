"""Logs seen from outside: a quarryd of the test's own with words for its logs, and daemons that take lines."""

import os
import re
import signal
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path

from . import fastcgi, places, process
from .process import Process, wait_until

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
LINE = re.compile(rf"\[({TIME})\] (debug|notice|warning|error|alert): (?:\[([^]]+)\] )?(.*)")


@dataclass
class Logged:
    """A running quarryd with one pool on a Unix socket."""

    main: Process
    socket: Path

    def workers(self) -> list[int]:
        return [pid for pid in process.children(self.main.pid) if "pool" in process.name(pid)]

    def ask(self, method: str = "GET", path: str = "/ping", body: bytes = b"", **parameters: str) -> bytes:
        parameters.setdefault("PATH_INFO", path.partition("?")[0])
        if body:
            parameters["CONTENT_LENGTH"] = str(len(body))
        with fastcgi.connect(self.socket) as connection:
            connection.sendall(fastcgi.head(method, path, **parameters)
                               + (fastcgi.record(fastcgi.STDIN, body) if body else b"")
                               + fastcgi.record(fastcgi.STDIN))
            return fastcgi.read_reply(connection)

    def stop(self) -> None:
        self.main.stop()


@dataclass
class Starter:
    """Starts them in FOLDER; they are stopped at the end."""

    folder: Path
    repository: Path
    environment: dict[str, str]
    started: list[Logged] = field(default_factory=list)

    def config(self, words: dict[str, str], pool: dict[str, str | list[str]], http: str = "") -> Path:
        """WORDS are for [global]; in POOL, a list is a key that stands several times."""
        lines = ["[global]", *(f"{name} = {value}" for name, value in words.items())]
        if http:
            lines += ["[http]", f"listen = {http}"]
        settings = {"listen": str(self.folder / "pool.sock"), "repository": str(self.repository),
                    "pm": "static", "pm.max_children": "1", **pool}
        if os.geteuid() == 0:
            settings.setdefault("user", "root")
        lines.append("[www]")
        for name, value in settings.items():
            lines += [f"{name} = {each}" for each in (value if isinstance(value, list) else [value])]
        path = self.folder / "quarryd.conf"
        path.write_text("\n".join(lines) + "\n")
        return path

    def __call__(self, words: dict[str, str] | None = None, pool: dict[str, str | list[str]] | None = None,
                 http: str = "", **environment: str) -> Logged:
        path = self.config(words or {}, pool or {}, http)
        server = Logged(Process([places.program("quarryd"), "--config", path], self.folder / "stderr",
                                env={**self.environment, **environment}), self.folder / "pool.sock")
        self.started.append(server)
        wait_until(lambda: bool(server.workers()) and process.socket_answers(server.socket)
                   or not server.main.is_running(), "quarryd")
        assert server.main.is_running(), server.main.output()
        return server


class Daemon:
    """What listens at a socket for lines: syslog's or the journal's part."""

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
        """All datagrams that came so far."""
        try:
            while True:
                self.taken.append(self.socket.recv(1 << 20))
        except TimeoutError:
            return self.taken

    def wait_for(self, part: bytes) -> bytes:
        """The first datagram with PART in it."""
        wait_until(lambda: any(part in each for each in self.take()), f"{part!r} among {self.taken}")
        return next(each for each in self.taken if part in each)

    def close(self) -> None:
        self.socket.close()


def journal_fields(datagram: bytes) -> dict[str, str]:
    """The fields of an entry in systemd's native protocol."""
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
    """Whether the process PID has the file that is at PATH now."""
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
    """Does what logrotate does: moves the file and makes a new one of the same owner and mode."""
    moved = path.with_suffix(".1")
    before = path.stat()
    path.rename(moved)
    path.touch()
    os.chmod(path, before.st_mode & 0o777)
    os.chown(path, before.st_uid, before.st_gid)
    return moved


def reopen(pid: int) -> None:
    os.kill(pid, signal.SIGUSR1)
