"""The status page and ping. Tests their values, compares them with a real PHP-FPM, and reads them with common
programs."""

import http.client
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from support import phpfpm, repofile, servers, wire
from support.pool import FORMATS, PAGES, WORKERS, counted
from support.process import Process, free_port, wait_until


@pytest.fixture
def pool(start_pool):
    return start_pool()


@pytest.fixture
def php(tmp_path):
    if not phpfpm.is_installed():
        pytest.skip("php-fpm8.2 is not installed")
    server = phpfpm.PhpFpm(tmp_path, {"pm": "static", "pm.max_children": WORKERS, **PAGES})
    yield server
    server.stop()


class Cells(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.names: list[str] = []
        self._is_head = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._is_head = tag == "th"

    def handle_data(self, data):
        if self._is_head and data.strip():
            self.names.append(data)
            self._is_head = False


def names_of(query: str, text: str) -> tuple[list[str], list[str]]:
    """Returns the names of the pool's figures and of the first process's figures, in the order of the page."""
    if "json" in query:
        page = json.loads(text)
        processes = page.pop("processes", [{}])
        return list(page), list(processes[0])
    if "xml" in query:
        root = ElementTree.fromstring(text)
        first = root.find("processes/process")
        return [child.tag for child in root if child.tag != "processes"], [child.tag for child in
                                                                           (first if first is not None else [])]
    if "html" in query:
        names = Cells(text).names
        split = names.index("pid") if "pid" in names else len(names)
        return names[:split], names[split:]
    if "openmetrics" in query:
        return re.findall(r"^# TYPE (\S+ \S+)$", text, re.MULTILINE), []
    blocks = [re.findall(r"^([a-zA-Z ]+): +", block, re.MULTILINE) for block in text.split("*" * 24)]
    return blocks[0], blocks[1] if len(blocks) > 1 else []


@pytest.mark.parametrize("query", [word + full for word in FORMATS for full in ("", "&full")])
def test_the_page_has_the_names_of_php_fpm_in_its_order_and_then_our_own(pool, php, query):
    ours, theirs = pool.page("/status", query), php.ask("/status", query)
    own_pool, own_process = names_of(query, ours.text)
    php_pool, php_process = names_of(query, theirs.text)
    assert len(php_pool) >= 12 and own_pool[:len(php_pool)] == php_pool
    assert own_process[:len(php_process)] == php_process
    assert bool(own_process) == bool(php_process)
    assert "openmetrics" in query or len(own_pool) > len(php_pool)


@pytest.mark.parametrize("query", FORMATS[:-1])
def test_the_page_equals_that_of_php_fpm_except_for_numbers(pool, php, query):
    """The openmetrics format is not compared, because its help texts differ from those of PHP-FPM."""
    def as_lines(text):
        text = re.sub(r"\d+/\w+/\d+:\d+:\d+:\d+ \+\d+", "DATE", text)
        text = re.sub(r"PHP-FPM|Quarry", "SERVER", text)
        return re.sub(r"(?<![\w.-])\d+(?!\.\d)", "N", text)
    ours, theirs = as_lines(pool.page("/status", query).text), as_lines(php.ask("/status", query).text)
    end = theirs.index("slow") + len("slow requests")
    assert ours[:end] == theirs[:end]


@pytest.mark.parametrize("path, query", [("/ping", ""), *(("/status", word) for word in FORMATS)])
def test_headers_are_those_of_php_fpm(pool, php, path, query):
    ours, theirs = pool.page(path, query), php.ask(path, query)
    assert ours.status == 200
    expected = dict(theirs.headers)
    if query == "openmetrics":
        # The names of PHP-FPM's counters are valid in Prometheus's text format, but not in OpenMetrics.
        expected["content-type"] = "text/plain; version=0.0.4; charset=utf-8"
    assert {name: ours.headers.get(name) for name in theirs.headers} == expected


def test_ping_is_the_response_and_nothing_else(pool, php):
    assert pool.page("/ping").body == php.ask("/ping").body == b"are you there"
    assert pool.page("/ping", method="HEAD").body == b""


def test_status_and_ping_are_not_there_unless_configured(start_pool):
    pool = start_pool({})
    for path in ("/status", "/ping", "/x/status", "/x/ping"):
        reply = pool.page(path, "json&full")
        assert reply.status == 404 and b"process" not in reply.body


def test_status_and_ping_are_not_below_a_repository(pool):
    for path in ("/x/status", "/status/", "//status", "/x/ping"):
        assert pool.page(path).status == 404


def test_syncs_artifacts_and_bytes_are_counted(pool, fresh, fossil, tmp_path):
    fossil.clone(f"http://writer:pen@127.0.0.1:{pool.port}/", tmp_path / "clone.fossil")
    figures = counted(pool, 1)
    assert figures["clones"] >= 1 and figures["artifacts out"] > 0
    assert figures["bytes out"] > 100 and figures["bytes in"] > 10

    secret = repofile.add_user(fresh, "hand", "written", "giox")
    peer = wire.Peer(pool.port, "/", "hand", secret, repofile.project_code(fresh))
    before = pool.figures()
    content = b"what was never there\n"
    assert not peer.push(wire.file_card(content)).errors()
    assert not peer.pull().errors()
    assert peer.push("file nonsense").errors()
    after = counted(pool, before["requests"] + 4)
    grown = {name: after[name] - before[name] for name in ("pushes", "pulls", "clones", "refusals", "artifacts in")}
    assert grown == {"pushes": 2, "pulls": 1, "clones": 0, "refusals": 1, "artifacts in": 1}
    assert after["bytes in"] - before["bytes in"] > len(content)


def test_request_is_shown_while_it_runs_and_its_cost_when_it_is_done(pool):
    figures = counted(pool, 0)
    mine = [each for each in figures["processes"] if each["state"] == "Running"]
    assert len(mine) == 1 and mine[0]["request uri"] == "/status?json&full" and mine[0]["request method"] == "GET"
    figures = counted(pool, 3)
    done = [each for each in figures["processes"] if each["state"] == "Idle" and each["requests"] > 0]
    for each in done:
        assert each["last request memory"] > 1_000_000
        assert each["reply size"] > 100
    assert sum(each["requests"] for each in figures["processes"]) == figures["accepted conn"]
    histogram = figures["request durations"]
    assert histogram["count"] == histogram["buckets"]["+Inf"] == figures["requests"]
    assert figures["reply sizes"]["buckets"]["+Inf"] == figures["requests"]


def test_totals_outlive_workers(start_pool):
    pool = start_pool({**PAGES, "pm.max_requests": "5"})
    first = set(pool.children())
    last = number = 0
    while number < 60 or first & set(pool.children()):
        number += 1
        figures = pool.figures()
        assert last < figures["accepted conn"] <= number < 10_000, "a request was lost or counted twice"
        last = figures["accepted conn"]
    counted(pool, 55)


def test_promtool_finds_nothing_wrong_but_php_fpms_own_names(pool):
    if shutil.which("promtool") is None:
        pytest.skip("promtool (package prometheus) is not installed")
    page = pool.page("/status", "openmetrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=page.body, capture_output=True, timeout=60, check=False)
    complaints = [line for line in (done.stdout + done.stderr).decode().splitlines() if line.strip()]
    assert done.returncode in (0, 3), complaints  # 3: the output is valid, but promtool has remarks about style
    assert [line for line in complaints if not line.startswith("phpfpm_")] == []
    broken = subprocess.run(["promtool", "check", "metrics"], input=page.body + b"quarry_x{ 1\n", capture_output=True,
                            timeout=60, check=False)
    assert broken.returncode == 1, "promtool sees what is broken"


def test_prometheus_scrapes_the_page(start_pool, tmp_path):
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed")
    pool = start_pool()
    port = free_port()
    config = tmp_path / "prometheus.yml"
    config.write_text(f"""scrape_configs:
  - job_name: quarry
    scrape_interval: 1s
    metrics_path: /status
    params: {{ openmetrics: [""] }}
    static_configs: [{{ targets: ["127.0.0.1:{pool.port}"] }}]
""")
    prometheus = Process(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/tsdb",
                          f"--web.listen-address=127.0.0.1:{port}"], tmp_path / "prometheus.log")

    def value_of(query):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", f"/api/v1/query?query={query}")
            result = json.loads(connection.getresponse().read())["data"]["result"]
            return result[0]["value"][1] if result else None
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return None
    try:
        wait_until(lambda: value_of("phpfpm_total_processes") == str(WORKERS), "a scrape")
        assert int(value_of("phpfpm_accepted_connections")) >= 1
    finally:
        prometheus.stop()


def test_sample_location_of_nginx_shows_the_page_to_this_machine(start_pool, tmp_path):
    pool = start_pool()
    port = free_port()
    nginx = servers.start_nginx(servers.write_nginx_config(tmp_path, port, pool.socket), port)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/status?json&full")
        response = connection.getresponse()
        page = json.loads(response.read())
        assert response.status == 200 and response.getheader("Content-Type") == "application/json"
        assert response.getheader("Cache-Control") == "no-cache, no-store, must-revalidate, max-age=0"
        assert [each["request uri"] for each in page["processes"] if each["state"] == "Running"] == ["/status?json&full"]
        connection.close()
    finally:
        nginx.stop()
