"""Compares the repository files of several hosts."""

from pathlib import Path

from . import repofile

#: Rows that belong to a host, or that describe the file itself.
LOCAL_SETTINGS = ("quarry-%", "baseurl:%", "cfgcnt", "server-code", "captcha-secret", "rebuilt", "last-sync%", "peer-%",
                  "backoffice%", "hook-%", "cache%", "localauth", "content-schema", "aux-schema", "admin-log", "access-log",
                  "project-code", "hash-policy")
TABLES = {
    "artifact": "SELECT uuid FROM blob WHERE size>=0",
    "user": "SELECT login, pw, cap, info, photo FROM user",
    "setting": "SELECT name, value FROM config WHERE " + " AND ".join(f"name NOT LIKE '{each}'" for each in LOCAL_SETTINGS),
    "unversioned": "SELECT name, hash, sz FROM unversioned WHERE hash IS NOT NULL",
    "report": "SELECT title, owner, cols, sqlcode FROM reportfmt",
    "concealed": "SELECT hash, content FROM concealed",
    "shun": "SELECT uuid FROM shun",
    "private": "SELECT uuid FROM private JOIN blob USING(rid)",
    "wiki": "SELECT substr(tagname, 6) FROM tag JOIN tagxref USING(tagid) WHERE tagname GLOB 'wiki-*' GROUP BY 1",
}


def rows(path: Path) -> set[tuple]:
    """Returns all compared rows, each with the name of its table first."""
    existing = {name for name, in repofile.query(path, "SELECT name FROM sqlite_schema")}
    return {(table, *row) for table, sql in TABLES.items() if table != "unversioned" or table in existing
            for row in repofile.query(path, sql)}


def first_difference(paths: list[Path]) -> str:
    """Returns a description of the first row that only some of the files have, or an empty string."""
    found = [rows(path) for path in paths]
    different = sorted(set.union(*found) - set.intersection(*found), key=repr)
    if not different:
        return ""
    having = [path.parent.name for path, each in zip(paths, found) if different[0] in each]
    return f"{len(different)} rows differ; only {' and '.join(having)}: {different[0]}"
