"""Disks that are small enough to be filled."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mounts a file system of SIZE on FOLDER, which must not exist yet. Skips the test if mounts are not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill_up(folder: Path, keep: int = 0) -> None:
    """Fills the disk of FOLDER, except for KEEP bytes."""
    with (folder / "filler").open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
        if keep:
            file.truncate(file.tell() - keep)


def empty(folder: Path) -> None:
    (folder / "filler").unlink(missing_ok=True)
