"""Compares quarryd's web pages, both cached and uncached, with the pages of `fossil server`. Also measures how 500
visitors of slow pages affect syncs. The servers are measured alternately."""

import contextlib
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measures import Results
from support import repofile
from support.process import Process, free_port, port_answers, wait_until
from support.servers import Launcher, Server, disable_backoffice, start_nginx, write_nginx
from workload import Workload

HERE = Path(__file__).resolve().parent
BROWSER = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
#: Requests with a cookie are not answered from the cache.
KNOWN = "Cookie: somebody=1"
VISITORS = 500
CLIENTS = 16

LINES = [
    ("kept", "timeline of 50 entries, cached, gzip as in browsers, requests/s", ("`fossil server`", "quarryd"), "{:,.0f}"),
    ("plain", "the same, not compressed", ("`fossil server`", "quarryd"), "{:,.0f}"),
    ("made", "the same, not cached, behind nginx", ("`fossil server --scgi`", "quarryd"), "{:,.0f}"),
]


def wrk(url: str, seconds: int, connections: int, *headers: str) -> str:
    words = [word for header in headers for word in ("-H", header)]
    done = subprocess.run(["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "60s", "--latency", *words, url],
                          capture_output=True, text=True, check=True)
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    # Under load, `fossil server` fails to answer about one request in a thousand, so failures are only reported.
    if failed:
        print(f"  {failed[1]} requests of {url} failed", file=sys.stderr)
    return done.stdout


def per_second(url: str, seconds: int, *headers: str) -> float:
    return float(re.search(r"Requests/sec:\s+([\d.]+)", wrk(url, seconds, 8, BROWSER, *headers))[1])


@contextlib.contextmanager
def scgi_behind_nginx(workload: Workload, folder: Path) -> Iterator[str]:
    folder.mkdir()
    path = repofile.copy(workload.served, folder / "served.fossil")
    disable_backoffice(path)
    pages, port = free_port(), free_port()
    running = [Process(["fossil", "server", "--nojail", "--localhost", "--scgi", "--port", pages, path], folder / "log",
                       env=workload.fossil.environment)]
    try:
        wait_until(lambda: port_answers(pages), "fossil server --scgi")
        running.append(start_nginx(write_nginx(folder, f"""access_log off;
server {{ listen 127.0.0.1:{port}; location / {{ scgi_pass 127.0.0.1:{pages};
  scgi_param SCGI 1; scgi_param REQUEST_METHOD $request_method; scgi_param REQUEST_URI $request_uri; scgi_param SCRIPT_NAME "";
  scgi_param PATH_INFO $uri; scgi_param QUERY_STRING $query_string; scgi_param CONTENT_LENGTH $content_length;
  scgi_param REMOTE_ADDR $remote_addr; scgi_param HTTP_HOST $host:$server_port; }} }}
"""), port))
        yield f"http://127.0.0.1:{port}"
    finally:
        for each in reversed(running):
            each.stop()


def measure_pages(workload: Workload, servers: dict[str, Server], scgi: str, runs: int, seconds: int, results: Results) -> None:
    sides = {"`fossil server`": servers["fossil"].url, "quarryd": servers["gateway"].url}
    for _ in range(runs):
        for side, url in sides.items():
            results.note("kept", side, per_second(url + "timeline", seconds, "Accept-Encoding: gzip"))
        for side, url in sides.items():
            results.note("plain", side, per_second(url + "timeline", seconds))
        for side, url in {"`fossil server --scgi`": scgi + "/", "quarryd": servers["nginx"].url}.items():
            results.note("made", side, per_second(url + "timeline", seconds, KNOWN, "Accept-Encoding: gzip"))


def syncs_p99(server: Server, workload: Workload, seconds: int) -> float:
    """Returns the 99th percentile in milliseconds for 16 clients that sync with nothing new. Each request uses a new
    connection."""
    body = workload.folder / "nothing-new.body"
    body.write_bytes(workload.nothing_new)
    done = subprocess.run(["wrk", "-t", "1", "-c", str(CLIENTS), "-d", f"{seconds}s", "--timeout", "60s", "--latency", "-s",
                           HERE / "nothing_new.lua", server.url, "--", body, "close"], capture_output=True, text=True, check=True)
    if "Requests/sec:      0.00" in done.stdout:
        return seconds * 1000
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s|m)", done.stdout).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}[unit]


@contextlib.contextmanager
def visitors(server: Server, seconds: int) -> Iterator[None]:
    """Simulates 500 concurrent visitors, each of whom requests a slow page that is not cached."""
    crowd = subprocess.Popen([HERE / "visitors.py", str(server.port), "/timeline?n=2000&y=ci", str(VISITORS), str(seconds + 2)],
                             stdout=subprocess.PIPE, text=True)
    try:
        assert crowd.stdout.readline(), "no visitor got a page"
        yield
    finally:
        sys.stderr.write(crowd.communicate()[0])


def measure_beside(workload: Workload, servers: dict[str, Server], runs: int, seconds: int, results: Results) -> None:
    for _ in range(runs):
        for kind, side in (("fossil", "`fossil server`"), ("gateway", "quarryd")):
            results.note("alone", side, syncs_p99(servers[kind], workload, seconds))
            with visitors(servers[kind], seconds):
                results.note("beside", side, syncs_p99(servers[kind], workload, seconds))


def measure(workload: Workload, folder: Path, runs: int, seconds: int) -> Results:
    results = Results()
    folder.mkdir()
    launchers, servers = [], {}
    try:
        for kind in ("fossil", "gateway", "nginx"):
            place = folder / kind
            place.mkdir()
            launchers.append(Launcher(kind, place, workload.fossil))
            path = repofile.copy(workload.served, place / "served.fossil")
            disable_backoffice(path)
            servers[kind] = launchers[-1](path, web_pages=True)
        with scgi_behind_nginx(workload, folder / "scgi") as scgi:
            measure_pages(workload, servers, scgi, runs, seconds, results)
        measure_beside(workload, servers, runs, seconds, results)
    finally:
        for launcher in launchers:
            launcher.stop_all()
    return results


def table(results: Results) -> str:
    rows = ["| web pages | beside | quarryd | ratio |", "| --- | ---: | ---: | ---: |"]
    for measure_, title, sides, form in LINES:
        other, ours = (statistics.median(results[measure_][side]) for side in sides)
        rows.append(f"| {title} | {form.format(other)} ({sides[0]}) | {form.format(ours)} | {ours / other:.2g} × |")
    rows += ["", f"| p99 of {CLIENTS} clients that sync, ms | alone | beside {VISITORS} visitors of slow pages | ratio |",
             "| --- | ---: | ---: | ---: |"]
    for side in ("`fossil server`", "quarryd"):
        alone, beside = (statistics.median(results[name][side]) for name in ("alone", "beside"))
        rows.append(f"| {side} | {alone:,.1f} | {beside:,.1f} | {beside / alone:.2g} × |")
    return "\n".join(rows)
