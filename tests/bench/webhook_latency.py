"""Measures the time from a commit to the webhook's receiver while the server is idle: a client pushes a check-in, waits
until the receiver has the event, and waits a moment before the next push. The time begins when the client has the reply
to its push, which the server sends after the commit."""

import statistics
import threading
import time
from pathlib import Path

from support import artifacts, repofile, wire
from support.courier import Webhook, sections
from support.daemon import Daemon
from support.fossil import Fossil
from support.process import wait_until

PUSHES = 100
PAUSE = 0.05


def measure(folder: Path, runs: int, seconds: int) -> list[float]:
    """Returns the times in milliseconds, sorted."""
    folder.mkdir(exist_ok=True)
    fossil = Fossil(folder / "home")
    repository = fossil.new(folder / "webhook.fossil")
    secret = repofile.add_user(repository, "hand", "written", "gio")
    times = []
    arrived = threading.Event()
    at = [0.0]

    def answer(number: int, body: dict) -> int:
        at[0] = time.perf_counter()
        arrived.set()
        return 200

    with Webhook(answer) as hook:
        courier = sections(folder, {"hook": {"type": "webhook", "url": hook.url, "batch": "push"}})
        server = Daemon(folder / "server", repository, {"backoffice": "yes"}, http={}, more=courier,
                        env=fossil.environment).wait_until_ready()
        try:
            wait_until(lambda: repofile.value(repository, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
            peer = wire.Peer(server.port, "/", "hand", secret, repofile.project_code(repository))
            parent = []
            for number in range(10 if seconds == 1 else PUSHES * runs):
                made = artifacts.manifest(f"check-in {number}", f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}",
                                          "hand", {}, parent)
                arrived.clear()
                reply = peer.push(wire.file_card(made))
                committed = time.perf_counter()
                assert reply.status == 200 and not reply.errors(), reply.raw
                assert arrived.wait(60), "the webhook did not get the push"
                times.append(max(at[0] - committed, 0) * 1000)
                parent = [wire.sha3(made)]
                time.sleep(PAUSE)
        finally:
            server.stop()
    return sorted(times)


def table(times: list[float]) -> str:
    p95 = times[min(len(times) - 1, round(0.95 * len(times)))]
    return (f"| from the commit to the receiver of a webhook, idle, ms | median | p95 | maximum |\n| --- | ---: | ---: | ---: |\n"
            f"| {len(times)} pushes | {statistics.median(times):.1f} | {p95:.1f} | {times[-1]:.1f} |")
