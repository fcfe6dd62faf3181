"""Every kind of mistake in a configuration: named with file and line, all in one go, and nothing is started or lost."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from support import fastcgi, places
from support.daemon import section, user
from support.process import free_port, wait_until


def run(path: Path, *more: str, **how) -> subprocess.CompletedProcess[str]:
    return subprocess.run([places.program("quarryd"), "--config", str(path), *more], capture_output=True, text=True,
                          timeout=60, check=False, **how)


@pytest.fixture
def world(tmp_path, fresh):
    """Writes configurations: a pool that is right, and MORE."""

    def write(more: str = "", name: str = "quarryd.conf", pool: str = "www") -> Path:
        words = {"listen": tmp_path / f"{pool}.sock", "repository": fresh, **user()}
        path = tmp_path / name
        path.write_text(section(pool, words) + more)
        return path
    return write


def complaint(path: Path) -> str:
    """What --test says, which is the same as what a start says, and both end with 1."""
    tested, started = run(path, "--test"), run(path)
    assert tested.returncode == started.returncode == 1, tested.stderr + started.stderr
    assert not tested.stdout and tested.stderr == started.stderr
    return tested.stderr


# A line of a pool, and what is said of it.
IN_A_POOL = {
    "colour = red": "unknown directive colour",
    "pm.max_childrens = 3": "unknown directive pm.max_childrens",
    "daemonize = yes": "unknown directive daemonize",
    "access.suppress_path = /ping": "unknown directive access.suppress_path",
    "access.suppress_path[x] = /ping": "unknown directive access.suppress_path[x]",
    "access.suppress_path[] = ping": "no absolute path",
    "env[] = x": "a name is letters",
    "no equals sign": "neither [section] nor key = value",
    "= value": "no key before the =",
    'group = "root': "no closing",
    'ping.response = "a" b': "follows the quoted value",
    "pm = sometimes": "none of static, dynamic, ondemand",
    "pm.max_children = many": "no whole number from 1 to 10000",
    "pm.max_children = 0": "no whole number from 1 to 10000",
    "pm.max_children = -1": "no whole number from 1 to 10000",
    "pm.max_children = 1.5": "no whole number from 1 to 10000",
    "pm.max_children = 10001": "no whole number from 1 to 10000",
    "pm.max_children = 99999999999999999999999": "no whole number from 1 to 10000",
    "pm.max_children =": "no whole number from 1 to 10000",
    "pm.max_requests = -1": "no whole number from 0",
    "pm.process_idle_timeout = 0": "at least 1ms",
    "request_terminate_timeout = 3 weeks": "no duration",
    "request_terminate_timeout = 5M": "no duration",
    "request_terminate_timeout = -5": "no duration",
    "max_body = 3 parsecs": "no size",
    "max_body = 0": "no size",
    "max_body = 99999999999999G": "no size",
    "trust_remote_user = perhaps": "neither yes nor no",
    "listen.mode = 0999": "no file mode",
    "listen.mode = rw-rw----": "no file mode",
    "listen.backlog = 70000": "no whole number from 1 to 65535",
    "listen.allowed_clients = example.org": "no IPv4 or IPv6 address",
    "listen.acl_users = no-such-user": 'no user "no-such-user"',
    "listen.acl_groups = no-such-group": 'no group "no-such-group"',
    "process.priority = 21": "from -19 to 20",
    "rlimit_core = most": "unlimited",
    "chdir = /no/such/folder": "is no folder",
    "pm.status_path = status": "no path of a page",
    "ping.path = /p?x": "no path of a page",
    "access.format = %z": "no placeholder %z",
    "slowlog = slow.log": "no absolute path",
    "request_slowlog_timeout = 5s": "needs slowlog",
    "pm.status_listen = 127.0.0.1:99999": "no port",
    "pm.status_listen = /" + "s" * 200: "is longer than 107",
}


@pytest.mark.parametrize("line", IN_A_POOL)
def test_mistake_in_a_pool_is_named_with_file_and_line(world, line):
    path = world(line + "\n")
    number = path.read_text().count("\n")
    said = complaint(path)
    assert said.startswith(f"{path}:{number}: ") and IN_A_POOL[line] in said, said
    assert said.count("\n") == 1


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(world, fresh):
    path = world()
    with path.open("a") as file:
        for number, line in enumerate(IN_A_POOL):
            words = {"listen": free_port() if "listen" not in line else f"/tmp/{number}.sock", "repository": fresh}
            words |= user()
            file.write(section(f"pool{number}", words) + line + "\n")
    lines = complaint(path).splitlines()
    numbers = [int(re.match(rf"{re.escape(str(path))}:(\d+): ", line)[1]) for line in lines]
    assert len(lines) == len(IN_A_POOL) and numbers == sorted(numbers)


@pytest.mark.parametrize("more, line, word", [
    ("[www]\nlisten = 1\n", 0, "[www] was begun"),
    ("[other\nlisten = 1\n", 0, "a section is written [NAME]"),
    ("[]\n", 0, "a section is written [NAME]"),
    ("[" + "n" * 33 + "]\nlisten = 1\nrepositories = /\nuser = root\n", 0, "at most 32"),
    ("listen = /again.sock\n", 0, "listen was set on line"),
    ("[b]\nrepositories = /\nuser = root\n", 0, "[b] needs listen"),
    ("[peer x]\nremote = a\npool = nobody\n", 0, "[peer x] pool: there is no pool [nobody]"),
    ("[peer x]\nurl = http://a:geheim@b/\n", 1, "url: a password does not belong here"),
    ("[peer x]\ninterval = 5m\n", 0, "[peer x] needs either url or remote"),
    ("[b]\nlisten = 9\nuser = root\n", 0, "[b] needs repository = FILE or repositories"),
    ("[b]\nlisten = 9\nuser = root\nrepository = /etc/passwd\n", 3, "is no Fossil repository"),
    ("[b]\nlisten = 9\nuser = root\nrepository = /none.fossil\n", 3, "is no file"),
    ("[b]\nlisten = 9\nuser = root\nrepositories = /etc/passwd\n", 3, "is no folder: for one file it is repository = FILE"),
    ("[b]\nlisten = 9\nuser = root\nrepository = /etc\n", 3, "is no file: for a folder of them it is repositories = FOLDER"),
    ("[b]\nlisten = b.sock\nuser = root\nrepositories = /\n", 1, "no path: that of a socket begins with /"),
    ("[b]\nlisten = run/b.sock\nuser = root\nrepositories = /\n", 1, "is no absolute path"),
    ("[b]\nlisten = 9\nuser = root\nrepositories = /\nrepository = /x\n", 0, "[b] has both repository and repositories"),
    ("[b]\nlisten = 9\nuser = no-such-user\nrepositories = /\n", 2, 'no user "no-such-user"'),
    ("[b]\nlisten = 9\nuser = root\ngroup = no-such-group\nrepositories = /\n", 2, 'no group "no-such-group"'),
    ("[b]\nlisten = 9\nuser = root\nrepositories = /\npm = dynamic\n", 0, "[b] needs pm.min_spare_servers"),
    ("[b]\nlisten = 9\nuser = root\nrepositories = /\npm = dynamic\npm.min_spare_servers = 3\n"
     "pm.max_spare_servers = 2\n", 5, "more than pm.max_spare_servers"),
    ("[b]\nlisten = 9\nuser = root\nrepositories = /\npm = dynamic\npm.max_children = 3\npm.min_spare_servers = 1\n"
     "pm.max_spare_servers = 4\n", 7, "more than pm.max_children"),
    ("[b]\nlisten = 9\nuser = root\nrepositories = /\npm = dynamic\npm.start_servers = 4\npm.min_spare_servers = 1\n"
     "pm.max_spare_servers = 3\n", 5, "is not between"),
    ("[b]\nlisten = 9\nuser = root\nrepositories = /\n[c]\nlisten = 9\nuser = root\nrepositories = /\n", 4,
     "[b] and [c] both listen"),
    ("[b]\nlisten = /" + "s" * 107 + "\nuser = root\nrepositories = /\n", 1, "is longer than 107"),
    ("[b]\nlisten = 65536\nuser = root\nrepositories = /\n", 1, "no port"),
    ("[b]\nlisten = http://x\nuser = root\nrepositories = /\n", 1, "no absolute path"),
    ("[http]\nlisten = 127.0.0.1:9\npool = none\n", 0, 'no pool "none"'),
    ("[http]\nlisten = 127.0.0.1:9\ntrusted_proxies = 10.0.0.0/99\n", 2, "from 0 to 32"),
    ("[http]\n", 0, "[http] needs listen"),
    ("[global]\nlog_level = loud\n", 1, "none of debug"),
    ("[global]\nlog_limit = 511\n", 1, "from 512"),
    ("[global]\nprocess.max = -1\n", 1, "no whole number from 0"),
    ("[global]\nerror_log = relative.log\n", 1, "neither an absolute path"),
    ("[global]\npid = quarry.pid\n", 1, "no absolute path"),
    ("[global]\nerror_log = /nowhere/one.log\npid = /nowhere/one.log\ncontrol.socket = off\n", 1,
     "is the pid of [global], too"),
    ("[global]\nlisten = 9\n", 1, "unknown directive listen"),
], ids=lambda value: None if isinstance(value, str) and "\n" in value else str(value)[:40])
def test_mistake_between_lines_and_sections_is_named_where_it_stands(world, more, line, word):
    if "user = root" in more and os.geteuid() != 0:
        pytest.skip("needs root, or user = root is a notice")
    path = world()
    first = path.read_text().count("\n") + 1
    path.write_text(path.read_text() + more)
    said = complaint(path)
    assert any(each.startswith(f"{path}:{first + line}: ") and word in each for each in said.splitlines()), said


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the words are ignored")
def test_listen_owner_and_group_that_are_not_there_are_named(world):
    path = world("listen.owner = no-such-user\nlisten.group = no-such-group\n")
    number = path.read_text().count("\n")
    assert complaint(path).splitlines() == [
        f'{path}:{number - 1}: listen.owner: there is no user "no-such-user"',
        f'{path}:{number}: listen.group: there is no group "no-such-group"']


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have pools of others")
def test_a_gate_that_could_never_run_is_refused(world):
    gate = "changes = yes\nchanges.gate = /bin/true\n"
    for name, more, said in (("nobody", "changes.gate_user = daemon\n", "cannot become daemon"),
                             ("root", "changes.gate_user = root\n", "no gate runs as root"),
                             ("root", "changes.gate_user = no-such-user\n", "no-such-user"),
                             ("root", "", "changes.gate_user names whom it becomes")):
        path = world(gate + more)
        path.write_text(path.read_text().replace("user = root\n", f"user = {name}\n"))
        said_of_it = complaint(path)
        assert said_of_it.startswith("[www] changes.gate") and said in said_of_it, said_of_it
    for name, more in (("root", "changes.gate_user = nobody\n"), ("nobody", "")):
        path = world(gate + more)
        path.write_text(path.read_text().replace("user = root\n", f"user = {name}\n"))
        assert "changes.gate" not in run(path, "--test").stderr


def test_process_max_below_the_first_children_is_a_notice(world):
    path = world("pm.max_children = 4\n[global]\nprocess.max = 3\n")
    done = run(path, "--test")
    number = path.read_text().count("\n")
    assert done.returncode == 0
    assert f"{path}:{number}: process.max: 3 is less than the 4 children that the pools start with" in done.stderr
    path.write_text(path.read_text().replace("process.max = 3", "process.max = 4"))
    assert not run(path, "--test").stderr


def test_empty_file_has_no_pool(tmp_path):
    path = tmp_path / "empty.conf"
    path.write_text("")
    assert complaint(path).startswith(f"{path}: there is no pool")


def test_bytes_that_are_no_text_are_named_and_shown_harmlessly(world):
    path = world("a\0b = 1\n\x1b[2Jc = 1\nwide\xff = 1\npm = \x07\nchdir = /\x1b[2J\n")
    said = complaint(path)
    for line, what in zip(said.splitlines(), ("the line holds a NUL", r"unknown directive \x1b[2Jc",
                                              "unknown directive wide", r'pm: "\x07" is none of', r"chdir: /\x1b[2J is no"), strict=True):
        assert what in line
    assert not re.search(r"[^\n\x20-\x7e\xa0-\U0010ffff]", said)


def test_very_long_line_is_one_mistake_in_a_short_message(world):
    said = complaint(world("x" * 500000 + " = 1\n" + "pm.max_requests = " + "9" * 400000 + "\n"))
    assert len(said.splitlines()) == 2 and len(said) < 2000


def test_file_of_random_bytes_is_many_mistakes_and_an_end(tmp_path):
    path = tmp_path / "random.conf"
    path.write_bytes(os.urandom(100000))
    done = subprocess.run([places.program("quarryd"), "--config", path, "--test"], capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and done.stderr.startswith(str(path).encode())


# --- what is no file to read -------------------------------------------------------------------------


def test_what_is_no_file_is_named(tmp_path, world):
    (tmp_path / "folder.conf").mkdir()
    os.mkfifo(tmp_path / "pipe.conf")
    (tmp_path / "huge.conf").write_text("; a comment\n" * 100000)
    (tmp_path / "dangling.conf").symlink_to(tmp_path / "nowhere")
    for name, why in (("folder", "it is a folder"), ("pipe", "it is no file"), ("huge", "larger than"),
                      ("dangling", "No such file"), ("absent", "No such file")):
        path = tmp_path / f"{name}.conf"
        said = complaint(path)
        assert said.startswith(f"{path}: ") and why in said
        outer = world(f"[global]\ninclude = {name}.conf\n", name="outer.conf")
        number = outer.read_text().count("\n")
        assert complaint(outer).startswith(f"{outer}:{number}: include: {path}: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_unreadable_file_is_named(open_folder):
    path = open_folder / "secret.conf"
    path.write_text("[www]\n")
    path.chmod(0o600)
    done = run(path, "--test", user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1 and done.stderr == f"{path}: cannot be read: permission denied\n"


def test_include_that_nothing_matches_is_a_notice(world, tmp_path):
    path = world("[global]\ninclude = none.d/*.conf\n")
    done = run(path, "--test")
    assert done.returncode == 0
    assert f"{path}:{path.read_text().count(chr(10))}: include: nothing matches {tmp_path}/none.d/*.conf" in done.stderr


def test_files_that_include_each_other_are_told(world, tmp_path):
    (tmp_path / "b.conf").write_text("[global]\ninclude = a.conf\n")
    path = world("[global]\ninclude = b.conf\n", name="a.conf")
    assert complaint(path) == f"{tmp_path}/b.conf:2: include: {path} includes itself\n"


def test_mistakes_of_all_files_are_told_at_once(world, tmp_path):
    (tmp_path / "pool.d").mkdir()
    inner = world("colour = red\n", name="pool.d/a.conf", pool="a")
    again = world("", name="pool.d/b.conf", pool="a")
    outer = world("colour = blue\n[global]\ninclude = pool.d/*.conf\n")
    lines = complaint(outer).splitlines()
    assert [line.split(": ")[0].rpartition(":")[0] for line in lines] == [str(outer), str(inner), str(again)]


# --- what somebody else has --------------------------------------------------------------------------


def test_addresses_that_are_taken_are_all_named_with_file_and_line(world, fresh, tmp_path):
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(str(tmp_path / "www.sock"))
        unix.listen()
        port = tcp.getsockname()[1]
        path = world(section("other", {"repository": fresh, **user(), "listen": f"127.0.0.1:{port}"}))
        done = run(path)
        number = path.read_text().count("\n")
        assert done.returncode == 1
        complaints = [line for line in done.stderr.splitlines() if line.startswith("quarryd: ")]
        assert complaints[0].startswith(f"quarryd: {path}:2: ") and "www.sock" in complaints[0]
        assert complaints[1] == f"quarryd: {path}:{number}: another program listens on 127.0.0.1:{port}"
        assert (tmp_path / "www.sock").exists(), "that of the other is left alone"


def test_a_courier_that_cannot_listen_is_found_before_anything_starts(world, tmp_path):
    nowhere = tmp_path / "nowhere" / "courier.sock"
    path = world(f"[courier]\nsocket = {nowhere}\n")
    number = path.read_text().split("\n").index("[courier]") + 1
    why = f"{path}:{number}: cannot bind {nowhere}: No such file or directory\n"
    assert why in run(path, "--test").stderr and why in run(path).stderr
    nowhere.parent.mkdir()
    assert run(path, "--test").returncode == 0 and not nowhere.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_socket_that_cannot_be_given_away_is_not_left(open_folder):
    path = open_folder / "quarryd.conf"
    path.write_text(section("www", {"listen": open_folder / "www.sock", "repositories": open_folder})
                    + f"[courier]\nuser = www-data\nsocket = {open_folder}/courier.sock\n")
    done = run(path, "--test", user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1
    assert "cannot change the owner" in done.stderr and not (open_folder / "courier.sock").exists()


def test_file_in_the_place_of_a_socket_is_left_alone(world, tmp_path):
    (tmp_path / "www.sock").write_text("precious")
    done = run(world())
    assert done.returncode == 1 and "www.sock" in done.stderr
    assert (tmp_path / "www.sock").read_text() == "precious"


def test_socket_in_a_folder_that_is_not_there(world, tmp_path):
    path = world()
    path.write_text(path.read_text().replace("www.sock", "none/www.sock"))
    done = run(path)
    assert done.returncode == 1 and f"{path}:2: " in done.stderr and "none/www.sock" in done.stderr


def test_reload_with_mistakes_of_every_kind_leaves_all_pools_as_they_are(start, fresh, tmp_path):
    more = section("other", {"listen": tmp_path / "other.sock", "repository": fresh, "ping.path": "/ping",
                             "pm.max_children": 2, **user()})
    server = start({"ping.path": "/ping"}, more=more)

    def children() -> set[int]:
        return {*server.children(), *server.children("pool other")}
    wait_until(lambda: len(children()) == 3, "all workers")
    workers = children()
    good = server.config.read_text()
    for number, bad in enumerate([*IN_A_POOL, "[www]", "include = /nowhere/\0"], 1):
        server.config.write_text(good + bad + "\n")
        server.main.send(signal.SIGUSR2)
        wait_until(lambda: server.log().count("not reloaded") == number, f"the refusal of {bad}")  # noqa: B023
    for address in (server.socket, tmp_path / "other.sock"):
        assert fastcgi.get(address, "/ping").endswith(b"pong")
    assert children() == workers
