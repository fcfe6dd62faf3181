"""Uses the fossil program to create the parts of a history that an import cannot create.

These parts are moves, removals, merges of every kind, delta manifests, tags and cancelled tags, edits of comment, date,
author and color, closed leaves, comments that refer to check-ins, and private branches.
"""

from pathlib import Path

from .fossil import Checkout, Fossil

FIRST_DAY = "2020-03-0"


class Session:
    """A checkout in which each step is dated one minute after the previous step."""

    def __init__(self, fossil: Fossil, repository: Path, folder: Path):
        self.checkout = Checkout(fossil, repository, folder)
        self.minute = 0

    def when(self) -> list[str]:
        self.minute += 1
        return ["--date-override", f"2020-03-{1 + self.minute // 1440:02}T{self.minute // 60 % 24:02}:{self.minute % 60:02}:00"]

    def edit(self, name: str, text: str) -> None:
        path = self.checkout.folder / name
        old = path.read_text() if path.exists() else ""
        self.checkout.write(name, old + text + "\n")

    def commit(self, comment: str, *options: str) -> str:
        self.checkout.commit(comment, *options, "--user-override", "fiona", *self.when())
        return self.checkout.head()

    def tag(self, *arguments: str) -> None:
        self.checkout("tag", *arguments, "--user-override", "tagger", *self.when())

    def amend(self, version: str, *options: str) -> None:
        self.checkout("amend", version, *options, "--user-override", "editor", *self.when())


def add_commands(fossil: Fossil, repository: Path, folder: Path) -> None:
    """Adds some fifty check-ins and forty control artifacts to REPOSITORY. FOLDER is for the checkout."""
    session = Session(fossil, repository, folder)
    first = _files(session)
    _branches(session, first)
    _tags(session, first)
    _amendments(session)
    _private(session)
    _long_tail(session)
    session.checkout("close", "--force")


def _files(session: Session) -> str:
    checkout = session.checkout
    for name in ("one.txt", "two.txt", "three.txt", "folder/four.txt", "gone.txt"):
        session.edit(name, f"this is {name}\n" * 10)
    checkout("add", "one.txt", "two.txt", "three.txt", "folder", "gone.txt")
    first = session.commit("add five files")
    checkout("mv", "--hard", "one.txt", "uno.txt")
    checkout("rm", "--hard", "gone.txt")
    session.commit("rename one, remove one")
    checkout("mv", "--hard", "uno.txt", "folder/eins.txt")
    session.edit("folder/eins.txt", "changed while it moved")
    session.commit("rename and edit")
    session.edit("gone.txt", "it is back")
    checkout("add", "gone.txt")
    checkout("mv", "--hard", "two.txt", "one.txt")  # another file had this name before
    session.commit("a name used again", "--delta")
    for step in range(6):
        session.edit("three.txt", f"step {step}")
        session.commit(f"with a delta manifest, {step}", "--delta")
    return first


def _branches(session: Session, first: str) -> None:
    checkout = session.checkout
    for name, colour in (("left", "#ff0000"), ("right", "#00ff00"), ("middle", "")):
        checkout("update", "trunk")
        session.edit(f"{name}.txt", "new here")
        session.edit("one.txt", f"from {name}")
        checkout("add", f"{name}.txt")
        session.commit(f"begin {name} [{first[:12]}]", "--branch", name, *(["--branchcolor", colour] if colour else []))
        checkout("mv", "--hard", f"{name}.txt", f"{name}-moved.txt")
        if name == "middle":
            session.edit("gone.txt", "to be picked")
        session.commit(f"more on {name}")
    picked = checkout.head()
    checkout("update", "trunk")
    checkout("merge", "left")
    session.commit("merge left")
    checkout("merge", "--cherrypick", picked)
    session.commit(f"pick one from middle, see [{picked[:10]}|that]")
    session.edit("folder/four.txt", "a line that is taken back")
    wrong = session.commit("a mistake")
    session.edit("gone.txt", "and something right")
    session.commit("after the mistake")
    checkout("merge", "--backout", wrong)
    session.commit("take it back")
    # `right` and trunk have changed the same lines of one.txt. The conflict becomes part of the history.
    checkout("merge", "right")
    session.commit("merge right, and close it", "--allow-conflict", "--integrate")
    checkout("update", first)
    session.edit("three.txt", "a fork")
    session.commit("fork", "--allow-fork")
    checkout("update", "trunk")
    checkout("branch", "new", "from-outside", "trunk", "--bgcolor", "#abcdef", *session.when())
    checkout("branch", "new", "closed-later", first, *session.when())
    checkout("update", "closed-later")
    session.edit("late.txt", "late")
    checkout("add", "late.txt")
    session.commit("last of its branch", "--close")
    checkout("update", "trunk")


def _tags(session: Session, first: str) -> None:
    session.tag("add", "simple", "trunk")
    session.tag("add", "with-value", first, "a value with spaces")
    session.tag("add", "--propagate", "flowing", first, "downhill")
    session.tag("cancel", "flowing", "left")
    session.tag("add", "--raw", "raw-tag", "trunk", "raw")
    session.tag("cancel", "--raw", "raw-tag", "trunk")
    session.tag("add", "--raw", "--propagate", "bgcolor", first, "#123456")
    session.tag("add", "--raw", "note", "trunk", "a note [with brackets]")
    session.tag("add", "twice", "left")
    session.tag("add", "twice", "right")
    session.tag("cancel", "twice", "left")


def _amendments(session: Session) -> None:
    session.edit("one.txt", "to be amended")
    version = session.commit("a comment with a tpyo")
    session.amend(version, "-m", "a comment without a typo")
    session.amend(version, "--author", "ghost")
    session.amend(version, "--bgcolor", "#fedcba")
    session.amend(version, "--date", "2020-02-02T02:02:02")
    session.amend(version, "--tag", "amended")
    session.amend(version, "--cancel", "amended")
    session.amend("middle", "--branch", "center")
    session.amend("middle", "--branchcolor", "#777777")
    session.amend("left", "--close")
    session.amend("from-outside", "--hide")


def _private(session: Session) -> None:
    public = session.checkout.head()
    session.edit("secret.txt", "nobody knows")
    session.checkout("add", "secret.txt")
    session.commit("private one", "--private", "--branch", "hidden-work")
    session.edit("secret.txt", "nobody knows either")
    session.commit("private two")
    session.checkout("update", public)


def _long_tail(session: Session) -> None:
    for step in range(20):
        session.edit("three.txt", f"tail {step}")
        session.edit("folder/eins.txt", f"tail {step}")
        session.commit(f"tail {step}", "--tag", f"tail-{step}", *(["--delta"] if step % 3 else []))
