"""quarry spool: a durable pipe that survives either of its ends, and a look at a queue's files."""

import array
import fcntl
import json
import os
import random
import signal
import subprocess
import termios

import pytest

from support import places
from support.process import wait_until


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool")


class Spool:
    def __init__(self, folder):
        self.folder = folder

    def command(self, what: str, *options: object) -> list[str]:
        return [str(places.program("quarry")), "spool", what, str(self.folder), *map(str, options)]

    def run(self, what: str, *options: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(self.command(what, *options), input=given, capture_output=True, timeout=60, check=False)

    def __call__(self, what: str, *options: object, given: bytes = b"") -> bytes:
        done = self.run(what, *options, given=given)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def refused(self, what: str, *options: object, given: bytes = b"") -> str:
        done = self.run(what, *options, given=given)
        assert done.returncode == 1
        return done.stderr.decode()

    def start(self, what: str, *options: object, **streams: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command(what, *options), **streams)

    def status(self) -> dict:
        return json.loads(self("status", "--json"))

    def segments(self) -> list:
        return sorted(path for path in self.folder.iterdir() if path.suffix[1:].isdigit())


def unread(pipe) -> int:
    """Bytes that were written to PIPE, and that nobody has read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def lines(first: int, last: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(first, last + 1))


def test_what_is_fed_is_drained_once_and_in_order(spool):
    spool("feed", given=lines(1, 5000))
    spool("feed", "--highwatermark", 50, "--lowwatermark", 10, "--size", 100, "--maxfilesize", "4k", given=lines(5001, 9000))
    assert spool.status()["messages"] == 9000
    assert spool("drain") == lines(1, 9000)
    assert spool("drain") == b""
    assert not spool.segments()


def test_lines_without_an_end_empty_ones_and_any_bytes_are_messages(spool):
    given = b"\n\xff\xfe\x00\n" + b"x" * 200000 + b"\nlast"
    spool("feed", given=given)
    assert spool("drain") == given + b"\n"
    spool("feed", "--null", given=b"one\ntwo\0three\0")
    assert spool("drain", "--null") == b"one\ntwo\0three\0"


def test_who_follows_gets_what_comes_until_he_is_told_to_end(spool, tmp_path):
    out = tmp_path / "out"
    with out.open("wb") as sink:
        follower = spool.start("drain", "--follow", stdout=sink)
    try:
        for first in (1, 101, 201):
            spool("feed", given=lines(first, first + 99))
            wait_until(lambda until=first + 99: out.read_bytes() == lines(1, until), "the lines", 20)
        wait_until(lambda: spool.status()["messages"] == 0, "that they are forgotten", 20)
        status = spool.status()
        assert status["reader"] and not status["writer"]
        assert "another process reads from this queue" in spool.refused("drain")
        assert "another process reads from this queue" in spool.refused("purge")
    finally:
        follower.terminate()
    assert follower.wait(20) == -signal.SIGTERM


def test_second_feeder_is_refused_while_the_first_one_feeds(spool):
    first = spool.start("feed", stdin=subprocess.PIPE)
    wait_until(lambda: spool.folder.exists() and spool.status()["writer"], "the feeder", 20)
    assert "another process writes to this queue" in spool.refused("feed", given=b"x\n")
    first.communicate(b"line 1\n", timeout=20)
    assert first.returncode == 0
    assert spool("drain") == b"line 1\n"


def test_feeder_that_is_asked_to_end_keeps_what_it_has_read(spool):
    feeder = spool.start("feed", stdin=subprocess.PIPE)
    feeder.stdin.write(lines(1, 100))
    feeder.stdin.flush()
    wait_until(lambda: unread(feeder.stdin) == 0, "that it has read them", 20)
    feeder.terminate()
    feeder.stdin.close()
    assert feeder.wait(20) == -signal.SIGTERM
    assert spool("drain") == lines(1, 100)


def test_drain_that_is_killed_again_and_again_forgets_nothing(spool, tmp_path):
    count = 60000
    spool("feed", "--maxfilesize", "64k", given=lines(1, count))
    out = tmp_path / "out"
    chance = random.Random(1)
    killed = 0
    while spool.status()["messages"]:
        with out.open("ab") as sink:
            drain = spool.start("drain", "--dequeuebatchsize", 20, stdout=sink)
        try:
            drain.wait(chance.random() * 0.1)
        except subprocess.TimeoutExpired:
            drain.send_signal(signal.SIGKILL)
            drain.wait()
            killed += 1
    assert killed >= 5
    seen, highest = set(), 0
    for text in out.read_bytes().split(b"\n"):
        if text.startswith(b"line ") and text[5:].isdigit():
            number = int(text[5:])
            # Cut off by a kill, or again after one; never ahead of its time.
            assert number <= highest + 1
            highest = max(highest, number)
            seen.add(number)
    assert seen >= set(range(1, count + 1))


def test_feeder_that_is_killed_loses_nothing_that_was_on_the_disk(spool):
    for attempt in range(10):
        feeder = spool.start("feed", "--type", "disk", "--maxfilesize", "16k", stdin=subprocess.PIPE)
        try:
            feeder.stdin.write(lines(1, 20000))
            feeder.stdin.flush()
        except BrokenPipeError:
            pass
        before = spool.status()["messages"]
        feeder.send_signal(signal.SIGKILL)
        feeder.wait()
        feeder.stdin.close()
        got = spool("drain")
        assert got == lines(1, got.count(b"\n"))
        assert got.count(b"\n") >= before


def test_reader_of_drain_that_goes_away_costs_nothing(spool):
    spool("feed", given=lines(1, 50000))
    drain = spool.start("drain", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = drain.stdout.read(100000)
    drain.stdout.close()
    assert drain.wait(20) == 1
    assert b"standard output: Broken pipe" in drain.stderr.read()
    rest = spool("drain")
    # What the pipe held was written. Nothing else is left out, and nothing before that comes again.
    next_line = int(rest.split(b"\n")[0][5:])
    assert rest == lines(next_line, 50000)
    assert len(lines(1, next_line - 1)) <= len(first) + 65536


def test_list_and_export_change_nothing(spool):
    spool("feed", "--severity", 3, given=b"plain\n\x1b[2J\xff\n")
    shown = spool("list").decode()
    assert "1 3        5 plain" in shown and "\\x1b[2J\\xff" in shown
    assert spool("export") == b"plain\n\x1b[2J\xff\n"
    first, second = map(json.loads, spool("export", "--json").splitlines())
    assert first == {"number": 1, "severity": 3, "content": "plain"} and second["base64"] == "G1sySv8="
    assert spool("drain") == b"plain\n\x1b[2J\xff\n"


def test_purge_removes_what_waits(spool):
    spool("feed", given=lines(1, 300))
    assert spool("purge") == b"300 messages were removed\n"
    assert spool("drain") == b"" and not spool.segments()


def test_damage_is_told_set_aside_and_what_is_behind_it_can_be_replayed(spool):
    spool("feed", "--maxfilesize", "2k", given=lines(1, 300))
    segment = spool.segments()[1]
    content = bytearray(segment.read_bytes())
    content[500] ^= 0x10
    segment.write_bytes(content)
    done = spool.run("drain")
    assert done.returncode == 0
    got = done.stdout.splitlines()
    assert segment.name in done.stderr.decode() and "damaged" in done.stderr.decode()
    assert got[0] == b"line 1" and got[-1] == b"line 300" and len(got) < 300
    assert spool.status()["damaged"] == [segment.name + ".damaged"]
    spool("replay")
    replayed = spool("drain").splitlines()
    assert len(set(got) | set(replayed)) == 299 and not set(got) & set(replayed)
    assert spool.status()["damaged"] == []


def test_folder_that_cannot_be_written_and_one_that_is_not_there(spool, tmp_path):
    assert "No such file or directory" in spool.refused("status")
    spool.folder = tmp_path / "no" / "spool"
    assert "No such file or directory" in spool.refused("feed", given=b"x\n")
    (tmp_path / "file").write_text("")
    spool.folder = tmp_path / "file"
    assert "Not a directory" in spool.refused("feed", given=b"x\n")


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small file system")
def test_full_disk_holds_up_the_feeder_and_loses_nothing(spool, tmp_path):
    spool.folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", spool.folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        count = 40000
        given, told, out = tmp_path / "given", tmp_path / "told", tmp_path / "out"
        given.write_bytes(lines(1, count))
        with given.open("rb") as source, told.open("wb") as errors:
            feeder = spool.start("feed", "--size", 2000, "--maxfilesize", "32k", stdin=source, stderr=errors)
        wait_until(lambda: b"No space left on device" in told.read_bytes(), "the full disk", 20)
        assert feeder.poll() is None
        with out.open("wb") as sink:
            drain = spool.start("drain", "--follow", stdout=sink)
        assert feeder.wait(60) == 0
        wait_until(lambda: out.read_bytes().endswith(b"line 40000\n"), "the last line", 60)
        drain.terminate()
        drain.wait(20)
        assert out.read_bytes() == lines(1, count)
    finally:
        subprocess.run(["umount", "-l", spool.folder], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small file system")
def test_read_only_file_system_can_be_looked_at(spool):
    spool.folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", spool.folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        spool("feed", given=lines(1, 100))
        subprocess.run(["mount", "-o", "remount,ro", spool.folder], check=True)
        for command in ("feed", "drain", "purge", "replay"):
            assert "queue" in spool.refused(command) and "Read-only file system" in spool.refused(command)
        assert spool.status()["messages"] == 100 and spool("export") == lines(1, 100)
        subprocess.run(["mount", "-o", "remount,rw", spool.folder], check=True)
        assert spool("drain") == lines(1, 100)
    finally:
        subprocess.run(["umount", "-l", spool.folder], check=True)


def test_wrong_options_are_told_by_their_names(spool):
    assert "queue.maxfilesize = 1: must be bytes, at least 1024" in spool.refused("feed", "--maxfilesize", 1)
    assert "queue.lowwatermark (9) must be below queue.highwatermark (5)" in spool.refused(
        "feed", "--highwatermark", 5, "--lowwatermark", 9)
    assert spool.run("feed", "--highwatermark").returncode == 2


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small file system")
@pytest.mark.parametrize("options", [(), ("--maxfilesize", "64k", "--maxdiskspace", "64k")])
def test_feed_and_drain_get_on_with_room_for_one_file(spool, tmp_path, options):
    """The reader frees what the writer waits for, though both are at the same file."""
    spool.folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", spool.folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        given, out = tmp_path / "given", tmp_path / "out"
        given.write_bytes(lines(1, 40000))
        with given.open("rb") as source, out.open("wb") as sink, (tmp_path / "told").open("wb") as told:
            feeder = spool.start("feed", *options, stdin=source, stderr=told)
            drain = spool.start("drain", "--follow", stdout=sink, stderr=told)
        assert feeder.wait(60) == 0
        wait_until(lambda: out.read_bytes().endswith(b"line 40000\n"), "the last line", 60)
        drain.terminate()
        drain.wait(20)
        assert out.read_bytes() == lines(1, 40000)
        assert spool("drain") == b""
    finally:
        subprocess.run(["umount", "-l", spool.folder], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small file system")
def test_drain_of_a_disk_without_a_free_byte_is_not_repeated(spool):
    spool.folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", spool.folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        spool("feed", given=lines(1, 10))
        with pytest.raises(OSError), (spool.folder / "fill").open("wb", buffering=0) as fill:
            while True:
                fill.write(bytes(4096))
        assert spool("drain") == lines(1, 10)
        assert spool("drain") == b""
    finally:
        subprocess.run(["umount", "-l", spool.folder], check=True)


def test_lines_are_there_for_drain_as_soon_as_they_were_read(spool, tmp_path):
    out = tmp_path / "out"
    feeder = spool.start("feed", "--syncqueuefiles", "on", stdin=subprocess.PIPE)
    with out.open("wb") as sink:
        follower = spool.start("drain", "--follow", stdout=sink)
    try:
        feeder.stdin.write(lines(1, 100))
        feeder.stdin.flush()
        wait_until(lambda: out.read_bytes() == lines(1, 100), "the lines", 20)
    finally:
        feeder.kill()
        feeder.communicate(timeout=20)
        follower.terminate()
        follower.wait(20)


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_a_drain_that_nobody_reads_and_a_feed_that_has_no_room(spool, ends):
    feeder = spool.start("feed", "--maxfilesize", "4k", "--maxdiskspace", "8k", stdin=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    feeder.stdin.write(lines(1, 5000))
    feeder.stdin.flush()
    wait_until(lambda: spool.folder.exists() and spool.status()["bytes"] > 7000, "the full spool", 20)
    feeder.send_signal(ends)
    assert feeder.wait(20) == 1
    assert b"lines that were read were not taken" in feeder.stderr.read()
    feeder.stderr.close()
    feeder.stdin.close()
    stuck, end = os.pipe()
    try:
        spool("purge")
        spool("feed", given=lines(1, 50000))
        drain = spool.start("drain", stdout=end)
        wait_until(lambda: unread(stuck) > 30000, "the full pipe", 20)
        drain.send_signal(ends)
        assert drain.wait(20) == -ends
        seen = os.read(stuck, 1 << 20)
    finally:
        os.close(stuck)
        os.close(end)
    rest = spool("drain")
    # The line that the pipe cut off comes again, whole.
    assert seen[:seen.rindex(b"\n") + 1] + rest == lines(1, 50000)


def test_feeds_that_begin_while_drains_end_are_not_refused(spool):
    for number in range(40):
        drain = spool.start("drain", stdout=subprocess.DEVNULL)
        spool("feed", given=b"line %d\n" % number)
        drain.wait(20)


def test_other_queues_in_the_folder_and_other_folders_are_left_alone(spool):
    spool("feed", "--filename", "queue.b", "--maxfilesize", "2k", given=lines(1, 300))
    segment = sorted(spool.folder.glob("queue.b.0*"))[0]
    content = bytearray(segment.read_bytes())
    content[500] ^= 1
    segment.write_bytes(content)
    spool("drain", "--filename", "queue.b")
    assert spool.status()["damaged"] == []
    spool("replay")
    assert (spool.folder / (segment.name + ".damaged")).exists()
    for name in ("../queue", ""):
        done = spool.run("purge", "--filename", name)
        assert done.returncode == 2 and b"must be a name without a folder" in done.stderr


@pytest.mark.parametrize("command", [("export",), ("list",), ("status",), ("status", "--json"), ("purge",)])
def test_what_cannot_be_printed_is_told(spool, command):
    spool("feed", given=lines(1, 50000))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(spool.command(*command), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 1 and b"No space left on device" in done.stderr


def test_a_page_of_zeros_does_not_hide_what_is_behind_it(spool):
    spool("feed", given=lines(1, 30000))
    segment = spool.segments()[0]
    with segment.open("r+b") as file:
        file.seek(20 * 4096)
        file.write(bytes(4096))
    first = spool.run("drain").stdout.splitlines()
    spool("replay")
    rest = spool("drain").splitlines()
    assert len(first) + len(rest) > 29500 and len(set(first) | set(rest)) == len(first) + len(rest)


def test_position_of_another_queue_hides_nothing(spool, tmp_path):
    spool("feed", given=lines(1, 50))
    other = Spool(tmp_path / "other")
    other("feed", "--maxfilesize", "1k", given=lines(1, 500))
    drain = other.start("drain", "--follow", stdout=subprocess.PIPE)
    wait_until(lambda: other.status()["messages"] == 0, "that all are drained", 20)
    drain.kill()
    drain.communicate()
    (spool.folder / "queue.qi").write_bytes((other.folder / "queue.qi").read_bytes())
    assert spool.status()["messages"] == 50 and spool("export") == lines(1, 50)
    assert spool("drain") == lines(1, 50)


def test_pipe_in_the_place_of_a_file_holds_up_nobody(spool):
    spool.folder.mkdir()
    os.mkfifo(spool.folder / "queue.00000001")
    for command in ("status", "drain", "export"):
        assert "queue.00000001: no file" in spool.refused(command)
