"""The generated repositories for benchmarks are valid for fossil and have the documented size."""

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
