"""`quarry top` in a pseudo terminal and without a terminal."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator

import pytest

from support import fastcgi, places
from support.process import Process, wait_until
from support.program import quarry
from test_control import row, watched  # noqa: F401  (a fixture)

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Screen:
    def __init__(self, control, *words: object, rows: int = 24, term: str = "xterm"):
        self.drawn = ""
        self.end, far = pty.openpty()
        self.far = far
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 120, 0, 0))
        self.before = termios.tcgetattr(far)
        self.process = subprocess.Popen(
            [places.program("quarry"), "top", "--socket", control, "--interval", "0.2", *map(str, words)],
            stdin=far, stdout=far, stderr=far, start_new_session=True, env={**os.environ, "TERM": term},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def read(self) -> str:
        while select.select([self.end], [], [], 0)[0]:
            self.drawn += os.read(self.end, 65536).decode()
        return self.drawn

    def frames(self) -> list[str]:
        """Returns the complete frames as lines without control sequences."""
        parts = self.read().split("\x1b[H")[1:]
        return [re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", part).replace("\r\n", "\n") for part in parts if "\x1b[J" in part]

    def next_frame(self) -> str:
        """Waits for a frame that began after this call."""
        count = len(self.frames()) + 1
        wait_until(lambda: len(self.frames()) > count, "another frame")
        return self.frames()[-1]

    def press(self, key: str) -> None:
        os.write(self.end, key.encode())

    def resize(self, rows: int) -> None:
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 120, 0, 0))

    def wait(self) -> int:
        """Waits until the program exits. Checks that the program has restored the terminal. Returns the exit status."""
        def has_ended():
            self.read()
            return self.process.poll() is not None
        wait_until(has_ended, "its end")
        text = self.read()
        assert text.count(ENTER) == text.count(LEAVE) >= 1
        after = text[text.rindex(LEAVE):]
        assert "\x1b[H" not in after, "nothing is drawn on the terminal that was given back"
        assert "\x1b[?25h" in text and "\x1b[?7h" in text
        assert termios.tcgetattr(self.far) == self.before
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.end)
        os.close(self.far)


@pytest.fixture
def screen():
    shown = []

    def make(*words: object, **more) -> Screen:
        shown.append(Screen(*words, **more))
        return shown[-1]
    yield make
    for each in shown:
        each.close()


@contextlib.contextmanager
def requests_to(address) -> Iterator[None]:
    """Sends requests one after another during the block."""
    is_over = threading.Event()

    def ask():
        while not is_over.is_set():
            fastcgi.get(address)
    asker = threading.Thread(target=ask)
    asker.start()
    try:
        yield
    finally:
        is_over.set()
        asker.join()


def rate(frame: str) -> float:
    return float(row(frame, "www")["REQ/S"])


def test_rates_follow_the_requests(watched, screen):  # noqa: F811
    server = watched({"pm.max_children": 2})
    top = screen(server.control)
    assert "www" in top.next_frame() and rate(top.next_frame()) == 0
    with requests_to(server.socket):
        wait_until(lambda: rate(top.next_frame()) > 5, "a rate")
    wait_until(lambda: rate(top.next_frame()) == 0, "rest")
    top.press("q")
    assert top.wait() == 0


@pytest.mark.parametrize("how", ["ctrl-c", signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_restored_after_any_end(watched, screen, how):  # noqa: F811
    top = screen(watched().control)
    top.next_frame()
    assert termios.tcgetattr(top.far) != top.before, "keys come at once, and are not shown"
    if how == "ctrl-c":
        top.press("\x03")
    else:
        top.process.send_signal(how)
    assert top.wait() == -(signal.SIGINT if how == "ctrl-c" else how)


def test_the_terminal_is_restored_while_stopped(watched, screen):  # noqa: F811
    top = screen(watched().control)
    top.next_frame()
    top.process.send_signal(signal.SIGTSTP)
    wait_until(lambda: top.read().count(LEAVE) == 1, "the terminal")
    wait_until(lambda: termios.tcgetattr(top.far) == top.before, "its mode")
    top.process.send_signal(signal.SIGCONT)
    wait_until(lambda: top.read().count(ENTER) == 2, "the screen again")
    top.next_frame()
    top.press("q")
    assert top.wait() == 0


def test_the_screen_fits_the_window(watched, screen):  # noqa: F811
    server = watched()
    top = screen(server.control, rows=3)
    assert top.next_frame().count("\n") == 2
    top.resize(40)
    wait_until(lambda: "METHOD" in top.next_frame(), "all lines")
    top.press("q")
    assert top.wait() == 0


def test_keys_select_the_order(watched, screen, tmp_path):  # noqa: F811
    words = f"listen = {tmp_path}/zoo.sock\nrepositories = /tmp\npm = static\npm.max_children = 1\n"
    if os.geteuid() == 0:
        words += "user = root\n"
    server = watched(more=f"[zoo]\n{words}")
    top = screen(server.control)

    def first(frame):
        lines = frame.splitlines()
        return lines[next(i for i, line in enumerate(lines) if line.startswith("POOL")) + 1].split()[0]
    with requests_to(tmp_path / "zoo.sock"):
        wait_until(lambda: first(top.next_frame()) == "zoo", "the busiest")
        top.press("n")
        wait_until(lambda: first(top.next_frame()) == "www", "the first by name")
        top.press("r")
        wait_until(lambda: first(top.next_frame()) == "zoo", "the busiest again")
    top.press("q")
    assert top.wait() == 0


def test_a_dumb_terminal_gets_plain_lines(watched, screen):  # noqa: F811
    top = screen(watched().control, "--count", 2, term="dumb")
    wait_until(lambda: top.read() and top.process.poll() is not None, "its end")
    assert top.process.returncode == 0 and "\x1b" not in top.read() and top.read().count("\nPOOL ") == 2


def test_top_waits_for_a_master_that_restarts(watched, screen):  # noqa: F811
    server = watched()
    top = screen(server.control)
    top.next_frame()
    server.stop()
    wait_until(lambda: "quarryd is not running" in top.next_frame(), "the trouble")
    again = watched()
    wait_until(lambda: f"process {again.main.pid}," in top.next_frame(), "the new master")
    top.press("q")
    assert top.wait() == 0


def test_without_a_terminal_count_frames_are_printed(watched):  # noqa: F811
    server = watched()
    done = quarry("top", "--socket", server.control, "--interval", "0.2", "--count", "3")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert done.stdout.count("\nPOOL ") == 3 and done.stdout.count("\nwww ") == 3


def test_a_plain_frame_shows_rates_of_its_interval(watched, tmp_path):  # noqa: F811
    server = watched()
    top = Process([places.program("quarry"), "top", "--socket", server.control, "--interval", "2", "--count", "1"],
                  tmp_path / "frames")
    with requests_to(server.socket):
        assert top.wait() == 0
    assert rate(top.output()) > 1


def test_without_a_terminal_top_ends_with_its_reader_its_master_or_a_signal(watched, tmp_path):  # noqa: F811
    server = watched()
    words = [places.program("quarry"), "top", "--socket", server.control, "--interval", "0.1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as read:
        read.stdout.readline()
        read.stdout.close()
        assert read.wait(60) == 0 and read.stderr.read() == b""
    signalled = Process(words, tmp_path / "signalled")
    wait_until(lambda: "POOL" in signalled.output(), "a frame")
    signalled.send(signal.SIGTERM)
    assert signalled.wait() == -signal.SIGTERM
    left = Process(words, tmp_path / "left")
    wait_until(lambda: "POOL" in left.output(), "a frame")
    server.stop()
    assert left.wait() == 1 and "quarryd is not running" in left.output()
    with contextlib.suppress(FileNotFoundError):
        os.remove(tmp_path / "none")
    done = quarry("top", "--socket", tmp_path / "none")
    assert done.returncode == 1 and done.stdout == "" and "does not exist" in done.stderr


@pytest.mark.parametrize("interval", ["0", "-1", "nan", "inf", "1h"])
def test_an_invalid_interval_is_reported(interval, tmp_path):
    done = quarry("top", "--socket", tmp_path / "none", "--interval", interval)
    assert done.returncode != 0 and done.stderr.startswith("quarry top: --interval: ")
