"""What `quarry spool drain` forgets, and when: what its reader has taken, or has acknowledged."""

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
    """Whoever reads what a drain writes to a pipe, and may acknowledge it on another one."""

    def __init__(self, source: int, acknowledge: int):
        self.source = source
        self.acknowledge = acknowledge
        self.got = b""

    def read(self, count: int) -> None:
        """Until COUNT lines have come, in all."""
        while self.got.count(b"\n") < count:
            more = os.read(self.source, 4096)
            assert more, self.got
            self.got += more

    def says(self, text: bytes) -> None:
        os.write(self.acknowledge, text)

    def ends(self) -> None:
        """Says no more."""
        os.close(self.acknowledge)
        self.acknowledge = -1


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


def whole(text: bytes) -> bytes:
    """The lines of TEXT that have an end."""
    return text[:text.rfind(b"\n") + 1]


def test_what_its_reader_leaves_in_a_pipe_comes_again(spool):
    spool("feed", given=lines(1, 50000))
    with reading(spool) as (reader, drain):
        reader.read(10000)
        wait_until(lambda: unread(reader.source) > 50000, "the full pipe")
        os.close(reader.source)
        reader.source = -1
        assert drain.wait(60) == 1
        told = drain.stderr.read().decode()
    assert "standard output: Broken pipe: " in told and "messages that were written were not read, and come again" in told
    # To the line: the one that it had half of comes again as a whole.
    assert whole(reader.got) + spool("drain") == lines(1, 50000)


def test_what_a_full_disk_does_not_take_comes_again(spool):
    spool("feed", given=lines(1, 100))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(spool.command("drain"), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 1
    assert b"standard output: No space left on device: 100 messages were not written, and come again" in done.stderr
    assert spool("drain") == lines(1, 100)


def test_what_a_terminal_has_shown_is_forgotten(spool):
    spool("feed", given=lines(1, 3))
    near, far = os.openpty()
    with spool.start("drain", stdout=far) as drain:
        assert drain.wait(60) == 0
        os.close(far)
        assert os.read(near, 4096) == lines(1, 3).replace(b"\n", b"\r\n")
        os.close(near)
    assert spool.status()["messages"] == 0


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGKILL])
def test_drain_whose_reader_is_slow_does_not_end_before_it_and_forgets_nothing(spool, ends):
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


def test_drain_that_follows_forgets_what_was_read_while_nothing_comes(spool):
    spool("feed", given=lines(1, 5))
    with reading(spool, "--follow") as (reader, _drain):
        reader.read(5)
        wait_until(lambda: spool.status()["messages"] == 0, "that they are forgotten")


def test_drain_that_follows_ends_when_its_reader_goes(spool):
    spool("feed", given=lines(1, 5))
    with reading(spool, "--follow") as (reader, drain):
        reader.read(5)
        wait_until(lambda: spool.status()["messages"] == 0, "that they are forgotten")
        os.close(reader.source)
        reader.source = -1
        assert drain.wait(60) == 1 and drain.stderr.read() == b"quarry: standard output: Broken pipe\n"


def test_what_was_left_in_a_socket_comes_again(spool):
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
    # What it has read, at most, comes again.
    first = int(rest.split(b"\n")[0][5:])
    assert rest == lines(first, 50000) and first <= whole(got).count(b"\n") + 1


def test_what_was_left_in_a_socket_comes_again_though_another_was_told_of_it(spool):
    """Whoever else has the socket takes the error that says so off it."""
    spool("feed", given=lines(1, 50000))
    near, far = socket.socketpair()
    with near, far, spool.start("drain", stdout=far, stderr=subprocess.PIPE) as drain:
        wait_until(lambda: unread(near) > 30000, "the full socket")
        drain.send_signal(signal.SIGSTOP)
        near.close()
        assert far.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        drain.send_signal(signal.SIGCONT)
        assert drain.wait(60) == 1
        assert b"messages that were written were not read, and come again" in drain.stderr.read()
    assert spool("drain") == lines(1, 50000)


def test_all_that_a_socket_has_taken_is_forgotten(spool):
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


def test_what_was_read_and_not_acknowledged_comes_again(spool):
    spool("feed", given=lines(1, 10))
    with reading(spool, acknowledges=True) as (reader, drain):
        reader.read(10)
        reader.says(b"7\n")
        reader.ends()
        assert drain.wait(60) == 1
        told = drain.stderr.read().decode()
    assert "descriptor" in told and "3 messages that were written were not acknowledged, and come again" in told
    assert spool("drain") == lines(8, 10)


def test_acknowledgements_that_came_before_a_signal_count(spool):
    spool("feed", given=lines(1, 10))
    with reading(spool, acknowledges=True) as (reader, drain):
        reader.read(10)
        drain.send_signal(signal.SIGSTOP)
        reader.says(b"7\n")
        drain.send_signal(signal.SIGTERM)
        drain.send_signal(signal.SIGCONT)
        assert drain.wait(60) == -signal.SIGTERM
    assert spool("drain") == lines(8, 10)


def test_no_more_is_written_than_may_wait_to_be_acknowledged(spool):
    spool("feed", given=lines(1, 100))
    with reading(spool, "--dequeuebatchsize", 10, acknowledges=True) as (reader, drain):
        for done in range(0, 100, 5):
            most = min(done + 10, 100)
            reader.read(most)
            assert reader.got == lines(1, most)
            reader.says(b"5\n")
        assert drain.wait(60) == 0
    assert spool("drain") == b""


def test_reader_that_closes_its_input_may_acknowledge_later(spool):
    spool("feed", given=lines(1, 10))
    with reading(spool, acknowledges=True) as (reader, drain):
        reader.read(10)
        os.close(reader.source)
        reader.source = -1
        wait_until(lambda: spool.status()["reader"], "the drain")
        reader.says(b"10\n")
        assert drain.wait(60) == 0
    assert spool("drain") == b""


@pytest.mark.parametrize(("said", "told", "left"), [
    (b"3\nmore\n", '"m" acknowledges nothing', 4),
    (b"3\n-1\n", '"-" acknowledges nothing', 4),
    (b"3\n" + 19 * b"1", '"1111111111111111111" acknowledges nothing', 4),
    (b"3\n8\n", "11 messages are acknowledged, and 10 were written", 1),
    (5 * (18 * b"9" + b"\n"), "messages are acknowledged, and 10 were written", 1)])
def test_what_is_no_acknowledgement_is_told(spool, said, told, left):
    spool("feed", given=lines(1, 10))
    with reading(spool, acknowledges=True) as (reader, drain):
        reader.read(10)
        reader.says(said)
        assert drain.wait(60) == 1
        assert told in drain.stderr.read().decode()
    assert spool("drain") == lines(left, 10)


def test_descriptor_that_nothing_can_be_read_from_is_refused(spool):
    spool("feed", given=lines(1, 10))
    assert "descriptor 77: Bad file descriptor" in spool.refused("drain", "--ack", 77)
    for given in (1, 2, -1):
        done = spool.run("drain", "--ack", given)
        assert done.returncode == 2 and b"must be a descriptor to read from" in done.stderr
    with open(os.devnull, "wb") as writable:
        done = subprocess.run(spool.command("drain", "--ack", writable.fileno()), pass_fds=[writable.fileno()],
                              capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and b"it is not open for reading" in done.stderr
    # It has ended before anything was written.
    done = spool.run("drain", "--ack", 0)
    assert done.returncode == 1 and b"standard input: it has ended" in done.stderr
    assert spool("drain") == lines(1, 10) and spool("drain", "--ack", 0) == b""


def test_shell_acknowledges_what_it_has_done(spool, tmp_path):
    """The example of the manual, whose consumer fails once."""
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


def test_drain_of_a_folder_that_is_not_there_says_so_and_makes_none(spool):
    assert spool.refused("drain") == f"quarry: {spool.folder}: there is no such folder\n"
    assert not spool.folder.exists()


def test_drain_that_follows_waits_for_the_folder(spool, tmp_path):
    out, told = tmp_path / "out", tmp_path / "told"
    with told.open("wb") as errors, following(spool, out, stderr=errors):
        wait_until(lambda: told.read_text() != "", "that it waits")
        assert told.read_text() == f"quarry: {spool.folder}: there is no such folder yet: waiting for it\n"
        assert not spool.folder.exists()
        spool("feed", given=lines(1, 10))
        wait_until(lambda: out.read_bytes() == lines(1, 10), "the lines")


def test_drain_that_waits_for_its_folder_ends_when_it_is_told_to(spool, tmp_path):
    told = tmp_path / "told"
    with told.open("wb") as errors:
        drain = spool.start("drain", "--follow", stderr=errors)
    try:
        wait_until(lambda: "waiting for it" in told.read_text(), "that it waits")
    finally:
        drain.terminate()
        assert drain.wait(60) == -signal.SIGTERM


def test_lines_wait_for_the_least_batch_or_its_time_out(spool):
    spool("feed", given=lines(1, 2))
    least = ("--mindequeuebatchsize", 3, "--mindequeuebatchsize.timeout")
    with reading(spool, "--follow", *least, 3600000) as (reader, drain):
        wait_until(lambda: spool.status()["reader"], "the drain")
        spool("feed", given=lines(3, 3))
        # At once, in one write.
        assert os.read(reader.source, 4096) == lines(1, 3)
        wait_until(lambda: spool.status()["messages"] == 0, "that they are forgotten")
        spool("feed", given=lines(4, 4))
        drain.terminate()
        assert drain.wait(60) == -signal.SIGTERM
    with reading(spool, "--follow", *least, 20) as (reader, drain):
        assert os.read(reader.source, 4096) == lines(4, 4)
    # Who does not follow waits for nothing.
    spool("feed", given=lines(5, 5))
    assert spool("drain", *least, 3600000).endswith(lines(5, 5))


def test_drain_waits_for_its_hours(spool, monkeypatch, tmp_path):
    spool("feed", given=lines(1, 10))
    # In the time zone in which it is noon, or a little later.
    hour = time.gmtime().tm_hour
    monkeypatch.setenv("TZ", f"NOON{hour - 12:+d}")
    begin, end = "--dequeuetimebegin", "--dequeuetimeend"
    out, told = tmp_path / "out", tmp_path / "told"
    with out.open("wb") as sink, told.open("wb") as errors:
        drain = spool.start("drain", begin, 22, end, 4, stdout=sink, stderr=errors)
    try:
        wait_until(lambda: told.read_text() == "quarry: waiting for 22:00 (queue.dequeuetimebegin)\n", "that it waits")
    finally:
        drain.terminate()
        assert drain.wait(60) == -signal.SIGTERM
    assert out.read_bytes() == b""
    assert spool.status()["messages"] == 10
    assert spool("drain", begin, 4, end, 22) == lines(1, 10)
    assert "must not be the same hour (3)" in spool.refused("drain", begin, 3, end, 3)


def test_drain_that_waits_for_its_hours_ends_when_its_reader_goes(spool, monkeypatch):
    spool("feed", given=lines(1, 10))
    monkeypatch.setenv("TZ", f"NOON{time.gmtime().tm_hour - 12:+d}")
    drain = spool.start("drain", "--dequeuetimebegin", 22, "--dequeuetimeend", 4, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
    assert drain.stderr.readline() == b"quarry: waiting for 22:00 (queue.dequeuetimebegin)\n"
    drain.stdout.close()
    assert drain.wait(60) == 1
    assert drain.stderr.read() == b"quarry: standard output: Broken pipe\n"
    assert spool.status()["messages"] == 10
