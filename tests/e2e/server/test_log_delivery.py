"""Logs that go to a destination: over syslog, over HTTP, and to a file."""

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support import fastcgi
from support.courier import sections
from support.daemon import Daemon
from support.log_receivers import HttpReceiver, Rsyslog, bulk_lines, json_lines, loki_lines
from support.logs import move_away, reopen
from support.process import free_port, wait_until
from support.program import fails, quarryd, succeeds
from support.tls import Authority
from test_control import document
from test_metrics import Metrics

QUICK = {"retry.delay": "20ms", "retry.max_delay": "100ms"}


class Shipping:
    """A quarryd whose logs go to destinations."""

    def __init__(self, start: Callable[..., Daemon], folder: Path):
        self._start, self.folder = start, folder
        self.control = folder / "control"

    def start(self, destination: dict[str, object], *, error_log: object = None, access_log: object = "destination:main",
              settings: dict[str, object] | None = None, pool: dict[str, object] | None = None, **more: object) -> Daemon:
        """Starts quarryd with the destination `main`."""
        settings = {"control.socket": self.control, **({"error_log": error_log} if error_log else {}), **(settings or {})}
        pool = {"access.log": access_log, "access.format": '"asked %r"', **(pool or {})}
        text = sections(self.folder, {"main": {"logs": "yes"} | QUICK | destination}, **more)
        server = self._start(pool, settings=settings, more=text, wait=False)
        wait_until(lambda: self.control.exists() or not server.main.is_running(), "the control socket")
        assert server.main.is_running(), server.log()
        server.child()
        return server

    def figures(self) -> dict[str, object]:
        services = document(self.control)["services"]
        return next(each["log delivery"] for each in services if each["service"] == "logs main")

    def courier(self) -> int:
        """Returns the process that delivers the logs. After a reload, it starts when its predecessor has exited."""
        found: list[int] = []

        def is_found() -> bool:
            for service in document(self.control)["services"]:
                found.extend(service["children"] if service["service"] == "logs main" else [])
            return bool(found)

        wait_until(is_found, "the courier of the logs", pause=0.1)
        return found[0]

    def wait_for(self, **figures: int) -> None:
        wanted = {name.replace("_", " "): number for name, number in figures.items()}
        wait_until(lambda: self.figures().items() >= wanted.items(), lambda: f"{wanted}, not {self.figures()}", pause=0.1)


@pytest.fixture
def shipping(start, tmp_path) -> Shipping:
    folder = tmp_path / "shipping"
    folder.mkdir()
    return Shipping(start, folder)


def ask(server: Daemon, first: int, last: int) -> list[str]:
    """Requests pages. Returns their lines in the access log."""
    for number in range(first, last):
        server.ask("GET", f"/page/{number}")
    return [f"asked /page/{number}" for number in range(first, last)]


@pytest.mark.parametrize("kind", ["tcp", "tls"])
def test_rsyslog_gets_both_logs_as_rfc_5424_messages(shipping, tmp_path, kind):
    authority = Authority(tmp_path / "authority") if kind == "tls" else None
    trust = {"ca_file": authority.certificate} if authority else {}
    with Rsyslog(tmp_path / "rsyslog", authority) as rsyslog:
        server = shipping.start({"type": "syslog", "url": rsyslog.url, "facility": "local3", "tag": "fossils"} | trust,
                                error_log="destination:main")
        ask(server, 0, 3)
        server.ask("PUT", "/no/such/page")
        for number in range(3):
            line = rsyslog.wait_for(f"asked /page/{number}")
            assert re.fullmatch(rf"info local3 {socket.gethostname()} fossils access\.www \S+ asked /page/{number}", line)
        line = rsyslog.wait_for("is not supported")
        assert re.match(rf"notice local3 {socket.gethostname()} fossils error \S+ \[pool www\] ", line)
        server.stop()
        rsyslog.wait_for("error")
    assert not any("] notice: " in line for line in rsyslog.lines())


def test_a_certificate_that_does_not_verify_loses_nothing_and_blocks_nothing(shipping, tmp_path):
    authority, other = Authority(tmp_path / "authority"), Authority(tmp_path / "other")
    with Rsyslog(tmp_path / "rsyslog", authority) as rsyslog:
        server = shipping.start({"type": "syslog", "url": rsyslog.url, "ca_file": other.certificate})
        asked = ask(server, 0, 50)
        wait_until(lambda: "certificate" in shipping.figures()["about"], "the error", pause=0.1)
        error = f"cannot connect to {rsyslog.url}: SSL certificate problem: self-signed certificate in certificate chain"
        assert shipping.figures()["about"] == error
        server.wait_for_log(f"warning: [logs main] cannot deliver log lines to main: {error}; retrying\n")
        assert error in succeeds("status", "--socket", shipping.control)
        assert rsyslog.lines() == []
        server.change(str(other.certificate), str(authority.certificate))
        server.reload()
        rsyslog.wait_for(asked[-1])
        assert [line.partition(" asked ")[2] for line in rsyslog.lines()] == [line.partition(" ")[2] for line in asked]


def test_a_certificate_for_another_name_is_refused(shipping, tmp_path):
    authority = Authority(tmp_path / "authority")
    with Rsyslog(tmp_path / "rsyslog", authority, ("DNS:other.example",)) as rsyslog:
        server = shipping.start({"type": "syslog", "url": rsyslog.url, "ca_file": authority.certificate})
        ask(server, 0, 3)
        wait_until(lambda: "127.0.0.1" in shipping.figures()["about"].partition(": ")[2], "the error", pause=0.1)
        assert rsyslog.lines() == []


@pytest.mark.parametrize("type_, parse", [("loki", loki_lines), ("json-lines", json_lines), ("opensearch", bulk_lines)])
def test_http_receivers_get_batches_in_their_schemas(shipping, type_, parse):
    host = socket.gethostname()
    with HttpReceiver(parse) as receiver:
        server = shipping.start({"type": type_, "url": receiver.url, "header[]": "Authorization: Bearer x"},
                                error_log="destination:main", settings={"log_format": "json"})
        asked = ask(server, 0, 300)
        receiver.wait_for(asked[-1])
        assert receiver.messages() == asked
        assert receiver.requests < 200
        one = receiver.wait_for("asked /page/7")
        assert one.items() >= {"host": host, "log": "access", "pool": "www"}.items()
        server.ask("PUT", "/no/such/page")
        line = receiver.wait_for("is not supported")
        assert line.items() >= {"host": host, "log": "error", "level": "notice"}.items() and "pool" not in line
        if type_ == "loki":
            line = json.loads(line["message"])
        assert line["child"] == "pool www"
        if type_ == "opensearch":
            assert len({each["_id"] for each in receiver.taken}) == len(receiver.taken)


def test_a_line_of_a_megabyte_disturbs_no_other_line(shipping, tmp_path):
    with Rsyslog(tmp_path / "rsyslog") as rsyslog:
        server = shipping.start({"type": "syslog", "url": rsyslog.url})
        with (shipping.folder / "spool.logs" / "access.www").open("wb", buffering=0) as pipe:
            pipe.write(b"begin-" + b"x" * 1_000_000 + b"-end\n")
        ask(server, 0, 3)
        rsyslog.wait_for("asked /page/2")
        long = "".join(line.rpartition(" ")[2] for line in rsyslog.lines() if "asked" not in line)
        assert long == "begin-" + "x" * 1_000_000 + "-end"


@pytest.fixture
def long_lines(shipping, tmp_path) -> Callable[[int], Daemon]:
    """Returns a function that starts a server. Lines of its access log contain the given number of 2000-byte parts."""
    return lambda parts: shipping.start({"type": "file", "path": tmp_path / "all.log"},
                                        pool={"access.format": '"%r' + "%{HTTP_LONG}e" * parts + '"'})


def may_enlarge_pipes() -> bool:
    """Returns whether a pipe can have 4 MB, which requires CAP_SYS_RESOURCE."""
    ends = os.pipe()
    try:
        return fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, 4 << 20) >= 0
    except PermissionError:
        return False
    finally:
        for end in ends:
            os.close(end)


def ask_long(server: Daemon, path: str) -> None:
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(fastcgi.request(fastcgi.params_for(path) | {"HTTP_LONG": "x" * 2000}))
        fastcgi.read_page(connection)


def test_a_request_to_an_http_receiver_has_a_limited_size(shipping):
    sizes, is_back = [], threading.Event()

    def parse(headers: dict[str, str], body: bytes) -> list[dict]:
        sizes.append(len(body))
        return json_lines(headers, body)

    with HttpReceiver(parse, lambda lines: 204 if is_back.is_set() else 503) as receiver:
        server = shipping.start({"type": "json-lines", "url": receiver.url},
                                pool={"access.format": '"%r' + "%{HTTP_LONG}e" * 20 + '"'})
        # Twenty lines fit into the smallest pipe, even while the courier is slow.
        for first in range(0, 60, 20):
            for number in range(first, first + 20):
                ask_long(server, f"/{number}")
            shipping.wait_for(in_memory=first + 20)
        is_back.set()
        shipping.wait_for(delivered=60, lost=0)
    assert max(sizes) < 1_200_000


def test_lines_of_a_megabyte_wait_in_the_pipe(shipping, tmp_path, long_lines):
    server = long_lines(500)
    lines = 2 if may_enlarge_pipes() else 1
    os.kill(shipping.courier(), signal.SIGSTOP)
    for number in range(lines):
        ask_long(server, f"/{number}")
    os.kill(shipping.courier(), signal.SIGCONT)
    shipping.wait_for(delivered=lines, lost=0)
    assert (tmp_path / "all.log").read_text().splitlines() == [f"/{number}" + "x" * 1_000_000 for number in range(lines)]


def test_a_line_that_the_pipe_cannot_hold_is_counted_with_its_cause(shipping, long_lines):
    server = long_lines(2300)
    ask_long(server, "/long")
    server.ask("GET", "/short")
    server.wait_for_log(f"1 line of the access log {shipping.folder}/spool.logs/access.www could not be written and was lost: "
                        "a line is longer than its pipe or socket can hold")
    shipping.wait_for(lost=0)
    pool, = document(shipping.control)["pools"]
    assert pool["lost access log lines"] == 1


def test_a_file_gets_all_lines_and_is_reopened(shipping, tmp_path):
    path = tmp_path / "all.log"
    server = shipping.start({"type": "file", "path": path})
    asked = ask(server, 0, 20)
    wait_until(lambda: path.exists() and path.read_text().splitlines() == asked, "the lines")
    moved = move_away(path)
    reopen(server)
    wait_until(lambda: ask(server, 20, 21) and "asked /page/20" in path.read_text(), "lines in the new file")
    assert (moved.read_text() + path.read_text()).splitlines()[:21] == asked + ["asked /page/20"]


def test_lines_wait_on_disk_while_the_receiver_is_away_even_over_a_restart(shipping):
    receiver = HttpReceiver()
    destination = {"type": "loki", "url": receiver.url, "queue.size": 100, "queue.dequeuebatchsize": 10}
    server = shipping.start(destination)
    asked = ask(server, 0, 500)
    wait_until(lambda: shipping.figures()["in memory"] + shipping.figures()["on disk"] == 500, "all lines", pause=0.1)
    assert shipping.figures()["on disk"] > 300 and shipping.figures()["bytes on disk"] > 0
    assert "onnect" in shipping.figures()["about"]
    server.stop()
    assert f"saved 500 log lines in {shipping.folder}/spool/log-main.* for the next start\n" in server.log()
    server = shipping.start(destination)
    asked += ask(server, 500, 510)
    with receiver:
        receiver.wait_for(asked[-1])
        shipping.wait_for(delivered=510, in_memory=0, on_disk=0, lost=0, rejected=0)
        assert sorted(receiver.messages(), key=asked.index) == asked


@pytest.mark.parametrize("trouble", [(500, {}, b""), (429, {"Retry-After": "1"}), 503, 404])
def test_a_receiver_that_fails_sometimes_gets_all_lines_in_order(shipping, trouble):
    answers = iter([trouble, 204, trouble, trouble])
    with HttpReceiver(answer=lambda lines: next(answers, 204)) as receiver:
        server = shipping.start({"type": "loki", "url": receiver.url})
        asked = ask(server, 0, 50)
        receiver.wait_for(asked[-1])
        assert receiver.messages() == asked
        shipping.wait_for(delivered=50, rejected=0, lost=0)
        status = trouble[0] if isinstance(trouble, tuple) else trouble
        origin = receiver.url.removesuffix("/push")
        assert shipping.figures()["about"] == f"{origin}: HTTP status {status}" + ("" if status == 500 else ": reply")
        server.wait_for_log("notice: [logs main] delivery of log lines to main has resumed\n")


@pytest.mark.parametrize("status", [400, 413, 422])
def test_only_the_rejected_lines_are_dropped(shipping, status):
    def answer(lines: list[dict]) -> object:
        return status if any(line["message"].endswith("7") for line in lines) else 204

    with HttpReceiver(answer=answer) as receiver:
        server = shipping.start({"type": "loki", "url": receiver.url})
        asked = ask(server, 0, 100)
        shipping.wait_for(delivered=90, rejected=10)
        assert receiver.messages() == [line for line in asked if not line.endswith("7")]
        server.wait_for_log("of a log, which")


def test_opensearch_items_have_their_own_statuses(shipping):
    def answer(lines: list[dict]) -> object:
        statuses = [429 if first.pop("busy", None) else 400 if line["message"].endswith("3") else 201 for line in lines]
        items = [{"create": {"status": status}} for status in statuses]
        taken.extend(line["message"] for line, status in zip(lines, statuses, strict=True) if status == 201)
        return 200, {}, json.dumps({"errors": True, "items": items}).encode()

    first, taken = {"busy": True}, []
    with HttpReceiver(bulk_lines, answer) as receiver:
        server = shipping.start({"type": "opensearch", "url": receiver.url})
        asked = ask(server, 0, 20)
        shipping.wait_for(delivered=18, rejected=2)
        assert set(taken) == {line for line in asked if not line.endswith("3")}
        requests, receiver.answer = receiver.requests, lambda lines: answer([line | {"message": "3"} for line in lines])
        ask(server, 0, 100)
        shipping.wait_for(rejected=102)
        assert receiver.requests - requests <= 100, "rejected lines are not sent again"


def test_a_slow_receiver_delays_no_request(shipping):
    is_over = threading.Event()
    with HttpReceiver(answer=lambda lines: is_over.wait() and 204) as receiver:
        server = shipping.start({"type": "loki", "url": receiver.url, "timeout": "1h"})
        asked = ask(server, 0, 300)
        wait_until(lambda: shipping.figures()["in memory"] == 300, "the lines", pause=0.1)
        is_over.set()
        receiver.wait_for(asked[-1])
        assert receiver.messages() == asked


def test_errors_of_the_delivery_do_not_cause_further_errors(shipping):
    """The receiver rejects each line of the error log. If these rejections were logged in the error log, each would
    cause another one."""
    with HttpReceiver(answer=lambda lines: 400) as receiver:
        server = shipping.start({"type": "loki", "url": receiver.url}, error_log="destination:main")
        server.ask("PUT", "/no/such/page")
        wait_until(lambda: "rejected" in server.main.output(), "the report on standard error")
        assert "HTTP status 400: reply" in server.main.output()
        # A rejection is logged at most once every five seconds, so wait longer than that for further requests.
        seen = {"requests": receiver.requests, "since": time.monotonic()}

        def is_quiet() -> bool:
            if receiver.requests != seen["requests"]:
                seen.update(requests=receiver.requests, since=time.monotonic())
            return time.monotonic() - seen["since"] > 7

        wait_until(is_quiet, "the end of the requests")
        assert receiver.requests < 100


def test_reload_rotation_and_a_crash_of_the_courier_lose_no_line(shipping):
    with HttpReceiver() as receiver:
        server = shipping.start({"type": "loki", "url": receiver.url})
        asked = ask(server, 0, 20)
        predecessor = shipping.courier()
        server.reload()
        asked += ask(server, 20, 40)
        reopen(server)
        asked += ask(server, 40, 60)
        receiver.wait_for(asked[-1])
        wait_until(lambda: shipping.courier() != predecessor, "the next courier", pause=0.1)
        courier = shipping.courier()
        shipping.wait_for(in_memory=0, on_disk=0)
        os.kill(courier, signal.SIGSTOP)
        asked += ask(server, 60, 80)  # these lines are in the pipe
        os.kill(courier, signal.SIGKILL)
        asked += ask(server, 80, 100)
        receiver.wait_for(asked[-1])
        assert receiver.messages() == asked
        assert shipping.courier() != courier


def test_lines_in_the_memory_of_a_killed_courier_are_counted_as_lost(shipping):
    receiver = HttpReceiver()
    server = shipping.start({"type": "loki", "url": receiver.url})
    ask(server, 0, 20)
    shipping.wait_for(in_memory=20)
    os.kill(shipping.courier(), signal.SIGKILL)
    shipping.wait_for(lost=20, in_memory=0)
    server.wait_for_log("a process was killed: lost about 20 log lines that were in its memory\n")
    asked = ask(server, 20, 30)
    with receiver:
        receiver.wait_for(asked[-1])
        assert receiver.messages() == asked


def test_figures_are_in_the_metrics_and_on_the_live_page(shipping):
    port, http_port = free_port(), free_port()
    with HttpReceiver(answer=lambda lines: 500) as receiver:
        server = shipping.start({"type": "loki", "url": receiver.url, "timeout": "1s"},
                                settings={"metrics.listen": f"127.0.0.1:{port}"},
                                pool={"pm.status_path": "/status", "pm.status_all": "yes"})
        ask(server, 0, 10)
        shipping.wait_for(in_memory=10)
        metrics = Metrics(server, port, http_port, Path())
        assert metrics.value("quarry_log_queued_lines", destination="main") == 10
        assert metrics.value("quarry_log_disk_lines", destination="main") == 0
        assert metrics.value("quarry_log_last_failure_timestamp_seconds", destination="main") > 0
        live = json.loads(fastcgi.ask(server.socket, "/status", "live&all&json").body)
        row = next(each for each in live["courier"]["destinations"] if each["name"] == "main")
        assert row["waiting"] >= 10 and row["error"] == f"http://127.0.0.1:{receiver.port}: HTTP status 500" and row["failed"] is not None
        status, = json.loads(succeeds("courier", "status", "--config", server.config, "--json"))["destinations"]
        assert status["name"] == "main" and status["type"] == "loki" and status["waiting"] >= 10
        assert "HTTP status 500" in status["last_error"]
        for command in ("test", "deliveries"):
            assert "[destination main] gets logs, not events" in fails("courier", command, "--config", server.config, "main")
        receiver.answer = lambda lines: 204
        metrics.wait_for(10, "quarry_log_delivered_lines_total", destination="main")
    assert re.search(r"logs main +\d+ +0 +\d+ +0 +0 +http://127.0.0.1:\d+: HTTP status 500: reply", succeeds("status", "--socket", shipping.control))


def test_a_full_queue_loses_lines_and_counts_them(shipping):
    destination = {"type": "loki", "url": f"http://127.0.0.1:{free_port()}/", "queue.size": 100, "queue.maxfilesize": "1k",
                   "queue.maxdiskspace": "10k", "queue.timeoutenqueue": 0, "queue.dequeuebatchsize": 10}
    server = shipping.start(destination)
    ask(server, 0, 1000)
    def wait_for_all() -> None:
        wait_until(lambda: sum(shipping.figures()[name] for name in ("in memory", "on disk", "lost")) == 1000, "all lines", pause=0.1)

    wait_for_all()
    assert shipping.figures()["lost"] > 500
    server.wait_for_log("log lines so far: the queue has been full")
    server.stop()
    assert re.search(r" error: .*lost \d+ log lines\n", server.log()), "the loss of lines in memory that do not fit on the disk"
    shipping.start(destination)
    wait_for_all()



@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_couriers_run_as_the_pools_user_and_only_they_can_read_the_lines(fresh, fossil, open_folder):
    spool, served = open_folder / "spool", open_folder / "served"
    for folder in (spool, served):
        folder.mkdir()
    repository = Path(shutil.copy(fresh, served / "fresh.fossil"))
    for each in (spool, served, repository):
        shutil.chown(each, "nobody", "nogroup")
    server = Daemon(open_folder / "daemon", repository, {"access.log": "destination:main", "access.format": '"asked %r"', "user": "nobody"},
                    settings={"error_log": "destination:main", "control.socket": open_folder / "control"}, env=fossil.environment,
                    more=sections(open_folder, {"main": {"logs": "yes", "type": "file", "path": spool / "all.log"}}))
    path = spool / "all.log"
    try:
        wait_until(lambda: path.exists() and "ready: " in path.read_text(), "the lines of the start")
        ask(server, 0, 3)
        wait_until(lambda: "asked /page/2\n" in path.read_text(), "the lines")
        assert path.stat().st_uid == 65534
        pipes = open_folder / "spool.logs"
        assert (pipes.stat().st_uid, pipes.stat().st_mode & 0o7777) == (0, 0o755)
        assert {each.name: (each.stat().st_uid, each.stat().st_mode & 0o777) for each in pipes.iterdir()} == {
            "error": (65534, 0o600), "access.www": (65534, 0o600), "main.figures": (65534, 0o600)}
        worker = Path(f"/proc/{server.child()}/fdinfo")
        flags = {os.readlink(f"/proc/{server.child()}/fd/{each.name}"): int(re.search(r"flags:\s+0(\d+)", each.read_text())[1], 8)
                 for each in worker.iterdir()}
        assert all(flags[str(pipes / name)] & os.O_ACCMODE == os.O_WRONLY for name in ("error", "access.www"))
        # quarryd refuses a symbolic link in place of a FIFO.
        (pipes / "error").unlink()
        (pipes / "error").symlink_to(open_folder / "victim")
        done = quarryd("--config", server.config)
        assert done.returncode == 1 and "destination main: " in done.stderr
        assert not (open_folder / "victim").exists()
    finally:
        server.stop()


@pytest.mark.parametrize("more, error", [
    ("", "[global] error_log = destination:main: requires a [courier] section, and a section [destination main] with logs = yes"),
    ("[courier]\n[destination main]\ntype = file\npath = /tmp/x\n", "[destination main] with logs = yes"),
    ("[courier]\n[destination main]\ntype = mail\nlogs = yes\n", "logs = yes requires type = syslog, loki, opensearch, json-lines or file"),
    ("[courier]\n[destination main]\ntype = loki\n", "type = loki requires logs = yes"),
    ("[courier]\n[destination main]\ntype = loki\nlogs = yes\n", "url must be an http:// or https:// URL"),
    ("[courier]\n[destination main]\ntype = syslog\nlogs = yes\nurl = tcp://x\n", "url must be syslog://HOST[:PORT] or syslog+tls://HOST[:PORT]"),
    ("[courier]\n[destination main]\ntype = syslog\nurl = syslog://x\nlogs = yes\nqueue.size = many\n", "queue.size = many: must be a number"),
    ("[courier]\n[destination main]\ntype = syslog\nurl = syslog://x\nlogs = yes\ntag = my server\n",
     "tag must be 1 to 48 visible ASCII characters without blanks"),
    ("[courier]\nerror_log = destination:main\n[destination main]\ntype = syslog\nurl = syslog://x\nlogs = yes\n",
     "error_log: the courier cannot deliver its own log to a destination"),
])
def test_mistakes_are_reported(fresh, tmp_path, more, error):
    config = tmp_path / "quarry.conf"
    config.write_text(f"[global]\nerror_log = destination:main\n[www]\nlisten = {tmp_path}/s\nrepository = {fresh}\n{more}")
    done = quarryd("--config", config, "--test")
    assert done.returncode == 1 and error in done.stderr


@pytest.mark.slow
def test_a_night_in_a_minute(shipping, start, tmp_path):
    """Many requests with several workers while the receiver is away. A second server with a local access log gets the same
    requests at the same time, so that both are compared on the same machine under the same load."""
    receiver = HttpReceiver()
    workers = {"pm.max_children": 3}
    away = shipping.start({"type": "loki", "url": receiver.url, "queue.size": 2000}, pool=workers)
    local = start({"access.log": tmp_path / "access.log", "access.format": '"asked %r"'} | workers)
    durations: dict[str, list[float]] = {"away": [], "local": []}
    end = time.monotonic() + 30

    def ask_many(thread: int) -> None:
        number = 0
        while time.monotonic() < end:
            for side, server in (("away", away), ("local", local)):
                before = time.monotonic()
                assert b"404" in server.ask("GET", f"/{thread}/{number}")
                durations[side].append(time.monotonic() - before)
            number += 1

    threads = [threading.Thread(target=ask_many, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = len(durations["away"])
    assert count == len(durations["local"]) > 1000
    wait_until(lambda: shipping.figures()["in memory"] + shipping.figures()["on disk"] == count, "all lines", pause=0.1)
    assert shipping.figures()["on disk"] > 0 == shipping.figures()["lost"]
    pool, = document(shipping.control)["pools"]
    assert pool["lost access log lines"] == 0
    medians = {side: statistics.median(values) for side, values in durations.items()}
    assert medians["away"] < 1.5 * medians["local"], medians
    with receiver:
        shipping.wait_for(delivered=count, in_memory=0, on_disk=0)
        assert sorted(receiver.messages()) == sorted((tmp_path / "access.log").read_text().splitlines())
