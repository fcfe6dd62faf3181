"""A program named quarry-replica that gives the same answer to every question.

The folder of the program also contains quarryd and quarry. The file `answer` contains the answer; the questions are added
to the file `questions`."""

import os
import shutil
from pathlib import Path

import pytest

from . import places
from .daemon import section

PROGRAM = '''#!/usr/bin/python3
import os, select, socket
from pathlib import Path
folder = Path(__file__).parent
listener = socket.socket(fileno=3)
while True:
    select.select([listener], [], [])
    try:
        connection = listener.accept()[0]
    except BlockingIOError:
        continue
    connection.setblocking(True)
    question = connection.makefile("r").readline()
    with (folder / "questions").open("a") as file:
        file.write(question)
    try:
        connection.sendall((folder / "answer").read_bytes())
    except BrokenPipeError:
        pass  # a notification
    connection.close()
'''


class FakeReplica:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        """Makes a build folder in FOLDER, and lets the test use it."""
        built = places.build_directory()
        self.folder = folder / "build" / "src" / "app"
        self.folder.mkdir(parents=True)
        for name in ("quarryd", "quarry"):
            shutil.copy(places.program(name), self.folder)
        (folder / "build" / "src" / "repository").symlink_to(built / "src" / "repository")
        places.executable(self.folder / "quarry-replica", PROGRAM)
        self.answer("ok {}")
        monkeypatch.setenv("QUARRY_BUILD", str(folder / "build"))

    def answer(self, line: str) -> None:
        new = self.folder / "answer.new"
        new.write_text(line + "\n")
        new.replace(self.folder / "answer")

    def questions(self) -> list[str]:
        path = self.folder / "questions"
        return path.read_text().splitlines() if path.exists() else []

    def section(self, folder: Path, **words: object) -> str:
        """Returns the section [replication] with the directives WORDS, and a socket in FOLDER."""
        return section("replication", {"servers": "nats://127.0.0.1:1", "group": "team", "host": "one",
                                       "socket": folder / "replica.sock", "directory": folder / "replica", **words})
