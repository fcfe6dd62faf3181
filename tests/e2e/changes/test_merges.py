"""Merges and renames of a check-out land as `fossil commit` would record them."""

import re
import subprocess
from types import SimpleNamespace

import pytest

import proof
from support import places, repofile
from support.changes import Queue
from support.fossil import Checkout, clone_and_open

ON = {"changes": "on", "changes.scan": "1s"}
NAMES = ("a.txt", "b.txt", "c.txt", "d.txt", "run.sh")


def text(name: str, changed: int = -1) -> str:
    return "".join(f"{name} {'changed' if i == changed else i}\n" for i in range(20))


@pytest.fixture
def hashes(fresh, fossil, tmp_path) -> SimpleNamespace:
    """A trunk, a branch `feature` with a rename, a check-in to cherrypick, and a check-in on trunk to back out."""
    work = Checkout(fossil, fresh, tmp_path / "history")
    for name in NAMES:
        work.write(name, text(name))
    (work.folder / "run.sh").chmod(0o755)
    work("addremove")
    work.commit("base")
    work.write("d.txt", text("d.txt", 3))
    work.commit("to back out")
    bad = work.head()
    work("branch", "new", "feature", "trunk")
    work("update", "feature")
    work("mv", "--hard", "b.txt", "moved by merge.txt")
    work.write("c.txt", text("c.txt", 2))
    work.commit_file("new.txt", "new\n", "feature")
    feature = work.head()
    work("branch", "new", "other", "trunk")
    work("update", "other")
    work.commit_file("picked.txt", "picked\n", "to pick")
    picked = work.head()
    work("update", "trunk")
    work.write("c.txt", text("c.txt", 15))
    work.commit("trunk")
    return SimpleNamespace(bad=bad, feature=feature, picked=picked, trunk=work.head())


@pytest.fixture
def submit(quarry):
    def run(server, folder, *arguments):
        done = subprocess.run([places.program("quarry"), "submit", "--to", server.url, "--user", "writer", "--password-file",
                               quarry.password("pen"), "--target", "trunk", "--comment", "a change", "--wait",
                               *map(str, arguments)],
                              cwd=folder, env=quarry.environment, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def cards(fossil, repository, letters):
    """Returns the cards of trunk's tip that begin with one of LETTERS."""
    artifact = fossil("artifact", "trunk", "-R", repository)
    return [line for line in artifact.splitlines() if line[0] in letters]


def links(repository):
    """Returns the rows of trunk's tip in mlink, with names instead of numbers."""
    return sorted(repofile.query(repository, """
        SELECT (SELECT name FROM filename WHERE fnid=m.fnid), (SELECT name FROM filename WHERE fnid=m.pfnid),
               (SELECT uuid FROM blob WHERE rid=m.fid), (SELECT uuid FROM blob WHERE rid=m.pid), mperm, isaux
        FROM mlink AS m WHERE mid=(SELECT objid FROM event WHERE type='ci' ORDER BY mtime DESC LIMIT 1)"""), key=str)


def versions(checkout, name):
    """Returns the versions of a file that finfo lists."""
    return re.findall(r"artifact: *\[(\w+)\]", checkout("finfo", name))


def change(work, hashes):
    """Merges, picks, backs out, renames and edits."""
    work("merge", hashes.feature)
    work("merge", "--cherrypick", hashes.picked)
    work("merge", "--backout", hashes.bad)
    work("mv", "--hard", "a.txt", "moved.txt")
    work("mv", "--hard", "run.sh", "bin/run.sh")
    work.write("moved.txt", text("a.txt", 7))


def test_a_merge_with_renames_lands_as_fossil_commits_it(launch, fresh, fossil, tmp_path, hashes, submit):
    other = repofile.copy(fresh, tmp_path / "other.fossil")
    theirs = Checkout(fossil, other, tmp_path / "theirs")
    (theirs.folder / "bin").mkdir()
    change(theirs, hashes)
    theirs.commit("a change")
    server = launch(fresh, settings=ON)
    ours = Checkout(fossil, fresh, tmp_path / "ours")
    (ours.folder / "bin").mkdir()
    change(ours, hashes)
    status, output = submit(server, ours.folder)
    assert status == 0, output
    expected = cards(fossil, other, "FPQR")
    assert f"P {hashes.trunk} {hashes.feature}" in expected and f"Q +{hashes.picked}" in expected
    assert cards(fossil, fresh, "FPQR") == expected
    assert [line for line in expected if line.endswith((" a.txt", " b.txt", " x run.sh"))]
    assert links(fresh) == links(other)
    after = Checkout(fossil, fresh, tmp_path / "after")
    for name in ("moved.txt", "moved by merge.txt", "bin/run.sh"):
        assert versions(after, name) == versions(theirs, name) != []
    server.stop()
    proof.check(fresh, fossil)


def test_a_colleagues_edit_follows_a_landed_rename(launch, fresh, fossil, tmp_path, hashes, submit):
    server = launch(fresh, settings=ON)
    work, colleague, third = (Checkout(fossil, fresh, tmp_path / name) for name in ("work", "colleague", "third"))
    for each in (colleague, third):
        each.write("a.txt", text("a.txt", 4 if each is colleague else 16))
    work("mv", "--hard", "a.txt", "moved.txt")
    status, output = submit(server, work.folder)
    assert status == 0, output
    # The queue and fossil both follow the rename.
    status, output = submit(server, third.folder)
    assert status == 0, output
    assert "CONFLICT" not in colleague("update")
    merged = text("a.txt", 16).replace("a.txt 4\n", "a.txt changed\n")
    assert (colleague.folder / "moved.txt").read_text() == merged and not (colleague.folder / "a.txt").exists()
    assert fossil("cat", "moved.txt", "-r", "trunk", "-R", fresh) == text("a.txt", 16)


def test_a_merge_without_changes_is_submitted_and_parts_of_a_merge_are_not(launch, fresh, fossil, tmp_path, hashes, submit):
    work = Checkout(fossil, fresh, tmp_path / "work")
    work("merge", hashes.feature)
    work("rm", "--hard", "new.txt")
    work("mv", "--hard", "moved by merge.txt", "b.txt")
    work.write("c.txt", text("c.txt", 15))
    server = launch(fresh, settings=ON)
    status, output = submit(server, work.folder, "c.txt")
    assert status == 1 and "a merge cannot be submitted in parts" in output
    status, output = submit(server, work.folder)
    assert status == 0, output
    assert cards(fossil, fresh, "P") == [f"P {hashes.trunk} {hashes.feature}"]


def test_an_execute_bit_that_only_a_merge_has_changed(launch, fresh, fossil, tmp_path, submit):
    work = Checkout(fossil, fresh, tmp_path / "work")
    work.commit_file("tool.sh", "hi\n", "base")
    base = work.head()
    work("branch", "new", "side", "trunk")
    work("update", "side")
    (work.folder / "tool.sh").chmod(0o755)
    work.commit("executable")
    side = work.head()
    work("update", "trunk")
    work("merge", "side")
    status, output = submit(launch(fresh, settings=ON), work.folder)
    assert status == 0, output
    assert cards(fossil, fresh, "P") == [f"P {base} {side}"]
    card, = [each for each in cards(fossil, fresh, "F") if each.startswith("F tool.sh ")]
    assert card.endswith(" x")


def test_merges_that_have_landed_are_not_submitted_again(launch, fresh, fossil, tmp_path, hashes, submit):
    server = launch(fresh, settings=ON)
    work = Checkout(fossil, fresh, tmp_path / "work")
    (work.folder / "bin").mkdir()
    change(work, hashes)
    status, output = submit(server, work.folder)
    assert status == 0, output
    work("update")
    recorded = work("status")
    assert all(word in recorded for word in ("MERGED_WITH", "CHERRYPICK", "BACKOUT"))
    status, output = submit(server, work.folder)
    assert status == 1 and "nothing has changed in this check-out" in output
    for names in (["new.txt"], []):
        head = work.head()
        work.write("new.txt", f"new {names}\n")
        status, output = submit(server, work.folder, *names)
        assert status == 0, output
        assert cards(fossil, fresh, "PQ") == [f"P {head}"]
        work("update")


def test_a_pick_that_was_backed_out_can_be_picked_again(launch, fresh, fossil, tmp_path, hashes, submit):
    server = launch(fresh, settings=ON)
    work, later = (Checkout(fossil, fresh, tmp_path / name) for name in ("work", "later"))
    work("merge", "--cherrypick", hashes.picked)
    status, output = submit(server, work.folder)
    assert status == 0, output
    later("update")
    landed = later.head()
    # Add a check-in, because fossil does not record a merge that backs out the tip itself.
    later.commit_file("other.txt", "other\n", "other")
    later("merge", "--backout", landed)
    status, output = submit(server, later.folder)
    assert status == 0, output
    assert cards(fossil, fresh, "Q") == [f"Q -{landed}"]
    work("update")
    work("merge", "--cherrypick", hashes.picked)
    status, output = submit(server, work.folder)
    assert status == 0, output
    assert cards(fossil, fresh, "PQ") == [f"P {work.head()}", f"Q +{hashes.picked}"]


def test_a_backout_of_the_tip_is_recorded_once(launch, fresh, fossil, tmp_path, hashes, submit):
    server = launch(fresh, settings=ON)
    work = Checkout(fossil, fresh, tmp_path / "work")
    work.commit_file("other.txt", "other\n", "other")
    tip = work.head()
    work("merge", "--backout", tip)
    status, output = submit(server, work.folder)
    assert status == 0, output
    assert cards(fossil, fresh, "Q") == [f"Q -{tip}"]
    work("update")
    head = work.head()
    work.write("new.txt", "new\n")
    work("add", "new.txt")
    status, output = submit(server, work.folder)
    assert status == 0, output
    assert cards(fossil, fresh, "PQ") == [f"P {head}"]


def test_check_ins_that_the_server_lacks_are_named_before_anything_is_sent(launch, fresh, fossil, tmp_path, hashes, submit):
    server = launch(fresh, settings=ON)
    _, work = clone_and_open(fossil, server.url, tmp_path)
    work.commit_file("local.txt", "local\n", "local", "--branch", "local")
    local = work.head()
    work.write("a.txt", text("a.txt", 3))
    for options in ([], ["--on-tip"]):
        status, output = submit(server, work.folder, *options)
        assert status == 1 and f"the server does not have the check-in {local}" in output and "fossil push" in output
    work("revert")
    work("update", "trunk")
    work("merge", "local")
    status, output = submit(server, work.folder)
    assert status == 1 and f"the server does not have the check-in {local}, which is merged" in output
    assert not Queue.of(fresh).files()
