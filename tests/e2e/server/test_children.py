"""Checks in /proc, on sockets and in logs that child processes have the configured properties."""

import grp
import itertools
import os
import pwd
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from support import daemon, fastcgi, places, process, repofile
from support.process import free_port, wait_until
from support.program import quarryd

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY = pwd.getpwnam("nobody")


def both(start, words: dict[str, object]) -> dict[str, int]:
    """Starts a worker and the gateway with the directives WORDS. Returns both process IDs."""
    server = start(words, http=words)
    return {kind: server.child(kind) for kind in ("pool www", "gateway")}


def title(pid: int) -> str:
    return subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout.rstrip()


def test_ps_shows_what_each_process_is(start):
    words = {"env[GREETING]": "good morning"}
    server = start({"pages": "fossil", **words}, http={})
    for _ in range(2):
        assert title(server.main.pid) == f"quarry: master process ({server.config})"
        titles = {kind: title(server.child(kind)) for kind in ("pool www", "gateway", "pages www")}
        assert titles == {kind: f"quarry: {kind}" for kind in titles}
        starter, = (pid for pid in process.children(server.child("pages www")) if process.name(pid) == "page starter")
        assert title(starter) == "quarry: page starter"
        assert daemon.environment(server.child())["GREETING"] == "good morning"
        server.reload()


@pytest.mark.parametrize("size", [0, 50, 5000])
def test_a_title_uses_the_memory_of_the_environment(fresh, tmp_path, size):
    """The title is longer than the command line, so it also uses the memory of the environment."""
    long = tmp_path / ("x" * 200)
    long.mkdir()
    repository = repofile.copy(fresh, long / "r.fossil")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PADDING": "y" * size}
    server = process.Process([places.program("quarryd"), *daemon.serve("r.fossil"), "--http", f"127.0.0.1:{free_port()}"],
                             tmp_path / "log", cwd=long, env=environment)
    try:
        wait_until(lambda: "ready: " in server.output() or not server.is_running(), "quarryd")
        full = f"quarry: master process ({repository})"
        shown = title(server.pid)
        assert full.startswith(shown) and len(shown) >= min(len(full), size)
        workers = [title(pid) for pid in process.children(server.pid) if process.name(pid).startswith("pool")]
        assert set(workers) == {"quarry: pool www"}
    finally:
        server.stop()


def test_limits_apply_to_workers_and_gateway(start):
    for pid in both(start, {"rlimit_files": 123, "rlimit_core": 4096}).values():
        assert daemon.limit(pid, "Max open files") == ("123", "123")
        assert daemon.limit(pid, "Max core file size") == ("4096", "4096")


def test_children_inherit_the_limits_of_the_master(start):
    server = start(settings={"rlimit_files": 234, "rlimit_core": 0})
    for pid in (server.main.pid, server.child()):
        assert daemon.limit(pid, "Max open files") == ("234", "234")
        assert daemon.limit(pid, "Max core file size") == ("0", "0")


def test_core_files_may_be_unlimited(start):
    if daemon.limit(os.getpid(), "Max core file size")[1] != "unlimited":
        pytest.skip("core files are limited here")
    server = start({"rlimit_core": "unlimited"})
    assert daemon.limit(server.child(), "Max core file size") == ("unlimited", "unlimited")


def test_a_limit_above_the_system_maximum_is_capped_with_a_warning(start):
    above_what_anybody_may = 2**31 - 1
    server = start({"rlimit_files": above_what_anybody_may})
    hard = daemon.limit(os.getpid(), "Max open files")[1]
    assert daemon.limit(server.child(), "Max open files") == (hard, hard)
    assert f"cannot set rlimit_files to {above_what_anybody_may}" in server.log()


def test_priority_of_master_workers_and_gateway(start):
    server = start({"process.priority": 7}, settings={"process.priority": 3}, http={})
    assert daemon.nice(server.main.pid) == 3
    assert daemon.nice(server.child("gateway")) == 3
    assert daemon.nice(server.child()) == 7


@as_root
def test_priority_below_zero_is_set_before_the_user_is(start):
    pid = start({"process.priority": -4, "user": "nobody"}).child()
    assert daemon.nice(pid) == -4
    assert daemon.status(pid, "Uid").split() == [str(NOBODY.pw_uid)] * 4


@as_root
def test_workers_have_only_the_rights_of_their_user_and_group(start):
    other = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, NOBODY.pw_gid))
    pid = start({"user": "nobody", "group": other.gr_name}).child()
    assert daemon.status(pid, "Uid").split() == [str(NOBODY.pw_uid)] * 4
    assert daemon.status(pid, "Gid").split() == [str(other.gr_gid)] * 4
    assert "0" not in daemon.status(pid, "Groups").split()
    assert int(daemon.status(pid, "CapEff"), 16) == 0


@as_root
@pytest.mark.parametrize("dumpable, owner", [("yes", NOBODY.pw_uid), ("no", 0)])
def test_dumpable_workers_can_be_debugged_by_their_user(start, dumpable, owner):
    """The files in /proc/PID belong to root if the process is not dumpable."""
    pid = start({"user": "nobody", "process.dumpable": dumpable}).child()
    assert Path(f"/proc/{pid}/environ").stat().st_uid == owner


def test_workers_and_gateway_run_in_chdir(start, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for pid in both(start, {"chdir": folder}).values():
        assert Path(f"/proc/{pid}/cwd").readlink() == folder


@as_root
def test_workers_in_a_chroot_serve_repositories_inside_it(start, tmp_path, fresh):
    jail = tmp_path / "jail"
    (jail / "srv").mkdir(parents=True)
    inside = repofile.copy(fresh, jail / "srv" / "fresh.fossil")
    for path in (jail, jail / "srv", inside):
        path.chmod(0o755)
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    server = start({"chroot": jail, "chdir": "/srv", "repository": "/srv/fresh.fossil", "user": "nobody"})
    pid = server.child()
    assert Path(f"/proc/{pid}/root").readlink() == jail
    assert Path(f"/proc/{pid}/cwd").readlink() == jail / "srv"
    assert daemon.status(pid, "Uid").split() == [str(NOBODY.pw_uid)] * 4
    assert b"A Fossil repository" in fastcgi.get(server.socket)


@as_root
def test_gateway_in_a_chroot_reaches_a_pool_that_listens_on_an_address(start, tmp_path):
    import urllib.request
    jail = tmp_path / "jail"
    jail.mkdir()
    server = start({"listen": f"127.0.0.1:{free_port()}"}, http={"chroot": jail})
    assert Path(f"/proc/{server.child('gateway')}/root").readlink() == jail
    assert Path(f"/proc/{server.child()}/root").readlink() == Path("/")
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=60) as reply:
        assert b"A Fossil repository" in reply.read()


def test_workers_get_only_the_configured_environment(start):
    server = start({"env[GREETING]": "good morning", "env[ORIGIN]": "$QUARRY_ORIGIN", "env[NONE]": "$QUARRY_NONE"},
                   env={"QUARRY_ORIGIN": "the master", "QUARRY_SECRET": "s3cret"})
    assert daemon.environment(server.main.pid)["QUARRY_SECRET"] == "s3cret"
    seen = daemon.environment(server.child())
    assert seen.pop("USER", "root") == "root" and seen.pop("HOME", "/root") == "/root"
    assert seen == {"GREETING": "good morning", "ORIGIN": "the master", "NONE": ""}


def test_without_clear_env_workers_inherit_the_environment(start):
    words = {"clear_env": "no", "env[QUARRY_ORIGIN]": "mine"}
    server = start(words, http=words, env={"QUARRY_ORIGIN": "the master's", "QUARRY_OTHER": "kept"})
    for kind in ("pool www", "gateway"):
        seen = daemon.environment(server.child(kind))
        assert seen["QUARRY_ORIGIN"] == "mine" and seen["QUARRY_OTHER"] == "kept"


@as_root
def test_workers_of_another_user_have_that_users_home(start):
    seen = daemon.environment(start({"user": "nobody"}).child())
    assert seen == {"USER": "nobody", "HOME": NOBODY.pw_dir}


@as_root
def test_socket_has_its_owner_group_and_mode(start):
    group = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, NOBODY.pw_gid))
    server = start({"listen.owner": "nobody", "listen.group": group.gr_name, "listen.mode": "0620"})
    status = server.socket.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (NOBODY.pw_uid, group.gr_gid, 0o620)


@as_root
def test_users_and_groups_may_be_numbers(start):
    server = start({"user": NOBODY.pw_uid, "listen.owner": NOBODY.pw_uid, "listen.group": 12345})
    status = server.socket.stat()
    assert (status.st_uid, status.st_gid) == (NOBODY.pw_uid, 12345)
    pid = server.child()
    assert daemon.status(pid, "Uid").split() == [str(NOBODY.pw_uid)] * 4
    assert daemon.status(pid, "Gid").split() == [str(NOBODY.pw_gid)] * 4, "that user's group"


def test_backlog_limits_the_number_of_waiting_connections(start):
    """While the only worker is stopped, the kernel accepts one connection more than the backlog."""
    import socket
    server = start({"listen.backlog": 3})
    pid = server.child()
    os.kill(pid, signal.SIGSTOP)
    waiting = []
    try:
        wait_until(lambda: daemon.status(pid, "State").startswith("T"), "a stopped worker")
        with pytest.raises(BlockingIOError):
            for _ in range(100):
                connection = socket.socket(socket.AF_UNIX)
                waiting.append(connection)
                connection.setblocking(False)
                connection.connect(str(server.socket))
        assert len(waiting) - 1 == 4
    finally:
        os.kill(pid, signal.SIGCONT)
        for connection in waiting:
            connection.close()


@pytest.mark.parametrize("allowed, is_served", [("127.0.0.1", True), ("192.0.2.1", False), ("::1, 127.0.0.1", True)])
def test_only_allowed_clients_are_served(start, allowed, is_served):
    port = free_port()
    server = start({"listen": f"127.0.0.1:{port}", "listen.allowed_clients": allowed})
    reply = b""
    try:
        reply = fastcgi.get(port)
    except ConnectionError:
        assert not is_served
    assert (b"A Fossil repository" in reply) == is_served
    assert ("connection from 127.0.0.1 refused" in server.log()) != is_served


def acl_of(path: Path) -> list[str]:
    done = subprocess.run(["getfacl", "--omit-header", "--absolute-names", "--numeric", path], capture_output=True,
                          text=True, check=True)
    return done.stdout.split()


def may_connect(path: Path, user: int) -> bool:
    """Returns whether USER, without supplementary groups, can connect to the socket PATH."""
    script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    done = subprocess.run(["/usr/bin/python3", "-c", script, path], user=user, group=65534, extra_groups=[],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "PermissionError" in done.stderr, done.stderr
    return done.returncode == 0


@as_root
def test_only_users_and_groups_in_the_access_list_may_connect(start, open_folder):
    if subprocess.run(["setfacl", "-m", "u:nobody:rx", open_folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("no access control lists on this file system")
    users = [entry for entry in pwd.getpwall() if entry.pw_uid not in (0, NOBODY.pw_uid)][:2]
    group = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, NOBODY.pw_gid))
    path = open_folder / "s"
    server = start({"listen": path, "listen.acl_users": f"nobody, {users[0].pw_name}", "listen.acl_groups": group.gr_name,
                    "listen.owner": users[1].pw_name, "listen.mode": "0600"})
    entries = acl_of(path)
    for entry in (f"user:{NOBODY.pw_uid}:rw-", f"user:{users[0].pw_uid}:rw-", f"group:{group.gr_gid}:rw-", "mask::rw-",
                  "other::---", "group::---"):
        assert entry in entries
    assert path.stat().st_uid == 0
    assert "listen.owner is ignored with listen.acl_users or listen.acl_groups" in server.log()
    assert may_connect(path, NOBODY.pw_uid)
    assert not may_connect(path, users[1].pw_uid)
    text = server.config.read_text()
    server.config.write_text(text.replace(f"nobody, {users[0].pw_name}", "nobody"))
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: server.log().count("ready: ") == 2, "the reload")
    assert acl_of(path) == [entry for entry in entries if entry != f"user:{users[0].pw_uid}:rw-"]


@as_root
def test_a_default_access_list_of_the_folder_does_not_change_who_may_connect(start, open_folder):
    users = [entry for entry in pwd.getpwall() if entry.pw_uid not in (0, NOBODY.pw_uid)][:2]
    default = f"d:u:{users[0].pw_uid}:rwx,d:g::---,d:o::rwx"
    if subprocess.run(["setfacl", "-m", default, open_folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("no access control lists on this file system")
    path = open_folder / "s"
    start({"listen": path, "listen.group": "nogroup", "listen.mode": "0660"})
    assert acl_of(path) == ["user::rw-", "group::rw-", "other::---"]
    assert may_connect(path, users[1].pw_uid), "a member of the group"


def say(pid: int, stream: int, text: bytes) -> None:
    """Prints TEXT on a stream of the process PID, because workers do not print anything themselves."""
    with open(f"/proc/{pid}/fd/{stream}", "wb", buffering=0) as output:
        output.write(text)


def test_output_of_workers_and_gateway_is_logged(start):
    words = {"catch_workers_output": "yes"}
    server = start(words, http=words)
    for kind in ("pool www", "gateway"):
        pid = server.child(kind)
        say(pid, 1, b"first\nsec")
        say(pid, 1, b"ond \x1b[31m\n")
        say(pid, 2, b"third\n")
        server.wait_for_log(f"warning: [{kind}] child {pid} said into stdout: \"first\"\n")
        server.wait_for_log(f"warning: [{kind}] child {pid} said into stdout: \"second \\x1b[31m\"\n")
        server.wait_for_log(f"warning: [{kind}] child {pid} said into stderr: \"third\"\n")


def test_the_last_output_of_a_killed_worker_is_logged(start):
    server = start({"catch_workers_output": "yes"})
    pid = server.child()
    os.kill(server.main.pid, signal.SIGSTOP)
    say(pid, 2, b"x" * 3000 + b"\nfarewell")
    os.kill(pid, signal.SIGKILL)
    os.kill(server.main.pid, signal.SIGCONT)
    server.wait_for_log(f"child {pid} said into stderr: \"farewell\", pipe is closed\n")
    lines = [line for line in server.log().splitlines() if "said into stderr: \"x" in line]
    assert [line.count("x") for line in lines] == [768, 768, 768, 696]


def test_undecorated_output_is_logged_unchanged(start):
    server = start({"catch_workers_output": "yes", "decorate_workers_output": "no"})
    say(server.child(), 1, b"bare words\n")
    server.wait_for_log("\nbare words\n")


def test_endless_output_does_not_block_the_master(start):
    """The output exceeds the 64 KiB that a pipe holds. The writer can only continue if the master reads."""
    server = start({"catch_workers_output": "yes", "pm.max_children": 2}, settings={"log_level": "error"},
                   wait=False)
    wait_until(lambda: len(server.children()) == 2, "two workers")
    loud, other = server.children()
    for _ in range(100):
        say(loud, 1, b"noise\n" * 10000)
    os.kill(other, signal.SIGKILL)
    wait_until(lambda: len(server.children()) == 2 and other not in server.children(), "its successor")


def test_output_is_discarded_by_default(start):
    server = start()
    for stream in (0, 1, 2):
        assert Path(f"/proc/{server.child()}/fd/{stream}").readlink() == Path("/dev/null")


def test_log_messages_of_workers_do_not_depend_on_their_standard_error(start):
    server = start(settings={"error_log": "stderr"})
    fastcgi.connect(server.socket).close()
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(b"garbage that is no record at all")
    server.wait_for_log("notice: [pool www] connection from process ")


@as_root
def test_directives_that_need_root_are_reported_at_the_start(start, tmp_path, fresh):
    program = tmp_path / "as-nobody"
    program.mkdir()
    program.chmod(0o777)
    for path in itertools.takewhile(lambda path: path != Path(tempfile.gettempdir()), [tmp_path, *tmp_path.parents]):
        path.chmod(path.stat().st_mode | 0o011)
    try:
        subprocess.run([places.program("quarryd"), "--version"], user="nobody", check=True, capture_output=True)
    except (PermissionError, subprocess.CalledProcessError):
        pytest.skip("nobody may not run the program where it was built")
    config = program / "q.conf"

    def check(*lines):
        words = ["[www]", f"listen = {program}/s", f"repository = {fresh}", *lines, "backoffice = no"]
        config.write_text("\n".join(words) + "\n")
        return quarryd("--config", config, "--test", user="nobody", group=NOBODY.pw_gid, extra_groups=[])

    done = check("user = root", "group = root", "listen.owner = root", "process.priority = -1")
    assert done.returncode == 0, done.stderr
    for number, word in enumerate(["user", "group", "listen.owner", "process.priority below 0"], start=4):
        assert f"{config}:{number}: {word} is ignored: quarryd does not run as root" in done.stderr
    done = check("chroot = /")
    assert done.returncode == 1
    assert f"{config}:4: chroot needs root" in done.stderr
