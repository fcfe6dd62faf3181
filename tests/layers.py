#!/usr/bin/python3
"""Checks who includes whom: the modules' layers, and the libraries that one module alone may know.

A module is a folder in src/ and one in include/quarry/. It may include its own headers and those of
the modules in its row of LAYERS. Prints what breaks this, and exits with 1 if anything does.
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]

LAYERS: dict[str, set[str]] = {
    "app": {"master", "gateway", "worker", "backoffice", "changes", "courier", "spool", "sync", "repository",
            "artifact", "event", "control", "scoreboard", "base"},
    "master": {"control", "scoreboard", "base"},
    "gateway": {"control", "scoreboard", "base"},
    "worker": {"sync", "changes", "repository", "event", "control", "scoreboard", "base"},
    "backoffice": {"sync", "courier", "repository", "event", "control", "scoreboard", "base"},
    "changes": {"repository", "artifact", "event", "control", "scoreboard", "base"},
    "courier": {"spool", "event", "control", "scoreboard", "base"},
    "spool": {"base"},
    "sync": {"repository", "artifact", "base"},
    "repository": {"artifact", "base"},
    "artifact": {"base"},
    "event": {"base"},
    "control": {"base"},
    "scoreboard": {"base"},
    "base": set(),
}

# Header (as a pattern) -> the module that may include it, and in how many files.
LIBRARIES: dict[str, tuple[str, int | None]] = {
    r"sqlite3(ext)?\.h": ("repository", None),
    r"fcgi(app|_stdio|_config|os|misc|o)?\.h(pp)?": ("worker", 1),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources() -> list[tuple[str, Path]]:
    """Every source and header with its module."""
    found = []
    for base in (TOP / "src", TOP / "include" / "quarry"):
        for path in sorted(base.rglob("*")):
            if path.suffix in (".cc", ".h"):
                found.append((path.relative_to(base).parts[0], path))
    return found


def breaches_of(module: str, path: Path, included: list[tuple[str, str]]) -> list[str]:
    name = path.relative_to(TOP)
    found = []
    for quote, header in included:
        parts = header.split("/")
        if parts[0] == "quarry":
            other = parts[1]
            if other != module and other not in LAYERS[module]:
                found.append(f"{name}: {module} may not include {other} ({header})")
        elif quote == '"' and not (path.parent / header).exists() and not (TOP / "src" / module / header).exists():
            found.append(f"{name}: \"{header}\" is no header of {module}")
        for pattern, (owner, _) in LIBRARIES.items():
            if re.fullmatch(pattern, header) and module != owner:
                found.append(f"{name}: {header} is for {owner} alone")
    return found


def main() -> int:
    breaches = []
    users: dict[str, set[Path]] = {}
    for module, path in sources():
        if module not in LAYERS:
            breaches.append(f"{path.relative_to(TOP)}: {module} is no module of the architecture")
            continue
        included = INCLUDE.findall(path.read_text(encoding="utf-8"))
        breaches += breaches_of(module, path, included)
        for _, header in included:
            for pattern in LIBRARIES:
                if re.fullmatch(pattern, header):
                    users.setdefault(pattern, set()).add(path)
    for pattern, (owner, limit) in LIBRARIES.items():
        files = users.get(pattern, set())
        if limit is not None and len(files) > limit:
            names = ", ".join(str(path.relative_to(TOP)) for path in sorted(files))
            breaches.append(f"{pattern}: {owner} may include it in {limit} file only, not in {names}")
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
