"""The generated repositories for benchmarks are valid for fossil and have the documented size and shape."""

import subprocess
import sys
from pathlib import Path

import pytest

import proof
from support import repofile

TOOL = Path(__file__).resolve().parents[1] / "bench" / "make_repository"
ARTIFACTS = 2500


def make(path: Path, *options: object) -> Path:
    subprocess.run([sys.executable, TOOL, path, *map(str, options)], check=True, capture_output=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("made") / "made.fossil", "--artifacts", ARTIFACTS, "--seed", 7)


def number(path: Path, sql: str) -> float:
    return float(repofile.value(path, sql))


def test_fossil_finds_no_faults(made, fossil):
    proof.check(made, fossil)


def test_it_has_exactly_the_artifacts_asked_for(made):
    assert len(repofile.artifacts(made)) == ARTIFACTS
    assert not repofile.phantoms(made)


def test_the_same_seed_makes_the_same_artifacts(made, tmp_path):
    again = make(tmp_path / "again.fossil", "--artifacts", ARTIFACTS, "--seed", 7)
    stored = "SELECT rid, uuid, size, content, srcid FROM blob LEFT JOIN delta USING(rid) ORDER BY rid"
    assert repofile.query(again, stored) == repofile.query(made, stored)
    other = make(tmp_path / "other.fossil", "--artifacts", 100, "--seed", 8)
    assert not repofile.artifacts(other) & repofile.artifacts(made)


def test_its_shape_is_that_of_a_real_project(made):
    check_ins = number(made, "SELECT count(*) FROM event WHERE type='ci'")
    assert 0.35 < check_ins / ARTIFACTS < 0.48
    assert 0.85 < number(made, "SELECT count(*) FROM delta") / ARTIFACTS
    assert 0.1 < number(made, "SELECT count(*) FROM plink WHERE NOT isprim") / check_ins < 0.25
    assert 0.2 < number(made, "SELECT count(*) FROM leaf") / check_ins < 0.5
    assert 1 < number(made, "SELECT count(*) FROM event WHERE type='g'")
    assert number(made, "SELECT count(*) FROM tagxref WHERE tagid=(SELECT tagid FROM tag WHERE tagname='cluster')") == 3
    assert 3000 < number(made, "SELECT avg(size) FROM blob JOIN event ON objid=rid WHERE type='ci'") < 6000
    assert 8000 < number(made, "SELECT avg(size) FROM blob WHERE rid IN (SELECT fid FROM mlink)") < 25000
    deepest = number(made, "WITH RECURSIVE chain(rid,depth) AS (SELECT rid,0 FROM blob WHERE rid NOT IN (SELECT rid FROM"
                           " delta) UNION ALL SELECT delta.rid,depth+1 FROM delta JOIN chain ON srcid=chain.rid)"
                           " SELECT max(depth) FROM chain")
    assert deepest > check_ins / 8, "chains grow with the history"


def test_an_existing_file_is_left_alone(made):
    done = subprocess.run([sys.executable, TOOL, made], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "exists already" in done.stderr


@pytest.mark.parametrize("count", [1, 2, 9, 30])
def test_small_repositories_are_complete(count, tmp_path, fossil):
    made = make(tmp_path / "small.fossil", "--artifacts", count)
    assert len(repofile.artifacts(made)) == count
    assert not fossil.integrity(made)
