"""Loads a page in Debian's headless chromium. Returns the page after its script has run, and the messages of the
console."""

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
    console: list[str]  # errors, and violations of the content security policy


def show(url: str, folder: Path, milliseconds: int = 0) -> Shown:
    """Loads URL and returns the page after MILLISECONDS of virtual time. The browser's profile is in FOLDER."""
    arguments = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder / 'browser'}",
                 "--enable-logging=stderr", "--dump-dom"]
    if milliseconds:
        arguments.append(f"--virtual-time-budget={milliseconds}")
    done = subprocess.run([*arguments, url], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Shown(done.stdout, [line for line in done.stderr.splitlines() if re.search(r"CONSOLE[:(]", line)])
