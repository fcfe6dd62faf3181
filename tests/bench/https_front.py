"""Compares HTTPS in quarryd's front with HTTPS in nginx with one worker, in front of the same pool.

Each rate is measured per second of real time, and per second of the front's processor time. If clients and servers
share a machine, the clients and the pool use most of the processor time."""

import contextlib
import re
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measures import Results, nothing_new_at
from support import repofile
from support.daemon import Daemon, processor_seconds
from support.process import children, free_port, wait_until
from support.servers import start_nginx, write_nginx
from support.tls import openssl
from workload import Workload

SIDES = ("nginx", "quarryd")
MEASURES = ("http", "https", "handshakes")
UNITS = ("per second", "per second of the front's processor time")
#: Number of client processes. Several are needed, because a handshake takes a client as much time as a server.
CLIENTS = 4


@dataclass
class Front:
    #: By scheme.
    urls: dict[str, str]
    #: Process ID of the only process that accepts connections.
    pid: int = 0


@contextlib.contextmanager
def fronts(workload: Workload, folder: Path) -> Iterator[dict[str, Front]]:
    folder.mkdir()
    certificate, key = folder / "front.pem", folder / "front.key"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", "/CN=localhost", "-keyout", key, "-out",
            certificate)
    made = {side: Front({scheme: f"{scheme}://127.0.0.1:{free_port()}/" for scheme in ("http", "https")}) for side in SIDES}
    ports = {side: [url.rpartition(":")[2].strip("/") for url in made[side].urls.values()] for side in SIDES}
    plain, encrypted = ports["quarryd"]
    daemon = Daemon(folder / "quarryd", repofile.copy(workload.served, folder / "served.fossil"),
                    {"pm.max_children": 4, "listen.mode": "0666"},
                    http={"listen": [f"127.0.0.1:{plain}", f"127.0.0.1:{encrypted} ssl"], "ssl_certificate": certificate,
                          "ssl_certificate_key": key}, env=workload.fossil.environment)
    nginx = None
    try:
        daemon.wait_until_ready()
        plain, encrypted = ports["nginx"]
        parameters = "".join(f"fastcgi_param {name} ${value};\n" for name, value in (
            ("REQUEST_METHOD", "request_method"), ("PATH_INFO", "uri"), ("QUERY_STRING", "query_string"),
            ("REQUEST_URI", "request_uri"), ("CONTENT_TYPE", "content_type"), ("CONTENT_LENGTH", "content_length"),
            ("REMOTE_ADDR", "remote_addr"), ("SERVER_PROTOCOL", "server_protocol")))
        nginx = start_nginx(write_nginx(folder, f"""access_log off; keepalive_requests 10000000;
server {{ listen 127.0.0.1:{plain}; listen 127.0.0.1:{encrypted} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};
ssl_protocols TLSv1.2 TLSv1.3; location / {{ fastcgi_pass unix:{daemon.socket}; fastcgi_param SCRIPT_NAME "";
{parameters} }} }}
"""), int(plain))
        made["quarryd"].pid = daemon.child("gateway")
        wait_until(lambda: children(nginx.pid), "nginx's worker")
        made["nginx"].pid = children(nginx.pid)[0]
        yield made
    finally:
        if nginx:
            nginx.stop()
        daemon.stop()


def handshakes(front: Front, seconds: int) -> int:
    """Returns the number of full TLS 1.3 handshakes in SECONDS."""
    address = front.urls["https"].removeprefix("https://").strip("/")
    clients = [subprocess.Popen(["openssl", "s_time", "-new", "-connect", address, "-time", str(seconds)],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(CLIENTS)]
    return sum(int(re.search(r"(\d+) connections in [\d.]+ real seconds", client.communicate()[0])[1]) for client in clients)


def measure(workload: Workload, folder: Path, runs: int, seconds: int) -> Results:
    results = Results()
    with fronts(workload, folder) as both:
        for _ in range(runs):
            for name in MEASURES:
                for side in SIDES:
                    front = both[side]
                    began = processor_seconds(front.pid)
                    count = (handshakes(front, seconds) if name == "handshakes"
                             else seconds * nothing_new_at(front.urls[name], workload, seconds, False))
                    used = processor_seconds(front.pid) - began
                    for unit, value in zip(UNITS, (count / seconds, count / used), strict=True):
                        results.note(f"{name}, {unit}", side, value)
    return results


def table(results: Results) -> str:
    rows = ["| HTTPS | nginx | quarryd | ratio |", "| --- | ---: | ---: | ---: |"]

    def add(title: str, values: dict[str, list[float]], form: str) -> None:
        nginx, ours = (statistics.median(values[side]) for side in SIDES)
        rows.append(f"| {title} | {form.format(nginx)} | {form.format(ours)} | {ours / nginx:.2f} × |")

    for unit in UNITS:
        plain, encrypted = (results[f"{scheme}, {unit}"] for scheme in ("http", "https"))
        add(f"sync with nothing new, 4 kept connections, HTTP, {unit}", plain, "{:,.0f}")
        add("the same, HTTPS", encrypted, "{:,.0f}")
        # Compute the ratio for each run, because the speed of the machine varies between runs.
        shares = {side: [one / other for one, other in zip(encrypted[side], plain[side], strict=True)] for side in SIDES}
        add("HTTPS in relation to HTTP", shares, "{:.2f}")
    for unit in UNITS:
        add(f"full handshakes with RSA 2048, {unit}", results[f"handshakes, {unit}"], "{:,.0f}")
    return "\n".join(rows)
