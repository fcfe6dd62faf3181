"""Debian's chromium, without a window: what a page is after its script ran, and what the console says of it."""

import json
import os
import re
import shutil
import subprocess
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = shutil.which("chromium")

AXE = os.environ.get("QUARRY_AXE", "")

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")

needs_axe = pytest.mark.skipif(PROGRAM is None or not AXE, reason="no chromium, or no axe-core in QUARRY_AXE")


@dataclass
class Shown:
    dom: str
    console: list[str]  # what it says of the page: errors, and what the policy has kept from being done


def show(url: str, folder: Path, milliseconds: int = 0, is_dark: bool = False) -> Shown:
    """URL as it is when MILLISECONDS of the page's own time have passed. FOLDER is for what the browser keeps."""
    arguments = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder / 'browser'}",
                 "--enable-logging=stderr", "--dump-dom"]
    if is_dark:
        arguments.append("--blink-settings=preferredColorScheme=0")
    if milliseconds:
        arguments.append(f"--virtual-time-budget={milliseconds}")
    done = subprocess.run([*arguments, url], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Shown(done.stdout, [line for line in done.stderr.splitlines() if re.search(r"CONSOLE[:(]", line)])


def barriers(dom: str, folder: Path, is_dark: bool) -> list[str]:
    """What axe-core finds in a page, DOM, that would keep somebody from using it."""
    page = re.sub(r"<script\b.*?</script>", "", dom, flags=re.DOTALL)
    (folder / "axe.js").write_text(Path(AXE).read_text())
    (folder / "page.html").write_text(page.replace("</body>", """<script src="axe.js"></script><script>
        axe.run().then(found => { const text = JSON.stringify(found.violations.map(each =>
            [each.id, each.nodes.map(node => node.html)])) + "," + found.passes.length;
            document.body.setAttribute("data-found", encodeURIComponent(text)); });</script></body>"""))
    shown = show((folder / "page.html").as_uri(), folder, milliseconds=10_000, is_dark=is_dark)
    written = re.search(r'data-found="(.*?)"', shown.dom)
    assert written, shown.console
    found, passed = json.loads(f"[{urllib.parse.unquote(written[1])}]")
    assert passed > 5, "it has looked at nothing"
    return found
