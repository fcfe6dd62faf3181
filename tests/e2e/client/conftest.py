"""Fixtures of the tests of `quarry`'s commands."""

from pathlib import Path

import pytest


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The file into which a test clones."""
    return tmp_path / "clone.fossil"
