"""Compares Quarry's process manager with PHP-FPM. Both servers run behind one nginx with pools of the same size, and
are measured alternately."""

import contextlib
import itertools
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measures import Results
from support import fastcgi, process, repofile
from support.daemon import Daemon
from support.fossil import Fossil
from support.phpfpm import PhpFpm, is_installed
from support.process import Process, free_port, wait_until
from support.servers import start_nginx, write_nginx

SIDES = ("php-fpm", "quarryd")
CHILDREN = 4
MANY = 500
HELLO = "<?php header('Content-Type: text/plain'); echo \"hello, world\\n\";\n"
ONDEMAND = {"pm": "ondemand", "pm.max_children": CHILDREN, "pm.process_idle_timeout": "1s"}

LINES = [
    ("1", "ping behind nginx, 1 connection, requests/s", "{:,.0f}"),
    ("4", "the same, 4 connections", "{:,.0f}"),
    ("16", "the same, 16 connections", "{:,.0f}"),
    ("kept-4", "nginx keeps its connections to the pool, 4 connections", "{:,.0f}"),
    ("kept-16", "the same, 16 connections on 4 children", "{:,.0f}"),
    ("first", "first request on an empty ondemand pool, ms", "{:.2f}"),
    ("master", "memory of the master, resident, MiB", "{:.1f}"),
    ("status", f"status page with {MANY} children, ms", "{:.2f}"),
    ("full", "the same with details of each child, ms", "{:.2f}"),
]


@dataclass
class Pool:
    """A quarryd or a PHP-FPM with one pool. PAGE is the path that clients request."""

    socket: Path
    main: Process
    page: str
    stop: Callable[[], None]

    def ask(self, path: str, query: str = "") -> fastcgi.Reply:
        return fastcgi.ask(self.socket, path, query)

    def is_empty(self) -> bool:
        return not [pid for pid in process.children(self.main.pid) if "pool" in process.name(pid)]


def start(side: str, folder: Path, settings: dict[str, object]) -> Pool:
    """Starts the server SIDE (one of SIDES). Clients request `ping.path` from quarryd. From PHP-FPM, they request a
    script that prints a greeting."""
    folder.mkdir()
    settings = {"listen.backlog": 511, "pm.status_path": "/status", "ping.path": "/ping", **settings}
    if side == "quarryd":
        fossil = Fossil(folder / "home")
        fossil.new(folder / "served.fossil")
        repofile.set_config(folder / "served.fossil", "backoffice-disable", 1)
        daemon = Daemon(folder / "quarryd", folder / "served.fossil", settings, env=fossil.environment).wait_until_ready()
        return Pool(daemon.socket, daemon.main, "/ping", daemon.stop)
    script = folder / "hello.php"
    script.write_text(HELLO)
    server = PhpFpm(folder, settings)
    return Pool(server.socket, server.process, str(script), server.stop)


@contextlib.contextmanager
def both(folder: Path, name: str, settings: dict[str, object]) -> Iterator[dict[str, Pool]]:
    with contextlib.ExitStack() as stack:
        pools = {}
        for side in SIDES:
            pools[side] = start(side, folder / f"{name}-{side}", settings)
            stack.callback(pools[side].stop)
            assert pools[side].ask(pools[side].page).body
        yield pools


@contextlib.contextmanager
def nginx(folder: Path, pools: dict[str, Pool]) -> Iterator[int]:
    """Starts nginx in front of both pools and yields its port. For paths below /kept, nginx uses persistent connections
    to the pools."""
    port = free_port()
    upstreams = locations = ""
    for side, pool in pools.items():
        upstreams += f"upstream {side} {{ server unix:{pool.socket}; }}\n"
        upstreams += f"upstream kept-{side} {{ server unix:{pool.socket}; keepalive 16; }}\n"
        for prefix, upstream, keep in (("", side, "off"), ("/kept", f"kept-{side}", "on")):
            locations += f"""location = {prefix}/{side} {{
    fastcgi_pass {upstream};
    fastcgi_keep_conn {keep};
    fastcgi_param REQUEST_METHOD $request_method;
    fastcgi_param REQUEST_URI $request_uri;
    fastcgi_param REMOTE_ADDR $remote_addr;
    fastcgi_param SERVER_PROTOCOL $server_protocol;
    fastcgi_param SCRIPT_FILENAME {pool.page};
    fastcgi_param SCRIPT_NAME {pool.page};
}}
"""
    server = start_nginx(write_nginx(folder, f"""access_log off;
{upstreams}server {{
listen 127.0.0.1:{port};
keepalive_requests 1000000;
{locations}}}
"""), port)
    try:
        yield port
    finally:
        server.stop()


def requests_per_second(url: str, connections: int, seconds: int) -> float:
    done = subprocess.run(["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "10s", url],
                          capture_output=True, text=True, check=True)
    assert "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def measure(folder: Path, runs: int, seconds: int) -> Results:
    results = Results()
    with both(folder, "static", {"pm": "static", "pm.max_children": CHILDREN}) as pools, nginx(folder, pools) as port:
        # A single connection is measured more often, because its results vary most. Persistent connections are measured
        # last, because all of PHP-FPM's children then serve only these connections.
        for prefix, path, counts in (("", "", (1, 1, 1, 4, 16)), ("kept-", "kept/", (4, 16))):
            for connections, side in itertools.product(counts * runs, SIDES):
                url = f"http://127.0.0.1:{port}/{path}{side}"
                results.note(f"{prefix}{connections}", side, requests_per_second(url, connections, seconds))
        for side, pool in pools.items():
            results.note("master", side, process.memory_kib(pool.main.pid, "VmRSS") / 1024)
    with both(folder, "ondemand", ONDEMAND) as pools:
        for _ in range(5 * runs):
            for pool in pools.values():
                wait_until(pool.is_empty, "an empty pool")
            for side, pool in pools.items():
                results.note("first", side, milliseconds(lambda pool=pool: pool.ask(pool.page)))
    with both(folder, "many", {"pm": "static", "pm.max_children": MANY}) as pools:
        for _ in range(10 * runs):
            for side, pool in pools.items():
                results.note("status", side, milliseconds(lambda pool=pool: pool.ask("/status")))
                results.note("full", side, milliseconds(lambda pool=pool: pool.ask("/status", "full")))
    return results


def table(results: Results) -> str:
    rows = ["| | PHP-FPM | quarryd | ratio |", "| --- | ---: | ---: | ---: |"]
    for name, title, form in LINES:
        php, ours = (statistics.median(results[name][side]) for side in SIDES)
        rows.append(f"| {title} | {form.format(php)} | {form.format(ours)} | {ours / php:.2f} × |")
    return "\n".join(rows)


__all__ = ["is_installed", "measure", "table"]
