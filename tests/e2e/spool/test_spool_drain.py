"""`quarry spool drain` deletes messages when its reader has taken or acknowledged them."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from support.process import wait_until
from support.spool import following, lines, unread


class Reader:
    """Reads the output of `drain` from a pipe, and can acknowledge lines on another pipe."""

    def __init__(self, source: int, acknowledge: int):
        self.source = source
        self.acknowledge = acknowledge
        self.got = b""

    def read(self, count: int) -> None:
        """Reads until COUNT lines have been received in total."""
        while self.got.count(b"\n") < count:
            more = os.read(self.source, 4096)
            assert more, self.got
            self.got += more

    def says(self, text: bytes) -> None:
        os.write(self.acknowledge, text)

    def stop_acknowledging(self) -> None:
        os.close(self.acknowledge)
        self.acknowledge = -1

    def close(self) -> None:
        os.close(self.source)
        self.source = -1


@contextlib.contextmanager
def reading(spool, *options: object, acknowledges: bool = False) -> Iterator[tuple[Reader, subprocess.Popen[bytes]]]:
    source, out = os.pipe()
    acks, acknowledge = os.pipe()
    more = ("--ack", acks) if acknowledges else ()
    drain = spool.start("drain", *options, *more, stdout=out, stderr=subprocess.PIPE, pass_fds=[acks])
    os.close(out)
    os.close(acks)
    reader = Reader(source, acknowledge)
    try:
        yield reader, drain
    finally:
        for fd in (reader.source, reader.acknowledge):
            if fd >= 0:
                os.close(fd)
        drain.kill()
        drain.communicate()


@contextlib.contextmanager
def acknowledging(spool) -> Iterator[tuple[Reader, subprocess.Popen[bytes]]]:
    """A reader that has read ten lines and has not acknowledged any line."""
    spool("feed", given=lines(1, 10))
    with reading(spool, acknowledges=True) as (reader, drain):
        reader.read(10)
        yield reader, drain


def whole(text: bytes) -> bytes:
    return text[:text.rfind(b"\n") + 1]


def test_unread_lines_in_a_pipe_are_repeated(spool):
    spool("feed", given=lines(1, 50000))
    with reading(spool) as (reader, drain):
        reader.read(10000)
        wait_until(lambda: unread(reader.source) > 50000, "the full pipe")
        reader.close()
        assert drain.wait(60) == 1
        reported = drain.stderr.read().decode()
    assert "standard output: Broken pipe: " in reported
    assert "written messages were not read and will be repeated" in reported
    # Exactly the unread lines are repeated. A line that was read only in part is repeated as a whole.
    assert whole(reader.got) + spool("drain") == lines(1, 50000)


def test_lines_that_a_full_disk_rejects_are_repeated(spool):
    spool("feed", given=lines(1, 100))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(spool.command("drain"), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 1
    assert b"standard output: No space left on device: 100 messages were not written and will be repeated" in done.stderr
    assert spool("drain") == lines(1, 100)


def test_lines_shown_on_a_terminal_are_deleted(spool):
    spool("feed", given=lines(1, 3))
    near, far = os.openpty()
    with spool.start("drain", stdout=far) as drain:
        assert drain.wait(60) == 0
        os.close(far)
        assert os.read(near, 4096) == lines(1, 3).replace(b"\n", b"\r\n")
        os.close(near)
    assert spool.status()["messages"] == 0


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGKILL])
def test_drain_waits_for_a_slow_reader_and_loses_nothing(spool, ends):
    spool("feed", given=lines(1, 5))
    with reading(spool) as (reader, drain):
        wait_until(lambda: unread(reader.source) == len(lines(1, 5)), "the lines")
        assert spool.status() | {"bytes": 0} == {"messages": 5, "bytes": 0, "segments": 1, "damaged": [],
                                                 "writer": False, "reader": True}
        drain.send_signal(ends)
        assert drain.wait(60) == -ends
    with reading(spool) as (reader, drain):
        reader.read(5)
        assert drain.wait(60) == 0 and reader.got == lines(1, 5)
    assert spool("drain") == b""


def test_following_drain_deletes_read_lines_and_ends_with_its_reader(spool):
    spool("feed", given=lines(1, 5))
    with reading(spool, "--follow") as (reader, drain):
        reader.read(5)
        wait_until(lambda: spool.status()["messages"] == 0, "their deletion")
        reader.close()
        assert drain.wait(60) == 1 and drain.stderr.read() == b"quarry: standard output: Broken pipe\n"


def test_unread_lines_in_a_socket_are_repeated(spool):
    spool("feed", given=lines(1, 50000))
    near, far = socket.socketpair()
    with near, far, spool.start("drain", stdout=far, stderr=subprocess.PIPE) as drain:
        far.close()
        got = b""
        while got.count(b"\n") < 20000:
            got += near.recv(4096)
        wait_until(lambda: unread(near) > 30000, "the full socket")
        near.close()
        assert drain.wait(60) == 1
        assert b"standard output: " in drain.stderr.read()
    rest = spool("drain")
    # Lines that the reader has read can be repeated, but no unread line is lost.
    first = int(rest.split(b"\n")[0][5:])
    assert rest == lines(first, 50000) and first <= whole(got).count(b"\n") + 1


def test_unread_lines_in_a_socket_are_repeated_though_another_process_took_the_error(spool):
    """The kernel reports the unread data only once, to whichever process reads the error first."""
    spool("feed", given=lines(1, 50000))
    near, far = socket.socketpair()
    with near, far, spool.start("drain", stdout=far, stderr=subprocess.PIPE) as drain:
        wait_until(lambda: unread(near) > 30000, "the full socket")
        drain.send_signal(signal.SIGSTOP)
        near.close()
        assert far.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        drain.send_signal(signal.SIGCONT)
        assert drain.wait(60) == 1
        assert b"written messages were not read and will be repeated" in drain.stderr.read()
    assert spool("drain") == lines(1, 50000)


def test_lines_read_from_a_socket_are_deleted(spool):
    spool("feed", given=lines(1, 5000))
    near, far = socket.socketpair()
    with near, far, spool.start("drain", stdout=far) as drain:
        far.close()
        got = b"".join(iter(lambda: near.recv(4096), b""))
        assert drain.wait(60) == 0
    assert got == lines(1, 5000) and spool.status()["messages"] == 0


def test_each_line_and_each_number_acknowledges_messages(spool):
    spool("feed", "--null", given=b"one\nof two\0two\0three\0four\0five\0")
    with reading(spool, "--follow", acknowledges=True) as (reader, drain):
        reader.read(1)
        for said, left in ((b"\n", 4), (b"2\n", 2), (b"0\n00", 2), (b"1\n\n", 0)):
            reader.says(said)
            wait_until(lambda left=left: spool.status()["messages"] == left, "what it said")
        drain.terminate()
        assert drain.wait(60) == -signal.SIGTERM
    assert spool("drain", "--null") == b""


def test_unacknowledged_lines_are_repeated(spool):
    with acknowledging(spool) as (reader, drain):
        reader.says(b"7\n")
        reader.stop_acknowledging()
        assert drain.wait(60) == 1
        reported = drain.stderr.read().decode()
    assert "descriptor" in reported and "3 written messages were not acknowledged and will be repeated" in reported
    assert spool("drain") == lines(8, 10)


def test_acknowledgments_before_a_signal_count(spool):
    with acknowledging(spool) as (reader, drain):
        drain.send_signal(signal.SIGSTOP)
        reader.says(b"7\n")
        drain.send_signal(signal.SIGTERM)
        drain.send_signal(signal.SIGCONT)
        assert drain.wait(60) == -signal.SIGTERM
    assert spool("drain") == lines(8, 10)


def test_unacknowledged_lines_are_limited(spool):
    spool("feed", given=lines(1, 100))
    with reading(spool, "--dequeuebatchsize", 10, acknowledges=True) as (reader, drain):
        for done in range(0, 100, 5):
            most = min(done + 10, 100)
            reader.read(most)
            assert reader.got == lines(1, most)
            reader.says(b"5\n")
        assert drain.wait(60) == 0
    assert spool("drain") == b""


def test_reader_may_acknowledge_after_closing_its_input(spool):
    with acknowledging(spool) as (reader, drain):
        reader.close()
        wait_until(lambda: spool.status()["reader"], "the drain")
        reader.says(b"10\n")
        assert drain.wait(60) == 0
    assert spool("drain") == b""


@pytest.mark.parametrize(("said", "reported", "left"), [
    (b"3\nmore\n", 'invalid acknowledgment "m"', 4),
    (b"3\n-1\n", 'invalid acknowledgment "-"', 4),
    (b"3\n" + 19 * b"1", 'invalid acknowledgment "1111111111111111111"', 4),
    (b"3\n8\n", "11 messages were acknowledged, but only 10 were written", 1),
    (5 * (18 * b"9" + b"\n"), "messages were acknowledged, but only 10 were written", 1)])
def test_invalid_acknowledgment_is_an_error(spool, said, reported, left):
    with acknowledging(spool) as (reader, drain):
        reader.says(said)
        assert drain.wait(60) == 1
        assert reported in drain.stderr.read().decode()
    assert spool("drain") == lines(left, 10)


def test_unreadable_descriptor_for_acknowledgments_is_refused(spool):
    spool("feed", given=lines(1, 10))
    assert "descriptor 77: Bad file descriptor" in spool.refused("drain", "--ack", 77)
    for given in (1, 2, -1):
        done = spool.run("drain", "--ack", given)
        assert done.returncode == 2 and b"must be a file descriptor that is open for reading" in done.stderr
    with open(os.devnull, "wb") as writable:
        done = subprocess.run(spool.command("drain", "--ack", writable.fileno()), pass_fds=[writable.fileno()],
                              capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and b"not open for reading" in done.stderr
    done = spool.run("drain", "--ack", 0)
    assert done.returncode == 1 and b"standard input: closed" in done.stderr
    assert spool("drain") == lines(1, 10) and spool("drain", "--ack", 0) == b""


def test_shell_acknowledges_processed_lines(spool, tmp_path):
    """Runs the example in the manual with a consumer that fails once."""
    spool("feed", given=lines(1, 20))
    script = """
        quarry=$1; folder=$2; cd "$3"
        mkfifo done 2>/dev/null
        "$quarry" spool drain --ack 3 "$folder" 3<done | while IFS= read -r line; do
          test "$line" = "$4" && break
          echo "$line" >>out && echo
        done >done
        true
    """
    for fails_at in ("line 8", "none"):
        quarry = spool.command("drain")[0]
        subprocess.run(["sh", "-c", script, "sh", quarry, spool.folder, tmp_path, fails_at], timeout=60, check=True,
                       capture_output=True)
    assert (tmp_path / "out").read_bytes() == lines(1, 20)
    assert spool("drain") == b""


def test_drain_of_a_missing_folder_fails_and_creates_none(spool):
    assert spool.refused("drain") == f"quarry: {spool.folder}: the folder does not exist\n"
    assert not spool.folder.exists()


@pytest.mark.parametrize("is_fed", [True, False])
def test_following_drain_waits_for_the_folder(spool, tmp_path, is_fed):
    out, reported = tmp_path / "out", tmp_path / "reported"
    with reported.open("wb") as errors, following(spool, out, stderr=errors) as drain:
        wait_until(lambda: reported.read_text() != "", "the report")
        assert reported.read_text() == f"quarry: {spool.folder}: the folder does not exist yet; waiting for it\n"
        assert not spool.folder.exists()
        if is_fed:
            spool("feed", given=lines(1, 10))
            wait_until(lambda: out.read_bytes() == lines(1, 10), "the lines")
    assert drain.wait(60) == -signal.SIGTERM


def test_lines_wait_for_the_minimum_batch_or_its_timeout(spool):
    spool("feed", given=lines(1, 2))
    least = ("--mindequeuebatchsize", 3, "--mindequeuebatchsize.timeout")
    with reading(spool, "--follow", *least, 3600000) as (reader, drain):
        wait_until(lambda: spool.status()["reader"], "the drain")
        spool("feed", given=lines(3, 3))
        assert os.read(reader.source, 4096) == lines(1, 3)
        wait_until(lambda: spool.status()["messages"] == 0, "their deletion")
        spool("feed", given=lines(4, 4))
        drain.terminate()
        assert drain.wait(60) == -signal.SIGTERM
    with reading(spool, "--follow", *least, 20) as (reader, drain):
        assert os.read(reader.source, 4096) == lines(4, 4)
    spool("feed", given=lines(5, 5))
    assert spool("drain", *least, 3600000).endswith(lines(5, 5))


@pytest.mark.parametrize("ends", ["signal", "reader"])
def test_drain_waits_for_its_hours(spool, monkeypatch, ends):
    spool("feed", given=lines(1, 10))
    # In this time zone, the current time is between 12:00 and 13:00.
    monkeypatch.setenv("TZ", f"NOON{time.gmtime().tm_hour - 12:+d}")
    begin, end = "--dequeuetimebegin", "--dequeuetimeend"
    drain = spool.start("drain", begin, 22, end, 4, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert drain.stderr.readline() == b"quarry: waiting until 22:00 (queue.dequeuetimebegin)\n"
    if ends == "signal":
        drain.terminate()
        assert drain.communicate(timeout=60) == (b"", b"") and drain.returncode == -signal.SIGTERM
    else:
        drain.stdout.close()
        assert drain.wait(60) == 1
        assert drain.stderr.read() == b"quarry: standard output: Broken pipe\n"
    assert spool.status()["messages"] == 10
    assert spool("drain", begin, 4, end, 22) == lines(1, 10)
    assert "must not be the same hour (3)" in spool.refused("drain", begin, 3, end, 3)
