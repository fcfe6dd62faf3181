"""Measures what replication costs: the time of a push of one check-in to one of three hosts and to a single host, and the
time from its reply until all hosts have the check-in. The time in which nats-server itself stores a message on a quorum of
servers is measured between the pushes. The hosts are network namespaces on this machine (support/cluster.py)."""

import json
import socket
import sqlite3
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import artifacts, cluster, repofile, wire
from support.daemon import Daemon
from support.fossil import Fossil

PAUSE = 0.02
SUBJECT = "bench.message"


class Nats:
    """A connection to the nats-server of HOST, with a stream of its own that three servers store."""

    def __init__(self, host: cluster.Host):
        with host.network.entered():
            self.socket = socket.create_connection(("127.0.0.1", 4222))
        self.lines = self.socket.makefile("rb")
        self.socket.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB answers 1\r\n')
        made = self.request("$JS.API.STREAM.CREATE.bench", json.dumps(
            {"name": "bench", "subjects": [SUBJECT], "storage": "file", "num_replicas": 3}).encode())
        assert "error" not in made, made

    def request(self, subject: str, content: bytes) -> dict:
        self.socket.sendall(f"PUB {subject} answers {len(content)}\r\n".encode() + content + b"\r\n")
        while True:
            line = self.lines.readline()
            if line.startswith(b"PING"):
                self.socket.sendall(b"PONG\r\n")
            elif line.startswith(b"MSG"):
                answer = self.lines.read(int(line.split()[-1]))
                self.lines.read(2)
                return json.loads(answer)

    def publish(self, content: bytes) -> float:
        """Returns the time until the message is stored."""
        start = time.perf_counter()
        answer = self.request(SUBJECT, content)
        assert "error" not in answer, answer
        return time.perf_counter() - start


class Pusher:
    """Pushes check-ins to the server on PORT. Each one is the child of the one before."""

    def __init__(self, port: int, repository: Path, secret: str):
        self.peer = wire.Peer(port, "/", "hand", secret, repofile.project_code(repository))
        self.number, self.parents = 0, []

    def push(self) -> tuple[str, float, float]:
        """Returns the name of the check-in, the duration of the push, and the time of the reply."""
        self.number += 1
        made = artifacts.manifest(f"check-in {self.number}", f"2026-01-01T00:{self.number // 60:02}:{self.number % 60:02}",
                                  "hand", {}, self.parents)
        start = time.perf_counter()
        reply = self.peer.push(wire.file_card(made))
        end = time.perf_counter()
        assert reply.status == 200 and not reply.errors(), reply.raw
        self.parents = [wire.sha3(made)]
        return self.parents[0], end - start, end


def time_on_all(files: list[sqlite3.Connection], name: str) -> float:
    """Returns the time at which all FILES contain the artifact NAME."""
    for file in files:
        while not file.execute("SELECT 1 FROM blob WHERE uuid=?", (name,)).fetchone():
            time.sleep(0.0001)
    return time.perf_counter()


def measure(folder: Path, pushes: int) -> dict[str, list[float]]:
    """Returns the times in milliseconds, sorted. The first ten pushes are not measured."""
    folder.mkdir(exist_ok=True)
    fossil = Fossil(folder / "home")
    repository = fossil.new(folder / "original.fossil")
    secret = repofile.add_user(repository, "hand", "written", "gio")
    times: dict[str, list[float]] = {"single": [], "replicated": [], "on all hosts": [], "nats": []}
    fronts = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    with ThreadPoolExecutor(1) as outside:
        # This thread stays outside of the hosts' network.
        single = outside.submit(lambda: Daemon(folder / "single", repofile.copy(repository, folder / "single.fossil"), {},
                                               http={}, env=fossil.environment).wait_until_ready()).result()
        try:
            with cluster.cluster(folder, repository, fronts=fronts) as hosts:
                files = [sqlite3.connect(host.repository) for host in hosts.hosts]
                nats = Nats(hosts.host(1))
                one = Pusher(single.port, repository, secret)
                three = Pusher(fronts[0].getsockname()[1], repository, secret)
                for number in range(pushes):
                    times["single"].append(outside.submit(one.push).result()[1])
                    time.sleep(PAUSE)
                    name, duration, replied = outside.submit(three.push).result()
                    times["on all hosts"].append(max(time_on_all(files, name) - replied, 0))
                    times["replicated"].append(duration)
                    time.sleep(PAUSE)
                    times["nats"].append(nats.publish(b"x" * 500))
                    time.sleep(PAUSE)
                    if number == 9:
                        times = {name: [] for name in times}
        finally:
            single.stop()
    return {name: sorted(1000 * each for each in some) for name, some in times.items()}


def table(times: dict[str, list[float]]) -> str:
    def p99(name: str) -> float:
        return times[name][min(len(times[name]) - 1, round(0.99 * len(times[name])))]
    median = {name: statistics.median(some) for name, some in times.items()}
    rows = [f"| push of one check-in, single host, ms | {median['single']:.2f} | {p99('single'):.2f} | |",
            f"| the same, one of three hosts, ms | {median['replicated']:.2f} | {p99('replicated'):.2f} |"
            f" {median['replicated'] / median['single']:.2f} × |",
            f"| nats-server: a message is stored by a quorum, ms | {median['nats']:.2f} | {p99('nats'):.2f} | |",
            f"| from the reply until all hosts have the check-in, ms | {median['on all hosts']:.2f} | {p99('on all hosts'):.2f} |"
            f" {p99('on all hosts') / p99('nats'):.1f} × (p99) |"]
    return "\n".join(["| | median | p99 | ratio |", "| --- | ---: | ---: | ---: |", *rows])
