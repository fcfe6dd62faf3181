#!/usr/bin/python3
"""Checks which modules, rooms and libraries the sources include.

A module is a folder in src/ and a folder in include/quarry/. A module can include its own headers and the headers of
the modules in its row of LAYERS. The folders of a large module are called rooms. ROOMS lists the includes that are
allowed between rooms. Circular includes are not allowed. The script prints violations, and exits with 1 if it finds
any.
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]

LAYERS: dict[str, set[str]] = {
    "app": {"master", "gateway", "worker", "backoffice", "pages", "changes", "courier", "spool", "transport",
            "replica", "sync", "repository", "artifact", "event", "http", "control", "scoreboard", "base"},
    "master": {"control", "scoreboard", "base"},
    "gateway": {"http", "control", "scoreboard", "base"},
    "worker": {"pages", "sync", "changes", "repository", "event", "http", "control", "scoreboard", "base"},
    "backoffice": {"transport", "sync", "courier", "spool", "repository", "event", "control", "scoreboard", "base"},
    "pages": {"repository", "http", "scoreboard", "base"},
    "changes": {"repository", "artifact", "event", "control", "scoreboard", "base"},
    "courier": {"spool", "event", "control", "scoreboard", "base"},
    "spool": {"base"},
    "replica": {"sync", "repository", "artifact", "control", "base"},
    "transport": {"sync", "http", "repository", "artifact", "base"},
    "sync": {"repository", "artifact", "http", "base"},
    "repository": {"artifact", "base"},
    "artifact": {"base"},
    "event": {"base"},
    "http": {"base"},
    "control": {"base"},
    "scoreboard": {"base"},
    "base": set(),
}

# Maps each room of a module to the rooms whose headers it can include. To prevent circular includes, a row can name
# only rooms of earlier rows. "" is the module's own folder, and a nested room is named by its path. Modules without
# rooms are not in this table. A room includes its own headers by their names alone.
ROOMS: dict[str, dict[str, set[str]]] = {
    "repository": {
        "store": set(),
        "markup": set(),
        "place": set(),
        "tickets": {"store"},
        "derived/ancestry": {"store"},
        "derived/common": {"store", "derived/ancestry"},
        "derived/checkins": {"derived/common"},
        "derived/tags": {"derived/common", "derived/ancestry", "derived/checkins"},
        "derived/documents": {"store", "markup", "tickets", "derived/common", "derived/checkins", "derived/tags"},
        "derived/timeline": {"store", "markup", "derived/common", "derived/ancestry", "derived/checkins"},
        "derived": {"store", "markup", "tickets", "derived/ancestry", "derived/common", "derived/checkins", "derived/tags",
                    "derived/documents", "derived/timeline"},
        "": {"store", "tickets", "derived", "derived/common"},
        "history": {"", "store", "derived/ancestry"},
        "receipt": {"", "store", "history"},
        "config": {"", "store", "receipt"},
        "alerts": {"", "store"},
        "compaction": {"", "store"},
        "replica": {"", "store"},
    },
    "backoffice": {"alerts": set(), "peers": set(), "": {"alerts", "peers"}},
    "sync": {"cards": set(), "server": {"cards"}, "client": {"cards"}, "replication": {"cards"}},
    "worker": {"fastcgi": set(), "queue": set(), "site": {"fastcgi"}, "": {"fastcgi", "site"}},
    "master": {"config": set(), "child": set(), "pool": {"child"}, "job": {"pool"},
               "reload": {"child", "pool"}, "": {"job", "pool", "reload"}},
    "app": {"": set(), "quarryd": {""}, "quarry-courier": {""}, "quarry-changes": {""}, "quarry-replica": {""}, "quarry/common": set(),
            "quarry/remote": {"quarry/common"},
            "quarry/spool": {"quarry/common"}, "quarry/status": {"quarry/common"},
            "quarry/peer": {"", "quarryd", "quarry/common", "quarry/remote", "quarry/status"},
            "quarry/courier": {"", "quarry/common", "quarry/status"},
            "quarry/changes": {"quarry/common", "quarry/remote"},
            "quarry": {"", "quarry/changes", "quarry/common", "quarry/courier", "quarry/peer", "quarry/remote",
                       "quarry/spool", "quarry/status", "quarryd"}},
    "pages": {"own": set(), "request": set(), "cache": {"request"}, "connection": {"request", "cache"}, "fossil": {"request", "cache"},
              "login": {"request"}, "": {"request", "cache", "connection", "fossil", "login"}},
    "courier": {"transfer": set(), "senders": {"transfer"}, "logs": {"transfer"}, "": {"senders", "transfer"}},
    "changes": {"": set(), "submission": {""}, "tarball": {""}, "gate": {""}, "daemons": {""}, "landing": {""}, "executor": {""}},
    "spool": {"": set(), "segments": {""}, "queue": {"", "segments"}, "stream": {"", "segments"}},
}

# Maps a header pattern to the only modules that can include such headers, and to the maximum number of files that
# include them.
LIBRARIES: dict[str, tuple[str, int | None]] = {
    r"sqlite3(ext)?\.h": ("repository", None),
    r"git2(/.*)?\.h": ("changes", 1),
    r"kainjow/mustache\.hpp": ("pages or courier", 2),
    r"fastcgi\.h": ("http", 1),
    r"nats/nats\.h": ("replica", 1),
    r"gmime/gmime\.h": ("courier", 1),
    r"archive(_entry)?\.h": ("changes", 3),
    r"fcgi(app|_stdio|_config|os|misc|o)?\.h(pp)?": ("worker", 1),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources() -> list[tuple[str, Path]]:
    found = []
    for base in (TOP / "src", TOP / "include" / "quarry"):
        for path in sorted(base.rglob("*")):
            if path.suffix in (".cc", ".h"):
                found.append((path.relative_to(base).parts[0], path))
    return found


def room_of(module: str, path: Path) -> str:
    """Returns the room of MODULE that contains PATH."""
    room = path.parent.relative_to(TOP / "src" / module).as_posix()
    return "" if room == "." else room


def header_of(module: str, path: Path, quote: str, header: str) -> Path | None:
    """Returns the file of HEADER, which PATH in MODULE includes. Returns None if HEADER is not one of ours."""
    if header.startswith("quarry/"):
        return TOP / "include" / header
    folders = [folder for folder in path.parents if TOP / "src" / module in (folder, *folder.parents)]
    candidates = (folder / header for folder in folders) if quote == '"' else ()
    return next((found for found in candidates if found.exists()), None)


def breach_of_rooms(module: str, path: Path, header: str, found: Path) -> str | None:
    """Returns the rule that PATH breaks by including HEADER, or None if the include is allowed. FOUND is the file of
    HEADER in src/."""
    if path.parent == found.parent:
        return f"\"{header}\" is a header of the same room" if "/" in header else None
    room, other = room_of(module, path), room_of(module, found)
    if other in ROOMS.get(module, {}).get(room, set()):
        return None
    return f"{room or module} may not include {other or 'what makes up ' + module} ({header})"


def breaches_of(module: str, path: Path, included: list[tuple[str, str]]) -> list[str]:
    name = path.relative_to(TOP)
    found = []
    if (TOP / "src") in path.parents and room_of(module, path) not in {*ROOMS.get(module, {}), ""}:
        found.append(f"{name}: {room_of(module, path)} is not a room of {module}")
    for quote, header in included:
        parts = header.split("/")
        if parts[0] == "quarry":
            other = parts[1]
            if other != module and other not in LAYERS[module]:
                found.append(f"{name}: {module} may not include {other} ({header})")
        elif quote == '"':
            file = header_of(module, path, quote, header)
            if file is None:
                found.append(f"{name}: \"{header}\" is not a header of {module}")
            elif breach := breach_of_rooms(module, path, header, file):
                found.append(f"{name}: {breach}")
        for pattern, (owner, _) in LIBRARIES.items():
            if re.fullmatch(pattern, header) and module not in owner.split(" or "):
                found.append(f"{name}: {header} is for {owner} alone")
    return found


def circles(includes: dict[Path, list[Path]]) -> list[str]:
    """Returns the headers that include themselves, directly or indirectly."""
    found: list[str] = []
    done: set[Path] = set()

    def visit(path: Path, trail: list[Path]) -> None:
        if path in trail:
            names = [str(each.relative_to(TOP)) for each in [*trail[trail.index(path):], path]]
            found.append("a circle: " + " includes ".join(names))
        elif path not in done:
            for other in includes.get(path, []):
                visit(other, [*trail, path])
            done.add(path)

    for path in includes:
        visit(path, [])
    return found


def rooms_above_themselves() -> list[str]:
    """Returns the rows of ROOMS that name a room of a later row."""
    found = []
    for module, rooms in ROOMS.items():
        names = list(rooms)
        for place, (room, others) in enumerate(rooms.items()):
            found += [f"tests/layers.py: {module}: {room} names {other}, which is not before it"
                      for other in others if other not in names[:place]]
    return found


def main() -> int:
    breaches = rooms_above_themselves()
    users: dict[str, set[Path]] = {}
    includes: dict[Path, list[Path]] = {}
    for module, path in sources():
        if module not in LAYERS:
            breaches.append(f"{path.relative_to(TOP)}: {module} is not a module of the architecture")
            continue
        included = INCLUDE.findall(path.read_text(encoding="utf-8"))
        breaches += breaches_of(module, path, included)
        headers = (header_of(module, path, quote, header) for quote, header in included)
        includes[path] = [header for header in headers if header is not None]
        for _, header in included:
            for pattern in LIBRARIES:
                if re.fullmatch(pattern, header):
                    users.setdefault(pattern, set()).add(path)
    for pattern, (owner, limit) in LIBRARIES.items():
        files = users.get(pattern, set())
        if limit is not None and len(files) > limit:
            names = ", ".join(str(path.relative_to(TOP)) for path in sorted(files))
            breaches.append(f"{pattern}: {owner} may include it in at most {limit} files, not in {names}")
    breaches += circles(includes)
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
