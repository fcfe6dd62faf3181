"""The status page, ping, and the address of their own: by FastCGI, through nginx, and beside a real PHP-FPM."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support import fastcgi, phpfpm, places, process, repofile, servers, wire
from support.process import Process, free_port, wait_until

WORKERS = 3
BACKLOG = 77
PAGES = {"pm.status_path": "/status", "ping.path": "/ping", "ping.response": "are you there",
         "listen.backlog": str(BACKLOG)}
FORMATS = ("", "json", "xml", "html", "openmetrics")


class Pool:
    """quarryd over one repository, with a pool socket, a status socket and the HTTP front."""

    def __init__(self, folder: Path, repository: Path, fossil, settings: dict[str, str], listen: str = ""):
        self.socket = folder / "pool.sock"
        self.status_socket = folder / "status.sock"
        self.port = free_port()
        self.target = repository
        config = folder / "quarryd.conf"
        config.write_text(servers.pool_config(repository, listen or str(self.socket), WORKERS, settings,
                                              f"127.0.0.1:{self.port}"))
        self.main = Process([places.program("quarryd"), "--config", config], folder / "log", env=fossil.environment)
        wait_until(lambda: process.port_answers(self.port) or not self.main.is_running(), "quarryd")
        assert self.main.is_running(), self.main.output()
        wait_until(lambda: len(self.workers()) == WORKERS, "all workers")

    def ask(self, path: str, query: str = "", method: str = "GET") -> fastcgi.Reply:
        return fastcgi.ask(self.socket, path, query, method)

    def figures(self, query: str = "json", address: Path | None = None) -> dict:
        return json.loads(fastcgi.ask(address or self.socket, "/status", query).text)

    def workers(self) -> list[int]:
        return self.children("pool")

    def status_process(self) -> int:
        wait_until(lambda: len(self.children("status")) == 1, "the status process")
        return self.children("status")[0]

    def children(self, kind: str) -> list[int]:
        return [pid for pid in process.children(self.main.pid) if process.name(pid).startswith(kind)]

    def stop(self) -> None:
        assert self.main.is_running(), f"quarryd died:\n{self.main.output()[-3000:]}"
        self.main.stop()


@pytest.fixture
def start(tmp_path, fresh, fossil):
    """Call it with settings to have the repository `fresh` served."""
    started = []

    def begin(settings: dict[str, str] | None = None, listen: str = "") -> Pool:
        started.append(Pool(tmp_path, fresh, fossil, PAGES if settings is None else settings, listen))
        return started[-1]
    yield begin
    for pool in started:
        pool.stop()


@pytest.fixture
def pool(start):
    return start()


@pytest.fixture
def php(tmp_path):
    if not phpfpm.is_installed():
        pytest.skip("php-fpm8.2 is not installed")
    server = phpfpm.PhpFpm(tmp_path, WORKERS, BACKLOG)
    yield server
    server.stop()


@contextlib.contextmanager
def stopped(pids):
    """PIDS are held by SIGSTOP."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: all(state_of(pid) == "T" for pid in pids), "stopped workers")
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def counted(pool: Pool, requests: int, address: Path | None = None) -> dict:
    """The figures once at least that many requests are finished: a worker counts after its reply."""
    seen = []

    def is_there():
        seen[:] = [pool.figures("json&full", address)]
        return seen[0]["requests"] >= requests
    wait_until(is_there, f"{requests} finished requests")
    return seen[0]


# --- the same as PHP-FPM --------------------------------------------------------------------------


class Cells(HTMLParser):
    """The th cells of a page, in order."""

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
    """The names of the pool's figures and, of the first process, of its own, in the order of the page."""
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
def test_page_has_php_fpms_names_in_its_order_and_then_our_own(pool, php, query):
    ours, theirs = pool.ask("/status", query), php.ask("/status", query)
    own_pool, own_process = names_of(query, ours.text)
    php_pool, php_process = names_of(query, theirs.text)
    assert len(php_pool) >= 12 and own_pool[:len(php_pool)] == php_pool
    assert own_process[:len(php_process)] == php_process
    assert bool(own_process) == bool(php_process)
    assert len(own_pool) > len(php_pool)


@pytest.mark.parametrize("query", FORMATS[:-1])
def test_page_is_php_fpms_byte_for_byte_but_for_the_moment(pool, php, query):
    """Not the last format: its help texts are our own."""
    def as_lines(text):
        # Times and counts differ from one moment to the next; so does the title.
        text = re.sub(r"\d+/\w+/\d+:\d+:\d+:\d+ \+\d+", "DATE", text)
        text = re.sub(r"PHP-FPM|Quarry", "SERVER", text)
        return re.sub(r"(?<![\w.-])\d+(?!\.\d)", "N", text)
    ours, theirs = as_lines(pool.ask("/status", query).text), as_lines(php.ask("/status", query).text)
    end = theirs.index("slow") + len("slow requests")
    assert ours[:end] == theirs[:end]


@pytest.mark.parametrize("path, query", [("/ping", ""), *(("/status", word) for word in FORMATS)])
def test_headers_are_those_of_php_fpm(pool, php, path, query):
    ours, theirs = pool.ask(path, query), php.ask(path, query)
    assert ours.status == 200
    assert {name: ours.headers.get(name) for name in theirs.headers} == theirs.headers


def test_ping_is_the_response_and_nothing_else(pool, php):
    assert pool.ask("/ping").body == php.ask("/ping").body == b"are you there"
    assert pool.ask("/ping", method="HEAD").body == b""


# --- what the figures say -------------------------------------------------------------------------


def test_status_and_ping_are_not_there_unless_configured(start):
    pool = start({})
    for path in ("/status", "/ping", "/x/status", "/x/ping"):
        reply = pool.ask(path, "json&full")
        assert reply.status == 404 and b"process" not in reply.body


def test_words_after_a_name_do_not_lead_round_the_web_servers_guard(pool):
    for path in ("/x/status", "/status/", "//status", "/x/ping"):
        assert pool.ask(path).status == 404


def test_syncs_are_counted_with_what_they_carried(pool, fresh, fossil, tmp_path):
    clone = tmp_path / "clone.fossil"
    fossil.clone(f"http://writer:pen@127.0.0.1:{pool.port}/", clone)
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
    # Three, and the look before them.
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


def test_stages_add_up_to_the_processes(pool):
    wait_until(lambda: pool.figures()["total processes"] == WORKERS, "all workers")
    figures = pool.figures()
    stages = sum(value for name, value in figures.items() if name.startswith("processes "))
    assert stages == figures["total processes"] == WORKERS == figures["max children"] == figures["children"]
    assert figures["processes executing"] >= 1


def test_totals_outlive_the_workers_that_counted(start):
    pool = start({**PAGES, "pm.max_requests": "5"})
    first = set(pool.workers())
    last = 0
    for number in range(1, 60):
        figures = pool.figures()
        assert last < figures["accepted conn"] <= number, "a request was lost or counted twice"
        last = figures["accepted conn"]
    counted(pool, 55)
    assert first and not first & set(pool.workers())


def test_crash_loop_is_reported(start):
    pool = start()
    for _ in range(40):
        for pid in pool.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGABRT)
        if "too soon" in pool.main.output():
            break
        wait_until(lambda: pool.workers() or "too soon" in pool.main.output(), "workers")
    wait_until(lambda: pool.workers(), "workers after the wait")
    figures = pool.figures()
    assert figures["restarts backed off"] >= 1
    assert "signal 6" in figures["backoff reason"]


# --- a worker that writes where it must not -------------------------------------------------------


def test_worker_whose_board_is_overwritten_costs_its_figures_alone(start, tmp_path):
    pool = start({**PAGES, "pm.status_listen": str(tmp_path / "status.sock")})
    for _ in range(10):
        pool.ask("/ping")
    before = counted(pool, 10, pool.status_socket)
    pid = pool.workers()[0]
    start_at, end_at = board_of(pid)
    with stopped(pool.workers()), open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start_at)
        memory.write(os.urandom(end_at - start_at))
        for query in FORMATS:
            assert fastcgi.ask(pool.status_socket, "/status", query).status == 200
        wait_until(lambda: pool.figures("json", pool.status_socket)["unreadable slots"] == WORKERS, "garbage")
        figures = pool.figures("json", pool.status_socket)
        assert figures["pool"] == "www" and figures["max children"] == WORKERS == figures["children"]
        assert figures["start time"] == before["start time"]
    assert pool.main.is_running() and pool.workers()
    # Each worker tells anew what it knows of itself when it gets a request: one each, at once.
    with contextlib.ExitStack() as held:
        connections = [held.enter_context(fastcgi.connect(pool.socket)) for _ in range(WORKERS)]
        wait_until(lambda: pool.figures("json", pool.status_socket)["unreadable slots"] == 0, "three readable slots")
        for connection in connections:
            connection.sendall(fastcgi.request(fastcgi.params_for("/ping")))
            assert fastcgi.read_reply(connection).status == 200
    after = counted(pool, before["requests"] + WORKERS, pool.status_socket)
    assert after["accepted conn"] == before["accepted conn"] + WORKERS


def board_of(pid: int) -> tuple[int, int]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "quarry-scoreboard" in line:
            begin, end = line.split()[0].split("-")
            return int(begin, 16), int(end, 16)
    raise AssertionError("no scoreboard is mapped")


def test_status_process_cannot_write_the_board(start, tmp_path):
    pool = start({**PAGES, "pm.status_listen": str(tmp_path / "status.sock")})
    pid = pool.status_process()
    boards = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "quarry-scoreboard" in line]
    assert sorted(words[1] for words in boards) == ["r--s", "rw-s"]
    writable = {words[4] for words in boards if words[1] == "rw-s"}
    pool_board = {line.split()[4] for worker in pool.workers()
                  for line in Path(f"/proc/{worker}/maps").read_text().splitlines() if "quarry-scoreboard" in line}
    assert len(pool_board) == 1 and not writable & pool_board
    assert str(pool.target) not in "".join(os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir())


# --- every worker busy ----------------------------------------------------------------------------


@pytest.mark.parametrize("on_tcp", [False, True], ids=["unix", "tcp"])
def test_own_address_answers_and_sees_the_queue_while_no_worker_does(start, tmp_path, on_tcp):
    port = free_port()
    pool = start({**PAGES, "pm.status_listen": str(tmp_path / "status.sock")}, f"127.0.0.1:{port}" if on_tcp else "")
    address = ("127.0.0.1", port) if on_tcp else pool.socket
    quiet = pool.figures("json", pool.status_socket)
    assert quiet["listen queue"] == 0 and quiet["listen queue len"] == BACKLOG
    with stopped(pool.workers()), contextlib.ExitStack() as waiting:
        for _ in range(5):
            connection = waiting.enter_context(fastcgi.connect(address))
            connection.sendall(fastcgi.request(fastcgi.params_for("/ping")))
        wait_until(lambda: pool.figures("json", pool.status_socket)["listen queue"] == 5, "five in the queue")
        assert fastcgi.ask(pool.status_socket, "/ping").body == b"are you there"
        assert fastcgi.ask(pool.status_socket, "/other").status == 404
        # The master looks once a second.
        begin = pool.figures("json", pool.status_socket)["start since"]
        wait_until(lambda: pool.figures("json", pool.status_socket)["start since"] >= begin + 3, "the master's look")
    wait_until(lambda: pool.figures("json", pool.status_socket)["listen queue"] == 0, "an empty queue")
    assert pool.figures("json", pool.status_socket)["max listen queue"] == 5


def test_silent_client_does_not_keep_others_from_the_status_address(start, tmp_path):
    pool = start({**PAGES, "pm.status_listen": str(tmp_path / "status.sock")})
    with fastcgi.connect(pool.status_socket):
        assert fastcgi.ask(pool.status_socket, "/ping").body == b"are you there"


def test_status_process_is_replaced_when_it_dies(start, tmp_path):
    pool = start({**PAGES, "pm.status_listen": str(tmp_path / "status.sock")})
    pid = pool.status_process()
    os.kill(pid, signal.SIGKILL)
    assert fastcgi.ask(pool.status_socket, "/ping").body == b"are you there"
    assert process.name(pid) == "" or not process.exists(pid)


# --- scrapers and web servers ---------------------------------------------------------------------


def test_promtool_finds_nothing_wrong_but_php_fpms_own_names(pool):
    if shutil.which("promtool") is None:
        pytest.skip("promtool (package prometheus) is not installed")
    page = pool.ask("/status", "openmetrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=page.body, capture_output=True, timeout=30, check=False)
    complaints = [line for line in (done.stdout + done.stderr).decode().splitlines() if line.strip()]
    assert done.returncode in (0, 3), complaints  # 3: it was read, and has remarks on style
    assert [line for line in complaints if not line.startswith("phpfpm_")] == []
    broken = subprocess.run(["promtool", "check", "metrics"], input=page.body + b"quarry_x{ 1\n", capture_output=True,
                            timeout=30, check=False)
    assert broken.returncode == 1, "promtool sees what is broken"


def test_prometheus_scrapes_the_page(start, tmp_path):
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed")
    pool = start()
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
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", f"/api/v1/query?query={query}")
            result = json.loads(connection.getresponse().read())["data"]["result"]
            return result[0]["value"][1] if result else None
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return None
    try:
        wait_until(lambda: value_of("phpfpm_total_processes") == str(WORKERS), "a scrape", seconds=60)
        assert int(value_of("phpfpm_accepted_connections")) >= 1
        wait_until(lambda: int(value_of("quarry_request_duration_seconds_count") or 0) >= 1, "a histogram", seconds=30)
        assert value_of("quarry_processes%7Bstage%3D%22executing%22%7D") == "1"
    finally:
        prometheus.stop()


def test_sample_location_of_nginx_shows_the_page_to_this_machine(start, tmp_path):
    pool = start()
    port = free_port()
    sample = places.nginx_sample().read_text()
    lines = sample.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.strip() == "# location = /status {")
    end = next(i for i in range(begin, len(lines)) if lines[i].strip() == "# }")
    location = [line.replace("# ", "", 1) for line in lines[begin:end + 1]]
    assert any("deny all" in line for line in location)
    config = servers.write_nginx_config(tmp_path, port, pool.socket, free_port())
    written = (tmp_path / "quarry.conf").read_text()
    commented = "\n".join(lines[begin:end + 1])
    assert commented in written
    (tmp_path / "quarry.conf").write_text(written.replace(commented, "\n".join(location)))
    nginx = Process(["nginx", "-c", config, "-p", tmp_path, "-e", tmp_path / "nginx-error.log"], tmp_path / "nginx.log")
    try:
        wait_until(lambda: process.port_answers(port) or not nginx.is_running(), "nginx")
        assert nginx.is_running(), nginx.output()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/status?json&full")
        response = connection.getresponse()
        page = json.loads(response.read())
        assert response.status == 200 and response.getheader("Content-Type") == "application/json"
        assert response.getheader("Cache-Control") == "no-cache, no-store, must-revalidate, max-age=0"
        assert [each["request uri"] for each in page["processes"] if each["state"] == "Running"] == ["/status?json&full"]
        connection.close()
    finally:
        nginx.stop()


def test_client_cannot_write_markup_or_lines_into_the_page(start, tmp_path):
    pool = start({**PAGES, "pm.status_listen": str(tmp_path / "status.sock")})
    evil = "/<script>alert(1)</script>\"'&\r\npid: 1\xff"
    with fastcgi.connect(pool.socket) as connection:
        params = fastcgi.params_for("/x")
        connection.sendall(fastcgi.request({**params, "REQUEST_URI": evil, "REQUEST_METHOD": "<b>"}))
        fastcgi.read_reply(connection)
    pages = {query: fastcgi.ask(pool.status_socket, "/status", query).text for query in ("full", "json&full", "xml&full",
                                                                                        "html&full")}
    assert "<script>" not in pages["html&full"] and "&lt;script&gt;" in pages["html&full"]
    assert any("<script>" in (each.text or "") for each in ElementTree.fromstring(pages["xml&full"]).iter("request-uri"))
    assert any(each["request uri"].startswith("/<script>") for each in json.loads(pages["json&full"])["processes"])
    assert "\npid: 1" not in pages["full"]
