"""Paths of the built programs, the sample configuration and the optional corpus. Also creates scripts for tests."""

import functools
import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]


def build_directory() -> Path:
    """Returns $QUARRY_BUILD, or build/ at the top of the project."""
    return Path(os.environ.get("QUARRY_BUILD", TOP / "build")).resolve()


def is_open_to_others() -> bool:
    """Returns whether other users can enter the build folder, and so run the programs in it. They cannot if it is, for
    example, in root's home."""
    build = build_directory()
    return all(folder.stat().st_mode & 0o001 for folder in (build, *build.parents))


def program(name: str) -> Path:
    """Returns the path of one of our programs. Fails if the program does not exist. If all tests were skipped instead,
    nobody would notice the error."""
    path = build_directory() / "src" / "app" / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not built (set $QUARRY_BUILD to the build directory)")
    return path


def log_guard() -> Path:
    """Returns the library that Quarry preloads into the `fossil` processes that it starts."""
    path = build_directory() / "src" / "repository" / "libquarry-log-guard.so"
    assert path.exists(), f"{path} is not built"
    return path


def nginx_sample() -> Path:
    return TOP / "conf" / "nginx" / "quarry.conf"


def apache_sample() -> Path:
    return TOP / "conf" / "apache" / "quarry.conf"


def corpus(name: str) -> Path | None:
    """Returns a file of the optional corpus, which is in $QUARRY_CORPUS or ../shared/data."""
    folder = Path(os.environ.get("QUARRY_CORPUS", TOP.parent / "shared" / "data"))
    path = folder if folder.name == name else folder / name
    return path if path.exists() else None


def executable(path: Path, text: str) -> Path:
    """Makes PATH a program with TEXT, such as a script."""
    path.write_text(text)
    path.chmod(0o755)
    return path


@functools.cache
def is_sanitized() -> bool:
    """Returns whether quarryd was built with AddressSanitizer. Measured memory usage is then meaningless."""
    libraries = subprocess.run(["ldd", program("quarryd")], capture_output=True, text=True, check=False)
    return "libasan" in libraries.stdout or b"__asan_init" in program("quarryd").read_bytes()
