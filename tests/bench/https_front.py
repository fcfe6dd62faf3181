"""Compares HTTPS in quarryd's front with HTTPS in nginx with one worker, in front of the same pool.

The values are per second of the processor time of the front. On a machine that clients and servers share, the number per
second would be a property of the clients.
"""

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
#: Each client is a process, because a client needs as much time for a handshake as a server.
CLIENTS = 4


@dataclass
class Front:
    #: By scheme.
    urls: dict[str, str]
    #: The only process that accepts connections.
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


def handshakes_per_second(front: Front, seconds: int) -> float:
    """Returns the number of full TLS 1.3 handshakes per second of processor time."""
    address = front.urls["https"].removeprefix("https://").strip("/")
    began = processor_seconds(front.pid)
    clients = [subprocess.Popen(["openssl", "s_time", "-new", "-connect", address, "-time", str(seconds)],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(CLIENTS)]
    counts = [int(re.search(r"(\d+) connections in [\d.]+ real seconds", client.communicate()[0])[1]) for client in clients]
    return sum(counts) / (processor_seconds(front.pid) - began)


def syncs_per_second(front: Front, scheme: str, workload: Workload, seconds: int) -> float:
    """Returns the number of syncs with nothing new per second of processor time."""
    began = processor_seconds(front.pid)
    count = nothing_new_at(front.urls[scheme], workload, seconds, False) * seconds
    return count / (processor_seconds(front.pid) - began)


def measure(workload: Workload, folder: Path, runs: int, seconds: int) -> Results:
    results = Results()
    with fronts(workload, folder) as both:
        for _ in range(runs):
            for scheme in ("http", "https"):
                for side in SIDES:
                    results.note(scheme, side, syncs_per_second(both[side], scheme, workload, seconds))
            for side in SIDES:
                results.note("handshakes", side, handshakes_per_second(both[side], seconds))
    return results


def table(results: Results) -> str:
    rows = ["| HTTPS, per second of processor time of the front | nginx | quarryd | ratio |", "| --- | ---: | ---: | ---: |"]
    median = {name: [statistics.median(values[side]) for side in SIDES] for name, values in results.items()}
    median["share"] = [encrypted / plain for encrypted, plain in zip(median["https"], median["http"], strict=True)]
    for name, title, form in (("http", "sync with nothing new, 4 kept connections, HTTP", "{:,.0f}"),
                              ("https", "the same, HTTPS", "{:,.0f}"), ("share", "HTTPS in relation to HTTP", "{:.2f}"),
                              ("handshakes", "full handshakes with RSA 2048", "{:,.0f}")):
        nginx, ours = median[name]
        rows.append(f"| {title} | {form.format(nginx)} | {form.format(ours)} | {ours / nginx:.2f} × |")
    return "\n".join(rows)
