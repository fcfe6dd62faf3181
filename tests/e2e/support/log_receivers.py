"""Servers that receive log lines: rsyslog, and HTTP servers that check what they receive."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from .courier import PostServer
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


class HttpReceiver(PostServer):
    """An HTTP server that checks requests with PARSE. ANSWER returns the status of a request with these lines, a status
    with headers, or a status with headers and a body."""

    def __init__(self, parse: Callable = loki_lines, answer: Callable[[list[dict]], object] = lambda lines: 204):
        super().__init__(self.take)
        self.url = f"http://127.0.0.1:{self.port}/push"
        self.parse, self.answer = parse, answer
        self.taken: list[dict[str, str]] = []
        self.requests = 0
        self.faults: list[str] = []

    def take(self, _: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        self.requests += 1
        try:
            lines = self.parse(headers, body)
        except Exception as fault:
            self.faults.append(repr(fault))
            lines = []
        what = self.answer(lines)
        status, more, reply, *_ = (*what, b"reply") if isinstance(what, tuple) else (what, {}, b"reply")
        if 200 <= status < 300:
            self.taken += lines
        return status, more, reply

    def messages(self, log: str = "access") -> list[str]:
        return [line["message"] for line in list(self.taken) if line["log"] == log]

    def wait_for(self, part: str) -> dict[str, str]:
        wait_until(lambda: any(part in line.get("message", "") for line in list(self.taken)), f"{part!r} at the receiver")
        return next(line for line in self.taken if part in line.get("message", ""))

    def __exit__(self, *unused) -> None:
        super().__exit__()
        assert not self.faults, self.faults
