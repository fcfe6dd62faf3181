"""Repositories that were made by old versions of fossil and never rebuilt still work, although tables, columns or
indexes are missing."""

import os
import shutil

import pytest

import proof
from support import process, repofile
from support.fossil import ADMIN, Checkout

#: Statements that remove tables, columns or indexes that an old repository does not have.
LACKS = {
    "cherrypick": "DROP TABLE cherrypick",
    "backlink": "DROP TABLE backlink",
    "attachment": "DROP TABLE attachment",
    "leaf": "DROP TABLE leaf",
    "orphan": "DROP TABLE orphan",
    "unsent": "DROP TABLE unsent",
    "parents of merges": "DROP INDEX mlink_i1; DROP INDEX mlink_i2; DROP INDEX mlink_i3; DROP INDEX mlink_i4;"
                         "ALTER TABLE mlink DROP COLUMN pmid; ALTER TABLE mlink DROP COLUMN isaux",
    "baselines": "ALTER TABLE plink DROP COLUMN baseid",
    "short comments": "ALTER TABLE event DROP COLUMN brief",
    "indexes": "DROP INDEX orphan_baseline; DROP INDEX delta_i1; DROP INDEX backlink_src; DROP INDEX plink_i2;"
               "DROP INDEX tagxref_i1",
    "times of settings": "ALTER TABLE config DROP COLUMN mtime",
    "comments on the shunned": "ALTER TABLE shun DROP COLUMN scom; ALTER TABLE shun DROP COLUMN mtime",
    "more than one thing": "DROP TABLE cherrypick; DROP TABLE backlink; ALTER TABLE mlink DROP COLUMN isaux;"
                           "ALTER TABLE plink DROP COLUMN baseid",
}


def make_old(path, lacks):
    with repofile.database(path, write=True) as connection:
        connection.executescript(LACKS[lacks])


@pytest.mark.slow
@pytest.mark.parametrize("lacks", LACKS)
def test_clone_sync_and_rebuild(launch, fresh, fossil, tmp_path, lacks):
    repofile.add_user(fresh, "boss", "word", "agio")
    there = Checkout(fossil, fresh, tmp_path / "there")
    there.commit_file("old.txt", "old\n", "an old check-in")
    there("close", "--force")
    make_old(fresh, lacks)
    server = launch(fresh)
    clone = fossil.clone(server.url_for("boss", "word"), tmp_path / "clone.fossil", "--admin-user", ADMIN)
    assert "an old check-in" in fossil.timeline(clone)
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout.commit_file("new.txt", "new\n", f"a new check-in, see [{checkout.head()}]")
    checkout("sync")
    assert "a new check-in" in fossil.timeline(fresh)
    fossil("configuration", "pull", "all", "-R", clone)
    server.stop()
    fossil("rebuild", fresh)
    proof.check(fresh, fossil)
    proof.check(clone, fossil)


@pytest.mark.parametrize("lacks", LACKS)
def test_verify_and_sync_by_our_client(quarry, fresh, fossil, tmp_path, lacks):
    old = repofile.copy(fresh, tmp_path / "old.fossil")
    make_old(old, lacks)
    before = repofile.everything(old)
    _, output, errors = quarry.attempt("verify", "--quiet", old)
    assert "no such" not in output + errors
    assert repofile.everything(old) == before
    quarry("sync", old, fresh)
    quarry("rebuild", old)
    proof.check(old, fossil)


def test_a_view_is_not_given_missing_columns(quarry, fresh):
    with repofile.database(fresh, write=True) as connection:
        connection.executescript("ALTER TABLE reportfmt RENAME TO formats; CREATE VIEW reportfmt AS SELECT rn, title FROM formats")
    quarry("lease", fresh)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file away")
@pytest.mark.ours("it runs as the user that started it")
@pytest.mark.parametrize("lacks", ["more than one thing", "indexes"])
def test_read_only_file_is_served_if_it_can_be_read(launch, fresh, open_folder, fossil, tmp_path, lacks):
    make_old(fresh, lacks)
    kept = shutil.copy(fresh, open_folder / "kept.fossil")
    kept.chmod(0o644)
    open_folder.chmod(0o755)
    server = launch(kept, settings={"user": "nobody", "http.user": "root"})
    clone = tmp_path / "clone.fossil"
    if lacks == "indexes":
        assert fossil.attempt("clone", "--no-open", server.url, clone)[0] != 0
        process.wait_until(lambda: "lacks index" in server.log() and "`fossil rebuild`" in server.log(), "the reason")
        assert "clients can clone" not in server.log(), "they cannot"
        return
    fossil.clone(server.url_for("writer", "pen"), clone, "--admin-user", ADMIN)
    fossil("pull", "-R", clone)
    assert repofile.artifacts(clone) == repofile.artifacts(kept)
    assert "clients can clone and pull" in server.log()
