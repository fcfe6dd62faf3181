"""Servers on a private view of this Debian machine, with their own files in /etc, listening on port 80.

The view has its own network with an address of the server and one of another client. It also has its own /run and
/var/log, and copies of some folders in /etc and /var/lib. The machine itself is not changed."""

import os
import shutil
import subprocess
from pathlib import Path

from .process import PATIENCE, Process, wait_until

SERVER, OTHER = "192.0.2.1", "192.0.2.2"
#: Apache listens on IPv6 only if the machine has an IPv6 address in addition to ::1.
SERVER_IPV6 = "2001:db8::1"
NAMESPACES = ["--mount", "--net"]


def can_be_made() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", *NAMESPACES, "true"], capture_output=True,
                                                check=False).returncode == 0


class Debian:
    def __init__(self, folder: Path, *packages: str):
        """Copies /etc/NAME and /var/lib/NAME for each NAME in PACKAGES."""
        self.folder = folder
        self.started: list[Process] = []
        binds = ["run", "var/log", *(f"{parent}/{name}" for parent in ("etc", "var/lib") for name in packages)]
        for name in binds[:2]:
            (folder / name).mkdir(parents=True)
        (folder / "run" / "lock").mkdir()
        for name in binds[2:]:
            shutil.copytree(f"/{name}", folder / name, symlinks=True)
        script = ["set -e", "ip link set lo up", *(f"ip address add {each} dev lo" for each in (SERVER, OTHER, SERVER_IPV6)),
                  *(f"mount --bind '{folder}/{name}' '/{name}'" for name in binds), "echo ready", "exec sleep infinity"]
        self.holder = self._remember(Process(["unshare", *NAMESPACES, "sh", "-c", "\n".join(script)], folder / "holder"))
        wait_until(lambda: "ready" in self.holder.output() or not self.holder.is_running(), "the namespaces")
        assert self.holder.is_running(), self.holder.output()

    def _remember(self, started: Process) -> Process:
        self.started.append(started)
        return started

    def inside(self, *command: object) -> list[str]:
        return ["nsenter", "-t", str(self.holder.pid), "--mount", "--net", *map(str, command)]

    def run(self, *command: object, **more) -> str:
        done = subprocess.run(self.inside(*command), capture_output=True, text=True, timeout=PATIENCE, check=False, **more)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *command: object, **more) -> Process:
        return self._remember(Process(self.inside(*command), self.folder / f"output-{len(self.started)}", **more))

    def get(self, url: str, *options: str) -> tuple[int, str]:
        """Returns status and body of a page, fetched by curl with OPTIONS."""
        text = self.run("curl", "-sS", "--path-as-is", *options, "-m", int(PATIENCE), "-w", "\n%{http_code}", url)
        body, _, status = text.rpartition("\n")
        return int(status), body

    def answers(self, port: int = 80) -> bool:
        return subprocess.run(self.inside("curl", "-s", "-o", self.folder / "page", f"http://127.0.0.1:{port}/"),
                              timeout=PATIENCE, check=False).returncode == 0

    def stop(self) -> None:
        for each in reversed(self.started):
            if each.is_running():
                each.stop()
