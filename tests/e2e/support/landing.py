"""Lands change sets in a repository file without a queue."""

import itertools
import json
import subprocess
from pathlib import Path

from support import places


def program() -> Path:
    path = places.build_directory() / "tests" / "unit" / "changes" / "landing" / "land-change-sets"
    assert path.exists(), f"{path} is not built"
    return path


class ChangeSets:
    def __init__(self):
        self.numbers = itertools.count(1)

    def make(self, files: dict[str, str | tuple[str, str] | None] | None = None, branch: str = "trunk", **more) -> dict:
        """Creates a change set. FILES maps names to a text, to a text and its permission, or to None (removes the
        file)."""
        number = next(self.numbers)
        described = {name: None if file is None else
                     {"text": file} if isinstance(file, str) else {"text": file[0], "permission": file[1]}
                     for name, file in (files or {}).items()}
        return {"id": f"{number:016x}", "branch": branch, "comment": f"change set {number}", "author": "admin",
                "files": described, **more}


def start(repository: Path, change_sets: list[dict], *options: object) -> subprocess.Popen:
    process = subprocess.Popen([program(), repository, *map(str, options)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write("".join(json.dumps(each) + "\n" for each in change_sets))
    process.stdin.close()
    process.stdin = None
    return process


def land(repository: Path, *change_sets: dict, batch: int = 1) -> list[dict]:
    """Lands the change sets. Returns the outcome of each change set: `check_in` and `was_there`, or `reason` and
    `log`."""
    process = start(repository, list(change_sets), "--batch", batch)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return [json.loads(line) for line in output.splitlines()]


def landed(repository: Path, *change_sets: dict, batch: int = 1) -> list[str]:
    """Lands the change sets and returns their check-ins. Every change set must land and must not have landed before."""
    outcomes = land(repository, *change_sets, batch=batch)
    assert all(outcome.get("was_there") is False for outcome in outcomes), outcomes
    return [outcome["check_in"] for outcome in outcomes]
