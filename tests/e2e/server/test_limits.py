"""What limits of pools and of the sync protocol do, seen from outside. Those of the HTTP front are in tests/unit/gateway."""

import os
from pathlib import Path

import pytest

from support import fastcgi, process, repofile, wire
from support.daemon import user
from support.process import wait_until


# --- pools ---------------------------------------------------------------------------------------------


def started_at(pid: int) -> float:
    """Seconds since the machine came up."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def test_max_spawn_rate(start):
    """One a second, where two, four and more would come by default."""
    server = start({"pm": "dynamic", "pm.max_children": 9, "pm.start_servers": 4, "pm.min_spare_servers": 4,
                    "pm.max_spare_servers": 5, "pm.max_spawn_rate": 1})
    wait_until(lambda: len(server.children()) == 4, "start_servers")
    held = [fastcgi.hold(server.socket) for _ in range(4)]
    wait_until(lambda: len(server.children()) == 8, "four in reserve")
    later = sorted(started_at(pid) for pid in server.children())[4:]
    assert all(after - before > 0.5 for before, after in zip(later, later[1:]))
    for each in held:
        each.close()


@pytest.mark.parametrize("size, kept", [(1, 1), (2, 2), (8, 3)])
def test_repository_cache(start, fresh, fossil, tmp_path, size, kept):
    """A worker has so many repositories open, those that were asked for last."""
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
    """What is remembered is not put together again from its deltas: that takes the worker less time."""
    repofile.add_user(generated, "hand", "written", "gio")
    code = repofile.project_code(generated)
    names = [name for name, in repofile.query(generated, "SELECT uuid FROM event JOIN blob ON rid=objid WHERE type='ci'"
                                                         " ORDER BY rid LIMIT 200")]
    spent = {}
    for size in ("1", "64M"):
        port = process.free_port()
        server = start({"repository.content_cache": size}, repository=generated,
                       http={"listen": f"127.0.0.1:{port}", **user()})
        peer = wire.Peer(port, project_code=code)
        for _ in range(5):
            assert len(peer.pull(*[f"gimme {name}" for name in names]).names("file")) == len(names)
        spent[size] = int(Path(f"/proc/{server.child()}/schedstat").read_text().split()[0])
    assert spent["1"] > 2 * spent["64M"], spent


# --- the sync protocol ---------------------------------------------------------------------------------


def test_max_gimme(launch, fresh, peer_of):
    peer = peer_of(launch(fresh, settings={"sync.max_gimme": "3"}))
    answer = peer.push(*[f"igot {number:064x}" for number in range(1, 11)])
    assert len(answer.of("gimme")) == 3


@pytest.mark.parametrize("switch", ["yes", "no"])
def test_refuse_own_server_code(launch, fresh, peer_of, switch):
    """A client that is this very repository: the old protocol refused it."""
    own = repofile.value(fresh, "SELECT value FROM config WHERE name='server-code'")
    peer = peer_of(launch(fresh, settings={"sync.refuse_own_server_code": switch}))
    answer = peer.ask(f"pull {own} {peer.project_code}\n")
    assert bool(answer.errors()) == (switch == "yes")


@pytest.mark.parametrize("switch", ["yes", "no"])
def test_single_login(launch, fresh, peer_of, switch):
    peer = peer_of(launch(fresh, settings={"sync.single_login": switch}))
    cards = wire.body(f"pull {wire.SERVER_CODE} {peer.project_code}")
    twice = wire.signed(wire.signed(cards, peer.login, peer.secret), peer.login, peer.secret)
    answer = peer.post(twice)
    assert bool(answer.errors()) == (switch == "yes")
