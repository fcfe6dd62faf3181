"""Two users are about to commit on the same check-in. The second user is warned while the first is still writing the
comment."""

import subprocess

import pytest

from support import places, repofile
from support.fossil import Checkout
from support.process import wait_until

WARNING = 'Might fork due to a check-in race with user "anna"'

#: An editor that creates `started`, waits for `go`, and writes a comment.
EDITOR = """#!/bin/sh
touch started
while ! test -e go; do sleep 0.05; done
echo "a comment" > "$1"
"""


@pytest.fixture
def checkouts(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    made = []
    for name in ("anna", "bert"):
        repofile.add_user(fresh, name, "word", "gio")
        clone = fossil.clone(server.url_for(name, "word"), tmp_path / f"{name}.fossil")
        checkout = Checkout(fossil, clone, tmp_path / name)
        checkout("settings", "autosync", "on")
        checkout.write(f"{name}.txt", name)
        checkout("add", f"{name}.txt")
        made.append(checkout)
    return made


def locks(path):
    return repofile.query(path, "SELECT name, json_extract(value,'$.login') FROM config WHERE name GLOB 'ci-lock-*'")


def begin_commit(checkout, fossil, tmp_path):
    """Starts a commit whose editor stays open until the file `go` exists."""
    editor = places.executable(tmp_path / "editor", EDITOR)
    commit = subprocess.Popen(["fossil", "commit", "--no-warnings"], cwd=checkout.folder, stdin=subprocess.DEVNULL,
                              env={**fossil.environment, "VISUAL": str(editor)}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    wait_until(lambda: (checkout.folder / "started").exists() or commit.poll() is not None, "the editor")
    return commit


def test_second_of_two_commits_is_warned(checkouts, fresh, fossil, tmp_path):
    anna, bert = checkouts
    parent = anna.head()
    commit = begin_commit(anna, fossil, tmp_path)
    try:
        assert locks(fresh) == [(f"ci-lock-{parent}", "anna")]
        status, output = fossil.attempt("commit", "--no-warnings", "--no-prompt", "-m", "mine", cwd=bert.folder)
        assert WARNING in output
        assert status != 0
        assert locks(fresh) == [(f"ci-lock-{parent}", "anna")]
    finally:
        (anna.folder / "go").touch()
        output = commit.communicate(timeout=60)[0].decode()
    assert commit.returncode == 0, output
    assert locks(fresh) == [], "released after the commit"
    bert("update")
    output = bert.commit("after hers")
    assert WARNING not in output
    assert repofile.value(fresh, "SELECT count(*) FROM leaf") == 1
