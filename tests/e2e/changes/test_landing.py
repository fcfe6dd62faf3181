"""Landed change sets are ordinary check-ins for the real fossil, and the repository passes all checks."""

import random
import re
import stat

import pytest

import proof
from support import landing, repofile
from support.fossil import Checkout, clone_and_open
from support.process import wait_until


@pytest.fixture
def sets():
    return landing.ChangeSets()


def lines(count, **changed):
    """Returns COUNT lines. CHANGED (line_N=TEXT) replaces some of the lines."""
    return "".join(changed.get(f"line_{i}", f"line {i}") + "\n" for i in range(count))


def manifest(fossil, repository, check_in):
    return fossil("artifact", check_in, "-R", repository)


def card(text, letter):
    return re.findall(rf"^{letter} (.*)$", text, re.MULTILINE)


def tree(fossil, repository, check_in, folder):
    """Returns the files of CHECK_IN as checked out by fossil, which also verifies the R card."""
    checkout = Checkout(fossil, repository, folder, check_in)
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_dir() and not name.startswith(".fslckout"):
            executable = bool(path.stat().st_mode & stat.S_IXUSR)
            files[name] = (path.read_text(), "x") if executable else path.read_text()
    checkout("close", "--force")
    return files


def test_fossil_shows_landed_check_ins_like_its_own(fresh, fossil, tmp_path, sets):
    first, second = landing.landed(
        fresh,
        sets.make({"a.txt": lines(50), "dir/run.sh": ("#!/bin/sh\n", "x"), "with space.txt": "b\n"}),
        sets.make({"a.txt": lines(50, line_7="other"), "with space.txt": None, "new.txt": "n\n"}))
    timeline = fossil.timeline(fresh)
    assert re.search(r"change set 2 \(user: admin tags: trunk\)", timeline)
    assert timeline.index("change set 2") < timeline.index("change set 1") < timeline.index("initial empty check-in")
    assert tree(fossil, fresh, second, tmp_path / "second") == {
        "a.txt": lines(50, line_7="other"), "dir/run.sh": ("#!/bin/sh\n", "x"), "new.txt": "n\n"}
    assert tree(fossil, fresh, first, tmp_path / "first") == {
        "a.txt": lines(50), "dir/run.sh": ("#!/bin/sh\n", "x"), "with space.txt": "b\n"}
    changes = fossil("timeline", "-n", 1, "-v", "-R", fresh)
    assert re.search(r"EDITED a\.txt", changes) and re.search(r"DELETED with space\.txt", changes) and re.search(
        r"ADDED new\.txt", changes)
    # fossil finds the check-in by this tag, but does not list the tag.
    assert "cs-0000000000000002" in fossil("tag", "list", "--raw", second, "-R", fresh)
    assert "cs-" not in fossil("tag", "list", "-R", fresh)
    proof.check(fresh, fossil)


def test_repository_checksum_is_the_one_that_fossil_computes(fresh, fossil, tmp_path, sets):
    check_in, = landing.landed(fresh, sets.make({
        "a": "a\n", "z/deep/er": ("x\n", "x"), "empty": "", "umlaut ä.txt": "ö\n", "B": lines(5000)}))
    checkout = Checkout(fossil, fresh, tmp_path / "work")
    checkout.commit("the same", "--allow-empty")
    ours, theirs = manifest(fossil, fresh, check_in), manifest(fossil, fresh, checkout.head())
    assert card(ours, "F") == card(theirs, "F")
    assert card(ours, "R") == card(theirs, "R") != []
    # A later landing reuses most of the computation of the R card.
    checkout.write("a", "other\n")
    checkout.commit("another file")
    landed, back = landing.landed(fresh, sets.make({"B": "short\n"}), sets.make({"B": lines(5000)}))
    assert card(manifest(fossil, fresh, back), "R") == card(manifest(fossil, fresh, checkout.head()), "R")
    assert card(manifest(fossil, fresh, back), "F") == card(manifest(fossil, fresh, checkout.head()), "F")
    proof.check(fresh, fossil)


def test_a_clone_pulls_landed_check_ins_and_updates_its_check_out(serve, fresh, fossil, tmp_path, sets):
    server = serve(fresh)
    landing.landed(fresh, sets.make({"a": lines(30), "run": ("r\n", "x")}))
    clone, checkout = clone_and_open(fossil, server.url_for("writer", "pen"), tmp_path)
    checkout.write("mine", "mine\n")
    checkout("add", "mine")
    landing.landed(fresh, sets.make({"a": lines(30, line_3="changed"), "run": "r\n", "dir/b": ("b\n", "x")}),
                   sets.make({"gone": "g\n"}), sets.make({"gone": None}))
    checkout("pull", server.url_for("writer", "pen"))
    checkout("update")
    assert (checkout.folder / "a").read_text() == lines(30, line_3="changed")
    assert not (checkout.folder / "run").stat().st_mode & stat.S_IXUSR
    assert (checkout.folder / "dir/b").stat().st_mode & stat.S_IXUSR
    assert not (checkout.folder / "gone").exists()
    assert (checkout.folder / "mine").read_text() == "mine\n"
    checkout.commit("on top of it")
    checkout("push", server.url_for("writer", "pen"))
    landing.landed(fresh, sets.make({"later": "l\n"}))
    assert card(manifest(fossil, fresh, "trunk"), "P") == [checkout.head()]
    proof.check(fresh, fossil)
    proof.check(clone, fossil)


def test_a_rollback_equals_a_backout_merge_by_fossil(fresh, fossil, tmp_path, sets):
    first, second, third = landing.landed(
        fresh, sets.make({"a": lines(40), "b": "b\n"}), sets.make({"a": lines(40, line_5="two"), "new": "n\n", "b": None}),
        sets.make({"a": lines(40, line_5="two", line_30="three")}))
    back, = landing.landed(fresh, sets.make(rolls_back=["0000000000000002"], comment=""))
    assert tree(fossil, fresh, back, tmp_path / "back") == {"a": lines(40, line_30="three"), "b": "b\n"}
    text = manifest(fossil, fresh, back)
    assert card(text, "Q") == [f"-{second}"] and card(text, "P") == [third]
    # fossil's backout of the same check-in results in the same files.
    checkout = Checkout(fossil, fresh, tmp_path / "work", third)
    checkout("merge", "--backout", second)
    checkout.commit("by fossil", "--branch", "side")
    theirs = manifest(fossil, fresh, checkout.head())
    assert [line.split()[:2] for line in card(text, "F")] == [line.split()[:2] for line in card(theirs, "F")]
    assert card(text, "Q") == card(theirs, "Q") and card(text, "R") == card(theirs, "R")
    timeline = fossil("timeline", "-W", 0, "-n", 2, "-R", fresh)
    assert f'Roll back "change set 2" (00000000 [{second[:10]}])' in timeline and "(no comment)" not in timeline
    assert first != back
    proof.check(fresh, fossil)


def test_lands_on_a_real_history_from_bases_far_back(hiredis, fossil, tmp_path, sets):
    """Each change set changes different lines. The change sets are based on check-ins up to 200 check-ins ago."""
    tip = repofile.value(hiredis, "SELECT uuid FROM leaf JOIN event ON objid=leaf.rid JOIN blob USING(rid)"
                                  " ORDER BY event.mtime DESC LIMIT 1")
    branch = repofile.value(hiredis, "SELECT value FROM tagxref JOIN blob USING(rid) WHERE tagxref.tagid=8 AND uuid=?", tip)
    checkout = Checkout(fossil, hiredis, tmp_path / "work", tip)
    ancestors = [line.split()[1] for line in fossil("timeline", "ancestors", tip, "-n", 200, "-t", "ci", "-R", hiredis,
                                                    "-F", "base %H").splitlines() if line.startswith("base ")]
    made = random.Random(5)
    change_sets = []
    for number in range(12):
        base = made.choice(ancestors)
        name = made.choice(["README.md", "Makefile", "hiredis.c"])
        text = fossil("cat", name, "-r", base, "-R", hiredis)
        change_sets.append(sets.make({name: text + f"# {number}\n" if number % 3 else f"# {number}\n" + text,
                                      f"new/{number}": f"{number}\n"}, branch=branch, base=base))
    outcomes = landing.land(hiredis, *change_sets)
    landed = [i for i, outcome in enumerate(outcomes) if "check_in" in outcome]
    assert len(landed) >= 6, outcomes
    assert all("conflicts with" in outcome["reason"] for outcome in outcomes if "check_in" not in outcome)
    checkout("update", branch)
    for number in landed:
        assert (checkout.folder / "new" / str(number)).read_text() == f"{number}\n"
    assert not [i for i in range(12) if i not in landed and (checkout.folder / "new" / str(i)).exists()]
    proof.check(hiredis, fossil)


def test_a_process_that_is_killed_has_landed_each_once_or_not_at_all(fresh, fossil, tmp_path, sets):
    """The process is killed at random and then restarted with all change sets, as in the queue."""
    change_sets = [sets.make({f"f{i % 9}": lines(60, **{f"line_{i % 60}": f"by {i}"})}) for i in range(120)]
    made = random.Random(3)
    for _ in range(12):
        process = landing.start(fresh, change_sets, "--batch", made.choice([1, 1, 7]))
        goal = repofile.value(fresh, "SELECT count(*) FROM event") + made.randrange(12)
        try:
            wait_until(lambda at=goal: process.poll() is not None
                       or repofile.value(fresh, "SELECT count(*) FROM event") >= at, "some to land")
        finally:
            process.kill()
            process.communicate()
    outcomes = landing.land(fresh, *change_sets)
    assert all("check_in" in outcome for outcome in outcomes)
    assert any(outcome["was_there"] for outcome in outcomes)
    assert repofile.value(fresh, "SELECT count(*) FROM event WHERE type='ci'") == 121
    assert repofile.value(fresh, "SELECT count(*) FROM tag WHERE tagname GLOB 'cs-*'") == 120
    assert repofile.value(fresh, "SELECT count(*) FROM leaf") == 1
    assert [outcome["check_in"] for outcome in landing.land(fresh, *change_sets)] == [
        outcome["check_in"] for outcome in outcomes]
    proof.check(fresh, fossil)


def test_processes_race_for_the_tip_with_each_other_and_with_fossil(fresh, fossil, tmp_path, sets):
    landing.landed(fresh, sets.make({"a": "a\n"}))
    groups = [[sets.make({f"{group}/{i}": f"{i}\n"}) for i in range(25)] for group in "xyz"]
    checkout = Checkout(fossil, fresh, tmp_path / "work")
    processes = [landing.start(fresh, group) for group in groups]
    for i in range(5):
        checkout.write("mine", f"{i}\n")
        checkout("add", "mine")
        checkout("update")
        checkout.fossil.attempt("commit", "--no-warnings", "--hash", "-m", f"mine {i}", cwd=checkout.folder)
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert output.count('"check_in"') == 25, output
    assert repofile.value(fresh, "SELECT count(*) FROM tag WHERE tagname GLOB 'cs-*'") == 76
    assert repofile.value(fresh, "SELECT count(*) FROM leaf") == 1
    checkout("update", "trunk")
    for group in "xyz":
        assert len(list((checkout.folder / group).iterdir())) == 25
    proof.check(fresh, fossil)
