"""`quarry verify` finds no faults in a correct file, and finds every fault in damaged files."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import zlib
from pathlib import Path

import pytest

import proof
from support import repofile
from support.disk import small_disk
from support.fossil import Checkout
from support.program import fails, on_terminal, quarry, succeeds


def assert_finds(path, trace):
    digest = hashlib.sha256(path.read_bytes()).digest()
    done = quarry("verify", path)
    assert done.returncode == 1, done.stdout + done.stderr
    report = done.stdout + done.stderr
    assert trace in report, report
    assert hashlib.sha256(path.read_bytes()).digest() == digest, "verify only reads"


def test_correct_repositories(generated, small):
    for path in (small, generated):
        with repofile.unchanged(path):
            done = quarry("verify", path)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_json(small):
    output = succeeds("verify", "--json", small)
    shown = json.loads(output)
    assert (shown["file"], shown["faults"]) == (str(small), [])
    assert all(set(each) == {"table", "class", "rows"} for each in shown["order_dependent"])
    repofile.execute(small, "DELETE FROM leaf")
    done = quarry("verify", "--json", small)
    assert done.returncode == 1 and "found" in done.stderr
    assert json.loads(done.stdout)["faults"][0].startswith("leaf: missing row")


def test_progress_is_only_shown_on_a_terminal(small, tmp_path):
    for words in (["verify", small], ["clone", f"file:{small}", tmp_path / "clone.fossil"]):
        shown, _ = on_terminal(*words)
        assert re.search(r"\r\[#+\] 100% of \d+ artifacts", shown), shown
    assert quarry("verify", small).stderr == ""
    assert quarry("clone", f"file:{small}", tmp_path / "other.fossil").stderr == ""


def test_the_real_history(hiredis):
    succeeds("verify", hiredis)


def test_an_interrupted_write_is_rolled_back_first(small, tmp_path):
    left = tmp_path / "left.fossil"
    with contextlib.closing(sqlite3.connect(small, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=DELETE")
        before = small.read_bytes()
        writer.execute("PRAGMA cache_size=5")
        writer.execute("BEGIN")
        writer.execute("UPDATE blob SET content=randomblob(length(content))")
        for path in (small, Path(f"{small}-journal")):
            shutil.copy(path, f"{left}{path.name.removeprefix(small.name)}")
        writer.execute("ROLLBACK")
    assert left.read_bytes() != before, "the writer had begun to write"
    succeeds("verify", left)
    assert left.read_bytes() == before and not Path(f"{left}-journal").exists()


def test_a_missing_temporary_folder(small, tmp_path):
    error = fails("verify", small, env={**os.environ, "TMPDIR": str(tmp_path / "none")})
    assert f"{small}: TMPDIR must name a folder for temporary files, but {tmp_path}/none is not a folder" in error


def test_a_full_temporary_folder(generated, tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        error = fails("verify", generated, env={**os.environ, "TMPDIR": str(disk)})
        assert f"cannot write the temporary copy in {disk}: " in error and "(set TMPDIR" in error
        assert not list(disk.iterdir()), "nothing is left"


def test_a_pushed_history(launch, small, fossil, tmp_path):
    """The server's file is correct after a whole history was pushed, without a rebuild by fossil."""
    served = fossil.new(tmp_path / "served.fossil")
    repofile.make_empty(served, repofile.project_code(small))
    repofile.add_user(served, "writer", "pen", "gio")
    server = launch(served)
    repofile.mark_all_unsent(small)
    fossil("push", "--once", server.url_for("writer", "pen"), "-R", small)
    succeeds("verify", served)


def test_rows_that_depend_on_the_processing_order_are_counted(fossil, tmp_path):
    path = fossil.new(tmp_path / "amended.fossil")
    checkout = Checkout(fossil, path, tmp_path / "checkout")
    checkout.commit("ancestor", "--allow-empty")
    ancestor = checkout.head()
    checkout.commit("descendant", "--allow-empty")
    checkout("tag", "add", "--propagate", "--date-override", "2031-01-02", "line", ancestor, "later")
    checkout("tag", "add", "--propagate", "--date-override", "2031-01-01", "line", checkout.head(), "older")
    checkout("rebuild")
    output = succeeds("verify", path)
    assert output == ("tagxref: 1 row depends on the processing order (a control artifact older than an ancestor's card)\n"
                           f"{path}: no faults found\n")
    assert quarry("rebuild", path).returncode == 0
    assert quarry("verify", path).stdout == f"{path}: no faults found\n"
    proof.check(path, fossil)


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]


def forge(content):
    """Changes the content, but not its size."""
    data = bytearray(zlib.decompress(content[4:]))
    data[0] ^= 1
    return content[:4] + zlib.compress(bytes(data))


WHOLE, DELTA = "rid NOT IN (SELECT rid FROM delta) AND length(content)>40", "rid IN (SELECT rid FROM delta)"


@pytest.mark.parametrize("which, change", [
    ("1", "UPDATE blob SET content=flip(content) WHERE rid=?1"),
    (WHOLE, "UPDATE blob SET uuid=substr(uuid,1,length(uuid)-1)||iif(uuid GLOB '*0','1','0') WHERE rid=?1"),
    (WHOLE, "UPDATE blob SET content=forge(content) WHERE rid=?1"),
    ("1", "UPDATE blob SET size=size+1 WHERE rid=?1"),
    (DELTA, "UPDATE delta SET srcid=(SELECT min(rid) FROM blob WHERE rid NOT IN (SELECT rid FROM delta)) WHERE rid=?1"),
    (DELTA, "UPDATE delta SET srcid=rid WHERE rid=?1"),
], ids=["flipped byte", "wrong name", "other content", "wrong size", "other source", "circle"])
def test_damaged_artifact(small, which, change):
    rid, name = repofile.query(small, f"SELECT rid, uuid FROM blob WHERE size>100 AND {which} ORDER BY rid DESC LIMIT 1")[0]
    with repofile.database(small, write=True) as connection:
        for function in (flip, forge):
            connection.create_function(function.__name__, 1, function)
        connection.execute(change, (rid,))
    assert_finds(small, name[:10])


def test_public_artifact_made_from_a_private_one(small):
    source = repofile.value(small, "SELECT srcid FROM delta LIMIT 1")
    repofile.execute(small, "INSERT INTO private(rid) VALUES(?)", source)
    assert_finds(small, "is a delta on the private artifact")


@pytest.mark.parametrize("damage, table", [
    ("UPDATE event SET comment='forged' WHERE objid=(SELECT max(objid) FROM event)", "event"),
    ("DELETE FROM event WHERE objid=(SELECT max(objid) FROM event)", "event"),
    ("UPDATE event SET mtime=mtime+1.0 WHERE objid=(SELECT min(objid) FROM event WHERE type='ci')", "event"),
    ("DELETE FROM mlink WHERE rowid=(SELECT max(rowid) FROM mlink)", "mlink"),
    ("UPDATE mlink SET pid=-1 WHERE rowid=(SELECT rowid FROM mlink WHERE pid=0 LIMIT 1)", "mlink"),
    ("INSERT INTO mlink SELECT * FROM mlink LIMIT 1", "mlink"),
    ("DELETE FROM plink WHERE rowid=(SELECT max(rowid) FROM plink)", "plink"),
    ("DELETE FROM leaf WHERE rid=(SELECT max(rid) FROM leaf)", "leaf"),
    ("INSERT OR IGNORE INTO leaf SELECT pid FROM plink", "leaf"),
    ("UPDATE tagxref SET value='forged' WHERE value='trunk'", "tagxref"),
    ("DELETE FROM tagxref WHERE tagtype=2 AND srcid=0", "tagxref"),
    ("DELETE FROM cherrypick", "cherrypick"),
    ("DELETE FROM backlink", "backlink"),
    ("DELETE FROM unclustered", "unclustered"),
])
def test_wrong_derived_row(small, damage, table):
    repofile.execute(small, damage)
    assert_finds(small, table)


def test_truncated_file(small):
    data = small.read_bytes()
    small.write_bytes(data[:len(data) // 2 // 4096 * 4096])
    done = quarry("verify", small)
    assert done.returncode == 1 and done.stdout + done.stderr
