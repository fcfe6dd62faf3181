#!/usr/bin/python3
"""Creates the repository that most end-to-end tests use. The repository has 2,000 check-ins and a 20 MB binary file.

    generator.py FILE [--check-ins N] [--seed N]

The first third of the artifacts have SHA1 names. The other artifacts have SHA3 names. The same seed produces the same
artifacts.
"""

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from support import repofile
from support.commands import add_commands
from support.fossil import ADMIN, Checkout, Fossil
from support.history import History

CHECK_INS = 2000
SEED = 20240229
BINARY_SIZE = 20 << 20


def build(path: Path, fossil: Fossil, check_ins: int = CHECK_INS, seed: int = SEED, binary_size: int = BINARY_SIZE) -> None:
    """Builds the repository PATH. Repositories built with the same arguments differ only in their server codes."""
    history = History(seed)
    fossil("init", "--sha1", "--admin-user", ADMIN, "--date-override", "2009-12-31T12:00:00", path)
    with tempfile.TemporaryDirectory(prefix="generator-") as name:
        folder = Path(name)
        _import(path, fossil, history.take(check_ins // 3), folder)
        fossil("hash-policy", "sha3", "-R", path)
        _import(path, fossil, history.take(check_ins - check_ins // 3), folder)
        add_commands(fossil, path, folder / "commands")
        if binary_size:
            _add_binary(path, fossil, folder / "binary", random.Random(seed).randbytes(binary_size))
    repofile.set_config(path, "project-code", hashlib.sha1(f"generated {seed}".encode()).hexdigest())
    repofile.set_config(path, "project-name", "generated")
    repofile.execute(path, "DELETE FROM config WHERE name GLOB 'ckout:*'")


def _import(path: Path, fossil: Fossil, stream: bytes, folder: Path) -> None:
    file = folder / "stream"
    file.write_bytes(stream)
    marks = folder / "marks"
    options = ["--import-marks", marks] if marks.exists() else []
    fossil("import", "--git", "--incremental", "--quiet", "--no-vacuum", *options, "--export-marks", marks,
           "--rename-master", "trunk", path, file)


def _add_binary(path: Path, fossil: Fossil, folder: Path, content: bytes) -> None:
    checkout = Checkout(fossil, path, folder, "tail-19")
    checkout.commit_file("large.bin", content, "a large binary file", "--date-override", "2020-03-28T12:00:00")
    # The versions are similar, so fossil stores the first version as a delta.
    checkout.write("large.bin", content[:1000] + b"inserted" + content[1000:])
    checkout.commit("a change in it", "--date-override", "2020-03-28T13:00:00")
    checkout("close", "--force")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--check-ins", type=int, default=CHECK_INS)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="generator-home-") as home:
        try:
            build(options.file, Fossil(Path(home)), options.check_ins, options.seed)
        except (AssertionError, subprocess.SubprocessError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
