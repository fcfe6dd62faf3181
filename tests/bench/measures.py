"""Measurements of a running server, and a client that uses very little processor time."""

import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from support import process, repofile, wire
from support.servers import Launcher, Server

from workload import LOGIN, PASSWORD, Workload, fresh_empty

HERE = Path(__file__).resolve().parent


class Results(dict):
    """`results[measure][side]` contains a value for each run."""

    def note(self, measure: str, side: str, value: float) -> None:
        self.setdefault(measure, {}).setdefault(side, []).append(value)
        print(f"  {side:24} {measure}: {value:,.2f}", file=sys.stderr)


class RawClient:
    """An HTTP/1.0 client that opens a connection for each request, like the stock client."""

    def __init__(self, port: int):
        self.port = port
        self.buffer = bytearray(1 << 20)

    def exchange(self, body: bytes, content_type: str) -> tuple[int, bytes]:
        """Sends a request. Returns the size of the reply including its header, and the last few thousand bytes of the
        reply."""
        head = (f"POST / HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: {content_type}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        with socket.create_connection(("127.0.0.1", self.port)) as wire_:
            wire_.sendall(head + body)
            total = 0
            first = tail = b""
            while count := wire_.recv_into(self.buffer):
                if not first:
                    first = bytes(self.buffer[:32])
                total += count
                tail = (tail + bytes(self.buffer[max(0, count - 4096):count]))[-4096:]
        assert b" 200 " in first[:16], first
        return total, tail


def nothing_new_per_second(server: Server, workload: Workload, seconds: int, closing: bool) -> float:
    """Returns the number of requests per second over four connections. If CLOSING is true, each request uses a new
    connection, as in the stock client."""
    return nothing_new_at(server.url, workload, seconds, closing)


def nothing_new_at(url: str, workload: Workload, seconds: int, closing: bool) -> float:
    body = workload.folder / "nothing-new.body"
    body.write_bytes(workload.nothing_new)
    done = subprocess.run(["wrk", "-t", "1", "-c", "4", "-d", f"{seconds}s", "--timeout", "10s", "-s",
                           HERE / "nothing_new.lua", url, "--", body, *(["close"] if closing else [])],
                          capture_output=True, text=True, check=True)
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    assert not failed, f"{failed[1]} requests failed"
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])


def check_nothing_new(server: Server, workload: Workload) -> None:
    answer = wire.Peer(server.port).post(workload.nothing_new, wire.COMPRESSED)
    assert answer.status == 200 and not answer.errors(), answer
    assert not answer.of("igot") and not answer.of("gimme") and not answer.of("file"), answer.cards


def clone_bytes_per_second(server: Server, seconds: float) -> float:
    client = RawClient(server.port)
    received = 0
    began = time.monotonic()
    while True:
        sequence = 1
        while sequence:
            count, tail = client.exchange(wire.body(f"{wire.CLIENT_VERSION} 20230226 192424", f"clone 3 {sequence}"),
                                          wire.PLAIN)
            received += count
            sequence = int(re.findall(rb"\nclone_seqno (\d+)\n", tail)[-1])
        took = time.monotonic() - began
        if took >= seconds:
            return received / took


def replayed_push_per_second(launch: Launcher, workload: Workload) -> float:
    """Returns the number of artifacts per second when the requests of a recorded push are replayed into a new
    repository."""
    target, server = _pushed_into(launch, workload)
    client = RawClient(server.port)
    began = time.monotonic()
    for body in workload.requests:
        client.exchange(body, wire.COMPRESSED)
    took = time.monotonic() - began
    _end_push(server, target, workload)
    return workload.artifacts / took


def real_push_per_second(launch: Launcher, workload: Workload) -> float:
    """Returns the number of artifacts per second in a push by the stock client. The client itself takes most of the
    time."""
    target, server = _pushed_into(launch, workload)
    client = workload.folder / "pushing.fossil"
    client.unlink(missing_ok=True)
    repofile.copy(workload.client, client)
    began = time.monotonic()
    workload.fossil("push", "--once", server.url_for(LOGIN, PASSWORD), "-R", client, seconds=600)
    took = time.monotonic() - began
    _end_push(server, target, workload)
    return workload.artifacts / took


def idle_memory_mib(server: Server, field: str) -> float:
    """Returns the memory of the largest worker in MiB. `fossil server` does not have workers, so its listening process
    is measured."""
    pids = [server.main.pid] if server.kind == "fossil" else server.workers()
    sizes = [process.pss_kib(pid) if field == "Pss" else process.memory_kib(pid, field) for pid in pids]
    return max(sizes) / 1024


def _pushed_into(launch: Launcher, workload: Workload) -> tuple[Path, Server]:
    target = fresh_empty(workload, launch.kind)
    server = launch(target)
    RawClient(server.port).exchange(wire.compress(b"# hello\n"), wire.COMPRESSED)
    return target, server


def _end_push(server: Server, target: Path, workload: Workload) -> None:
    server.stop()
    there = len(repofile.artifacts(target))
    assert there >= workload.artifacts, f"only {there} of {workload.artifacts} artifacts arrived"
