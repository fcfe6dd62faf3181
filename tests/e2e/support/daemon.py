"""quarryd with a configuration of the test's own words, and its children as /proc shows them."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from . import places, process
from .process import Process, wait_until
from .program import quarryd


def section(name: str, words: dict[str, object]) -> str:
    """With what stands in WORDS and is not None."""
    return "\n".join([f"[{name}]", *(f"{key} = {value}" for key, value in words.items() if value is not None)]) + "\n"


def user() -> dict[str, object]:
    """What a pool needs where the tests run as root."""
    return {"user": "root"} if os.geteuid() == 0 else {}


class Daemon:
    """One pool, `www`, on a Unix socket (or where LISTEN says), over REPOSITORY. COMMAND is what starts quarryd, if
    the test does not itself; MORE is more configuration."""

    def __init__(self, folder: Path, repository: Path, pool: dict[str, object] | None = None, *,
                 settings: dict[str, object] | None = None, http: dict[str, object] | None = None,
                 more: str = "", env: dict[str, str] | None = None, command: list[str] | None = None):
        folder.mkdir()
        self.folder = folder
        self.socket = folder / "pool.sock"
        self.log_path = folder / "error.log"
        self.config = folder / "quarryd.conf"
        words = {"listen": self.socket, "repository": repository, "pm": "static", "pm.max_children": 1,
                 "backoffice": "no"}
        words |= user()
        text = section("global", {"error_log": self.log_path, **(settings or {})})
        if http is not None:
            text += section("http", http)
        self.config.write_text(text + section("www", words | (pool or {})) + more)
        self.main = Process([*(command or []), places.program("quarryd"), "--config", self.config], folder / "output", env=env)

    def wait_until_ready(self) -> "Daemon":
        wait_until(lambda: "ready:" in self.log() or not self.main.is_running(), "quarryd")
        assert self.main.is_running(), self.log()
        return self

    def log(self) -> str:
        """The log, and what was printed before there was one."""
        texts = [path.read_text(errors="replace") for path in (self.main.output_path, self.log_path) if path.exists()]
        return "".join(texts)

    def wait_for_log(self, text: str) -> None:
        wait_until(lambda: text in self.log(), f"\"{text}\" in the log")

    def children(self, kind: str = "pool www") -> list[int]:
        """Children that are past their preparations, by the name that they give themselves last."""
        return [pid for pid in process.children(self.main.pid) if process.name(pid) == kind]

    def child(self, kind: str = "pool www") -> int:
        wait_until(lambda: len(self.children(kind)) >= 1, f"a child of {kind}")
        return self.children(kind)[0]

    def stop(self) -> None:
        if self.main.is_running():
            self.main.stop()


def check(config: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """quarryd --test."""
    path = folder / "checked.conf"
    path.write_text(config)
    return quarryd("--config", path, "--test")


# --- /proc -------------------------------------------------------------------------------------------


def status(pid: int, field: str) -> str:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return line.partition(":")[2].strip()
    return ""


def nice(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])


def limit(pid: int, name: str) -> tuple[str, str]:
    """The soft and the hard one."""
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if line.startswith(name):
            soft, hard = line[len(name):].split()[:2]
            return soft, hard
    raise AssertionError(f"no limit {name}")


def environment(pid: int) -> dict[str, str]:
    entries: Iterable[bytes] = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(entry.decode().split("=", 1) for entry in entries if entry)


def bytes_read(pid: int) -> int:
    """By read(2), from sockets too."""
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])
