from pathlib import Path

import pytest


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return tmp_path / "clone.fossil"
