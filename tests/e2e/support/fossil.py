"""The stock fossil program, which serves as a client and checks repository files."""

import contextlib
import os
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from . import places
from .process import wait_until

#: The user name in fossil's environment, and therefore the first user of a new repository.
ADMIN = "admin"


SYNCING = ("clone", "pull", "push", "sync")
REFUSED = re.compile(r"^(Error: |server says: |Fossil internal error)", re.MULTILINE)


class FossilFailed(AssertionError):
    def __init__(self, arguments: list[str], status: int, output: str):
        super().__init__(f"fossil {' '.join(arguments)}: exit status {status}\n{output}")
        self.output = output


class Fossil:
    """Runs `fossil`, isolated from the home directory of the user who runs the tests."""

    def __init__(self, home: Path):
        home.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "HOME": str(home), "USER": ADMIN, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        for name in ("http_proxy", "HTTP_PROXY", "FOSSIL_HOME", "FOSSIL_USER", "GATEWAY_INTERFACE", "REMOTE_USER"):
            self.environment.pop(name, None)

    def attempt(self, *arguments: object, cwd: Path | None = None, seconds: float = 120) -> tuple[int, str]:
        """Runs a command. Returns the exit status and the output, without lines that were overwritten after a carriage
        return."""
        done = subprocess.run(["fossil", *map(str, arguments)], cwd=cwd, env=self.environment, timeout=seconds,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode(errors="replace")
        return done.returncode, re.sub(r"[^\n]*\r(?!\n)", "", text)

    def __call__(self, *arguments: object, cwd: Path | None = None, seconds: float = 120) -> str:
        status, output = self.attempt(*arguments, cwd=cwd, seconds=seconds)
        # Syncing commands exit with 0 even if the server reports an error.
        if status != 0 or (arguments[0] in SYNCING and REFUSED.search(output)):
            raise FossilFailed([str(word) for word in arguments], status, output)
        return output

    def clone(self, url: str, path: Path, *options: object) -> Path:
        self("clone", "--no-open", "--save-http-password", *options, url, path)
        return path

    def new(self, path: Path, *options: object) -> Path:
        self("new", *options, path)
        return path

    def timeline(self, repository: Path) -> str:
        """Returns every event as a line. Tags are sorted, because their order in fossil's output is not part of the
        history."""
        text = self("timeline", "-n", 0, "-W", 0, "-R", repository)
        return re.sub(r"(?<= tags: )([^)\n]*)", lambda tags: ", ".join(sorted(tags[1].split(", "))), text)

    def timeline_differences(self, one: Path, other: Path) -> list[str]:
        """Returns the lines that only one of the two timelines contains. The order of events in the same second is
        ignored."""
        lines = [sorted(self.timeline(path).splitlines()) for path in (one, other)]
        return [] if lines[0] == lines[1] else sorted(set(lines[0]) ^ set(lines[1])) or ["equal lines, other counts"]

    def integrity(self, repository: Path) -> str:
        """Returns the faults that test-integrity reports, or an empty string."""
        status, output = self.attempt("test-integrity", "-R", repository)
        clean = status == 0 and re.search(r"\b0 errors\b", output)
        return "" if clean else f"exit status {status}\n{output}"


def beside_others(run: Callable[[], str]) -> str:
    """Runs a command of fossil while other processes write to the repository. If another process writes between fossil's
    first read and its first write, fossil reports that the database is locked. The command is then retried."""
    for _ in range(20):
        try:
            return run()
        except FossilFailed as failed:
            if "database is locked" not in failed.output:
                raise
    raise AssertionError("the database is always locked")


class Checkout:
    def __init__(self, fossil: Fossil, repository: Path, folder: Path, version: str = "trunk"):
        self.fossil = fossil
        self.repository = repository
        self.folder = folder
        folder.mkdir(parents=True)
        self("open", "--nosync", repository, version)
        self("settings", "autosync", "off")

    def __call__(self, *arguments: object) -> str:
        return self.fossil(*arguments, cwd=self.folder)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, comment: str, *options: object) -> str:
        return self("commit", "--no-warnings", "--hash", "-m", comment, *options)

    def commit_file(self, name: str, content: str | bytes, comment: str, *options: object) -> str:
        self.write(name, content)
        self("add", name)
        return self.commit(comment, *options)

    def commit_beside_others(self, comment: str, *options: object) -> str:
        return beside_others(lambda: self.commit(comment, *options))

    def head(self) -> str:
        """Returns the full hash of the current check-in. fossil does not have a command that prints this hash."""
        with contextlib.closing(sqlite3.connect(self.folder / ".fslckout")) as connection:
            return connection.execute("SELECT value FROM vvar WHERE name='checkout-hash'").fetchone()[0]


#: An editor that creates `started`, waits for `go`, and writes a comment.
EDITOR = """#!/bin/sh
touch started
while ! test -e go; do sleep 0.05; done
echo "a comment" > "$1"
"""


@contextlib.contextmanager
def commit_in_progress(checkout: Checkout) -> Iterator[subprocess.Popen]:
    """Starts a commit whose editor stays open until the end of the block. The commit must then succeed."""
    editor = places.executable(checkout.folder.with_suffix(".editor"), EDITOR)
    commit = subprocess.Popen(["fossil", "commit", "--no-warnings"], cwd=checkout.folder, stdin=subprocess.DEVNULL,
                              env={**checkout.fossil.environment, "VISUAL": str(editor)}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: (checkout.folder / "started").exists() or commit.poll() is not None, "the editor")
        yield commit
    finally:
        (checkout.folder / "go").touch()
        output = commit.communicate(timeout=60)[0].decode()
    assert commit.returncode == 0, output


def clone_and_open(fossil: Fossil, url: str, folder: Path) -> tuple[Path, Checkout]:
    clone = fossil.clone(url, folder / "clone.fossil")
    return clone, Checkout(fossil, clone, folder / "work")
