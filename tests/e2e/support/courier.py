"""quarry-courier with the test's own directives, and destinations."""

import contextlib
import hashlib
import hmac
import json
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import places
from support.daemon import section, status
from support.process import Process, free_port, wait_until
from support.program import succeeds

QUICK = {"retry.delay": "20ms", "retry.max_delay": "100ms"}


def event(number: int, type_: str = "push", **more: object) -> dict:
    """Returns an event in the form in which the backoffice sends it."""
    part = {"push": "push", "hook": "hook", "test": "test", "security": "security"}.get(type_, "artifact")
    members = {"push": {"login": "ann", "artifacts": number}}.get(part, {})
    head = {"version": 1, "type": type_, "id": f"0a1b/{type_}/{number}", "time": "2026-03-04T05:06:07.123Z",
            "project": {"code": "0a1b", "name": "One"}, "repository": "team/one", "url": "https://example.org/one"}
    return head | {part: members | more.pop("part", {})} | more


def sections(folder: Path, destinations: dict[str, dict[str, object]], **words: object) -> str:
    """Returns [courier] with the directives WORDS, and a section [destination NAME] for each of DESTINATIONS. The spool is
    in FOLDER and is created."""
    (folder / "spool").mkdir(exist_ok=True)
    text = section("courier", {"socket": folder / "courier.sock", "spool.directory": folder / "spool"} | words)
    return text + "".join(section(f"destination {name}", each) for name, each in destinations.items())


class Courier:
    """quarry-courier with sections()."""

    def __init__(self, folder: Path, destinations: dict[str, dict[str, object]], **words: object):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.socket = folder / "courier.sock"
        self.config = folder / "quarry.conf"
        self.words = words
        self.main: Process | None = None
        self.configure(destinations)

    def configure(self, destinations: dict[str, dict[str, object]]) -> None:
        self.config.write_text(sections(self.folder, destinations, **self.words))

    def arguments(self) -> list[object]:
        return ["--config", self.config]

    def start(self) -> "Courier":
        ready = self.log().count("ready: ")
        self.main = Process([places.program("quarry-courier"), *self.arguments()], self.folder / "output")
        wait_until(lambda: self.log().count("ready: ") > ready or not self.main.is_running(), "quarry-courier")
        assert self.main.is_running(), self.log()
        return self

    def log(self) -> str:
        output = self.folder / "output"
        return output.read_text(errors="replace") if output.exists() else ""

    def reopen(self) -> None:
        """Makes the courier reopen its files. Sends the signal twice, because the courier receives the second signal
        only after it has handled the first."""
        for _ in range(2):
            self.main.send(signal.SIGUSR1)
            wait_until(lambda: not int(status(self.main.pid, "ShdPnd"), 16) >> (signal.SIGUSR1 - 1) & 1, "the signal to be taken")

    def kill(self) -> None:
        self.main.send(signal.SIGKILL)
        self.main.wait()

    def stop(self) -> None:
        if self.main and self.main.is_running():
            assert self.main.stop() == 0, self.log()

    def hand_over(self, events: list[dict], batch: int = 100) -> None:
        lines = "".join(json.dumps(each) + "\n" for each in events)
        subprocess.run([places.build_directory() / "tests" / "unit" / "courier" / "hand-over-events", self.socket,
                        "--batch", str(batch)], input=lines, text=True, timeout=60, check=True, capture_output=True)

    def status(self) -> dict[str, dict]:
        output = succeeds("courier", "status", "--json", "--config", self.config)
        return {each["name"]: each for each in json.loads(output)["destinations"]}

    def wait_until_delivered(self, name: str) -> None:
        wait_until(lambda: self.status()[name]["waiting"] == 0, f"everything to be delivered to {name}")


class HooksCourier(Courier):
    """A courier that only runs the hooks of the pool `www`, with the same options as in a server."""

    def __init__(self, folder: Path, timeout: int = 300_000):
        super().__init__(folder, {})
        self.timeout = timeout
        self.hooks = folder / "spool.hooks" / "www"
        self.hooks.mkdir(parents=True)

    def arguments(self) -> list[object]:
        return ["--hooks", self.hooks, "--socket", self.socket, "--timeout", str(self.timeout)]


@contextlib.contextmanager
def running_hooks(folder: Path, timeout: int = 300_000) -> Iterator[HooksCourier]:
    """Runs a HooksCourier until the end of the block. TIMEOUT is in milliseconds."""
    courier = HooksCourier(folder, timeout).start()
    try:
        yield courier
    finally:
        courier.stop()


@contextlib.contextmanager
def running(folder: Path, destinations: dict[str, dict[str, object]], **words: object) -> Iterator[Courier]:
    courier = Courier(folder, destinations, **words).start()
    try:
        yield courier
    finally:
        courier.stop()


class PostServer:
    """An HTTP server on a free port for POST requests, which ON_POST handles: it gets path, headers and body, and returns
    status, headers and body of the reply, or None to reset the connection."""

    def __init__(self, on_post: Callable[[str, dict[str, str], bytes], tuple[int, dict[str, str], bytes] | None]):
        self.port = free_port()
        self.connections = 0
        post_server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                post_server.connections += 1

            def log_message(self, *unused):
                pass

            def do_POST(self):
                reply = on_post(self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"])))
                if reply is None:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    self.close_connection = True
                    return
                status, headers, body = reply
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if status != 204:
                    self.wfile.write(body)

            def handle_one_request(self):
                with contextlib.suppress(ConnectionError, ValueError):
                    return super().handle_one_request()
                self.close_connection = True

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *unused):
                pass

        self._make = lambda: Server(("127.0.0.1", self.port), Handler)

    def __enter__(self):
        self._server = self._make()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *unused) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Webhook(PostServer):
    """A server that records requests. ANSWER returns the server's reaction to a request: a status, a status with headers,
    "reset", or "hang" (no answer until the server ends)."""

    def __init__(self, answer: Callable[[int, dict], object] = lambda number, body: 200):
        super().__init__(self.take)
        self.answer = answer
        self.taken: list[dict] = []
        self.requests: list[tuple[float, dict[str, str], bytes]] = []
        self.paths: list[str] = []
        self.is_over = threading.Event()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes] | None:
        self.paths.append(path)
        self.requests.append((time.monotonic(), headers, body))
        what = self.answer(len(self.requests), json.loads(body))
        if what == "hang":
            self.is_over.wait()
        if what in ("hang", "reset"):
            return None
        status, more = what if isinstance(what, tuple) else (what, {})
        if 200 <= status < 300:
            self.taken.append(json.loads(body))
        return status, more, b"thanks" if status == 200 else b"no: \x1b[31m"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def ids(self) -> list[str]:
        return [each["id"] for each in self.taken]

    def __exit__(self, *unused) -> None:
        self.is_over.set()
        super().__exit__()


def is_signed(headers: dict[str, str], body: bytes, secret: str) -> bool:
    """Checks the signature as shown in the manual."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, headers.get("X-Quarry-Signature", ""))
