"""Measures what replication costs: the time of a push of one check-in to one of three hosts and to a single host, and the
time from its reply until all hosts have the check-in. The time in which nats-server itself stores a message on a quorum of
servers is measured between the pushes. Also measures the processor time of the workers for a sync with nothing new, behind
one HAProxy in front of the three hosts, of a single host, and of three hosts that are not replicated. The hosts are network namespaces on this machine (support/cluster.py)."""

import json
import socket
import sqlite3
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import measures
from support import artifacts, cluster, daemon, process, repofile, wire
from support.daemon import Daemon
from support.fossil import Fossil
from support.process import Process, wait_until

PAUSE = 0.02
SUBJECT = "bench.message"
POOL = {"pm": "static", "pm.max_children": 2, "pages": "fossil", "backoffice": "no"}


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


def start_single(folder: Path, name: str, fossil: Fossil) -> Daemon:
    return Daemon(folder / f"{name}-host", repofile.copy(folder / "original.fossil", folder / f"{name}.fossil"), POOL, http={},
                  env=fossil.environment).wait_until_ready()


def start_balancer(folder: Path, name: str, ports: list[int]) -> tuple[Process, int]:
    """Starts an HAProxy that sends requests to PORTS in turn. Returns it with its port."""
    port = process.free_port()
    config = folder / f"{name}.cfg"
    config.write_text("defaults\n    mode http\n    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\n"
                      f"listen all\n    bind 127.0.0.1:{port}\n    balance roundrobin\n"
                      + "".join(f"    server s{each} 127.0.0.1:{each}\n" for each in ports))
    started = Process(["haproxy", "-db", "-f", config], folder / name)
    wait_until(lambda: process.port_answers(port), "HAProxy")
    return started, port


def time_of_nothing_new(folder: Path, port: int, masters: list[int], secret: str, seconds: int) -> float:
    """Returns the processor time of the workers of MASTERS in milliseconds, for one sync with nothing new."""
    code = repofile.project_code(folder / "original.fossil")
    known = repofile.artifacts(folder / "original.fossil")
    cards = wire.body(f"{wire.CLIENT_VERSION} 20230226 192424", f"pull {wire.SERVER_CODE} {code}",
                      f"push {wire.SERVER_CODE} {code}", *[f"igot {name}" for name in sorted(known)])
    workload = SimpleNamespace(folder=folder, nothing_new=wire.compress(wire.signed(cards, "hand", secret)))
    workers = [pid for master in masters for pid in process.children(master) if process.name(pid).startswith("pool ")]

    def spent() -> float:
        return sum(daemon.processor_seconds(pid) for pid in workers)
    before = spent()
    rate = measures.nothing_new_at(f"http://127.0.0.1:{port}/", workload, seconds, closing=True)
    return 1000 * (spent() - before) / (rate * seconds)


def time_on_all(files: list[sqlite3.Connection], name: str) -> float:
    """Returns the time at which all FILES contain the artifact NAME."""
    for file in files:
        while not file.execute("SELECT 1 FROM blob WHERE uuid=?", (name,)).fetchone():
            time.sleep(0.0001)
    return time.perf_counter()


def measure(folder: Path, pushes: int, seconds: int) -> dict[str, list[float]]:
    """Returns the times in milliseconds, sorted. The first ten pushes are not measured. Syncs with nothing new are measured
    for SECONDS, five times."""
    folder.mkdir(exist_ok=True)
    fossil = Fossil(folder / "home")
    repository = fossil.new(folder / "original.fossil")
    secret = repofile.add_user(repository, "hand", "written", "gio")
    syncs: dict[str, list[float]] = {"single sync": [], "separate sync": [], "replicated sync": []}
    times: dict[str, list[float]] = {"single": [], "replicated": [], "on all hosts": [], "nats": []}
    fronts = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    with ThreadPoolExecutor(1) as outside:
        # This thread stays outside of the hosts' network.
        singles = [outside.submit(start_single, folder, name, fossil).result() for name in ("single", "second", "third")]
        single = singles[0]
        try:
            with cluster.cluster(folder, repository, fronts=fronts, pool=POOL) as hosts:
                files = [sqlite3.connect(host.repository) for host in hosts.hosts]
                masters = {"single sync": [single.main.pid], "separate sync": [each.main.pid for each in singles],
                           "replicated sync": [host.main.pid for host in hosts.hosts]}
                ports = {"single sync": [single.port], "separate sync": [each.port for each in singles],
                         "replicated sync": [each.getsockname()[1] for each in fronts]}
                balancers = {name: outside.submit(start_balancer, folder, name, some).result() for name, some in ports.items()}
                for _ in range(5):
                    for name, (_, port) in balancers.items():
                        syncs[name].append(outside.submit(time_of_nothing_new, folder, port, masters[name], secret, seconds).result())
                for balancer, _ in balancers.values():
                    balancer.stop()
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
            for each in singles:
                each.stop()
    return {name: sorted(1000 * each for each in some) for name, some in times.items()} | syncs


def table(times: dict[str, list[float]]) -> str:
    def p99(name: str) -> float:
        return times[name][min(len(times[name]) - 1, round(0.99 * len(times[name])))]
    median = {name: statistics.median(some) for name, some in times.items()}
    rows = [f"| push of one check-in, single host, ms | {median['single']:.2f} | {p99('single'):.2f} | |",
            f"| the same, one of three hosts, ms | {median['replicated']:.2f} | {p99('replicated'):.2f} |"
            f" {median['replicated'] / median['single']:.2f} × |",
            f"| nats-server: a message is stored by a quorum, ms | {median['nats']:.2f} | {p99('nats'):.2f} | |",
            f"| from the reply until all hosts have the check-in, ms | {median['on all hosts']:.2f} | {p99('on all hosts'):.2f} |"
            f" {p99('on all hosts') / p99('nats'):.1f} × (p99) |",
            f"| sync with nothing new, single host, processor time of workers, ms | {median['single sync']:.3f} | | |",
            f"| the same, three hosts that are not replicated, ms | {median['separate sync']:.3f} | |"
            f" {median['separate sync'] / median['single sync']:.2f} × |",
            f"| the same, three hosts, ms | {median['replicated sync']:.3f} | |"
            f" {median['replicated sync'] / median['single sync']:.2f} × |"]
    return "\n".join(["| | median | p99 | ratio |", "| --- | ---: | ---: | ---: |", *rows])
