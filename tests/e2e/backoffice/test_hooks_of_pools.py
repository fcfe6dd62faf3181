"""Pools with different users share one courier. The hooks of each pool run as the user of that pool."""

import json
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import documents, fastcgi, places, repofile, wire
from support.courier import event
from support.daemon import section
from support.process import Process, wait_until
from support.program import quarry, quarryd, succeeds

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not places.is_open_to_others(),
                                reason="needs root, and a build folder that other users can enter")

USERS = {"one": pwd.getpwnam("nobody"), "two": pwd.getpwnam("daemon")}
STRANGER = pwd.getpwnam("games")


def identity(user: pwd.struct_passwd) -> dict[str, object]:
    """Returns the arguments of subprocess.run() that run a program as USER."""
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "timeout": 60, "capture_output": True,
            "check": False}


def may_connect(path: str, user: pwd.struct_passwd) -> bool:
    code = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    return subprocess.run([sys.executable, "-c", code], **identity(user)).returncode == 0


class Pools:
    """A server with two pools that run as different users. The repository of each pool has a hook that writes the name
    of the hook's user to the file `ran`. The courier's files are in the folder of the first pool."""

    def __init__(self, folder: Path, fossil):
        self.folder = folder
        self.config = folder / "quarryd.conf"
        self.socket = f"{folder}/courier.sock"
        self.hooks = folder / "one" / "spool.hooks"
        self.main: Process | None = None
        self.secrets = {}
        for name, user in USERS.items():
            home = folder / name
            home.mkdir()
            path = fossil.new(self.repository(name))
            fossil("hook", "add", "--command", f"id -un >> {home}/ran", "--type", "after-receive", "-R", path)
            self.secrets[name] = repofile.add_user(path, "hand", "written", "giox")
            for each in (home, path):
                os.chown(each, user.pw_uid, user.pw_gid)

    def repository(self, name: str) -> Path:
        return self.folder / name / f"{name}.fossil"

    def write(self, *names: str, **courier: object) -> Path:
        """Writes the configuration with the pools NAMES, and returns its path."""
        text = section("global", {"error_log": self.folder / "error.log"})
        for name in names or USERS:
            text += section(name, {"listen": self.folder / f"{name}.sock", "repository": self.repository(name),
                                   "user": USERS[name].pw_name, "pm": "static", "pm.max_children": 1,
                                   "backoffice.lease_time": "1s"})
        text += section("courier", {"socket": self.socket, "spool.directory": self.folder / "one" / "spool"} | courier)
        text += section("destination all", {"type": "file", "path": self.folder / "one" / "events"})
        self.config.write_text(text)
        return self.config

    def test(self) -> subprocess.CompletedProcess[str]:
        return quarryd("--config", self.config, "--test")

    def log(self) -> str:
        path = self.folder / "error.log"
        return path.read_text() if path.exists() else ""

    def start(self, *names: str) -> None:
        self.main = Process([places.program("quarryd"), "--config", self.write(*names)], self.folder / "output")
        self.wait_until_ready(1)

    def reload(self) -> None:
        count = self.log().count("ready: process")
        self.main.send(signal.SIGUSR2)
        self.wait_until_ready(count + 1)

    def wait_until_ready(self, count: int) -> None:
        wait_until(lambda: self.log().count("ready: process") >= count or not self.main.is_running(), "quarryd")
        assert self.main.is_running(), self.main.output() + self.log()

    def events(self) -> str:
        path = self.folder / "one" / "events"
        return path.read_text() if path.exists() else ""

    def push(self, name: str) -> str:
        """Pushes a page; returns its hash."""
        page = documents.wiki_page(f"Page-{name}", "2026-01-02T00:00:00", "text")
        cards = wire.signed(wire.body(f"push {'0' * 40} {repofile.project_code(self.repository(name))}",
                                      wire.file_card(page)), "hand", self.secrets[name])
        held = fastcgi.hold(self.folder / f"{name}.sock", "/xfer", len(cards))
        assert b"\nerror " not in held.finish(cards)
        held.close()
        return wire.sha3(page)


@pytest.fixture
def pools(open_folder: Path, fossil) -> Iterator[Pools]:
    made = Pools(open_folder, fossil)
    yield made
    if made.main:
        made.main.stop()


def test_hooks_run_as_the_user_of_their_pool(pools: Pools):
    pools.start()
    told = "SELECT 1 FROM config WHERE name='quarry-told'"
    for name, user in USERS.items():
        wait_until(lambda name=name: repofile.value(pools.repository(name), told), f"a run in {name}")
        pushed = pools.push(name)
        wait_until(lambda pushed=pushed: pushed in pools.events(), f"the event of {name}")
        ran = pools.folder / name / "ran"
        wait_until(lambda ran=ran: ran.exists() and ran.read_text(), f"the hook of {name}")
        assert set(ran.read_text().split()) == {user.pw_name}
    output = succeeds("courier", "status", "--json", "--config", pools.config)
    assert {each["name"]: each["type"] for each in json.loads(output)["destinations"]} \
        == {"all": "file", "hooks one": "hooks", "hooks two": "hooks"}


def test_root_forgets_the_hooks_of_a_removed_pool(pools: Pools):
    pools.start()
    wait_until(lambda: "[hooks two] ready" in pools.log(), "the courier of the hooks")
    pools.write("one")
    pools.reload()
    wait_until(lambda: quarry("courier", "forget", "hooks two", "--config", pools.config).returncode == 0,
               "the courier of the removed pool to exit")
    done = quarry("courier", "status", "--config", pools.config)
    assert "hooks one" in done.stdout and "hooks two" not in done.stdout


def test_only_users_of_pools_connect_and_to_their_own_hooks_alone(pools: Pools):
    pools.start()
    for name, user in USERS.items():
        assert may_connect(pools.socket, user)
        for other, others in USERS.items():
            assert may_connect(f"{pools.socket}.hooks.{name}", others) == (name == other)
        held = pools.hooks / name
        assert held.owner() == user.pw_name and held.stat().st_mode & 0o777 == 0o700
    assert not may_connect(pools.socket, STRANGER) and not may_connect(f"{pools.socket}.hooks.one", STRANGER)


def test_a_hook_that_another_pool_hands_to_the_courier_is_not_run(pools: Pools):
    """The user of pool `two` sends the courier a hook for the repository of pool `one`."""
    pools.start()
    mark = pools.folder / "one" / "forged"
    forged = event(1, "hook", part={"command": f"touch {mark}", "repository": str(pools.repository("one"))})
    done = subprocess.run([places.build_directory() / "tests" / "unit" / "courier" / "hand-over-events", pools.socket],
                          input="".join(json.dumps(each) + "\n" for each in (forged, event(2))), text=True,
                          **identity(USERS["two"]))
    assert done.returncode == 0, done.stderr
    wait_until(lambda: event(2)["id"] in pools.events(), "the event after it")
    assert not mark.exists()


def test_a_reload_lets_a_new_pool_use_the_courier(pools: Pools):
    pools.start("one")
    assert may_connect(pools.socket, USERS["one"]) and not may_connect(pools.socket, USERS["two"])
    pools.write()
    pools.reload()
    assert may_connect(pools.socket, USERS["one"]) and may_connect(pools.socket, USERS["two"])
    pools.config.write_text(pools.config.read_text().replace(f"user = {USERS['two'].pw_name}", f"user = {STRANGER.pw_name}"))
    done = pools.test()
    assert done.returncode == 1 and f"run chown -R {STRANGER.pw_uid} {pools.hooks}/two" in done.stderr


def test_a_courier_that_a_pool_cannot_reach_is_an_error(pools: Pools):
    pools.write()
    assert pools.test().returncode == 0
    assert not pools.hooks.exists(), "a test changes nothing"
    hidden = pools.folder / "hidden"
    hidden.mkdir(mode=0o700)
    os.chown(hidden, USERS["one"].pw_uid, -1)
    pools.write(socket=hidden / "courier.sock")
    done = pools.test()
    assert done.returncode == 1 and f"[two]: cannot connect to the courier at {hidden}/courier.sock" in done.stderr
    assert "[one]" not in done.stderr


def test_a_folder_of_hooks_that_a_pool_cannot_enter_is_an_error(pools: Pools):
    (pools.folder / "one").chmod(0o700)
    pools.write()
    done = pools.test()
    assert done.returncode == 1 and f"[two]: cannot write to its hooks folder {pools.hooks}/two" in done.stderr


def test_a_folder_of_hooks_that_a_user_could_replace_is_refused(pools: Pools):
    """The parent folder belongs to a pool's user, who could therefore replace the folder of hooks with anything."""
    pools.write()
    pools.hooks.symlink_to(pools.folder)
    for more in (["--test"], []):
        assert f"cannot open the hooks folder {pools.hooks}" in quarryd("--config", pools.config, *more).stderr
    pools.hooks.unlink()
    pools.hooks.mkdir()
    os.chown(pools.hooks, USERS["one"].pw_uid, -1)
    for more in (["--test"], []):
        done = quarryd("--config", pools.config, *more)
        assert done.returncode == 1 and f"the hooks folder {pools.hooks} must belong to user 0" in done.stderr
