"""Runs ./quickstart as from a terminal."""

import os
import shutil
import signal
from pathlib import Path

from . import places, process
from .fossil import Fossil
from .process import Process, wait_until


class Quickstart:
    """Runs ./quickstart with the given arguments. Stops all started servers at the end. OPEN_FOLDER, which all users can
    enter, is for temporary files."""

    def __init__(self, folder: Path, open_folder: Path, fossil: Fossil):
        self.folder, self.open_folder, self.fossil = folder, open_folder, fossil
        self.started: list[Process] = []

    def give_away(self, path: Path) -> Path:
        """Moves PATH to the open folder. As root, changes the owner, because root's repositories are not served."""
        moved = Path(shutil.move(path, self.open_folder))
        if os.geteuid() == 0:
            for each in (moved, *moved.rglob("*")):
                shutil.chown(each, "nobody", "nogroup")
        return moved

    def __call__(self, *arguments: object, build: Path | None = None) -> Process:
        work = self.folder / "cwd"
        work.mkdir(exist_ok=True)
        environment = {**self.fossil.environment, "QUARRY_BUILD": str(build or places.build_directory()),
                       "TMPDIR": str(self.open_folder)}
        self.started.append(Process([places.TOP / "quickstart", *arguments], self.folder / "quickstart.log", cwd=work, env=environment))
        return self.started[-1]

    def stop_all(self) -> None:
        for each in self.started:
            each.kill_group()


def wait_for_port(server: Process, port: int) -> None:
    # This takes long if the programs have to be built first.
    wait_until(lambda: process.port_answers(port) or not server.is_running(), "quickstart", seconds=900)
    assert server.is_running(), server.output()


def interrupt(server: Process) -> None:
    """Sends SIGINT to the whole process group, as a terminal does after Ctrl-C."""
    os.killpg(server.pid, signal.SIGINT)
    status = server.wait()
    assert status in (0, 130, -signal.SIGINT), server.output()
    left = process.group(server.pid)
    server.kill_group()
    assert not left, server.output()
