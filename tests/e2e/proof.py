#!/usr/bin/python3
"""Proves that a repository file is correct. The derived tables must equal those of `quarry rebuild`. They must also
equal those of `fossil rebuild`, except for rows that depend on the order of processing. fossil and SQLite must not find
faults.

    proof.py FILE...      prints one line per fault; exits with 0 if there are no faults

The file itself is only read. The rebuild runs on a copy. If the installed fossil does not know the format of some
artifacts, its rebuild drops their rows. These artifacts are listed, but are not faults.
"""

import difflib
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from support import places, repofile
from support.fossil import Fossil

# SQL expressions that replace the row IDs in a column with names. The names are the same in every copy of the
# repository. An ID that does not refer to a row stays unchanged: mlink.pid 0 and -1, mlink.fid and pmid 0,
# tagxref.srcid 0.
BLOB = "coalesce((SELECT uuid FROM blob WHERE blob.rid={0}), {0})"
TAG = "coalesce((SELECT tagname FROM tag WHERE tag.tagid={0}), {0})"
FILE = "coalesce((SELECT name FROM filename WHERE filename.fnid={0}), {0})"
TICKET = "coalesce((SELECT tkt_uuid FROM ticket WHERE ticket.tkt_id={0}), {0})"
PLAIN = "{0}"
LEFT_OUT = None

# Columns whose values are replaced before they are compared. Other columns are compared byte by byte. Missing tables
# are skipped.
DERIVED = {
    "event": {"objid": BLOB, "tagid": TAG},
    "mlink": {"mid": BLOB, "fid": BLOB, "pmid": BLOB, "pid": BLOB, "fnid": FILE, "pfnid": FILE},
    "plink": {"pid": BLOB, "cid": BLOB, "baseid": BLOB},
    "leaf": {"rid": BLOB},
    "filename": {"fnid": LEFT_OUT},
    "tag": {"tagid": LEFT_OUT},
    # A cluster's tag has the time at which the cluster was processed. A rebuild changes this time.
    "tagxref": {"tagid": TAG, "srcid": BLOB, "origid": BLOB, "rid": BLOB,
                "mtime": "CASE WHEN tagid=(SELECT tagid FROM tag WHERE tagname='cluster') THEN NULL ELSE {0} END"},
    "cherrypick": {"parentid": BLOB, "childid": BLOB},
    # A srctype of 2 means a wiki page, which is identified by its tag. All other sources are artifacts.
    "backlink": {"srcid": f"CASE srctype WHEN 2 THEN {TAG} ELSE {BLOB} END"},
    "attachment": {"attachid": BLOB},
    "ticket": {"tkt_id": LEFT_OUT},
    "ticketchng": {"tkt_id": TICKET, "tkt_rid": BLOB},
    "forumpost": {"fpid": BLOB, "froot": BLOB, "fprev": BLOB, "firt": BLOB},
    # A rebuild computes this sync state again.
    "phantom": {"rid": BLOB},
    "unclustered": {"rid": BLOB},
    "orphan": {"rid": BLOB, "baseline": BLOB},
    # A rebuild must not change this primary data.
    "private": {"rid": BLOB},
}


SSH_SIGNED = b"-----BEGIN SSH SIGNED MESSAGE-----"


def dump(path: Path) -> list[str]:
    """Returns every row of every derived table as one line, sorted within its table."""
    lines = []
    with repofile.database(path) as connection:
        tables = {name for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")}
        for table, special in DERIVED.items():
            if table not in tables:
                continue
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            # A project's own ticket tables can have columns that refer to the change that set a field.
            special = {name: BLOB for name in columns if name.startswith("baseline for ")} | special
            shown = [name for name in columns if special.get(name, PLAIN) is not LEFT_OUT]
            expressions = ", ".join(special.get(name, PLAIN).format(f'{table}."{name}"') for name in shown)
            rows = connection.execute(f"SELECT {expressions} FROM {table}").fetchall()
            lines += sorted(f"{table}: " + ", ".join(f"{name}={field!r}" for name, field in zip(shown, row))
                            for row in rows)
    return lines


def differences(ours: list[str], rebuilt: list[str], limit: int = 60) -> list[str]:
    """Returns the rows that exist on only one side, sorted by similarity."""
    # Sorting places similar rows next to each other. difflib is too slow for large dumps.
    only_ours, only_rebuilt = set(ours) - set(rebuilt), set(rebuilt) - set(ours)
    if not only_ours and not only_rebuilt:
        # Both sides have the same rows, but some rows occur a different number of times.
        return [] if ours == rebuilt else [line for line in difflib.unified_diff(ours, rebuilt, "file", "rebuilt", n=0)][:limit]
    lonely = [(line, "- in the file:  ") for line in only_ours] + [(line, "+ after rebuild: ") for line in only_rebuilt]
    shown = [mark + line for line, mark in sorted(lonely)]
    if len(shown) > limit:
        shown = shown[:limit] + [f"… {len(shown) - limit} more rows differ"]
    return shown


def unknown_to_fossil(path: Path, fossil: Fossil) -> set[str]:
    """Returns the artifacts whose format the installed fossil does not know. Before 2.26, these are the artifacts with
    an SSH signature."""
    version = re.search(r"version (\d+)\.(\d+)", fossil("version"))
    if (int(version[1]), int(version[2])) >= (2, 26):
        return set()
    return {name for name, content in repofile.contents(path).items() if content.startswith(SSH_SIGNED)}


def differences_from_fossil(ours: list[str], theirs: Path, unknown: Collection[str] = ()) -> list[str]:
    """Returns the rows of THEIRS, made by `fossil rebuild`, that differ from OURS in more than the order of processing.
    `quarry verify` checks whether only the order differs. Ignores rows about the artifacts UNKNOWN, which fossil does
    not know. If there are such artifacts, also ignores the tables in which they affect other rows."""
    rebuilt = dump(theirs)
    if unknown:
        def compared(lines: list[str]) -> list[str]:
            return [line for line in lines if not line.startswith(("leaf: ", "filename: ", "tag: "))
                    and not any(name in line for name in unknown)]
        return differences(compared(ours), compared(rebuilt))
    wrong = differences(ours, rebuilt)
    if not wrong:
        return []
    done = subprocess.run([places.program("quarry"), "verify", theirs], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return [*wrong, *done.stdout.splitlines()]
    dependent = {line.partition(":")[0] for line in done.stdout.splitlines()}
    return wrong if {line.partition(":")[0] for line in set(ours) ^ set(rebuilt)} - dependent else []


def findings(path: Path, fossil: Fossil | None = None) -> list[str]:
    """Returns the faults of the repository at PATH, one line each."""
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        fossil = fossil or Fossil(Path(folder) / "home")
        copy = repofile.copy(path, Path(folder) / "copy.fossil")
        wrong = [f"integrity_check: {row[0]}" for row in repofile.query(copy, "PRAGMA integrity_check") if row[0] != "ok"]
        complaint = fossil.integrity(copy)
        if complaint:
            wrong.append(f"fossil test-integrity: {complaint}")
        before = dump(copy)
        ours = repofile.copy(copy, Path(folder) / "ours.fossil")
        unknown = unknown_to_fossil(copy, fossil)
        fossil("rebuild", copy)
        wrong += differences_from_fossil(before, copy, unknown)
        done = subprocess.run([places.program("quarry"), "rebuild", "--quiet", ours], env=fossil.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return [*wrong, f"quarry rebuild: {done.stderr}"]
        return wrong + [f"quarry rebuild: {line}" for line in differences(before, dump(ours))]


def check(path: Path, fossil: Fossil | None = None) -> None:
    wrong = findings(path, fossil)
    assert not wrong, f"{path.name} is not what a rebuild makes of it:\n" + "\n".join(wrong)


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for name in arguments:
        wrong = findings(Path(name))
        print(*(wrong or [f"{name}: right"]), sep="\n")
        with tempfile.TemporaryDirectory(prefix="proof-") as home:
            for artifact in sorted(unknown_to_fossil(Path(name), Fossil(Path(home)))):
                print(f"{name}: the installed fossil does not know the format of {artifact}")
        status = 1 if wrong else status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
