"""The metrics of the whole server, read by strict parsers and by a real Prometheus. The sample alerts and the sample
dashboard are tested too."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from support import fastcgi, places, repofile, wire
from support.changes import somebody, tarball
from support.courier import QUICK, Courier, event, sections
from support.daemon import Daemon, section
from support.process import PATIENCE, Process, free_port, wait_until
from support.program import quarryd

RULES = places.TOP / "conf" / "prometheus" / "quarry.rules.yml"
DASHBOARD = places.TOP / "conf" / "grafana" / "quarry.json"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class Metrics:
    """A quarryd with every service, and the address of its metrics."""

    def __init__(self, daemon: Daemon, port: int, http_port: int, repository: Path):
        self.daemon, self.port, self.http_port, self.repository = daemon, port, http_port, repository

    def scrape(self, accept: str = "", path: str = "/metrics") -> tuple[str, str]:
        """Returns content type and text."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return reply.headers["Content-Type"], reply.read().decode()

    def families(self) -> dict:
        """Returns the families of metrics by name, parsed by the strict parser of Python's client."""
        return {family.name: family for family in text_string_to_metric_families(self.scrape(OPENMETRICS)[1])}

    def value(self, name: str, **labels: str) -> float | None:
        """Returns the value of the metric NAME, or None."""
        for family in self.families().values():
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return sample.value
        return None

    def wait_for(self, value: float, name: str, **labels: str) -> None:
        wait_until(lambda: (self.value(name, **labels) or 0) >= value, f"{name} {labels} {value}", pause=0.1)

    def use(self) -> None:
        """Makes a clone, a failed login, a page and a request that fails."""
        wire.Peer(self.http_port, "/one", "", "", repofile.project_code(self.repository)).clone(3, 1)
        wire.Peer(self.http_port, "/one", "nobody-here", "0" * 40, repofile.project_code(self.repository)).pull()
        for path in ("/one/timeline", "/one/absent"):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=PATIENCE).close()
            except urllib.error.HTTPError as error:
                error.close()


@pytest.fixture
def metrics(start, fresh, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    repository = shutil.copy(fresh, served / "one.fossil")
    shutil.copy(fresh, tmp_path / "other.fossil")
    port, http_port = free_port(), free_port()
    more = (sections(tmp_path, {"archive": {"type": "file", "path": tmp_path / "events.json"},
                                "lines": {"logs": "yes", "type": "file", "path": tmp_path / "access.log"}})
            + section("peer mirror", {"pool": "www", "repository": "one", "url": f"file://{tmp_path}/other.fossil"}))
    daemon = start({"repository": None, "repositories": served, "pages": "fossil", "changes": "on", "backoffice": "yes",
                    "pm.max_children": 2, "access.log": "destination:lines"},
                   settings={"metrics.listen": f"127.0.0.1:{port}"}, http={"listen": f"127.0.0.1:{http_port}"}, more=more)
    return Metrics(daemon, port, http_port, repository)


def expressions() -> list[str]:
    """Returns the expressions of the dashboard and of the alerts, without the comparison at the end of an alert."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    alerts = [re.sub(r" (==|>) [\d.]+$", "", line) for line in re.findall(r"expr: (.*)", RULES.read_text())]
    assert len(shown) > 20 and len(alerts) > 10
    return [expression.replace("$__rate_interval", "1m").replace("$instance", ".*").replace("$pool", ".*")
            for expression in shown + alerts]


def test_strict_parsers_accept_the_metrics(metrics):
    metrics.use()
    metrics.wait_for(1, "quarry_sync_requests_total", pool="www", operation="clone")
    metrics.wait_for(1, "quarry_failed_logins_total", pool="www", service="sync")
    metrics.wait_for(1, "quarry_repository_requests_total", pool="www", repository="one")
    metrics.wait_for(1, "quarry_pages_made_total", pool="www")
    metrics.wait_for(1, "quarry_jobs_started_total", pool="www", job_kind="peers")
    kind, text = metrics.scrape(OPENMETRICS)
    assert kind == OPENMETRICS + "; charset=utf-8" and text.endswith("\n# EOF\n")
    assert all(name.startswith("quarry_") for name in metrics.families())
    kind, text = metrics.scrape()
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        metrics.scrape(path="/metrics/x")


def send_bytes(clients: list[socket.socket], is_enough: Callable[[], bool]) -> None:
    """Every second, sends a byte of an endless header on each of CLIENTS."""
    while not is_enough():
        for client in clients:
            with contextlib.suppress(OSError):
                client.send(b"x", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        time.sleep(1)


def begin_request(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), PATIENCE)
    client.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
    return client


def test_slow_clients_do_not_block_the_metrics(start):
    port = free_port()
    server = start(settings={"metrics.listen": f"127.0.0.1:{port}"})
    metrics = Metrics(server, port, 0, Path())
    done = threading.Event()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(begin_request(port)) for _ in range(200)]
        sender = threading.Thread(target=send_bytes, args=(clients, done.is_set))
        sender.start()
        try:
            assert "quarry_build_info" in metrics.scrape()[1]
        finally:
            done.set()
            sender.join()
    server.wait_for_log("connections that did not complete a request")


@pytest.mark.slow
def test_a_request_to_the_metrics_has_a_time_limit(start):
    port = free_port()
    server = start(settings={"metrics.listen": f"127.0.0.1:{port}"})
    with begin_request(port) as client:
        send_bytes([client], lambda: "closed 1 connections that did not complete a request" in server.log())


def test_the_metrics_work_with_few_files(start):
    port = free_port()
    may_not_raise_limits = ["setpriv", "--bounding-set=-sys_resource"] if os.geteuid() == 0 else None
    server = start(settings={"metrics.listen": f"127.0.0.1:{port}", "rlimit_files": 64}, command=may_not_raise_limits)
    assert "quarry_build_info" in Metrics(server, port, 0, Path()).scrape()[1]
    assert "cannot set rlimit_files" not in server.log()


def test_counters_continue_after_a_reload(metrics):
    metrics.use()
    counters = [("quarry_pages_made_total", {"pool": "www"}), ("quarry_failed_logins_total", {"pool": "www", "service": "sync"}),
                ("quarry_sync_requests_total", {"pool": "www", "operation": "clone"}),
                ("quarry_repository_requests_total", {"pool": "www", "repository": "one"}),
                ("quarry_jobs_started_total", {"pool": "www", "job_kind": "peers"})]
    for name, labels in counters:
        metrics.wait_for(1, name, **labels)
    before = [metrics.value(name, **labels) for name, labels in counters]
    metrics.daemon.reload(signal.SIGUSR2)
    metrics.wait_for(2, "quarry_generation", pool="www")
    for (name, labels), value in zip(counters, before, strict=True):
        metrics.wait_for(value, name, **labels)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start children as other users")
def test_unreadable_files_of_the_courier_are_not_shown_as_a_stopped_courier(start, open_folder, fossil):
    spool = open_folder / "spool"
    spool.mkdir(0o700)
    repository = open_folder / "one.fossil"
    fossil.new(repository)
    repository.chmod(0o666)
    port = free_port()
    more = (section("courier", {"socket": open_folder / "courier.sock", "spool.directory": spool, "user": "root"})
            + section("destination archive", {"type": "file", "path": open_folder / "events.json"}))
    daemon = start({"user": "nobody", "changes": "on"}, repository=repository, more=more,
                   settings={"metrics.listen": f"127.0.0.1:{port}"})
    wait_until(lambda: any(spool.iterdir()), "the courier")
    metrics = Metrics(daemon, port, 0, repository)
    assert metrics.value("quarry_generation") == 1 and metrics.value("quarry_courier_up") is None
    checked = quarryd("--config", daemon.config, "--test")
    assert (f"warning: metrics.listen: the metrics of the courier will be missing: cannot read {spool}: "
            "Permission denied") in checked.stderr, checked.stderr
    spool.chmod(0o755)
    for each in spool.iterdir():
        each.chmod(0o644)
    metrics.wait_for(1, "quarry_courier_up")
    assert quarryd("--config", daemon.config, "--test").stderr == ""


def test_waiting_events_are_those_that_the_destination_is_configured_to_get(start, tmp_path):
    port = free_port()
    down = {"type": "webhook", "url": f"http://127.0.0.1:{free_port()}/", "events": "artifact.check-in", **QUICK}
    more = sections(tmp_path, {"down": down, "all": {"type": "file", "path": tmp_path / "events.json"}})
    metrics = Metrics(start(more=more, settings={"metrics.listen": f"127.0.0.1:{port}"}), port, 0, Path())
    sender = Courier(tmp_path / "sender", {})
    sender.socket = tmp_path / "courier.sock"
    wait_until(sender.socket.exists, "the courier")
    sender.hand_over([event(1, "artifact.check-in"), *(event(number) for number in range(2, 6))])
    metrics.wait_for(5, "quarry_courier_delivered_events_total", destination="all")
    assert metrics.value("quarry_courier_waiting_events", destination="down") == 1


def test_figures_of_peers_continue_after_a_reload(metrics, tmp_path):
    labels = {"pool": "www", "peer": "mirror"}
    wait_until(lambda: metrics.value("quarry_peer_last_success_timestamp_seconds", **labels), "a sync", pause=0.1)
    first = metrics.value("quarry_peer_last_success_timestamp_seconds", **labels)
    assert abs(first - (tmp_path / "served" / "one.fossil").stat().st_mtime) < PATIENCE
    sent, received = (f"quarry_peer_{what}_artifacts_total" for what in ("sent", "received"))
    assert metrics.value(sent, **labels) == metrics.value(received, **labels) == 0
    code = repofile.project_code(metrics.repository)
    secret = repofile.add_user(metrics.repository, "hand", "written", "giox")
    wire.Peer(metrics.http_port, "/one", "hand", secret, code).push(wire.file_card(b"news\n"))
    metrics.wait_for(1, sent, **labels)
    assert metrics.value("quarry_peer_failures", **labels) == 0
    metrics.daemon.main.send(signal.SIGUSR2)
    while metrics.value("quarry_generation", pool="www") != 2:
        assert metrics.value(sent, **labels) == 1
    (tmp_path / "other.fossil").unlink()
    wire.Peer(metrics.http_port, "/one", "hand", secret, code).push(wire.file_card(b"more news\n"))
    metrics.wait_for(1, "quarry_peer_failures", **labels)
    assert (metrics.value(sent, **labels), metrics.value(received, **labels)) == (1, 0)
    assert metrics.value("quarry_peer_last_success_timestamp_seconds", **labels) >= first


@pytest.mark.parametrize("what", ["sync", "page"])
def test_a_request_that_ends_after_a_reload_is_counted(metrics, what):
    """A process of the previous generation handles the request."""
    if what == "page":
        name, labels, process_name = "quarry_pages_requests_total", {}, "pages www"
        path, kind, body = "/one/timeline", "application/x-www-form-urlencoded", b"a=b"
    else:
        name, labels, process_name = "quarry_sync_requests_total", {"operation": "pull"}, "pool www"
        path, kind = "/one", wire.PLAIN
        body = wire.body(f"pull {wire.SERVER_CODE} {repofile.project_code(metrics.repository)}")
    old = metrics.daemon.children(process_name)
    with fastcgi.connect(metrics.daemon.socket) as connection:
        connection.sendall(fastcgi.head("POST", path, CONTENT_TYPE=kind, CONTENT_LENGTH=str(len(body)), PATH_INFO=path))
        wait_until(lambda: metrics.value("quarry_requests_total") == 1, "the request", pause=0.1)
        metrics.daemon.reload(signal.SIGUSR2)
        metrics.wait_for(2, "quarry_generation", pool="www")
        connection.sendall(fastcgi.record(fastcgi.STDIN, body) + fastcgi.record(fastcgi.STDIN))
        assert b"Status: 200" in fastcgi.read_reply(connection)
    metrics.wait_for(1, name, **labels)
    wait_until(lambda: not set(old) & set(metrics.daemon.children(process_name)), "the end of the previous generation")
    assert metrics.value(name, **labels) == 1


def test_counters_do_not_disappear_or_decrease_during_a_reload(metrics):
    metrics.use()
    metrics.wait_for(1, "quarry_sync_requests_total", operation="clone")
    for generation in range(2, 6):
        metrics.daemon.main.send(signal.SIGUSR2)
        while (now := metrics.value("quarry_generation", pool="www")) != generation:
            assert now is not None and metrics.value("quarry_sync_requests_total", operation="clone") == 1
        wait_until(lambda g=generation: metrics.daemon.log().count("ready: process") == g, "the reload")


def test_promtool_accepts_the_alerts():
    rules = places.TOP / "tests" / "prometheus" / "quarry.rules.test.yml"
    for command in (["check", "rules", RULES], ["test", "rules", rules]):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    tested = set(re.findall(r"alertname: (\w+)", rules.read_text()))
    assert tested == set(re.findall(r"alert: (\w+)", RULES.read_text()))


def test_each_expression_of_the_samples_finds_data(metrics, tmp_path):
    somebody(metrics.http_port, metrics.repository).submit(tarball({"a.txt": b"a\n"}), queue="/one/queue")
    port = free_port()
    config = tmp_path / "prometheus.yml"
    config.write_text(f"""rule_files: ["{RULES}"]
scrape_configs:
  - job_name: quarry
    scrape_interval: 1s
    static_configs: [{{ targets: ["127.0.0.1:{metrics.port}"] }}]
""")
    prometheus = Process(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/tsdb",
                          f"--web.listen-address=127.0.0.1:{port}"], tmp_path / "prometheus.log")

    def finds_data(expression: str) -> bool:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
            reply = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        assert reply["status"] == "success", f"{expression}: {reply}"
        return bool(reply["data"]["result"])
    missing = expressions()

    def is_complete() -> bool:
        metrics.use()
        missing[:] = [expression for expression in missing if not finds_data(expression)]
        return not missing
    try:
        wait_until(is_complete, "data", pause=0.2)
    finally:
        prometheus.stop()
        print("\n".join(missing))
