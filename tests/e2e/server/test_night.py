"""Simulates a night of a server in two minutes: clients sync and visit pages while logs are rotated, certificates are
renewed, metrics are scraped, and the configuration is reloaded repeatedly."""

import collections
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import proof
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from support import process, repofile, wire
from support.daemon import Daemon, section
from support.fossil import Checkout, Fossil, beside_others
from support.logs import LINE
from support.process import PATIENCE, free_port, wait_until
from support.program import quarry
from support.tls import Authority, certificate_of

RELOADS = 100
ROTATED_EVERY, RENEWED_EVERY = 7, 11
#: Number of reloads before the test records the figures to compare with the final figures.
WARM_UP = 10
OPENED_LATER = 8
PAGES = ["/one/timeline", "/one/brlist", "/one/dir", "/one/wiki?name=absent"]


class Log:
    """A log that is rotated."""

    def __init__(self, path: Path):
        self.path, self.rotated = path, []

    def rotate(self) -> None:
        if self.path.exists():
            self.rotated.append(self.path.with_name(f"{self.path.name}.{len(self.rotated) + 1}"))
            self.path.rename(self.rotated[-1])

    def lines(self) -> list[str]:
        """Returns the lines of the log and of its rotated files, the oldest first."""
        return [line for path in [*self.rotated, self.path] if path.exists()
                for line in path.read_text(errors="replace").splitlines()]


class Client:
    """In a `with` block, calls ACT with 0, 1, … in a thread. Keeps the exceptions of ACT."""

    def __init__(self, act: Callable[[int], None]):
        self.act, self.acted, self.failures = act, 0, []

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self.act(self.acted)
            except Exception as failure:
                self.failures.append(repr(failure))
            self.acted += 1

    def __enter__(self) -> "Client":
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


class Visitor:
    """Sends requests on a persistent connection. Each request has its own id."""

    def __init__(self, name: str, port: int, context: ssl.SSLContext | None = None, is_kept: bool = True):
        self.name, self.port, self.context, self.is_kept = name, port, context, is_kept
        self.ids, self._connection = [], None

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
        self.ids.append(f"{self.name}-{len(self.ids)}")
        sent = {"X-Request-ID": self.ids[-1], **{name.replace("_", "-"): value for name, value in headers.items()}}
        if not self.is_kept:
            sent["Connection"] = "close"
        is_new = self._connection is None
        try:
            reply, answer = self._exchange(method, path, body, sent)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The server may close an idle connection at any time, so retry on a new one. The access log shows whether
            # the server has read the first request.
            self._connection = None
            if is_new:
                raise
            reply, answer = self._exchange(method, path, body, sent)
        if reply.will_close:
            self._connection.close()
            self._connection = None
        assert reply.status == 200, f"{self.ids[-1]} {path}: {reply.status} {answer[:200]!r}"
        assert reply.getheader("X-Request-ID") == self.ids[-1]
        return answer

    def _exchange(self, method: str, path: str, body: bytes | None,
                  headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE) if self.context is None \
                else http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=self.context)
        self._connection.request(method, path, body, headers)
        reply = self._connection.getresponse()
        return reply, reply.read()


class Syncs:
    """Counts the requests of the stock fossil client."""

    def __init__(self, fossil: Fossil):
        self.fossil, self.requests = fossil, 0
        self._lock = threading.Lock()

    def __call__(self, *arguments: object) -> None:
        output = beside_others(lambda: self.fossil(*arguments))
        round_trips = re.findall(r"Round-trips: (\d+)", output)
        assert round_trips, output
        with self._lock:
            self.requests += int(round_trips[-1])


class Scraper:
    """Reads the metrics, and checks that no counter decreases or disappears."""

    def __init__(self, port: int):
        self.port, self.counters = port, {}

    def scrape(self) -> dict[tuple[str, ...], float]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/metrics",
                                         headers={"Accept": "application/openmetrics-text"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            text = reply.read().decode()
        samples = {(sample.name, *sorted(sample.labels.values())): sample.value
                   for family in text_string_to_metric_families(text) if family.type in ("counter", "histogram")
                   for sample in family.samples if not sample.name.startswith("quarry_repository_")}
        decreased = [(name, before, samples.get(name)) for name, before in self.counters.items()
                     if samples.get(name, -1) < before]
        self.counters = samples
        assert not decreased, decreased
        return samples


def descendants(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        found += process.children(each)
    return found


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def descriptors(pid: int) -> list[str]:
    """Returns the open files of a process, without numbers in their names."""
    found = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(re.sub(r"\d+", "", os.readlink(entry.path)))
    return sorted(found)


class Night:
    """A quarryd with all services."""

    def __init__(self, folder: Path, fresh: Path, fossil: Fossil):
        self.folder = folder
        self.temporary, self.served, spool = (folder / name for name in ("temporary", "served", "spool"))
        for each in (self.temporary, self.served, spool):
            each.mkdir()
        self.repository = shutil.copy(fresh, self.served / "one.fossil")
        self.authority = Authority(folder / "authority")
        self.issued = self.authority.issue("first")
        self.http, self.https, metrics = free_port(), free_port(), free_port()
        self.error, self.access, self.events = (Log(folder / name) for name in ("error.log", "access.log", "events.json"))
        self.control = folder / "control.sock"
        more = (section("courier", {"socket": folder / "courier.sock", "spool.directory": spool})
                + section("destination archive", {"type": "file", "path": self.events.path}))
        self.daemon = Daemon(
            folder / "daemon", self.repository,
            {"repository": None, "repositories": self.served, "pm.max_children": 3, "pages": "fossil", "backoffice": "yes",
             "backoffice.lease_time": "1s",
             "access.log": self.access.path, "access.format": "json"},
            settings={"error_log": self.error.path, "control.socket": self.control, "metrics.listen": f"127.0.0.1:{metrics}"},
            http={"listen": [f"127.0.0.1:{self.http}", f"127.0.0.1:{self.https} ssl"], "trusted_proxies": "127.0.0.1",
                  **self.issued.directives()},
            more=more, env={**fossil.environment, "TMPDIR": str(self.temporary)}).wait_until_ready()
        self.scraper = Scraper(metrics)

    def ready(self) -> int:
        return sum("] notice: ready: " in line for line in self.error.lines())

    def rotate(self) -> None:
        """Does what logrotate does: moves the files away, and then sends the signal."""
        for log in (self.error, self.access, self.events):
            log.rotate()
        self.daemon.main.send(signal.SIGUSR1)

    def renew(self, number: int) -> None:
        self.issued.replace_with(self.authority.issue(f"renewed{number}"))

    def reload(self) -> None:
        before = self.ready()
        self.daemon.main.send(signal.SIGUSR2)
        wait_until(lambda: self.ready() > before, "the reload", pause=0.02)

    def is_quiet(self) -> bool:
        """Returns whether all processes of earlier generations and all background jobs have ended."""
        names = collections.Counter(process.name(pid) for pid in process.children(self.daemon.main.pid))
        # The pool's user is root, so no courier runs hooks.
        return names == {"pool www": 3, "gateway": 1, "metrics": 1, "pages www": 1, "quarry-courier": 1}

    def check_ins(self) -> int:
        """Returns the number of check-ins with an event. Counts duplicate events once."""
        return len({event["id"] for event in map(json.loads, self.events.lines()) if event["type"] == "artifact.check-in"})

    def figures(self) -> tuple[list[str], dict[str, int], dict[str, int]]:
        """Returns the master's descriptors, and for each kind of process the maximum number of descriptors and the
        maximum memory in KiB. The memory does not include mapped files, because other processes share them."""
        wait_until(self.is_quiet, "the end of earlier generations and of jobs", pause=0.05)
        counts, memory = collections.Counter(), collections.Counter()
        for pid in descendants(self.daemon.main.pid):
            with contextlib.suppress(OSError):
                name = process.name(pid)
                counts[name] = max(counts[name], len(descriptors(pid)))
                memory[name] = max(memory[name], process.pss_kib(pid, "Pss_Anon") + process.pss_kib(pid, "Pss_Shmem"))
        return descriptors(self.daemon.main.pid), counts, memory


@pytest.fixture
def night(tmp_path, fresh, fossil):
    made = Night(tmp_path, fresh, fossil)
    yield made
    made.daemon.stop()


@pytest.mark.slow
def test_a_night_in_two_minutes(night, fossil, tmp_path):
    trusting = Fossil(tmp_path / "home of client")
    trusting.environment |= {"SSL_CERT_FILE": str(night.authority.certificate)}
    syncs = Syncs(trusting)
    urls = [f"http://writer:pen@localhost:{night.http}/one", f"https://writer:pen@localhost:{night.https}/one"]
    trusting.clone(urls[1], tmp_path / "writer.fossil")
    trusting.clone(urls[0], tmp_path / "reader.fossil")
    checkout = Checkout(trusting, tmp_path / "writer.fossil", tmp_path / "work")
    code, context = repofile.project_code(night.repository), night.authority.context()
    pull_as_writer = wire.signed(wire.body(wire.CLIENT_VERSION, f"pull {wire.SERVER_CODE} {code}"), "writer",
                                 wire.shared_secret(code, "writer", "pen"))

    def commit_and_push(number: int) -> None:
        checkout.write("file.txt", f"{number}\n")
        if number == 0:
            checkout("add", "file.txt")
        checkout.commit(f"number {number}")
        syncs("push", urls[number % 2], "--once", "-R", tmp_path / "writer.fossil")

    def pull(number: int) -> None:
        syncs("pull", urls[number % 2], "--once", "-R", tmp_path / "reader.fossil")

    def sync(visitor: Visitor) -> None:
        answer = visitor.ask("POST", "/one", pull_as_writer, Content_Type=wire.PLAIN)
        assert b"\nerror " not in answer, answer

    def show_status(_: int) -> None:
        done = quarry("status", "--socket", night.control, "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["services"], done.stderr

    visitors = [Visitor("plain", night.http), Visitor("tls", night.https, context),
                Visitor("new", night.https, context, is_kept=False)]
    peers = [Visitor("sync", night.http), Visitor("tls-sync", night.https, context)]
    committing = Client(commit_and_push)
    clients = [committing, Client(pull), Client(show_status), Client(lambda _: night.scraper.scrape()),
               *(Client(lambda number, one=one: one.ask("GET", PAGES[number % len(PAGES)])) for one in visitors),
               *(Client(lambda _, one=one: sync(one)) for one in peers)]

    def live_through(reloads: range) -> None:
        with contextlib.ExitStack() as stack:
            for client in clients:
                stack.enter_context(client)
            for number in reloads:
                acted = [client.acted for client in clients]
                if number % RENEWED_EVERY == 0:
                    night.renew(number)
                if number % ROTATED_EVERY == 0:
                    night.rotate()
                night.reload()
                if number % RENEWED_EVERY == 0:
                    wait_until(lambda n=number: certificate_of(night.https) == f"renewed{n}", "the renewed certificate")
                wait_until(lambda a=acted: all(c.acted > before for c, before in zip(clients, a, strict=True)), "all clients")

    wait_until(night.is_quiet, "the end of the jobs")
    first_check_ins = night.check_ins()
    lines, before = len(night.access.lines()), night.scraper.scrape()
    live_through(range(WARM_UP))
    files, counts, memory = night.figures()
    live_through(range(WARM_UP, RELOADS))
    files_at_end, counts_at_end, memory_at_end = night.figures()
    print(memory, memory_at_end, [client.acted for client in clients])

    assert [failure for client in clients for failure in client.failures] == []
    faults = [line for line in night.error.lines() if LINE.fullmatch(line)[2] not in ("debug", "notice")]
    assert faults == []

    logged = [json.loads(line) for line in night.access.lines()[lines:]]
    assert {each["status"] for each in logged} == {200}
    by_id = collections.Counter(each["request_id"] for each in logged)
    for visitor in visitors + peers:
        assert [id_ for id_ in visitor.ids if by_id[id_] != 1] == [], "each request is logged once"
    pages = sum(len(visitor.ids) for visitor in visitors)
    requests = syncs.requests + sum(len(peer.ids) for peer in peers)
    assert collections.Counter(each["operation"] == "page" for each in logged) == {True: pages, False: requests}
    # Wait, because the pools' figures are published once a second.
    total = ("quarry_requests_total", "www")
    wait_until(lambda: night.scraper.scrape()[total] >= before[total] + requests, "all requests in the metrics", pause=0.1)
    after = night.scraper.scrape()
    counted = collections.Counter()
    for (name, *labels), value in after.items():
        counted[name] += value - before.get((name, *labels), 0)
    assert counted["quarry_requests_total"] == counted["quarry_sync_requests_total"] == requests
    assert counted["quarry_pages_requests_total"] == pages
    assert counted["quarry_pages_failed_total"] == counted["quarry_refused_requests_total"] == 0

    assert len(files) > 20 and files_at_end == files, "the master's descriptors"
    # Allow for the files that a process opens at its first request.
    assert {kind: count for kind, count in counts_at_end.items() if count > counts[kind] + OPENED_LATER} == {}
    assert [kind for kind in memory if memory_at_end[kind] > memory[kind] * 1.25 + 1024] == [], (memory, memory_at_end)
    assert [pid for pid in descendants(night.daemon.main.pid) if state(pid) == "Z"] == []
    wait_until(lambda: night.check_ins() >= first_check_ins + committing.acted, "an event for each check-in", pause=0.1)
    assert night.check_ins() == first_check_ins + committing.acted

    night.daemon.stop()
    assert os.listdir(night.temporary) == [] and os.listdir(night.served) == ["one.fossil"]
    assert fossil.integrity(night.repository) == ""
    proof.check(night.repository)
    assert repofile.value(night.repository, "SELECT count(*) FROM event WHERE type='ci'") == committing.acted + 1
