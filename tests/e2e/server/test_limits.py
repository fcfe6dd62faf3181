"""Limits of pools and of the sync protocol. The limits of the HTTP front are tested in tests/unit/gateway."""

import os

import pytest

from support import fastcgi, repofile, wire
from support.daemon import processor_seconds, user


@pytest.mark.parametrize("size, kept", [(1, 1), (2, 2), (8, 3)])
def test_repository_cache(start, fresh, fossil, tmp_path, size, kept):
    """A worker keeps the most recently used repositories open."""
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("one", "two", "three"):
        repofile.copy(fresh, folder / f"{name}.fossil")
    server = start({"repositories": folder, "repository": None, "repository.cache": size})
    for name in ("one", "two", "three"):
        assert b"A Fossil repository" in fastcgi.get(server.socket, f"/{name}")
    open_files = {os.readlink(f"/proc/{server.child()}/fd/{fd}") for fd in os.listdir(f"/proc/{server.child()}/fd")}
    names = [name for name in ("one", "two", "three") if f"{folder}/{name}.fossil" in open_files]
    assert names == ["one", "two", "three"][3 - kept:]


def test_content_cache(start, generated):
    """Cached content saves processor time, because it is not computed from deltas again."""
    repofile.add_user(generated, "hand", "written", "gio")
    code = repofile.project_code(generated)
    names = [name for name, in repofile.query(generated, "SELECT uuid FROM event JOIN blob ON rid=objid WHERE type='ci'"
                                                         " ORDER BY rid LIMIT 200")]
    spent = {}
    for size in ("1", "64M"):
        server = start({"repository.content_cache": size}, repository=generated, http=user())
        peer = wire.Peer(server.port, project_code=code)
        for _ in range(5):
            assert len(peer.pull(*[f"gimme {name}" for name in names]).names("file")) == len(names)
        spent[size] = processor_seconds(server.child())
    assert spent["1"] > 2 * spent["64M"], spent
