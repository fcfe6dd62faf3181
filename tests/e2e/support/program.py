"""Runs our programs until they exit."""

import json
import subprocess
from pathlib import Path

from . import places


def run(name: str, *arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([places.program(name), *map(str, arguments)],
                          **{"capture_output": True, "text": True, "timeout": 120, "check": False, **more})


def quarry(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return run("quarry", *arguments, **more)


def quarryd(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return run("quarryd", *arguments, **more)


def page_figures(control: Path) -> dict[str, int]:
    """Returns the counters of the process that serves the pages of pool www, from the status of the server."""
    done = quarry("status", "--socket", control, "--json")
    assert done.returncode == 0, done.stderr
    return next(each for each in json.loads(done.stdout)["services"] if each["service"] == "pages www")["pages"]
