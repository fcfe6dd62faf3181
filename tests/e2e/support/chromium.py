"""Debian's chromium, without a window: what a page is after its script ran, and what the console says of it."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = shutil.which("chromium")

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")


@dataclass
class Shown:
    dom: str
    console: list[str]  # what it says of the page: errors, and what the policy has kept from being done


def show(url: str, folder: Path, milliseconds: int = 0) -> Shown:
    """URL as it is when MILLISECONDS of the page's own time have passed. FOLDER is for what the browser keeps."""
    arguments = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder / 'browser'}",
                 "--enable-logging=stderr", "--dump-dom"]
    if milliseconds:
        arguments.append(f"--virtual-time-budget={milliseconds}")
    done = subprocess.run([*arguments, url], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Shown(done.stdout, [line for line in done.stderr.splitlines() if re.search(r"CONSOLE[:(]", line)])
