"""The error log and the access log: destinations, formats and reopening."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import fastcgi, places, process, repofile
from support.browser import Browser
from support.daemon import Daemon, section, user
from support.logs import LINE, TIME, LogDaemon, holds_open, journal_fields, move_away, reopen
from support.process import free_port, wait_until
from support.wire import Peer

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def daemon(tmp_path) -> Iterator[LogDaemon]:
    daemon = LogDaemon(tmp_path / "daemon.sock")
    yield daemon
    daemon.close()


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def wait_for_line(path: Path, part: str) -> str:
    wait_until(lambda: any(part in line for line in lines(path)), f"{part!r} in {path}")
    return next(line for line in lines(path) if part in line)


def ask_for_a_long_line(server) -> None:
    """Makes the worker write a message of more than 700 bytes."""
    server.ask("\2" * 100, "/" + "\3" * 100, REMOTE_ADDR="\1" * 100)


def test_error_log_is_a_file_with_microseconds_level_and_child(start):
    server = start()
    server.ask("PUT", "/no/such/page")
    of_worker = LINE.fullmatch(wait_for_line(server.log_path, "/no/such/page"))
    assert of_worker and of_worker[2] == "notice" and of_worker[3] == "pool www"
    assert all(LINE.fullmatch(line) for line in lines(server.log_path))
    assert server.log_path.stat().st_mode & 0o777 == 0o640
    assert server.main.output() == ""


def test_error_log_is_standard_error_by_default(start):
    server = start(settings={"error_log": None})
    assert all(LINE.fullmatch(line) for line in server.main.output().splitlines())


@pytest.mark.parametrize("level, logged", [("debug", {"debug", "notice", "error"}), ("notice", {"notice", "error"}),
                                         ("warning", {"error"}), ("error", {"error"}), ("alert", set())])
def test_log_level_is_the_minimum_that_is_logged(start, fresh, level, logged):
    server = start(settings={"log_level": level})
    fresh.write_bytes(b"no repository")
    assert b"500" in server.ask(path="/")
    server.stop()
    assert {LINE.fullmatch(line)[2] for line in lines(server.log_path)} == logged


@pytest.mark.parametrize("sent, logged", [
    (b"\x16\x03\x01\x02\r\n\r\n", ": 400 "), (b"POST / HTTP/1.1\r\nHost: h\r\n\r\n", ": 411 "),
    (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 100_000, ": 431 "), (b"GET / HTTP/7.0\r\n\r\n", ": 505 "),
    (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n1", "of an incomplete request")],
    ids=["no request", "no length", "a long header", "no such version", "half a body"])
def test_errors_of_clients_are_notices(start, sent, logged):
    """Scanners constantly send requests like these, so they are not logged as errors."""
    server = start(http={})
    wait_until(lambda: process.port_answers(server.port), "the front")
    with socket.create_connection(("127.0.0.1", server.port)) as client, contextlib.suppress(ConnectionError):
        client.sendall(sent)
        if logged.startswith(":"):
            client.recv(1000)
    assert LINE.fullmatch(wait_for_line(server.log_path, logged))[2] == "notice"


@pytest.mark.parametrize("form", ["text", "json"])
def test_log_limit_divides_a_long_message_into_lines(start, form):
    def messages(limit: int) -> list[str]:
        server = start(settings={"log_limit": limit, "log_format": form})
        log = server.log_path
        ask_for_a_long_line(server)
        wait_for_line(log, "is not supported")
        server.stop()
        texts = [json.loads(line)["message"] if form == "json" else LINE.fullmatch(line)[4] for line in lines(log)]
        assert all(len(line.encode()) <= limit for line in lines(log))
        first = next(i for i, text in enumerate(texts) if text.startswith("client "))
        last = next(i for i, text in enumerate(texts) if "is not supported" in text)
        return texts[first:last + 1]

    whole = messages(4096)
    divided = messages(512)
    assert len(whole) == 1 and len(divided) > 1
    assert "".join(divided) == whole[0]


@pytest.mark.parametrize("buffering", ["yes", "no"])
def test_log_buffering_makes_each_line_one_write(fresh, tmp_path, buffering):
    """The test reads the log from a socket that preserves message boundaries. Each write(2) is therefore visible."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    config = tmp_path / "quarryd.conf"
    config.write_text(section("global", {"log_buffering": buffering})
                      + section("www", {"listen": tmp_path / "pool.sock", "repository": fresh, "pm.max_children": 1, **user()}))
    with ours, theirs:
        main = subprocess.Popen([places.program("quarryd"), "--config", config], stdin=subprocess.DEVNULL, stderr=theirs,
                                start_new_session=True)
        try:
            ours.settimeout(60)
            writes = []
            while not (writes and b"ready" in b"".join(writes) and writes[-1].endswith(b"\n")):
                writes.append(ours.recv(1 << 16))
        finally:
            main.terminate()
            main.wait(60)
    are_lines = [LINE.fullmatch(write.decode().rstrip("\n")) and write.endswith(b"\n") for write in writes]
    assert all(are_lines) if buffering == "yes" else not any(are_lines)
    assert all(LINE.fullmatch(line) for line in b"".join(writes).decode().splitlines())


def test_log_format_json_is_one_object_a_line(start):
    server = start(settings={"log_format": "json"})
    server.ask("PUT", '/no"such\npage')
    wait_for_line(server.log_path, "is not supported")
    objects = [json.loads(line) for line in lines(server.log_path)]
    for each in objects:
        assert re.fullmatch(TIME, each["time"]) and each["level"] == "notice" and each["message"]
    assert {each["pid"] for each in objects if "child" not in each} == {server.main.pid}
    assert {(each["child"], each["pid"]) for each in objects if "child" in each} == {("pool www", server.child())}


def test_lines_of_the_courier_have_the_format_of_the_log(start, tmp_path):
    server = start(settings={"log_format": "json"}, more=section(
        "courier", {"socket": tmp_path / "courier.sock", "spool.directory": tmp_path / "spool"})
        + section("destination file", {"type": "file", "path": tmp_path / "events"}))
    server.wait_for_log("[courier] ready")
    server.stop()
    objects = [json.loads(line) for line in lines(server.log_path)]
    last = [each for each in objects if "[courier]" in each["message"]][-1]
    assert (last["level"], last["message"]) == ("notice", "[courier] stopping")


def test_lines_go_to_syslog_with_facility_and_ident(start, daemon):
    server = start(settings={"error_log": f"syslog:{daemon.path}", "syslog.facility": "local3",
                             "syslog.ident": "fossils"})
    assert re.fullmatch(rb"<157>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d fossils\[%d\]: notice: ready: .*" % server.main.pid,
                        daemon.wait_for(b"ready"))
    server.ask("PUT", "/no/such/page")
    worker = server.child()
    assert b"fossils[%d]: notice: [pool www] client" % worker in daemon.wait_for(b"/no/such/page")
    assert server.main.output() == ""


def test_syslog_lines_are_the_daemon_facility_and_quarryd_by_default(start, daemon):
    start(settings={"error_log": f"syslog:{daemon.path}"})
    line = daemon.wait_for(b"ready")
    assert line.startswith(b"<29>") and b" quarryd[" in line


def test_json_is_sent_to_syslog_as_text(start, daemon):
    start(settings={"error_log": f"syslog:{daemon.path}", "log_format": "json"})
    _, _, text = daemon.wait_for(b"ready").partition(b"]: ")
    assert json.loads(text)["level"] == "notice"


def test_entries_of_the_journal_have_fields(start, daemon):
    server = start(settings={"error_log": f"journald:{daemon.path}", "syslog.ident": "fossils",
                             "syslog.facility": "local3"})
    ready = journal_fields(daemon.wait_for(b"ready"))
    assert ready["PRIORITY"] == "5" and ready["SYSLOG_IDENTIFIER"] == "fossils" and ready["SYSLOG_FACILITY"] == "19"
    assert ready["SYSLOG_PID"] == str(server.main.pid) and ready["MESSAGE"].startswith("ready: ")
    server.ask("PUT", "/no\nPRIORITY=0\npage")
    logged = journal_fields(daemon.wait_for(b"page"))
    assert logged["PRIORITY"] == "5" and logged["QUARRY_CHILD"] == "pool www"
    assert logged["MESSAGE"].startswith("[pool www] client 127.0.0.1: PUT ")


@pytest.mark.parametrize("kind", ["syslog", "journald"])
def test_a_restarted_logging_daemon_is_found_again(start, daemon, kind):
    server = start(settings={"error_log": f"{kind}:{daemon.path}"})
    daemon.wait_for(b"ready")
    daemon.close()
    assert b"405" in server.ask("PUT", "/while/it/is/away")
    successor = LogDaemon(daemon.path)
    with contextlib.closing(successor):
        server.ask("PUT", "/when/it/is/back")
        successor.wait_for(b"/when/it/is/back")


def test_a_hanging_logging_daemon_does_not_delay_requests(start, daemon):
    server = start(settings={"error_log": f"syslog:{daemon.path}"})
    daemon.wait_for(b"ready")
    # From here on the log daemon does not read. The log daemon's queue is full long before the last request.
    queue = int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text())
    for i in range(queue + 20):
        assert b"405" in server.ask("PUT", f"/unheard/{i}")
    before = len(daemon.taken)
    assert before < len(daemon.take()) <= before + queue + 1
    server.ask("PUT", "/heard/again")
    daemon.wait_for(b"/heard/again")


def test_a_missing_logging_daemon_prevents_the_start(start, tmp_path):
    server = start(settings={"error_log": f"syslog:{tmp_path}/absent.sock"}, wait=False)
    assert server.main.wait() == 1 and f"{tmp_path}/absent.sock" in server.log()


@pytest.fixture
def access(tmp_path) -> Path:
    return tmp_path / "access.log"


def test_access_log_has_php_fpms_format_by_default(start, access):
    server = start({"access.log": access, "ping.path": "/ping"}, env={"TZ": "Asia/Tokyo"})
    server.ask(path="/ping?x=1", REMOTE_ADDR="192.0.2.7")
    server.ask("HEAD", "/no/such/page")
    server.stop()
    time = r"\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0900"
    first, second = lines(access)
    assert re.fullmatch(rf'192\.0\.2\.7 - - {time} "GET /ping" 200', first)
    assert re.fullmatch(rf'127\.0\.0\.1 - - {time} "HEAD /no/such/page" 404', second)
    assert access.stat().st_mode & 0o777 == 0o640


def test_placeholders_have_the_values_of_the_request_and_its_worker(start, access, fresh):
    """tests/unit/base/access_format_test.cc tests the format of the values."""
    names = {"cpu": "%C", "user_cpu": "%{user}C", "system_cpu": "%{system}C", "ms": "%{milli}d", "agent": "%{HTTP_USER_AGENT}e",
             "file": "%f", "length": "%l", "method": "%m", "kb": "%{kilo}M", "pool": "%n", "type": "%{Content-Type}o",
             "pid": "%p", "parent": "%P", "path": "%r", "q": "%Q", "query": "%q", "address": "%R", "status": "%s",
             "came": "%{%s}t", "written": "%{%s}T", "zone": "%{%Z}t"}
    server = start({"access.log": access, "access.format": '"' + "|".join(names.values()) + '"'}, env={"TZ": "UTC0"})
    server.ask("POST", "/xfer?a=b&c", b"# a comment\n", CONTENT_TYPE="application/x-fossil-debug",
               REMOTE_ADDR="192.0.2.7", HTTP_USER_AGENT="Fossil/2.20")
    worker = server.child()
    peak = process.memory_kib(worker, "VmHWM")
    server.stop()
    line, = lines(access)
    logged = dict(zip(names, line.split("|"), strict=True))
    exact = {"agent": "Fossil/2.20", "file": str(fresh), "length": "12", "method": "POST", "pool": "www",
             "type": "application/x-fossil-debug", "pid": str(worker), "parent": str(server.main.pid), "path": "/xfer",
             "q": "?", "query": "a=b&c", "address": "192.0.2.7", "status": "200", "zone": "UTC"}
    assert {name: logged[name] for name in exact} == exact
    assert 0 <= int(logged["written"]) - int(logged["came"]) <= 1 + float(logged["ms"]) / 1000
    assert 0 < int(logged["kb"]) <= peak and 0 < float(logged["cpu"]) < 200
    assert abs(float(logged["user_cpu"]) + float(logged["system_cpu"]) - float(logged["cpu"])) < 0.02


def test_users_and_operations_are_logged(start, access, fresh):
    server = start({"access.log": access, "access.format": "%u %x %{Content-Length}o"}, http={})
    secret = repofile.add_user(fresh, "ann", "pen", "gio")
    answer = Peer(server.port, "/", "ann", secret, repofile.project_code(fresh)).pull()
    wait_for_line(access, f"ann pull {len(answer.raw)}")


def test_only_successful_plain_probes_are_suppressed(start, access):
    server = start({"access.log": access, "access.format": '"%m %r%Q%q %s"',
                         "access.suppress_path[]": ["/ping", "/nothing/here"], "ping.path": "/ping",
                         "pm.status_path": "/status"})
    server.ask("GET", "/ping")
    server.ask("HEAD", "/ping")
    server.ask("GET", "/ping", b"body")
    server.ask("GET", "/ping?why")
    server.ask("GET", "/ping/")
    server.ask("GET", "/nothing/here")
    server.ask("DELETE", "/ping")
    server.ask("GET", "/status")
    server.stop()
    assert lines(access) == ["GET /ping 200", "GET /ping?why 200", "GET /ping/ 404", "GET /nothing/here 404",
                             "DELETE /ping 405", "GET /status 200"]


def test_lines_of_many_workers_never_mix(start, access):
    server = start({"access.log": access, "access.format": '"%p %r end"', "pm.max_children": "4"})
    padding = "x" * 100

    def ask(name: str) -> None:
        for i in range(100):
            server.ask(path=f"/ping/{name}{i}{padding}")

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pids = {str(pid) for pid in server.children()}
    server.stop()
    found = [re.fullmatch(rf"(\d+) /ping/([a-d]\d+){padding} end", line) for line in lines(access)]
    assert all(found) and {match[2] for match in found} == {f"{name}{i}" for name in "abcd" for i in range(100)}
    assert {match[1] for match in found} <= pids


def test_the_access_log_can_be_standard_error(start):
    server = start({"access.log": "/proc/self/fd/2", "access.format": '"asked %r"'}, settings={"error_log": None})
    server.ask(path="/ping")
    assert "asked /ping" in server.main.output().splitlines()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
@pytest.mark.parametrize("name", ["/proc/self/fd/2", "/dev/stderr"])
def test_an_access_log_on_standard_error_stays_there_after_a_signal(start, number, name):
    """If a worker opened the log's path itself, its log lines would go to the worker's own standard error, which is
    discarded."""
    server = start({"access.log": name, "access.format": '"asked %r"'})
    server.ask(REQUEST_URI="/first")
    server.main.send(number)
    wait_until(lambda: "the logs were reopened" in server.log() or server.log().count("ready: ") == 2, "the signal's effect")
    for path in ("/second", "/third"):
        server.ask(REQUEST_URI=path)
    wait_until(lambda: server.main.output() == "asked /first\nasked /second\nasked /third\n", "all lines there")
    assert "asked" not in server.log_path.read_text()


def test_an_error_log_on_standard_error_stays_there_after_a_signal(start):
    server = start(settings={"error_log": "/proc/self/fd/2"})
    server.main.send(signal.SIGUSR1)
    wait_until(lambda: "the logs were reopened" in server.main.output(), "what the signal does")
    for _ in range(2):
        server.ask(method="PUT")
    wait_until(lambda: server.main.output().count("method PUT is not supported") == 2, "the worker's lines")


def test_both_logs_are_appended_to(start, access, tmp_path):
    logs = access, tmp_path / "error.log"
    for path in logs:
        path.write_text("an earlier line\n")
    server = start({"access.log": access}, settings={"error_log": logs[1]})
    server.ask()
    server.stop()
    for path in logs:
        assert lines(path)[0] == "an earlier line" and len(lines(path)) > 1


def test_an_idle_worker_reopens_both_logs_at_sigusr1(start, access):
    server = start({"access.log": access, "access.format": "%r"})
    error = server.log_path
    server.ask("PUT", "/before")
    worker = server.child()
    moved = [move_away(error), move_away(access)]
    sizes = [path.stat().st_size for path in moved]
    reopen(server)
    wait_until(lambda: holds_open(worker, error) and holds_open(worker, access), "both logs")
    assert not any(holds_open(worker, path) for path in moved)
    server.ask("PUT", "/after")
    assert lines(access) == ["/after"] and lines(moved[1]) == ["/before"]
    assert [LINE.fullmatch(line)[4].partition(": 405")[0] for line in lines(error)] == [
        "the logs were reopened", 'client 127.0.0.1: PUT "/after"']
    assert [path.stat().st_size for path in moved] == sizes
    assert server.children() == [worker]


def test_a_busy_worker_reopens_its_logs_before_it_logs_its_request(start, access, fresh):
    server = start({"access.log": access, "access.format": "%r"})
    worker = server.child()
    held = fastcgi.hold(server.socket, "/xfer", 5)
    wait_until(lambda: holds_open(worker, fresh), "the worker at the request's body")
    moved = move_away(access)
    reopen(server)
    server.wait_for_log("the logs were reopened")
    assert b"200" in held.finish(b"# abc")
    server.ask(path="/after")
    assert lines(moved) == [] and lines(access) == ["/xfer", "/after"]
    assert server.children() == [worker]


def test_a_starting_worker_reopens_its_logs(start, access):
    """The signal must not be lost, and must not kill a worker that has not installed its handlers yet."""
    server = start({"access.log": access, "access.format": "%r"})
    for _ in range(8):
        before = process.children(server.main.pid)
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: process.children(server.main.pid) not in ([], before), "another worker")
        worker, = process.children(server.main.pid)
        moved = move_away(access)
        reopen(server)
        wait_until(lambda: holds_open(worker, access) and not holds_open(worker, moved), "the new log")
        server.ask(path="/after")
        assert lines(access) == ["/after"] and server.children() == [worker]


def test_the_gateway_reopens_the_error_log_at_sigusr1(start):
    server = start(http={})
    error, gateway = server.log_path, server.child("gateway")
    moved = move_away(error)
    reopen(server)
    wait_until(lambda: holds_open(gateway, error) and not holds_open(gateway, moved), "the new log")
    assert Peer(server.port).exchange_bytes(b"no HTTP\r\n\r\n")
    assert LINE.fullmatch(wait_for_line(error, "127.0.0.1"))[3] == "gateway"


def test_pages_are_logged_with_their_repository_and_404s_at_level_debug(start, access, fresh, tmp_path):
    (tmp_path / "served").mkdir()
    repository = shutil.copy(fresh, tmp_path / "served" / "one.fossil")
    server = start({"access.log": access, "access.format": "json", "pages": "fossil", "repository": None,
                    "repositories": tmp_path / "served"},
                   http={}, settings={"log_level": "debug"})
    for path in ("/one/timeline", "/none/timeline", "/one/xfer"):
        Browser(server.port).get(path)
    wait_until(lambda: len(lines(access)) == 3, "all requests")
    found = {each["uri"]: each["repository"] for each in map(json.loads, lines(access))}
    assert found == {"/one/timeline": str(repository), "/none/timeline": "", "/one/xfer": str(repository)}
    line = LINE.fullmatch(wait_for_line(server.log_path, "404 no such repository"))
    assert (line[2], line[3]) == ("debug", "pages www")


@pytest.mark.parametrize("where", ["global", "http", "neither"])
def test_a_front_with_too_few_descriptors_names_the_limit(start, where):
    limit = {"rlimit_files": 200}
    listen = {"listen": f"127.0.0.1:{free_port()}"}
    server = start(http={**listen, **(limit if where == "http" else {})}, settings=limit if where == "global" else {},
                   command=["prlimit", "--nofile=200:200"] if where == "neither" else None)
    line = wait_for_line(server.log_path, "the limit of 200 open files")
    assert line.endswith("raise the limit (ulimit -n, LimitNOFILE=)" if where == "neither" else ": raise rlimit_files")


@dataclass
class OfNobody:
    """A server with pages and an HTTP front. Its children run as another user, and only root can enter the folder of
    the logs."""
    server: Daemon
    port: int
    repository: Path
    error: Path
    access: Path


@pytest.fixture
def of_nobody(fresh, fossil) -> Iterator[OfNobody]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "logs").mkdir(mode=0o700)
        (folder / "served").mkdir()
        repository = shutil.copy(fresh, folder / "served" / "fresh.fossil")
        for path in (folder / "served", repository):
            shutil.chown(path, "nobody", "nogroup")
        server = Daemon(folder / "daemon", Path(repository),
                        {"access.log": folder / "logs" / "access.log", "access.format": "%r", "user": "nobody",
                         "pages": "fossil", "pm.status_listen": folder / "status.sock", "pm.status_path": "/status"},
                        settings={"error_log": folder / "logs" / "error.log"}, http={},
                        env=fossil.environment).wait_until_ready()
        yield OfNobody(server, server.port, Path(repository), folder / "logs" / "error.log", folder / "logs" / "access.log")
        server.stop()


@is_root
def test_children_continue_with_the_logs_that_the_master_has_reopened(of_nobody):
    server, error, access = of_nobody.server, of_nobody.error, of_nobody.access
    children = {kind: server.child(kind) for kind in ("pool www", "gateway", "pages www", "status www")}
    logs = {"pool www": [error, access], "pages www": [error, access], "gateway": [error], "status www": [error]}
    for number in range(3):
        moved = [move_away(path) for path in (error, access)]
        reopen(server)
        for kind, pid in children.items():
            wait_until(lambda pid=pid, kind=kind: all(holds_open(pid, path) for path in logs[kind]), f"new logs of {kind}")
            assert os.stat(f"/proc/{pid}").st_uid != 0 and not any(holds_open(pid, path) for path in moved)
        server.ask("PUT", f"/{number}")
        assert Peer(of_nobody.port).exchange_bytes(b"no HTTP\r\n\r\n")
        Browser(of_nobody.port).log_in("/login", f"ann{number}", "wrong")
        for line in (f'"/{number}"', "[gateway] client 127.0.0.1: 400", f'login failed for "ann{number}"'):
            wait_for_line(error, line)
        wait_until(lambda: lines(access) == [f"/{number}", "/login"], "the lines of both requests")
    assert children == {kind: server.child(kind) for kind in children}


@is_root
def test_a_worker_of_the_previous_generation_gets_the_reopened_logs(of_nobody):
    server, access = of_nobody.server, of_nobody.access
    held = fastcgi.hold(server.socket, "/xfer", 5)
    worker = server.child()
    wait_until(lambda: holds_open(worker, of_nobody.repository), "the worker at the request's body")
    server.reload()
    moved = move_away(access)
    reopen(server)
    wait_for_line(of_nobody.error, "the logs were reopened")
    assert b"200" in held.finish(b"# abc")
    wait_until(lambda: "/xfer" in lines(access), "the line in the new log")
    assert "/xfer" not in lines(moved)
