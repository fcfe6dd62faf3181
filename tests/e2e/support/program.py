"""Runs our programs until they exit."""

import contextlib
import json
import os
import pty
import subprocess
from pathlib import Path

from . import places


def run(name: str, *arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([places.program(name), *map(str, arguments)],
                          **{"capture_output": True, "text": True, "timeout": 120, "check": False, **more})


def unprivileged() -> list[str]:
    """Returns the beginning of a command line that starts a program as an unprivileged user. If the tests run as root,
    the program keeps the right to read and write all files, because other users cannot enter the tests' folders."""
    if os.geteuid() != 0:
        return []
    return ["/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--inh-caps=+dac_override",
            "--ambient-caps=+dac_override"]


def quarry_as_user(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    """Runs `quarry` as an unprivileged user."""
    return subprocess.run([*unprivileged(), places.program("quarry"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False, **more)


def quarry(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return run("quarry", *arguments, **more)


def succeeds(*arguments: object, **more) -> str:
    """Runs `quarry`, which must succeed, and returns its standard output."""
    done = quarry(*arguments, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fails(*arguments: object, **more) -> str:
    """Runs `quarry`, which must exit with status 1, and returns its standard error."""
    done = quarry(*arguments, **more)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def quarryd(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return run("quarryd", *arguments, **more)


def on_terminal(*arguments: object) -> tuple[str, str]:
    """Runs `quarry` with a terminal as standard error. Returns the text on the terminal, and standard output."""
    leader, follower = pty.openpty()
    with subprocess.Popen([places.program("quarry"), *map(str, arguments)], stderr=follower, stdout=subprocess.PIPE) as running:
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):
            while piece := os.read(leader, 1 << 16):
                shown += piece
        output = running.stdout.read().decode()
    os.close(leader)
    assert running.returncode == 0, shown
    return shown.decode(), output


def page_figures(control: Path) -> dict[str, int]:
    """Returns the counters of the process that serves the pages of pool www, from the status of the server."""
    services = json.loads(succeeds("status", "--socket", control, "--json"))["services"]
    return next(each for each in services if each["service"] == "pages www")["pages"]
