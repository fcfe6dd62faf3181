"""What background work costs: a run with nothing to do beside fossil's, requests with the backoffice beside requests
without, and events to a webhook beside what the curl program posts to the same server. The two sides of each take turns."""

import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import measures
from support import places, process, repofile, wire
from support.courier import Courier, event
from support.process import Process, free_port, wait_until
from support.servers import Launcher
from workload import Workload

#: Measure, what it is, the sides and their names, how a value is shown.
LINES = [
    ("idle", "run with nothing to do, ms", ("fossil backoffice", "quarry backoffice"), "{:,.1f}"),
    ("syncs", "sync with nothing new, 4 kept connections, requests/s", ("backoffice = no", "backoffice = yes"), "{:,.0f}"),
    ("closing", "the same, a connection for each request", ("backoffice = no", "backoffice = yes"), "{:,.0f}"),
    ("events", "events to a webhook, one destination, a second", ("curl", "courier"), "{:,.0f}"),
]


class Results(dict):
    """results[measure][side]: a value for each run."""

    def note(self, measure: str, side: str, value: float) -> None:
        self.setdefault(measure, {}).setdefault(side, []).append(value)
        print(f"  {side:18} {measure}: {value:,.2f}", file=sys.stderr)


def milliseconds(words: list[object], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([str(word) for word in words], env=environment, check=True, capture_output=True)
    return (time.perf_counter() - began) * 1000


def measure_idle(workload: Workload, folder: Path, runs: int, results: Results) -> None:
    path = repofile.copy(workload.served, folder / "idle.fossil")
    repofile.set_config(path, "backoffice-disable", 0)
    sides = {"fossil backoffice": ["fossil", "backoffice", "--nolease", path],
             "quarry backoffice": [places.program("quarry"), "backoffice", "--nolease", path]}
    for words in sides.values():  # what there is to do the first time, once an hour and once a day
        for _ in range(2):
            milliseconds(words, workload.fossil.environment)
    before = repofile.everything(path)
    for _ in range(20 * runs):
        for side, words in sides.items():
            results.note("idle", side, milliseconds(words, workload.fossil.environment))
    assert repofile.everything(path) == before, "there was something to do"


def measure_requests(workload: Workload, folder: Path, runs: int, seconds: int, results: Results) -> None:
    servers, launchers = {}, []
    try:
        for word in ("no", "yes"):
            place = folder / f"backoffice-{word}"
            place.mkdir()
            path = repofile.copy(workload.served, place / "served.fossil")
            repofile.set_config(path, "backoffice-disable", 0)
            launchers.append(Launcher("gateway", place, workload.fossil))
            servers[f"backoffice = {word}"] = launchers[-1](path, settings={"backoffice": word})
            assert not wire.Peer(servers[f"backoffice = {word}"].port).post(workload.nothing_new, wire.COMPRESSED).errors()
        lease = "SELECT value FROM config WHERE name='backoffice'"
        wait_until(lambda: repofile.value(servers["backoffice = yes"].target, lease), "a first run")
        # Many short turns, in changing order: what differs is less than what else the machine does.
        for turn, name in itertools.product(range(2 * runs * seconds), ("syncs", "closing")):
            for side in sorted(servers, reverse=turn % 2 == 1):
                results.note(name, side, measures.nothing_new_per_second(servers[side], workload, 1, name == "closing"))
        assert not repofile.value(servers["backoffice = no"].target, lease)
    finally:
        for launcher in launchers:
            launcher.stop_all()


@contextlib.contextmanager
def taker(folder: Path) -> Iterator[tuple[int, Path]]:
    """nginx takes whatever is posted, and notes a line for each. Its port, and where the lines are."""
    port = free_port()
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi"))
    config = folder / "taker.conf"
    config.write_text(("user root;\n" if os.geteuid() == 0 else "") + f"""daemon off;
worker_processes 1;
pid {folder}/taker.pid;
events {{ worker_connections 64; }}
http {{
access_log {folder}/taken.log;
{temporary}server {{
listen 127.0.0.1:{port};
keepalive_requests 1000000;
location / {{ return 204; }}
}}
}}
""")
    server = Process(["nginx", "-c", config, "-p", folder, "-e", folder / "taker-error.log"], folder / "taker-output.log")
    try:
        wait_until(lambda: process.port_answers(port) or not server.is_running(), "nginx")
        assert server.is_running(), server.output()
        yield port, folder / "taken.log"
    finally:
        server.stop()


def taken(log: Path) -> int:
    with log.open("rb") as lines:
        return sum(b"\"POST " in line for line in lines)


def curl_per_second(url: str, count: int, body: Path) -> float:
    """The same requests, one after the other over one connection, by libcurl alone."""
    began = time.perf_counter()
    subprocess.run(["curl", "--silent", "--show-error", "--fail", "--output", "/dev/null", "--header", "Expect:",
                    "--header", "Content-Type: application/json", "--data-binary", f"@{body}",
                    f"{url}?[1-{count}]"], check=True, capture_output=True, env={**os.environ, "no_proxy": "*"})
    return count / (time.perf_counter() - began)


def courier_per_second(courier: Courier, events: list[dict], log: Path) -> float:
    """From before the first is handed over until the last has arrived: with all that keeps them from being lost."""
    before = taken(log)
    began = time.perf_counter()
    courier.hand_over(events, batch=500)
    wait_until(lambda: taken(log) - before >= len(events), "all events", 300)
    took = time.perf_counter() - began
    courier.wait_until_delivered("hook", 60)
    assert taken(log) - before == len(events), "more than once"
    return len(events) / took


def measure_events(folder: Path, runs: int, seconds: int, results: Results) -> None:
    subprocess.run(["ninja", "-C", places.build_directory(), "tests/unit/courier/hand-over-events"], check=True,
                   stdout=sys.stderr)
    events = [event(number, "artifact.check-in", part={"hash": f"{number:064x}", "size": 500, "user": "ann", "branch": "trunk",
                                                       "comment": "A comment as long as most of them are, say."})
              for number in range(3000 * seconds)]
    body = folder / "body.json"
    body.write_text(str(events[0]))
    with taker(folder) as (port, log):
        courier = Courier(folder / "courier", {"hook": {"type": "webhook", "url": f"http://127.0.0.1:{port}/"}}).start()
        try:
            for _ in range(runs):
                results.note("events", "curl", curl_per_second(f"http://127.0.0.1:{port}/", len(events), body))
                results.note("events", "courier", courier_per_second(courier, events, log))
        finally:
            courier.stop()


def measure(workload: Workload, folder: Path, runs: int, seconds: int) -> Results:
    folder.mkdir()
    results = Results()
    measure_idle(workload, folder, runs, results)
    measure_requests(workload, folder, runs, seconds, results)
    measure_events(folder, runs, seconds, results)
    return results


def table(results: Results) -> str:
    rows = ["| | beside | | Quarry | | ratio |", "| --- | --- | ---: | --- | ---: | ---: |"]
    for name, title, sides, form in LINES:
        other, ours = (statistics.median(results[name][side]) for side in sides)
        rows.append(f"| {title} | `{sides[0]}` | {form.format(other)} | `{sides[1]}` | {form.format(ours)}"
                    f" | {ours / other:.2f} × |")
    return "\n".join(rows)
