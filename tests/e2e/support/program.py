"""Runs our programs until they exit."""

import subprocess

from . import places


def run(name: str, *arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([places.program(name), *map(str, arguments)],
                          **{"capture_output": True, "text": True, "timeout": 120, "check": False, **more})


def quarry(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return run("quarry", *arguments, **more)


def quarryd(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return run("quarryd", *arguments, **more)
