"""Three hosts behind the samples for HAProxy and nginx, unchanged. Their addresses are those of support/cluster.py."""

import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import proof
from support import cluster, places, repofile
from support.browser import Browser
from support.cluster import Cluster
from support.fossil import Checkout, Fossil, clone_and_open
from support.process import Process, port_answers, wait_until

pytestmark = pytest.mark.skipif(bool(cluster.obstacle()), reason=cluster.obstacle())

FRONT = "10.0.0.254"
URL = f"http://writer:pen@{FRONT}/"


@pytest.fixture
def start_hosts(tmp_path: Path, fresh: Path) -> Iterator[Callable[..., Cluster]]:
    repofile.add_user(fresh, "writer", "pen", "gioxywk")
    with ExitStack() as stack:
        yield lambda: stack.enter_context(cluster.cluster(tmp_path, fresh))


def start_haproxy(folder: Path, text: str | None = None) -> Process:
    config = folder / "haproxy.cfg"
    config.write_text(f"global\n    stats socket {folder}/stats.sock\ndefaults\n    timeout connect 5s\n"
                      + (text or (places.TOP / "conf/haproxy/quarry-cluster.cfg").read_text()))
    return Process(["haproxy", "-db", "-f", config], folder / "haproxy")


def start_nginx(folder: Path) -> Process:
    config = folder / "nginx.conf"
    paths = "".join(f"{name}_temp_path {folder}/nginx-temp;\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config.write_text(f"user root;\npid {folder}/nginx.pid;\nevents {{}}\nhttp {{ access_log off;\n{paths}"
                      f"include {places.TOP}/conf/nginx/quarry-cluster.conf; }}\n")
    return Process(["nginx", "-c", config, "-e", folder / "nginx.log", "-g", "daemon off;"], folder / "nginx")


def state_of_hosts(folder: Path) -> dict[str, str]:
    """Returns the state of each host in HAProxy's backend for all hosts."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder / "stats.sock"))
        client.sendall(b"show stat\n")
        lines = client.makefile().read().splitlines()
    columns = lines[0].removeprefix("# ").split(",")
    rows = [dict(zip(columns, line.split(","))) for line in lines[1:] if line]
    return {row["svname"]: row["status"] for row in rows if row["pxname"] == "quarry" and row["svname"].startswith("host")}


def stays_logged_in() -> bool:
    browser = Browser(80, address=FRONT)
    return (browser.log_in("/login", "writer", "pen").status == 302
            and all("writer" in browser.get("/login").text for _ in range(20)))


@pytest.mark.parametrize("start_front", [start_haproxy, start_nginx], ids=["haproxy", "nginx"])
def test_the_sample_for_several_hosts_works_unchanged(start_front, start_hosts, fossil, tmp_path):
    hosts = start_hosts()
    front = start_front(tmp_path)
    try:
        wait_until(lambda: port_answers(80, FRONT) or not front.is_running(), "the front")
        assert front.is_running(), front.output()
        (tmp_path / "client").mkdir()
        checkout = clone_and_open(fossil, URL, tmp_path / "client")[1]
        checkout.commit_file("one", "1", "first")
        fossil("push", "--once", URL, "-R", checkout.repository)
        hosts.wait_until_equal()
        assert checkout.head() in repofile.artifacts(hosts.host(2).repository)
        wait_until(stays_logged_in, "a login that is valid for all requests")
        browser = Browser(80, address=FRONT)
        assert browser.get("/queue").status == 200
        hosts.host(1).kill_quarryd()
        assert Browser(80, address=FRONT).get("/queue").status in (502, 503)
        wait_until(lambda: Browser(80, address=FRONT).get("/timeline").status == 200, "another host")
    finally:
        front.stop()


def test_haproxy_does_not_use_a_host_that_is_not_connected(start_hosts, tmp_path):
    hosts = start_hosts()
    front = start_haproxy(tmp_path)
    try:
        wait_until(lambda: (tmp_path / "stats.sock").exists(), "HAProxy")
        wait_until(lambda: set(state_of_hosts(tmp_path).values()) == {"UP"}, "three hosts")
        hosts.host(2).kill_nats()
        wait_until(lambda: state_of_hosts(tmp_path) == {"host1": "UP", "host2": "DOWN", "host3": "UP"}, "two hosts")
        hosts.host(2).start_nats()
        wait_until(lambda: set(state_of_hosts(tmp_path).values()) == {"UP"}, "three hosts")
    finally:
        front.stop()


def test_a_clone_over_several_hosts_is_complete(start_hosts, fossil: Fossil, fresh, tmp_path):
    """The hosts store different deltas, and one host is killed during a clone."""
    checkout = Checkout(fossil, fresh, tmp_path / "checkout")
    for number in range(12):
        for name in ("one", "two", "three"):
            checkout.write(name, "".join(f"{name} line {line} of version {number if line == number else 0}\n" for line in range(300)))
        if number == 0:
            checkout("add", ".")
        checkout.commit(f"commit {number}")
    repofile.execute(fresh, "REPLACE INTO config(name, value, mtime) VALUES('max-download', '3000', 1)")
    hosts = start_hosts()
    other = hosts.host(2)
    other.main.stop()
    fossil("rebuild", "--compress", other.repository)
    other.start_quarryd()
    other.wait_until_ready()
    hosts.wait_until_equal()
    sample = (places.TOP / "conf/haproxy/quarry-cluster.cfg").read_text()
    # Without checks, each request goes to the next host, even if the machine is so busy that a check fails.
    for text, other_text in (("balance source\n    hash-type consistent", "balance roundrobin"), ("default-server check ", "# ")):
        assert text in sample
        sample = sample.replace(text, other_text)
    front = start_haproxy(tmp_path, sample)
    expected = set(repofile.artifacts(fresh))
    try:
        wait_until(lambda: port_answers(80, FRONT), "HAProxy")
        for number in range(3):
            clone = fossil.clone(URL, tmp_path / f"{number}.fossil")
            assert set(repofile.artifacts(clone)) == expected
            assert repofile.value(clone, "SELECT value FROM config WHERE name='cookie'").endswith("/names")
            proof.check(clone, fossil)
        clone = tmp_path / "last.fossil"
        running = subprocess.Popen(["fossil", "clone", "--no-open", URL, clone], env=fossil.environment, stdout=subprocess.DEVNULL)
        wait_until(lambda: running.poll() is not None or _artifacts(clone) > 3, "the begin of the clone")
        hosts.host(2).kill_quarryd()
        assert running.wait(120) == 0
        assert set(repofile.artifacts(clone)) == expected
        proof.check(clone, fossil)
    finally:
        front.stop()


def _artifacts(file: Path) -> int:
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM blob").fetchone()[0]
    except sqlite3.Error:
        return 0
