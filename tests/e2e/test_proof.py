"""The proof accepts repositories that fossil has made, and detects each kind of wrong row."""

import pytest

import generator
import proof
from support import repofile


@pytest.mark.slow
def test_a_repository_that_fossil_made_is_right(small, fossil):
    proof.check(small, fossil)


@pytest.mark.parametrize("damage, trace", [
    ("UPDATE event SET comment='forged' WHERE objid=(SELECT max(objid) FROM event)", "event"),
    ("UPDATE event SET mtime=mtime+1.0/86400000 WHERE objid=(SELECT min(objid) FROM event WHERE type='ci')", "event"),
    ("DELETE FROM mlink WHERE rowid=(SELECT max(rowid) FROM mlink)", "mlink"),
    ("UPDATE mlink SET pid=-1 WHERE rowid=(SELECT rowid FROM mlink WHERE pid=0 LIMIT 1)", "mlink"),
    ("INSERT INTO mlink SELECT * FROM mlink LIMIT 1", "mlink"),
    ("DELETE FROM plink WHERE rowid=(SELECT max(rowid) FROM plink)", "plink"),
    ("UPDATE plink SET baseid=NULL", "plink"),
    ("DELETE FROM leaf WHERE rid=(SELECT max(rid) FROM leaf)", "leaf"),
    ("INSERT INTO filename(name) VALUES('never/was')", "filename"),
    ("INSERT INTO tag(tagname) VALUES('sym-never')", "tag"),
    ("UPDATE tagxref SET tagtype=1 WHERE rowid=(SELECT rowid FROM tagxref WHERE tagtype=2 LIMIT 1)", "tagxref"),
    ("DELETE FROM cherrypick", "cherrypick"),
    ("DELETE FROM backlink", "backlink"),
    ("DELETE FROM unclustered WHERE rid=(SELECT max(rid) FROM unclustered)", "unclustered"),
    ("INSERT INTO orphan(rid,baseline) VALUES(1,2)", "orphan"),
    ("UPDATE blob SET content=(SELECT content FROM blob WHERE rid=2) WHERE rid=1", "test-integrity"),
])
def test_a_planted_wrong_row_is_found(small, fossil, damage, trace):
    repofile.execute(small, damage)
    assert any(trace in line for line in proof.findings(small, fossil))


@pytest.mark.slow
def test_a_generated_repository_is_the_same_for_the_same_seed(small_original, fossil, tmp_path):
    again = tmp_path / "again.fossil"
    generator.build(again, fossil, check_ins=60, binary_size=0)
    assert repofile.artifacts(again) == repofile.artifacts(small_original)


@pytest.mark.slow
def test_the_generated_repository_has_the_documented_contents(generated_original):
    def count(sql: str) -> int:
        return repofile.value(generated_original, f"SELECT count(*) FROM {sql}")
    assert count("event WHERE type='ci'") >= 2000
    assert count("plink WHERE NOT isprim") > 50, "merges"
    assert count("tagxref JOIN tag USING(tagid) WHERE tagname='branch' AND tagtype=2 AND srcid>0") > 20, "branches"
    assert count("mlink WHERE pfnid>0") >= 5, "renames"
    assert count("mlink WHERE fid=0") > 50, "deletions"
    assert count("tag WHERE tagname GLOB 'sym-release-*'") > 20, "tags"
    assert count("blob WHERE size>=20*1024*1024") >= 2, "a large binary file"
    assert count("private") > 0 and count("plink WHERE baseid") > 20 and count("cherrypick WHERE isExclude") > 0
    assert count("blob WHERE length(uuid)=40") > 1000 and count("blob WHERE length(uuid)=64") > 1000
