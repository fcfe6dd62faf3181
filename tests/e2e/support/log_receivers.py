"""Servers that receive log lines: rsyslog, and HTTP servers that check what they receive."""

import contextlib
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .process import Process, free_port, wait_until
from .tls import Authority

TEMPLATE = "%syslogseverity-text% %syslogfacility-text% %hostname% %app-name% %msgid% %timestamp:::date-rfc3339% %msg%\\n"


class Rsyslog:
    """rsyslogd, which writes each message to the file `received`. With AUTHORITY, it listens with TLS and a certificate
    for ADDRESSES."""

    def __init__(self, folder: Path, authority: Authority | None = None, addresses: tuple[str, ...] = ("IP:127.0.0.1",)):
        folder.mkdir()
        self.folder = folder
        self.port = free_port()
        self.received = folder / "received"
        self.url = f"syslog{'+tls' if authority else ''}://127.0.0.1:{self.port}"
        tls, driver = "", ""
        if authority:
            issued = authority.issue("log server", addresses=addresses)
            tls = (f' defaultNetstreamDriverCAFile="{authority.certificate}" defaultNetstreamDriverCertFile="{issued.certificate}"'
                   f' defaultNetstreamDriverKeyFile="{issued.key}"')
            driver = ' streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="anon"'
        self.config = folder / "rsyslog.conf"
        self.config.write_text(f'global(workDirectory="{folder}" maxMessageSize="64k"{tls})\n'
                               f'module(load="imtcp"{driver})\n'
                               f'template(name="line" type="string" string="{TEMPLATE}")\n'
                               f'input(type="imtcp" port="{self.port}" address="127.0.0.1")\n'
                               f'action(type="omfile" file="{self.received}" template="line")\n')
        self.main: Process | None = None

    def start(self) -> "Rsyslog":
        self.main = Process(["/usr/sbin/rsyslogd", "-n", "-f", self.config, "-i", self.folder / "pid"], self.folder / "output")
        return self

    def stop(self) -> None:
        if self.main and self.main.is_running():
            self.main.stop()

    def __enter__(self) -> "Rsyslog":
        return self.start()

    def __exit__(self, *unused) -> None:
        self.stop()

    def lines(self) -> list[str]:
        text = self.received.read_text() if self.received.exists() else ""
        return text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]

    def wait_for(self, part: str) -> str:
        wait_until(lambda: any(part in line for line in self.lines()), f"{part!r} at rsyslog")
        return next(line for line in self.lines() if part in line)


def loki_lines(headers: dict[str, str], body: bytes) -> list[dict[str, str]]:
    """Checks BODY against the schema of Loki's push API. Returns each line with its labels."""
    assert headers["Content-Type"] == "application/json"
    document = json.loads(body)
    assert document.keys() == {"streams"} and document["streams"]
    lines = []
    for stream in document["streams"]:
        assert stream.keys() == {"stream", "values"} and stream["stream"] and stream["values"]
        assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) and isinstance(value, str)
                   for name, value in stream["stream"].items())
        times = [time for time, _ in stream["values"]]
        assert all(re.fullmatch(r"\d{19}", time) for time in times) and times == sorted(set(times))
        lines += [stream["stream"] | {"time": time, "message": line} for time, line in stream["values"]]
    return sorted(lines, key=lambda line: line["time"])


def json_lines(headers: dict[str, str], body: bytes) -> list[dict[str, str]]:
    assert headers["Content-Type"] == "application/x-ndjson" and body.endswith(b"\n")
    return [json.loads(line) for line in body.splitlines()]


def bulk_lines(headers: dict[str, str], body: bytes) -> list[dict[str, str]]:
    """Checks BODY against the schema of OpenSearch's bulk API. Returns the documents with their ids."""
    lines = json_lines(headers, body)
    actions, documents = lines[::2], lines[1::2]
    assert len(actions) == len(documents) and all(list(each) == ["create"] for each in actions)
    return [document | {"_id": action["create"]["_id"]} for action, document in zip(actions, documents, strict=True)]


class HttpReceiver:
    """An HTTP server that checks requests with PARSE. ANSWER returns the status of a request with these lines, a status
    with headers, or a status with headers and a body."""

    def __init__(self, parse: Callable = loki_lines, answer: Callable[[list[dict]], object] = lambda lines: 204):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/push"
        self.parse, self.answer = parse, answer
        self.taken: list[dict[str, str]] = []
        self.requests = 0
        self.faults: list[str] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def log_message(self, *unused):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests += 1
                try:
                    lines = receiver.parse(self.headers, body)
                except Exception as fault:
                    receiver.faults.append(repr(fault))
                    lines = []
                what = receiver.answer(lines)
                status, headers, reply, *_ = (*what, b"reply") if isinstance(what, tuple) else (what, {}, b"reply")
                if 200 <= status < 300:
                    receiver.taken += lines
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                if status != 204:
                    self.wfile.write(reply)

            def handle_one_request(self):
                with contextlib.suppress(ConnectionError, ValueError):
                    return super().handle_one_request()
                self.close_connection = True

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._make = lambda: Server(("127.0.0.1", self.port), Handler)
        self._server = None

    def messages(self, log: str = "access") -> list[str]:
        return [line["message"] for line in list(self.taken) if line["log"] == log]

    def wait_for(self, part: str) -> dict[str, str]:
        wait_until(lambda: any(part in line.get("message", "") for line in list(self.taken)), f"{part!r} at the receiver")
        return next(line for line in self.taken if part in line.get("message", ""))

    def __enter__(self) -> "HttpReceiver":
        self._server = self._make()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *unused) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        assert not self.faults, self.faults
