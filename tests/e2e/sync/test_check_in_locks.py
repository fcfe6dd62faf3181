"""Two people about to commit on one check-in: the second is warned while the first still writes the comment."""

import subprocess

import pytest

from support import repofile, wire
from support.fossil import Checkout
from support.process import wait_until

WARNING = 'Might fork due to a check-in race with user "anna"'

#: Says that it was started, waits for leave to go on, writes a comment.
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
        clone = tmp_path / f"{name}.fossil"
        fossil.clone(server.url_for(name, "word"), clone)
        checkout = Checkout(fossil, clone, tmp_path / name)
        checkout("settings", "autosync", "on")
        checkout.write(f"{name}.txt", name)
        checkout("add", f"{name}.txt")
        made.append(checkout)
    return made


def locks(path):
    return repofile.query(path, "SELECT name, json_extract(value,'$.login') FROM config WHERE name GLOB 'ci-lock-*'")


def begin_commit(checkout, fossil, tmp_path):
    """Starts a commit whose editor stays open until there is a file `go`."""
    editor = tmp_path / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
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
    assert locks(fresh) == [], "given up with the commit"
    bert("update")
    output = bert.commit("after hers")
    assert WARNING not in output
    assert repofile.value(fresh, "SELECT count(*) FROM leaf") == 1


def test_lock_that_is_too_old_warns_nobody(checkouts, fresh, fossil, tmp_path):
    anna, bert = checkouts
    commit = begin_commit(anna, fossil, tmp_path)
    try:
        repofile.execute(fresh, "UPDATE config SET mtime=mtime-60 WHERE name GLOB 'ci-lock-*'")
        assert WARNING not in bert.commit("mine")
    finally:
        commit.terminate()
        (anna.folder / "go").touch()
        commit.communicate(timeout=60)


def test_delta_manifests_are_avoided_where_they_are_forbidden(launch, fresh, fossil, tmp_path, peer_of):
    server = launch(fresh)
    peer = peer_of(server)
    head = repofile.value(fresh, "SELECT uuid FROM blob WHERE rid=1")
    ask = wire.body(wire.CLIENT_VERSION, f"pragma ci-lock {head} me")
    assert not peer.ask(ask).of("pragma")
    fossil("settings", "forbid-delta-manifests", "on", "-R", fresh)
    assert [card.arguments for card in peer.ask(ask).of("pragma")] == [["avoid-delta-manifests"]]
