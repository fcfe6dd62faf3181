"""Reads and changes repository files through SQLite."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from . import delta, wire


@contextlib.contextmanager
def as_owner(path: Path) -> Iterator[None]:
    """Makes PATH's owner the effective user of this process, if it runs as root. If root opened the database, SQLite would
    create the -shm file as root and then change its owner. Between these two steps, the server could not open the file."""
    is_root = os.geteuid() == 0 and path.exists()
    if is_root:
        owner = path.stat()
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
            os.setegid(0)


@contextlib.contextmanager
def database(path: Path, write: bool = False) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode={'rw' if write else 'ro'}", uri=True, timeout=60)) as connection:
        yield connection
        if write:
            connection.commit()


def query(path: Path, sql: str, *values: object) -> list[tuple]:
    with as_owner(path), database(path) as connection:
        return connection.execute(sql, values).fetchall()


def value(path: Path, sql: str, *values: object) -> object:
    rows = query(path, sql, *values)
    return rows[0][0] if rows else None


def execute(path: Path, sql: str, *values: object) -> None:
    with as_owner(path), database(path, write=True) as connection:
        connection.execute(sql, values)


def copy(source: Path, target: Path) -> Path:
    """Copies a repository with its write-ahead log. TARGET must not exist."""
    assert not target.exists()
    with database(source) as connection, contextlib.closing(sqlite3.connect(target)) as into:
        connection.backup(into)
    return target


def project_code(path: Path) -> str:
    return str(value(path, "SELECT value FROM config WHERE name='project-code'"))


def artifacts(path: Path) -> set[str]:
    """Returns the names of all artifacts except phantoms."""
    return {name for name, in query(path, "SELECT uuid FROM blob WHERE size>=0")}


def public_artifacts(path: Path) -> set[str]:
    return {name for name, in query(path, "SELECT uuid FROM blob WHERE size>=0 AND rid NOT IN private"
                                          " AND uuid NOT IN (SELECT uuid FROM shun)")}


def phantoms(path: Path) -> set[str]:
    return {name for name, in query(path, "SELECT uuid FROM phantom JOIN blob USING(rid)")}


def clusters(path: Path) -> set[str]:
    return {name for name, in query(path, "SELECT uuid FROM tagxref JOIN blob ON blob.rid=tagxref.srcid"
                                          " WHERE tagid=(SELECT tagid FROM tag WHERE tagname='cluster')")}


def contents(path: Path) -> dict[str, bytes]:
    """Returns the bytes of every artifact by name, except for deltas on phantoms. Artifacts are expanded from the stored rows
    without another program."""
    sources = dict(query(path, "SELECT rid, srcid FROM delta"))
    stored = {rid: (name, content) for rid, name, content in
              query(path, "SELECT rid, uuid, content FROM blob WHERE size>=0")}
    done: dict[int, bytes] = {}
    for rid in stored:
        chain = [rid]
        while chain[-1] in sources and chain[-1] not in done:
            chain.append(sources[chain[-1]])
        if chain[-1] not in stored:
            continue
        for link in reversed(chain):
            if link not in done:
                payload = wire.decompress(stored[link][1])
                done[link] = delta.apply(done[sources[link]], payload) if link in sources else payload
    return {stored[rid][0]: content for rid, content in done.items()}


def everything(path: Path) -> list[str]:
    """Returns the whole file as SQL text, except the base URLs that `fossil server` stores."""
    with database(path) as connection:
        return [line for line in connection.iterdump() if "VALUES('baseurl:" not in line]


@contextlib.contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Checks that the block does not change the file."""
    before = everything(path)
    yield
    after = everything(path)
    if before != after:
        raise AssertionError("the repository was changed:\n" + "\n".join(
            [f"- {line[:300]}" for line in before if line not in after] +
            [f"+ {line[:300]}" for line in after if line not in before]))


def add_user(path: Path, login: str, password: str, capabilities: str) -> str:
    """Adds or replaces a user. Returns the secret that signs the user's logins."""
    secret = wire.shared_secret(project_code(path), login, password)
    with database(path, write=True) as connection:
        connection.execute("DELETE FROM user WHERE login=?", (login,))
        connection.execute("INSERT INTO user(login,pw,cap,info,mtime) VALUES(?,?,?,'',0)", (login, secret, capabilities))
    return secret


def set_capabilities(path: Path, login: str, capabilities: str) -> None:
    execute(path, "UPDATE user SET cap=? WHERE login=?", capabilities, login)


def set_config(path: Path, name: str, text: object) -> None:
    execute(path, "REPLACE INTO config(name,value,mtime) VALUES(?,?,0)", name, text)


def mark_all_unsent(path: Path) -> None:
    """Makes the next push send every artifact, even if the server has not requested it."""
    execute(path, "INSERT OR IGNORE INTO unsent SELECT rid FROM blob WHERE size>=0 AND rid NOT IN private")


def shun(path: Path, name: str) -> None:
    execute(path, "INSERT OR IGNORE INTO shun(uuid,mtime) VALUES(?,0)", name)


#: Tables with rows about artifacts. These tables are empty in an empty repository.
ARTIFACT_TABLES = ("blob", "delta", "rcvfrom", "private", "event", "mlink", "plink", "leaf", "filename", "tagxref",
                   "cherrypick", "backlink", "attachment", "ticket", "ticketchng", "phantom", "unclustered", "orphan",
                   "unsent")


def make_empty(path: Path, code: str) -> None:
    """Removes all artifacts from a new repository, and makes it a repository of the project CODE."""
    with database(path, write=True) as connection:
        for table in ARTIFACT_TABLES:
            connection.execute(f"DELETE FROM {table}")
        # Every repository has the first eleven tags. The other tags belong to artifacts.
        connection.execute("DELETE FROM tag WHERE tagid>11")
        connection.execute("UPDATE config SET value=? WHERE name='project-code'", (code,))
