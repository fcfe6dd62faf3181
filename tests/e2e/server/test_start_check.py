"""--test finds everything that prevents quarryd from starting. A configuration that passes the check can be started."""

import os
import resource
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import daemon, fastcgi, places, repofile
from support.daemon import section, user
from support.process import Process, free_port, wait_until
from support.program import quarry, quarryd

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

    def set_section(self, name: str, **words: object) -> None:
        """Like set(), for a section that is not a pool."""
        self.all_of_it.setdefault(name, {}).update({word.replace("__", "."): value for word, value in words.items()})

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
    world.set("www", user="nobody", repository=None, backoffice="no")
    world.set("www", **{word: path})
    done = world.test()
    assert done.returncode == 1 and "[www]: cannot " in done.stderr and f"{path}: Permission denied" in done.stderr
    inside.chmod(0o711)
    assert world.test().returncode == 0, "search permission is enough"


@pytest.fixture
def with_courier(world) -> World:
    """A courier that runs as another user if the tests run as root."""
    inside = world.folder / "inside"
    inside.mkdir(mode=0o777)
    inside.chmod(0o777)
    world.set_section("courier", socket=world.folder / "courier.sock", spool__directory=inside / "spool",
                      **({"user": "nobody"} if os.geteuid() == 0 else {}))
    return world


def is_refused(world: World, reason: str, **how: object) -> None:
    done = world.test(**how)
    assert done.returncode == 1 and reason in done.stderr and "successful" not in done.stdout, done.stderr


def unreadable(path: Path) -> Path:
    path.write_text("secret\n")
    path.chmod(0o600 if os.geteuid() == 0 else 0)
    return path


needs_open_build = pytest.mark.skipif(not places.is_open_to_others(), reason="needs a build folder that other users can enter")


@needs_open_build
def test_a_configuration_that_the_courier_cannot_read(with_courier):
    world = with_courier
    world.write()
    assert world.test().returncode == 0, world.test().stderr
    included = unreadable(world.folder / "more.conf")
    if os.geteuid() == 0:
        included.write_text("[destination log]\ntype = syslog\n")
        world.set_section("global", include=included)
        is_refused(world, "[courier]: cannot read its configuration: ")
        folder = world.folder / "more"
        folder.mkdir(mode=0o700)
        world.set_section("global", include=folder / "*.conf")
        is_refused(world, "[courier]: cannot read its configuration: ")


@needs_open_build
def test_the_courier_knows_the_environment_of_the_server(with_courier):
    with_courier.set_section("destination it", type="webhook", url="https://example.org/${TOKEN}")
    with_courier.set("global", control__socket="off")
    environment = {**os.environ, "TOKEN": "s3cret"}
    assert with_courier.test(env=environment).returncode == 0, with_courier.test(env=environment).stderr
    server = Process([places.program("quarryd"), "--config", with_courier.write()], with_courier.folder / "output", env=environment)
    wait_until(lambda: "ready: 1 destination," in with_courier.log() or not server.is_running(), "the courier")
    assert server.stop() == 0


@needs_open_build
@pytest.mark.parametrize(("type_", "word", "more"), [
    ("webhook", "secret_file", {"url": "http://127.0.0.1:1/"}), ("webhook", "ca_file", {"url": "https://127.0.0.1:1/"}),
    ("mail", "password_file", {"from": "a@example.org", "to": "b@example.org", "user": "ann"})])
def test_a_file_that_the_courier_cannot_read(with_courier, type_, word, more):
    for path in (unreadable(with_courier.folder / "secret"), with_courier.folder / "missing"):
        with_courier.set_section("destination it", type=type_, **more, **{word: path})
        is_refused(with_courier, f"[courier]: [destination it] {word}: cannot read {path}")
    readable = with_courier.folder / "readable"
    readable.write_text("secret\n-----BEGIN CERTIFICATE-----\n")
    with_courier.set_section("destination it", **{word: readable})
    assert with_courier.test().returncode == 0, with_courier.test().stderr


@needs_open_build
def test_a_folder_or_file_that_the_courier_cannot_write(with_courier):
    closed = with_courier.folder / "closed"
    closed.mkdir()
    closed.chmod(0o755 if os.geteuid() == 0 else 0o555)
    spool = with_courier.folder / "inside" / "spool"
    with_courier.set_section("courier", spool__directory=closed / "spool")
    is_refused(with_courier, f"[courier]: spool.directory: cannot write to {closed}: Permission denied")
    with_courier.set_section("courier", spool__directory=spool)
    with_courier.set_section("destination it", type="file", path=closed / "events")
    is_refused(with_courier, f"[courier]: [destination it] path: cannot write to {closed}/events: Permission denied")
    with_courier.set_section("destination it", path=with_courier.folder / "inside" / "events")
    assert with_courier.test().returncode == 0, with_courier.test().stderr
    spool.mkdir()
    spool.chmod(0o777)
    log = spool / "events.write.lock"
    log.touch()
    log.chmod(0o644 if os.geteuid() == 0 else 0o444)
    is_refused(with_courier, f"[courier]: spool.directory: cannot write to {log}: Permission denied")


@needs_open_build
@pytest.mark.parametrize(("type_", "word"), [("program", "command"), ("mail", "sendmail")])
def test_a_destination_whose_program_is_not_installed(with_courier, type_, word):
    more = {"from": "a@example.org", "to": "b@example.org"} if type_ == "mail" else {}
    with_courier.set_section("destination it", type=type_, **more, **{word: "/nowhere/program"})
    is_refused(with_courier, f"[courier]: [destination it] {word}: cannot execute /nowhere/program")
    with_courier.set_section("destination it", **{word: "/bin/true"})
    assert with_courier.test().returncode == 0, with_courier.test().stderr


@pytest.fixture
def with_replication(world) -> World:
    """A replicated pool that runs as another user if the tests run as root."""
    inside = world.folder / "inside"
    inside.mkdir(mode=0o777)
    inside.chmod(0o777)
    (inside / "fresh.fossil").write_bytes((world.folder / "fresh.fossil").read_bytes())
    (inside / "fresh.fossil").chmod(0o666)
    world.set("www", repository=inside / "fresh.fossil", **({"user": "nobody"} if os.geteuid() == 0 else {}))
    world.set_section("replication", servers="nats://127.0.0.1:4222", group="team", host="one", socket=world.folder / "replica.sock",
                      directory=inside / "replica")
    return world


@needs_open_build
def test_replication_that_can_start(with_replication):
    done = with_replication.test()
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert not (with_replication.folder / "replica.sock").exists() and not (with_replication.folder / "inside" / "replica").exists()


@pytest.mark.parametrize(("words", "reason"), [
    ({"servers": "nats://192.0.2.1:4222"}, "servers: nats://192.0.2.1:4222 is not a loopback address: use tls://"),
    ({"servers": "tls://192.0.2.1:4222"}, "needs credentials, because tls://192.0.2.1:4222 is not a loopback address"),
    ({"servers": "nats://localhost, tls://192.0.2.1"}, "servers: either all or none of the URLs must begin with tls://"),
    ({"servers": "tls://me:secret@192.0.2.1"}, "servers: a URL must not contain a user or password; use credentials"),
    ({"pools": "www, other"}, "pools: [other] does not exist"),
    ({"socket": "/tmp/" + "x" * 200}, "[replication] ")])
def test_replication_with_a_mistake(with_replication, words, reason):
    with_replication.set_section("replication", **words)
    fails_alike(with_replication, reason)
    assert "secret" not in with_replication.test().stderr


@as_root
def test_replicated_pools_of_different_users(with_replication):
    with_replication.set("other", user="root")
    fails_alike(with_replication, "[replication] pools: [www] and [other] have different users, nobody and root")
    with_replication.set_section("replication", pools="www")
    assert "different users" not in with_replication.test().stderr


@needs_open_build
@pytest.mark.parametrize("word", ["credentials", "tls_ca", "tls_certificate", "tls_key"])
def test_a_file_that_quarry_replica_cannot_read(with_replication, word):
    readable = with_replication.folder / "readable"
    readable.write_text("secret\n-----BEGIN CERTIFICATE-----\n")
    pair = {"tls_certificate": readable, "tls_key": readable} if word.startswith("tls_") and word != "tls_ca" else {}
    for path in (unreadable(with_replication.folder / "secret"), with_replication.folder / "missing"):
        with_replication.set_section("replication", **{**pair, word: path})
        is_refused(with_replication, f"[replication]: {word}: cannot read {path}")
    with_replication.set_section("replication", **{**pair, word: readable})
    assert with_replication.test().returncode == 0, with_replication.test().stderr


@needs_open_build
def test_a_folder_that_quarry_replica_cannot_write(with_replication):
    closed = with_replication.folder / "closed"
    closed.mkdir()
    closed.chmod(0o755 if os.geteuid() == 0 else 0o555)
    with_replication.set_section("replication", directory=closed / "replica")
    is_refused(with_replication, f"[replication]: directory: cannot write to {closed}: Permission denied")


@needs_open_build
def test_a_replicated_repository_that_cannot_be_written(with_replication):
    file = with_replication.folder / "inside" / "fresh.fossil"
    file.chmod(0o644 if os.geteuid() == 0 else 0o444)
    with_replication.set("www", backoffice="no")
    with_replication.set_section("replication", pools="www")
    line = with_replication.write().read_text().splitlines().index("pools = www") + 1
    is_refused(with_replication, f"quarryd.conf:{line}: [www]: [replication] pools: cannot write to {file}: Permission denied")


@as_root
@needs_open_build
def test_a_configuration_that_quarry_replica_cannot_read(with_replication):
    included = unreadable(with_replication.folder / "more.conf")
    included.write_text("[global]\n")
    with_replication.set_section("global", include=included)
    is_refused(with_replication, "[replication]: cannot read its configuration: ")


# Columns: section, its other directives, the directive with the mistake, a wrong value, a correct value, the end of the
# message. Relative paths are below a folder that all users can write to.
WRONG_FILES = [
    ("destination it", {"type": "file"}, "path", "folder", "events", "cannot write to {}: Is a directory"),
    ("www", {"changes": "yes"}, "changes.gate", "missing", "/bin/true", "cannot execute {}: it is not installed"),
    ("www", {"changes": "yes"}, "changes.gate", "plain", "/bin/true", "cannot execute {}: it is not installed"),
    ("www", {"changes": "yes"}, "changes.gate", "script", "/bin/true", "cannot execute {}: its interpreter /nowhere/sh does not exist"),
    ("www", {"changes": "yes"}, "changes.base", "closed", "queues", "cannot write to {}: Permission denied"),
    ("www", {}, "backoffice.log", "missing/log", "log", "cannot write to {}: No such file or directory"),
    ("www", {}, "backoffice.log", "closed/log", "log", "cannot write to {}: Permission denied"),
    ("courier", {}, "fossil", "missing", "/bin/true", "cannot execute {}: it is not installed"),
    ("destination it", {"type": "webhook", "url": "http://127.0.0.1:1/"}, "secret_file", "empty", "plain", "{}: the first line is empty"),
    ("destination it", {"type": "webhook", "url": "https://127.0.0.1:1/"}, "ca_file", "plain", "certificate",
     "{}: the file does not contain a certificate"),
    ("peer other", {"url": "https://ann@127.0.0.1:1/x"}, "password_file", "empty", "plain", "{}: the first line is empty"),
    ("peer other", {"url": "https://127.0.0.1:1/x"}, "ca_file", "plain", "certificate", "{}: the file does not contain a certificate"),
    ("destination it", {"type": "syslog"}, "socket", "missing", "log.sock", "cannot reach the logging daemon at {}: No such file"),
    ("destination it", {"type": "journald"}, "socket", "plain", "log.sock", "cannot reach the logging daemon at {}: "),
    ("www", {"pages": "fossil"}, "pages.program", "/bin/true", shutil.which("fossil"), "{} is not fossil: its version is \"\""),
    ("peer other", {}, "url", "missing", "fresh.fossil", "cannot read {}: No such file or directory"),
    ("www", {"pages": "fossil", "pages.program": shutil.which("fossil")}, "pages.allow_execute", "missing", "/bin/true", "cannot access {}"),
    ("www", {"pages": "fossil", "pages.program": shutil.which("fossil")}, "pages.allow_write", "missing", "folder", "cannot access {}"),
    ("www", {"changes": "yes", "changes.gate": "/bin/true"}, "changes.gate_read", "missing", "folder", "cannot access {}"),
]


@needs_open_build
@pytest.mark.parametrize(("section_", "more", "word", "wrong", "correct", "reason"), WRONG_FILES,
                         ids=[f"{row[0]}-{row[2]}-{row[3]}" for row in WRONG_FILES])
def test_a_file_that_a_child_cannot_use(with_courier, section_, more, word, wrong, correct, reason):
    world, inside = with_courier, with_courier.folder / "inside"
    repository = inside / "fresh.fossil"
    repository.write_bytes((world.folder / "fresh.fossil").read_bytes())
    repository.chmod(0o666)
    for name, mode in (("folder", 0o777), ("closed", 0o555)):
        (inside / name).mkdir()
        (inside / name).chmod(mode)
    (inside / "empty").touch(mode=0o644)
    (inside / "plain").write_text("plain\n")
    (inside / "script").write_text("#!/nowhere/sh\n")
    (inside / "script").chmod(0o755)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(str(inside / "log.sock"))
    (inside / "log.sock").chmod(0o666)
    (inside / "certificate").write_text("-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
    world.set("www", repository=repository, **({"user": "nobody"} if os.geteuid() == 0 else {}))
    if section_.startswith("peer"):
        more = {**more, "repository": repository}
    world.set_section(section_, **more, **{word: inside / wrong})
    is_refused(world, f"{word}: {reason.format(inside / wrong)}")
    line = 1 + world.path.read_text().splitlines().index(f"{word} = {inside / wrong}")
    assert world.test().stderr.startswith(f"{world.path}:{line}: "), "the file and line of the directive"
    world.set_section(section_, **{word: inside / correct})
    assert world.test().returncode == 0, world.test().stderr
    log.close()


@needs_open_build
@pytest.mark.parametrize(("section_", "words", "reason"), [
    ("www", {"changes": "yes", "changes.gate": "/bin/true"}, "[www]: changes.gate_sandbox: cannot execute bwrap: it is not installed"),
    ("peer other", {"url": "ssh://127.0.0.1/x"}, "[www]: [peer other] url: cannot execute ssh: it is not installed")])
def test_a_program_of_the_system_that_is_not_installed(world, section_, words, reason):
    if os.geteuid() == 0:
        world.set("www", user="nobody")
    world.folder.chmod(0o777)
    world.set_section(section_, **words)
    if section_ != "www":
        world.set_section(section_, repository=world.folder / "fresh.fossil")
    assert world.test().returncode == 0, world.test().stderr
    world.set("www", **{"env[PATH]": "/nowhere"})
    is_refused(world, reason)


def test_our_own_programs_are_not_installed(with_courier, tmp_path):
    """A copy of quarryd has no other programs beside it."""
    if Path("/usr/local/sbin/quarry-courier").exists():
        pytest.skip("the programs are installed")
    copy = with_courier.folder / "quarryd"
    copy.write_bytes(places.program("quarryd").read_bytes())
    copy.chmod(0o755)
    done = subprocess.run([copy, "--test", "--config", with_courier.write()], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "[courier]: cannot execute" in done.stderr and "/quarry-courier: it is not installed" in done.stderr
    assert "[www]: cannot execute" in done.stderr and "/quarry: it is not installed" in done.stderr
    with_courier.set_section("replication", servers="nats://127.0.0.1:4222", group="team", host="one",
                             socket=with_courier.folder / "replica.sock", directory=with_courier.folder / "inside" / "replica")
    done = subprocess.run([copy, "--test", "--config", with_courier.write()], capture_output=True, text=True, timeout=60, check=False)
    assert "[replication]: cannot execute" in done.stderr and "/quarry-replica: it is not installed" in done.stderr


def test_a_page_program_that_is_not_installed(world):
    world.set("www", pages="fossil", pages__program="no-such-fossil", pages__confine="no")
    is_refused(world, "[www]: pages.program: cannot execute no-such-fossil: it is not installed")


def test_a_repository_that_cannot_be_read(world):
    if os.geteuid() == 0:
        world.set("www", user="nobody")
    (world.folder / "fresh.fossil").chmod(0o600 if os.geteuid() == 0 else 0)
    is_refused(world, f"[www]: cannot read its repository {world.folder}/fresh.fossil: Permission denied")


@as_root
@needs_open_build
@pytest.mark.parametrize("word", ["repository", "repositories"])
def test_a_repository_in_a_folder_that_cannot_be_written(world, word):
    path = world.folder / "fresh.fossil" if word == "repository" else world.folder
    world.set("www", user="nobody", repository=None)
    world.set("www", **{word: path})
    world.folder.chmod(0o755)
    is_refused(world, f"[www]: backoffice: cannot create files beside a repository in {world.folder}: Permission denied")
    world.set("www", backoffice="no")
    done = world.test()
    assert done.returncode == 0, "the repository can be a copy that is only read"
    assert done.stderr == (f"warning: [www]: pushes will fail: cannot create files beside a repository in {world.folder}: "
                           "Permission denied\n")
    world.set("www", changes="yes")
    is_refused(world, f"[www]: changes: cannot create files beside a repository in {world.folder}: Permission denied")
    world.folder.chmod(0o777)
    for changes in ("yes", None):
        world.set("www", changes=changes)
        done = world.test()
        assert done.returncode == 0 and not done.stderr, done.stderr


@as_root
@needs_open_build
def test_a_repository_in_wal_mode_that_cannot_be_read(world):
    """SQLite creates -wal and -shm before it reads such a repository, even for a clone."""
    file = world.folder / "fresh.fossil"
    file.chmod(0o644)
    world.folder.chmod(0o755)
    world.set("www", user="nobody", backoffice="no")
    repofile.execute(file, "PRAGMA journal_mode=WAL")
    reason = f"[www]: cannot read its repository {file}: it is in WAL mode, and SQLite cannot create files beside it"
    is_refused(world, reason)
    logs = [Path(f"{file}{suffix}") for suffix in ("-wal", "-shm")]
    for log in logs:
        is_refused(world, reason)
        log.touch(mode=0o644)
    assert world.test().returncode == 0, "SQLite can read the repository with the existing files"
    for log in logs:
        log.unlink()
    repofile.execute(file, "PRAGMA journal_mode=DELETE")
    assert world.test().returncode == 0
    world.set("www", repository=None, repositories=world.folder)
    repofile.execute(file, "PRAGMA journal_mode=WAL")
    done = world.test()
    assert done.returncode == 0 and f"warning: {reason}" in done.stderr, "the other repositories can be served"


@as_root
@needs_open_build
def test_repositories_in_a_folder_that_cannot_be_used(world):
    """The other repositories in the folder can be served, so these problems are only warnings."""
    served = world.folder / "served"
    content = (world.folder / "fresh.fossil").read_bytes()

    def make(name: str, mode: int, text: bytes = content) -> Path:
        path = served / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(text)
        path.chmod(mode)
        return path

    world.set("www", user="nobody", repository=None, repositories=served, changes="yes")
    for name in ("good", "wal", "shm", "queue", "team/good"):
        make(f"{name}.fossil", 0o666)
    (served / "good.fossil.changes").mkdir()
    for name in (".", "team", "good.fossil.changes"):
        (served / name).chmod(0o777)
    make(".hidden.fossil", 0o600)
    done = world.test()
    assert done.returncode == 0 and not done.stderr, done.stderr
    denied = ": Permission denied"
    expected = [f"cannot read its repository {make('unreadable.fossil', 0o600)}{denied}",
                f"pushes will fail: cannot write to {make('fixed.fossil', 0o644)}{denied}",
                f"cannot use its repository {make('empty.fossil', 0o666, b'')}: it is not a SQLite database",
                f"cannot use its repository {make('junk.fossil', 0o666, b'junk' * 9)}: it is not a SQLite database",
                f"cannot read the write-ahead log {make('wal.fossil-wal', 0o600, b'')}{denied}",
                f"pushes will fail: cannot write to {make('shm.fossil-shm', 0o444, b'')}{denied}",
                f"pushes will fail: cannot create files beside a repository in {make('fixed/one.fossil', 0o666).parent}{denied}",
                f"cannot read the folder {make('closed/one.fossil', 0o666).parent}{denied}; the repositories in it are not checked",
                f"changes: cannot write to {served}/queue.fossil.changes{denied}",
                f"cannot serve {served}/link.fossil: no such repository"]
    (served / "fixed").chmod(0o755)
    (served / "closed").chmod(0o700)
    (served / "queue.fossil.changes").mkdir(mode=0o755)
    (served / "link.fossil").symlink_to("missing")
    done = world.test()
    assert done.returncode == 0
    assert sorted(done.stderr.splitlines()) == sorted(f"warning: [www]: {line}" for line in expected)
    for number in range(100):
        make(f"more-{number}.fossil", 0o666, b"")
    lines = world.test().stderr.splitlines()
    assert len(lines) == 50 and lines[-1] == f"warning: [www]: {served} has more problems"


@as_root
@needs_open_build
def test_the_files_of_the_only_repository(world):
    world.set("www", user="nobody")
    world.folder.chmod(0o777)
    log = world.folder / "fresh.fossil-wal"
    log.touch(mode=0o600)
    is_refused(world, f"[www]: cannot read the write-ahead log {log}: Permission denied")
    log.chmod(0o444)
    is_refused(world, f"[www]: backoffice: cannot write to {log}: Permission denied")
    world.set("www", backoffice="no")
    done = world.test()
    assert (done.returncode, done.stderr) == (0, f"warning: [www]: pushes will fail: cannot write to {log}: Permission denied\n")
    log.unlink()
    world.set("www", changes="yes")
    queue = world.folder / "fresh.fossil.changes"
    queue.mkdir(mode=0o755)
    is_refused(world, f"[www]: changes: cannot write to {queue}: Permission denied")


@as_root
@needs_open_build
@pytest.mark.parametrize("word", ["repository", "repositories", "chdir"])
def test_a_folder_that_quarryd_may_not_search(world, word):
    closed = world.folder / "closed"
    (closed / "it").mkdir(parents=True)
    closed.chmod(0o700)
    world.set("www", user=None, **{"repository": None, word: closed / "it"} if word != "chdir" else {word: closed / "it"})
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", places.program("quarryd"), "--test",
                           "--config", world.write()], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and f"{word}: cannot access {closed}/it: Permission denied" in done.stderr, done.stderr


def test_a_peer_without_its_repository(world):
    for path in ("missing.fossil", "fresh.fossil"):
        world.set_section("peer other", repository=world.folder / path, url="http://127.0.0.1:1/x")
        if path.startswith("missing"):
            is_refused(world, f"[www]: cannot read its repository {world.folder}/missing.fossil: No such file or directory")
    assert world.test().returncode == 0, world.test().stderr


@pytest.mark.parametrize(("name", "row"), [("away", "sync-url:away"), ("default", "last-sync-url")])
def test_a_peer_whose_remote_does_not_exist(world, name, row):
    repository = world.folder / "fresh.fossil"
    world.set_section("peer other", repository=repository, remote=name)
    is_refused(world, f"[www]: [peer other] remote: {repository} does not have a remote {name}; see `fossil remote list`")
    for url in ("off", "file:/srv/other.fossil", "ssh://host/other.fossil", "file:/srv/x.fossil?fossil=/bin/sh"):
        repofile.set_config(repository, row, url)
        is_refused(world, f"[www]: [peer other] remote: {repository} has a URL for the remote {name} that is not an http: or https: "
                          "URL: set url in this section instead of remote")
    repofile.set_config(repository, row, "http://127.0.0.1:1/x")
    assert world.test().returncode == 0, world.test().stderr


def test_a_peer_with_a_program_that_does_not_exist(world):
    repository = world.folder / "fresh.fossil"
    url = f"file:{repository}?fossil="
    world.set_section("peer other", repository=repository, url=f"{url}/nowhere/fossil")
    is_refused(world, "[www]: [peer other] url: cannot execute /nowhere/fossil: it is not installed")
    world.set_section("peer other", url=url + shutil.which("fossil"))
    assert world.test().returncode == 0, world.test().stderr


@as_root
@needs_open_build
def test_a_service_that_cannot_start_is_shown_in_the_status(with_courier):
    """The folder becomes unwritable after the check."""
    control = with_courier.folder / "control.sock"
    with_courier.set("global", control__socket=control)
    inside = with_courier.folder / "inside"
    inside.chmod(0o755)
    server = Process([places.program("quarryd"), "--config", with_courier.write()], with_courier.folder / "output")
    wait_until(lambda: "ready:" in with_courier.log() or not server.is_running(), "quarryd")

    def status() -> str:
        return quarry("status", "--socket", control).stdout

    wait_until(lambda: "[courier] cannot start: a child exited with code 1" in status(), "the failure in the status")
    inside.chmod(0o777)
    wait_until(lambda: "courier: ready" in with_courier.log() or "ready: 0 destinations" in with_courier.log(), "the courier")
    wait_until(lambda: "cannot start" not in status(), "the end of the failure")
    assert server.stop() == 0


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


@pytest.mark.parametrize("http, https", [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("[::1]", "[::]"), ("[::]", "0.0.0.0")])
def test_the_addresses_of_serve_may_not_overlap(world, http, https):
    port = free_port()
    http, https = f"{http}:{port}", f"{https}:{port}"
    done = quarryd(*daemon.serve(world.folder), "--http", http, "--https", https, "--certificate", "x", "--key", "x")
    assert (done.returncode, done.stderr) == (2, f"quarryd: --http {http} and --https {https} overlap: use different ports\n")


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
