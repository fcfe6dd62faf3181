"""Fixtures: servers whose queues have idle daemons."""

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import changes
from support.fossil import Checkout
from support.servers import Launcher


@pytest.fixture(scope="session")
def idle_quarryd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return changes.idle_programs(tmp_path_factory.mktemp("idle") / "bin")


@pytest.fixture
def launch_idle(server_kind: str, tmp_path: Path, fossil, idle_quarryd: Path) -> Iterator[Launcher]:
    """Works like `launch`, but the daemons are idle."""
    launcher = Launcher(server_kind, tmp_path, fossil, quarryd=idle_quarryd)
    yield launcher
    launcher.stop_all()


@pytest.fixture
def repository(fresh: Path, fossil, tmp_path: Path) -> Path:
    base = Checkout(fossil, fresh, tmp_path / "base")
    base.commit_file("a.txt", "a\n", "base")
    return fresh


@pytest.fixture
def mark() -> str:
    """A unique argument by which a test finds the processes of its gate."""
    return f"quarry-test-{uuid.uuid4()}"


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A folder that all users can access, unlike the test's own folder."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)
