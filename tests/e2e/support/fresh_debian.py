"""The files of a fresh Debian 12. mmdebstrap creates them from Debian's archive."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from .container import Container
from .process import PATIENCE

PROGRAMS = ("mmdebstrap", "systemd-nspawn", "nsenter")


def obstacle() -> str:
    """Returns why this machine cannot run a container, or an empty string."""
    if os.geteuid() != 0:
        return "containers need root"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def dependencies(package: Path) -> list[str]:
    """Returns the names of the packages that PACKAGE depends on. For alternatives, returns the first name."""
    text = subprocess.run(["dpkg-deb", "--field", package, "Depends"], capture_output=True, text=True, check=True).stdout
    return [re.split(r"[ (|]", each.strip())[0] for each in text.split(",")]


def make_tree(path: Path, packages: list[str]) -> str:
    """Creates the files of a Debian with PACKAGES. If this is not possible, returns the reason, otherwise an empty
    string."""
    sources = [each for each in (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d/debian.sources")) if each.exists()]
    # The timeout is long, because other tests use the processors meanwhile, and the archive might be slow.
    done = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", "bookworm", path,
                           *sources], capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
    if done.returncode != 0:
        return f"mmdebstrap: {done.stderr[-500:]}"
    # Remove the archives from apt's configuration, because all dependencies are installed.
    for each in (path / "etc/apt").glob("sources.list*/*"):
        each.unlink()
    (path / "etc/apt/sources.list").write_text("")
    (path / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (path / "etc/apt/apt.conf.d/99test").write_text('APT::Get::Assume-Yes "true";\n')
    return ""


class FreshDebian(Container):
    """Runs COMMAND, or systemd, with the files of TREE."""

    def __init__(self, tree: Path, *command: str):
        self.tree = tree
        super().__init__(tree.with_suffix(".console"), f"--directory={tree}", *(["--as-pid2", *command] if command else ["--boot"]))

    def files(self) -> set[str]:
        return set(self.shell("find / -xdev").splitlines())
