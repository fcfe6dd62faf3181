"""--test finds everything that prevents quarryd from starting. A configuration that passes the check can be started."""

import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import daemon, fastcgi, places
from support.daemon import section, user
from support.process import Process, free_port, wait_until
from support.program import quarryd

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


class World:
    def __init__(self, folder: Path, repository: Path):
        self.folder = folder
        self.path = folder / "quarryd.conf"
        self.all_of_it: dict[str, dict[str, object]] = {
            "global": {"error_log": folder / "error.log"},
            "http": {"listen": f"127.0.0.1:{free_port()}", "pool": "www"},
            "www": {"listen": folder / "pool.sock", "repository": repository, "pm": "static", "pm.max_children": 1, **user()}}

    def set(self, name: str, **words: object) -> None:
        """Sets directives of the section NAME. Two underscores in a name stand for a dot."""
        self.all_of_it.setdefault(name, {}).update({word.replace("__", "."): value for word, value in words.items()})
        if name not in ("global", "http", "www"):
            self.all_of_it[name] = {**self.all_of_it["www"], "listen": self.folder / f"{name}.sock", **self.all_of_it[name]}

    def write(self) -> Path:
        self.path.write_text("".join(section(name, words) for name, words in self.all_of_it.items()))
        return self.path

    def run(self, *more: str, **how: object) -> subprocess.CompletedProcess[str]:
        return quarryd("--config", self.write(), *more, **how)

    def test(self, *more: str, **how: object) -> subprocess.CompletedProcess[str]:
        return self.run("--test", *more, **how)

    def log(self) -> str:
        log = self.folder / "error.log"
        return log.read_text() if log.exists() else ""


@pytest.fixture
def world(open_folder: Path, fresh: Path) -> World:
    """The configuration is in a folder that all users can enter, because other users connect to a socket in this
    folder."""
    repository = open_folder / "fresh.fossil"
    repository.write_bytes(fresh.read_bytes())
    repository.chmod(0o666)
    return World(open_folder, repository)


def fails_alike(world: World, reason: str, *more: str, **how: object) -> None:
    """Checks that --test fails and prints REASON, and that a start fails too."""
    tested = world.test(*more, **how)
    assert tested.returncode == 1 and reason in tested.stderr and not tested.stdout, tested.stderr
    started = world.run(*more, **how)
    assert started.returncode == 1 and started.stderr, "a start does not succeed either"
    assert "ready:" not in world.log()


def test_a_valid_configuration_starts(world):
    done = world.test()
    assert done.returncode == 0 and not done.stderr
    assert sorted(each.name for each in world.folder.iterdir()) == ["fresh.fossil", "quarryd.conf"], "nothing is left"
    server = Process([places.program("quarryd"), "--config", world.path], world.folder / "output")
    wait_until(lambda: "ready:" in world.log() or not server.is_running(), "quarryd")
    assert server.stop() == 0


def test_invalid_listen_addresses(world):
    for listen, reason in ((world.folder / "none" / "pool.sock", "No such file"),
                           (world.folder / "fresh.fossil", "is not a socket"),
                           ("192.0.2.77:9000", "192.0.2.77:9000")):
        world.set("www", listen=listen, listen__allowed_clients="192.0.2.77" if "192" in str(listen) else None)
        fails_alike(world, reason)
    assert (world.folder / "fresh.fossil").read_bytes().startswith(b"SQLite"), "a file in the place of a socket is left alone"


def test_background_without_a_log(world):
    world.set("global", error_log="stderr")
    fails_alike(world, "set error_log to a file", "--daemonize")
    world.set("global", daemonize="yes")
    fails_alike(world, "set error_log to a file")
    assert world.test("--nodaemonize").returncode == 0


@pytest.mark.parametrize(("name", "word"), [("global", "error_log"), ("global", "pid"), ("www", "access__log"),
                                            ("www", "slowlog")])
@pytest.mark.parametrize("place", ["no folder", "a link to no folder", "a folder"])
def test_a_file_that_cannot_be_created(world, name, word, place):
    path = world.folder / ("none/it" if place == "no folder" else "it")
    if place == "a folder":
        path.mkdir()
    elif place == "a link to no folder":
        path.symlink_to(world.folder / "none" / "it")
    world.set(name, **{word: path, "control__socket": "off"} if word == "pid" else {word: path})
    fails_alike(world, str(path))


def test_pid_file_that_is_a_fifo(world):
    """Opening the FIFO for reading blocks, because no process writes to it."""
    os.mkfifo(world.folder / "q.pid")
    world.set("global", pid=world.folder / "q.pid", control__socket="off")
    fails_alike(world, f"the pid file {world.folder}/q.pid is not a regular file")


def test_too_few_descriptors_for_the_first_children(world):
    world.set("global", rlimit_files=64)
    world.set("www", pm__max_children=70)
    for number in range(70):
        world.set(f"p{number}", pm="ondemand")
    fails_alike(world, "rlimit_files: the limit of 64 open files is too low")


@as_root
def test_a_front_that_cannot_reach_its_pool(world):
    """If quarryd did not check this, it would start, and the front would reply with 502 to every request."""
    inside = world.folder / "inside"
    inside.mkdir(mode=0o700)
    world.set("http", user="nobody")
    world.set("www", listen=inside / "pool.sock", listen__mode="0666")
    done = world.test()
    assert done.returncode == 1 and f"[http]: cannot connect to its pool at {inside}/pool.sock" in done.stderr
    inside.chmod(0o711)
    assert world.test().returncode == 0


@as_root
@pytest.mark.parametrize("name", ["http", "www"])
def test_a_working_folder_that_a_child_may_not_enter(world, name):
    """If quarryd did not check this, it would report that it is ready and restart its children forever."""
    inside = world.folder / "inside"
    inside.mkdir(mode=0o700)
    world.set("www", user="nobody")
    world.set(name, chdir=inside)
    fails_alike(world, f"[{name}]: cannot change to the folder {inside}")
    assert f"cannot start any child: cannot change to the folder {inside}" in world.run("--daemonize").stderr
    assert "ready" not in world.log()


@as_root
@pytest.mark.parametrize("word", ["repository", "repositories"])
def test_repositories_that_a_child_cannot_reach(world, word):
    """If quarryd did not check this, it would start and refuse every request."""
    inside = world.folder / "inside"
    inside.mkdir(mode=0o700)
    path = inside
    if word == "repository":
        path = inside / "fresh.fossil"
        path.write_bytes((world.folder / "fresh.fossil").read_bytes())
    world.set("www", user="nobody", repository=None)
    world.set("www", **{word: path})
    done = world.test()
    assert done.returncode == 1 and "[www]: cannot " in done.stderr and f"{path}: Permission denied" in done.stderr
    inside.chmod(0o711)
    assert world.test().returncode == 0, "search permission is enough"


@as_root
@pytest.mark.skipif(int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 79,
                    reason="needs a port that is root's")
@pytest.mark.skipif(not places.is_open_to_others(), reason="needs a build folder that other users can enter")
def test_port_that_only_root_may_have(world):
    world.set("http", listen="127.0.0.1:79")
    world.set("www", user=None)
    fails_alike(world, "cannot bind 127.0.0.1:79", user=65534, group=65534, extra_groups=[])


def test_serve_can_be_tested(world):
    assert quarryd(*daemon.serve(world.folder), "--http", f"127.0.0.1:{free_port()}", "--test").returncode == 0
    done = quarryd(*daemon.serve(world.folder), "--http", "192.0.2.77:8080", "--test")
    assert done.returncode == 1 and "cannot bind 192.0.2.77:8080" in done.stderr


@pytest.fixture
def running(world) -> Iterator[Process]:
    world.set("global", pid=world.folder / "q.pid")
    world.set("www", pm__status_path="/status", pm__status_listen=free_port())
    server = Process([places.program("quarryd"), "-c", os.path.relpath(world.write(), world.folder)],
                     world.folder / "output", cwd=world.folder)
    wait_until(lambda: "ready:" in world.log() or not server.is_running(), "quarryd")
    assert server.is_running()
    yield server
    server.kill_group()


def test_files_of_a_running_server_are_not_errors(world, running):
    done = world.test()
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert b"A Fossil repository" in fastcgi.get(world.folder / "pool.sock"), "nothing happened to it"


def test_a_pid_file_of_a_zombie_is_ignored(world, running):
    """A zombie with this process ID exists, but the server is not running."""
    running.send(signal.SIGKILL)
    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{running.pid}/stat").read_text().split(") ")[1][0] == "Z"
    assert (world.folder / "q.pid").read_text() == f"{running.pid}\n"
    (world.folder / "error.log").unlink()
    world.set("www", pm__status_listen=free_port())
    world.set("http", listen=f"127.0.0.1:{free_port()}")
    done = world.test()
    assert done.returncode == 0, done.stderr
    server = Process([places.program("quarryd"), "--config", world.path], world.folder / "next")
    wait_until(lambda: "ready:" in world.log() or not server.is_running(), "quarryd")
    assert server.stop() == 0, server.output()


def test_the_inherited_limit_of_descriptors_is_checked(world):
    """The configuration does not set rlimit_files, so the inherited limit applies."""
    world.set("www", pm__max_children=100)
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))}
    done = world.test(**few)
    assert done.returncode == 1 and "the limit of 80 open files is too low" in done.stderr
