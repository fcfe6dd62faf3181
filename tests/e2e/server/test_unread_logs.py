"""Logs on pipes, terminals and sockets whose readers have stopped. No process waits for a reader."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import fastcgi
from support.daemon import Daemon
from support.logs import LINE
from support.process import free_port, wait_until
from support.program import succeeds
from test_control import document
from test_metrics import Metrics

#: Enough requests to fill any of these buffers.
MANY = 5000
LOST = re.compile(r"warning: (?:\[pool www\] )?(\d+) lines? of the (.*) could not be written and w(?:as|ere) lost")
TO_FILE = ["/bin/sh", "-c", 'exec "$@" 2>"$0"']
TO_SOCKET = [sys.executable, "-c", "import os, socket, sys\nto = socket.socket(socket.AF_UNIX)\nto.connect(sys.argv[1])\n"
             "os.dup2(to.fileno(), 2)\nos.execv(sys.argv[2], sys.argv[2:])"]


class Reader:
    """Reads a process's standard error. The arguments after COMMAND are a program, which COMMAND starts with its
    standard error connected to this reader."""

    def __init__(self, command: list[object], take: Callable[[], bytes], release: Callable[[], object] = lambda: None):
        self.command, self._take, self.release = command, take, release
        self._text = b""

    def text(self) -> str:
        """Returns everything that was written so far."""
        with contextlib.suppress(BlockingIOError):
            while more := self._take():
                self._text += more
        return self._text.decode().replace("\r\n", "\n")


@pytest.fixture(params=["pipe", "terminal", "socket"])
def reader(request, tmp_path) -> Iterator[Reader]:
    if request.param == "pipe":
        os.mkfifo(tmp_path / "fifo")
        fifo = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(fifo, fcntl.F_SETPIPE_SZ, 4096)
        yield Reader([*TO_FILE, tmp_path / "fifo"], lambda: os.read(fifo, 1 << 16))
        os.close(fifo)
    elif request.param == "terminal":
        ours, theirs = pty.openpty()
        os.set_blocking(ours, False)
        os.write(ours, b"\x13")  # Ctrl-S
        yield Reader([*TO_FILE, os.ttyname(theirs)], lambda: os.read(ours, 1 << 16), lambda: os.write(ours, b"\x11"))
        os.close(ours)
        os.close(theirs)
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "socket"))
            listener.listen()
            listener.setblocking(False)
            taken: list[socket.socket] = []

            def take() -> bytes:
                if not taken:
                    taken.append(listener.accept()[0])
                    taken[0].setblocking(False)
                return taken[0].recv(1 << 16)

            yield Reader([*TO_SOCKET, tmp_path / "socket"], take)
            for each in taken:
                each.close()


def ask_until(server: Daemon, is_enough: Callable[[], bool], every: int = 1) -> None:
    """Sends requests that are logged. Checks the condition after EVERY requests."""
    for count in range(1, MANY):
        assert b"405" in server.ask("PUT", "/no/such/page")
        if count % every == 0 and is_enough():
            return
    raise AssertionError(f"{MANY} requests were not enough")


def reported(text: str, log: str) -> int:
    return sum(int(count) for count, name in LOST.findall(text) if name == log)


def test_an_unread_standard_error_blocks_no_process(start, reader, tmp_path):
    control = tmp_path / "control"
    server = start(settings={"error_log": "stderr", "control.socket": control}, command=[str(word) for word in reader.command],
                   wait=False)
    wait_until(control.exists, "the control socket")
    server.child()
    ask_until(server, lambda: document(control)["lost log lines"] >= 200, every=100)
    # The master writes to the log, too.
    server.main.send(signal.SIGUSR1)
    lost = document(control)["lost log lines"]
    assert f"lost lines of the error log: {lost}\n" in succeeds("status", "--socket", control)
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: document(control)["generation"] == 2, "the reload", pause=0.1)
    lost = document(control)["lost log lines"]
    assert lost >= 200
    reader.release()
    read = reader.text()
    ask_until(server, lambda: len(reader.text()) > len(read) and reported(reader.text(), "log") >= lost)
    assert all(LINE.fullmatch(line) for line in reader.text().splitlines())
    assert reported(reader.text(), "log") == document(control)["lost log lines"]


def ask(server: Daemon, parameters: dict[str, str]) -> bytes:
    """Requests a missing page with PARAMETERS, which can be long."""
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(fastcgi.request(fastcgi.params_for("/none") | parameters))
        return fastcgi.read_reply(connection)


def test_an_access_log_without_a_reader_loses_whole_lines_and_counts_them(start, tmp_path):
    """The lines are longer than PIPE_BUF, so the kernel can split them."""
    fifo, port = tmp_path / "fifo", free_port()
    os.mkfifo(fifo)
    log_format = '"<%{HTTP_USER_AGENT}e %{HTTP_REFERER}e %{HTTP_X}e>"'
    server = start({"access.log": fifo, "access.format": log_format, "pm.max_children": 3},
                   settings={"metrics.listen": f"127.0.0.1:{port}"})
    metrics = Metrics(server, port, 0, Path())
    long = {"HTTP_USER_AGENT": "u" * 2000, "HTTP_REFERER": "r" * 2000, "HTTP_X": "x" * 1500}
    for count in range(60):
        assert b"404" in ask(server, long if count % 2 else {})
    lost = metrics.value("quarry_log_lost_lines_total", log="access", pool="www")
    assert lost > 0 and metrics.value("quarry_log_lost_lines_total", log="error") == 0
    server.reload()
    wait_until(lambda: "the children of earlier generations have exited" in server.log(), "the end of the earlier children")
    metrics.wait_for(lost, "quarry_log_lost_lines_total", log="access", pool="www")
    with fifo.open("rb", buffering=0) as reading:
        os.set_blocking(reading.fileno(), False)
        lines = reading.read(1 << 20).decode().splitlines()
        assert len(lines) + lost == 60
        assert set(lines) == {"<- - ->", f"<{'u' * 2000} {'r' * 2000} {'x' * 1500}>"}
        ask(server, {"HTTP_X": "seen"})
        assert reading.read(1 << 20) == b"<- - seen>\n"
    # Lost lines are reported at most once per second, when a line is written.
    wait_until(lambda: ask(server, {}) and reported(server.log(), f"access log {fifo}") == lost, lambda: f"{lost} in {server.log()}")
