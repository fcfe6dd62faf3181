"""quarryd with the test's own directives, and data about its children from /proc."""

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from socket import socket

from . import fastcgi, places, process
from .process import Process, wait_until


#: Disables the signal handlers of sanitizers. These handlers turn the signals of a crash into an exit.
WITHOUT_HANDLERS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_sigbus=0"}

#: Executes a program with an open socket as descriptor 3. A service manager passes its first socket as this descriptor.
ACTIVATE = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); " \
           "os.execv(sys.argv[2], sys.argv[2:])"


def with_socket(opened: socket, *command: object) -> list[object]:
    """Returns the command line that runs COMMAND with a listening socket, as a service manager does. The process must
    inherit OPENED."""
    return [sys.executable, "-c", ACTIVATE, opened.fileno(), *command]


def section(name: str, words: dict[str, object]) -> str:
    """Returns a section with the directives WORDS. A list becomes a directive with several values. None is omitted."""
    lines = [f"{key} = {each}" for key, value in words.items() for each in (value if isinstance(value, list) else [value])
             if each is not None]
    return "\n".join([f"[{name}]", *lines]) + "\n"


def user() -> dict[str, object]:
    """Returns the directive that a pool needs if the tests run as root."""
    return {"user": "root"} if os.geteuid() == 0 else {}


def serve(path: object) -> list[object]:
    """Returns the options that serve PATH as the user who runs the tests."""
    return ["--serve", path, *(["--user", "root"] if os.geteuid() == 0 else [])]


class Daemon:
    """A quarryd with one pool, `www`, that serves REPOSITORY on a Unix socket with the directives POOL. SETTINGS are
    directives of [global], and HTTP are directives of [http], which listens on the free port `port` by default. MORE is
    further configuration. COMMAND is a program with arguments that starts quarryd."""

    def __init__(self, folder: Path, repository: Path, pool: dict[str, object] | None = None, *,
                 settings: dict[str, object] | None = None, http: dict[str, object] | None = None,
                 more: str = "", env: dict[str, str] | None = None, command: list[str] | None = None):
        folder.mkdir()
        self.folder = folder
        self.socket = folder / "pool.sock"
        settings = {"error_log": folder / "error.log", **(settings or {})}
        self.log_path = settings["error_log"] if isinstance(settings["error_log"], Path) else folder / "error.log"
        # Only a log file with notices shows when the server is ready.
        self._has_readable_log = str(settings["error_log"]).partition(":")[0] not in ("syslog", "journald") and \
            settings.get("log_level", "notice") in ("debug", "notice")
        self.config = folder / "quarryd.conf"
        words = {"listen": self.socket, "repository": repository, "pm": "static", "pm.max_children": 1,
                 "backoffice": "no"}
        words |= user()
        text = section("global", settings)
        if http is not None:
            self.port = process.free_port()
            text += section("http", {"listen": f"127.0.0.1:{self.port}"} | http)
        self.config.write_text(text + section("www", words | (pool or {})) + more)
        self.main = Process([*(command or []), places.program("quarryd"), "--config", self.config], folder / "output", env=env)

    def wait_until_ready(self) -> "Daemon":
        def is_ready() -> bool:
            return "ready:" in self.log() if self._has_readable_log else bool(self.children())
        wait_until(lambda: is_ready() or not self.main.is_running(), "quarryd")
        assert self.main.is_running(), self.log()
        return self

    def log(self) -> str:
        """Returns the output before the log was opened, followed by the error log."""
        texts = [path.read_text(errors="replace") for path in (self.main.output_path, self.log_path) if path.exists()]
        return "".join(texts)

    def wait_for_log(self, text: str) -> None:
        wait_until(lambda: text in self.log(), f"\"{text}\" in the log")

    def children(self, kind: str = "pool www") -> list[int]:
        """Returns the children that have finished their initialization. A child sets its process name last."""
        return [pid for pid in process.children(self.main.pid) if process.name(pid) == kind]

    def child(self, kind: str = "pool www") -> int:
        wait_until(lambda: len(self.children(kind)) >= 1, f"a child of {kind}")
        return self.children(kind)[0]

    def ask(self, method: str = "GET", path: str = "/", body: bytes = b"", **parameters: str) -> bytes:
        """Sends a FastCGI request and returns the reply with its header."""
        parameters.setdefault("PATH_INFO", path.partition("?")[0])
        if body:
            parameters["CONTENT_LENGTH"] = str(len(body))
        with fastcgi.connect(self.socket) as connection:
            connection.sendall(fastcgi.head(method, path, **parameters)
                               + (fastcgi.record(fastcgi.STDIN, body) if body else b"")
                               + fastcgi.record(fastcgi.STDIN))
            return fastcgi.read_reply(connection)

    def is_served(self) -> bool:
        return b"A Fossil repository" in self.ask()

    def change(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert text.count(old) == 1, old
        self.config.write_text(text.replace(old, new))

    def reload(self, number: int = signal.SIGUSR2) -> None:
        """Reloads, and waits until the new generation is ready."""
        ready = self.log().count("ready: ")
        self.main.send(number)
        wait_until(lambda: self.log().count("ready: ") > ready, "the reload")

    def stop(self) -> None:
        if self.main.is_running():
            assert self.main.stop() == 0, self.log()


def status(pid: int, field: str) -> str:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return line.partition(":")[2].strip()
    return ""


def nice(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])


def limit(pid: int, name: str) -> tuple[str, str]:
    """Returns the soft and the hard limit."""
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if line.startswith(name):
            soft, hard = line[len(name):].split()[:2]
            return soft, hard
    raise AssertionError(f"no limit {name}")


def environment(pid: int) -> dict[str, str]:
    entries: Iterable[bytes] = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(entry.decode().split("=", 1) for entry in entries if entry)


def processor_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def bytes_read(pid: int) -> int:
    """Returns the number of bytes read by read(2), including bytes from sockets."""
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])
