"""Commits in several clones, with pushes, pulls and a merge. Afterwards all repositories are equal."""

import pytest

import proof
from support import repofile
from support.fossil import Checkout


def two_checkouts(server, fossil, tmp_path, login="writer", password="pen"):
    """Makes two clones of the repository of SERVER, each with a check-out."""
    checkouts = []
    for name in ("left", "right"):
        clone = fossil.clone(server.url_for(login, password), tmp_path / f"{name}.fossil")
        checkouts.append(Checkout(fossil, clone, tmp_path / name))
    return checkouts


def assert_all_equal(*repositories):
    """Checks that all repositories have the same artifacts."""
    first, *others = [repofile.artifacts(path) for path in repositories]
    assert all(first == other for other in others)
    assert not any(repofile.phantoms(path) for path in repositories)


def test_two_clones_are_merged(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    left, right = two_checkouts(server, fossil, tmp_path)
    left.commit_file("shared.txt", "one\ntwo\nthree\nfour\nfive\n", "the beginning")
    left("push")
    right("pull")
    right("update")

    left.write("shared.txt", "ONE\ntwo\nthree\nfour\nfive\n")
    left.commit("louder at the beginning")
    right.write("shared.txt", "one\ntwo\nthree\nfour\nFIVE\n")
    right.commit_file("more.txt", "more\n", "louder at the end")

    left("push")
    right("sync")
    right("merge", left.head())
    right.commit("both")
    right("push")
    left("pull")
    left("update")

    assert (left.folder / "shared.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert_all_equal(fresh, left.repository, right.repository)
    for clone in (left.repository, right.repository):
        assert not fossil.timeline_differences(fresh, clone)
    proof.check(fresh, fossil)


def test_tags_and_edits_are_synced(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    left, right = two_checkouts(server, fossil, tmp_path)
    left.commit_file("a.txt", "a\n", "with a tpyo")
    left("push")
    left("tag", "add", "--propagate", "flows", "trunk", "down")
    left("branch", "new", "side", "trunk")
    left("push")
    left("amend", "trunk", "-m", "without a typo", "--author", "ghost", "--bgcolor", "#abcdef", "--date",
         "2020-01-01T00:00:00")
    left("tag", "cancel", "flows", "side")
    left("push")
    right("pull")
    for repository in (fresh, right.repository):
        assert "without a typo" in fossil.timeline(repository)
        assert "side" in fossil("branch", "list", "-R", repository)
    proof.check(fresh, fossil)


@pytest.mark.parametrize("together", [True, False], ids=["in one push", "after its check-in"])
def test_a_new_parent_of_a_check_in_is_synced(launch, fresh, fossil, tmp_path, together):
    server = launch(fresh)
    left, right = two_checkouts(server, fossil, tmp_path)
    heads = []
    for name in ("one", "two", "three", "four"):
        left.write(name, name)
        left("add", name)
        left.commit(name)
        heads.append(left.head())
    if not together:
        left("push")
    left("reparent", heads[2], heads[0])
    left("push")
    left.commit_file("five", "five", "five")
    left("push")
    right("pull")
    for repository in (fresh, right.repository):
        with repofile.database(repository) as connection:
            parents = connection.execute(
                "SELECT p.uuid FROM plink JOIN blob AS c ON c.rid=cid JOIN blob AS p ON p.rid=pid"
                " WHERE c.uuid=?", (heads[2],)).fetchall()
            assert parents == [(heads[0],)]
    assert not fossil.timeline_differences(fresh, left.repository)
    proof.check(fresh, fossil)


def test_delta_manifests_are_synced(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    left, right = two_checkouts(server, fossil, tmp_path)
    for index in range(12):
        left.write(f"file-{index}.txt", f"{index}\n" * 20)
        left("add", f"file-{index}.txt")
    left.commit("twelve files")
    for step in range(5):
        left.write("file-3.txt", f"step {step}\n")
        left.commit(f"step {step}", "--delta")
    left("push")
    assert repofile.value(fresh, "SELECT count(*) FROM plink WHERE baseid") >= 5
    proof.check(fresh, fossil)
    right("pull")
    right("update")
    assert (right.folder / "file-3.txt").read_text() == "step 4\n"


def test_autosync_commit(launch, fresh, fossil, tmp_path):
    """By default, fossil pulls before each commit and pushes after it."""
    server = launch(fresh)
    left, right = two_checkouts(server, fossil, tmp_path)
    for checkout in (left, right):
        checkout("settings", "autosync", "on")
    left.commit_file("a.txt", "a\n", "from the left")
    right("update")
    right.write("a.txt", "b\n")
    right.commit("from the right")
    left("update")
    assert (left.folder / "a.txt").read_text() == "b\n"
    assert_all_equal(fresh, left.repository, right.repository)
    proof.check(fresh, fossil)


def test_fossil_commits_into_the_served_file(launch, fresh, fossil, tmp_path):
    """The commit is made directly in the served file, between two syncs."""
    server = launch(fresh)
    left, _ = two_checkouts(server, fossil, tmp_path)
    left.commit_file("a.txt", "a\n", "over the wire")
    left("push")
    direct = Checkout(fossil, fresh, tmp_path / "direct")
    assert (direct.folder / "a.txt").read_text() == "a\n"
    direct.write("a.txt", "a\nb\n")
    direct.commit("into the file itself")
    left("pull")
    left("update")
    assert (left.folder / "a.txt").read_text() == "a\nb\n"
    assert_all_equal(fresh, left.repository)
    proof.check(fresh, fossil)


def test_sender_is_recorded(launch, fresh, fossil, tmp_path):
    """A request that stores an artifact creates one row of rcvfrom with user and address."""
    server = launch(fresh)
    left, _ = two_checkouts(server, fossil, tmp_path)
    before = repofile.value(fresh, "SELECT max(rcvid) FROM rcvfrom")
    left.commit_file("a.txt", "a\n", "one")
    left("push")
    rows = repofile.query(fresh, "SELECT login, rcvfrom.ipaddr, length(nonce), abs(rcvfrom.mtime-julianday('now'))<0.1"
                                 " FROM rcvfrom JOIN user USING(uid) WHERE rcvid>?", before)
    assert rows == [("writer", "127.0.0.1", 40, 1)]
    left("sync")
    assert repofile.value(fresh, "SELECT max(rcvid) FROM rcvfrom") == before + 1


def test_a_pull_makes_a_cluster(launch, fresh, fossil, tmp_path):
    """A pull makes a cluster if 100 or more artifacts are unclustered."""
    server = launch(fresh)
    left, right = two_checkouts(server, fossil, tmp_path)
    for index in range(110):
        left.write(f"f{index}", f"{index}\n")
    left("addremove")
    left.commit("many files")
    left("push")
    right("pull")
    assert len(repofile.clusters(fresh)) == 1
    assert repofile.value(fresh, "SELECT count(*) FROM unclustered") == 1
    proof.check(fresh, fossil)
    left("pull")
    assert_all_equal(fresh, left.repository, right.repository)
