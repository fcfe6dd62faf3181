"""Limits of `quarry spool`: a full disk, a full queue, and lines that are too long."""

import re
import subprocess

import pytest

from support import places
from support.disk import small_disk
from support.process import wait_until
from support.spool import following, lines


def fill_disk(spool) -> None:
    with pytest.raises(OSError), (spool.folder / "fill").open("wb", buffering=0) as fill:
        while True:
            fill.write(bytes(4096))


def test_full_disk_blocks_the_feeder_and_loses_nothing(spool, tmp_path):
    with small_disk(spool.folder, "256k"):
        count = 40000
        given, reported, out = tmp_path / "given", tmp_path / "reported", tmp_path / "out"
        given.write_bytes(lines(1, count))
        with given.open("rb") as source, reported.open("wb") as errors:
            feeder = spool.start("feed", "--maxfilesize", "32k", stdin=source, stderr=errors)
        wait_until(lambda: b"No space left on device" in reported.read_bytes(), "the full disk")
        assert feeder.poll() is None
        with following(spool, out):
            assert feeder.wait(60) == 0
            wait_until(lambda: out.read_bytes().endswith(b"line 40000\n"), "the last line", 60)
        assert out.read_bytes() == lines(1, count)


def test_read_only_file_system_can_be_inspected(spool):
    with small_disk(spool.folder, "1m"):
        spool("feed", given=lines(1, 100))
        subprocess.run(["mount", "-o", "remount,ro", spool.folder], check=True)
        for command in ("feed", "drain", "purge", "replay"):
            assert "queue" in spool.refused(command) and "Read-only file system" in spool.refused(command)
        assert spool.status()["messages"] == 100 and spool("export") == lines(1, 100)
        subprocess.run(["mount", "-o", "remount,rw", spool.folder], check=True)
        assert spool("drain") == lines(1, 100)


@pytest.mark.parametrize("options", [(), ("--maxfilesize", "64k", "--maxdiskspace", "64k")])
def test_feed_and_drain_work_with_room_for_one_file(spool, tmp_path, options):
    """The reader frees the space that the writer waits for, although both use the same file."""
    with small_disk(spool.folder, "256k"), (tmp_path / "reported").open("wb") as reported:
        given, out = tmp_path / "given", tmp_path / "out"
        given.write_bytes(lines(1, 40000))
        with given.open("rb") as source:
            feeder = spool.start("feed", *options, stdin=source, stderr=reported)
        with following(spool, out, stderr=reported):
            assert feeder.wait(60) == 0
            wait_until(lambda: out.read_bytes().endswith(b"line 40000\n"), "the last line", 60)
        assert out.read_bytes() == lines(1, 40000)
        assert spool("drain") == b""


def test_drain_of_a_disk_without_a_free_byte_is_not_repeated(spool):
    with small_disk(spool.folder, "64k"):
        spool("feed", given=lines(1, 10))
        fill_disk(spool)
        assert spool("drain") == lines(1, 10)
        assert spool("drain") == b""


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), [("64k", 300), ("1m", 3000)])
def test_full_queue_on_a_full_disk_is_drained_to_its_end(spool, tmp_path, size, count):
    """The feeder waits for the drain, which does not have enough space to save its position."""
    with small_disk(spool.folder, size), (tmp_path / "reported").open("wb") as reported:
        given, out = tmp_path / "given", tmp_path / "out"
        given.write_bytes(lines(1, count).replace(b"line", b"line" + 500 * b"x"))
        with following(spool, out, stderr=reported), given.open("rb") as source:
            assert spool.start("feed", "--size", 5, stdin=source, stderr=reported).wait(120) == 0
            wait_until(lambda: out.read_bytes().endswith(b" %d\n" % count), "the last line")
        assert out.read_bytes() == given.read_bytes()


def test_drain_continues_when_a_full_disk_has_room_again(spool, tmp_path):
    out = tmp_path / "out"
    with small_disk(spool.folder, "64k"), spool.start("feed", "--size", 5, stdin=subprocess.PIPE) as feeder:
        with following(spool, out):
            feeder.stdin.write(lines(1, 1))
            feeder.stdin.flush()
            wait_until(lambda: out.read_bytes() == lines(1, 1), "the first line")
            fill_disk(spool)
            feeder.stdin.write(lines(2, 30))
            feeder.stdin.flush()
            wait_until(lambda: lines(1, 5) in out.read_bytes(), "some more")
            (spool.folder / "fill").unlink()
            feeder.stdin.close()
            assert feeder.wait(60) == 0
            wait_until(lambda: out.read_bytes() == lines(1, 30), "the last line", 60)
        assert spool("drain") == b""


@pytest.mark.parametrize(("options", "said"), [
    (("--maxfilesize", 1), "queue.maxfilesize = 1: must be a number of bytes, at least 1024"),
    (("--highwatermark", 5, "--lowwatermark", 9), "queue.lowwatermark (9) must be below queue.highwatermark (5)"),
    (("--maxdiskspace", "64k"), "queue.maxfilesize (1048576) must not be above queue.maxdiskspace (65536)"),
    (("--type", "disk", "--highwatermark", 5), "queue.highwatermark requires queue.type = memory"),
    (("--discardseverity", 5), "queue.discardseverity requires queue.discardmark or queue.size"),
    (("--fulldelaymark", 50, "--discardmark", 60), "queue.discardmark must not be above queue.fulldelaymark")])
def test_invalid_or_useless_options_are_refused(spool, options, said):
    assert said in spool.refused("feed", *options)
    assert spool.run("feed", "--highwatermark").returncode == 2


@pytest.mark.parametrize("mark", ["--size", "--fulldelaymark"])
@pytest.mark.parametrize("every", [0, 1])
def test_feeder_waits_while_the_queue_is_full(spool, tmp_path, mark, every):
    given, out = tmp_path / "given", tmp_path / "out"
    given.write_bytes(lines(1, 3000))
    with given.open("rb") as source:
        feeder = spool.start("feed", mark, 50, stdin=source)
    wait_until(lambda: spool.folder.exists() and spool.status()["messages"] >= 50, "the full queue")
    assert spool("export") == lines(1, 50)
    assert spool("purge") == b"50 messages were removed\n"
    wait_until(lambda: spool.status()["messages"] >= 50, "the full queue")
    with following(spool, out, "--checkpointinterval", every):
        assert feeder.wait(60) == 0
        wait_until(lambda: out.read_bytes().endswith(b"line 3000\n"), "the last line", 60)
    assert out.read_bytes() == lines(51, 3000)


def test_feeder_reports_lines_that_did_not_fit_in_time(spool):
    reported = spool.refused("feed", "--size", 10, "--timeoutenqueue", 50, given=lines(1, 30))
    assert "the queue has been full for 50 ms (queue.timeoutenqueue): 20 lines that were read were not" in reported
    assert spool("drain") == lines(1, 10)


@pytest.mark.parametrize("options", [(), ("--highwatermark", 1), ("--highwatermark", 100)])
def test_line_that_can_never_fit_is_skipped_and_reported(spool, options):
    room = ("--maxfilesize", "2k", "--maxdiskspace", "4k")
    given = b"one\n" + b"x" * 5000 + b"\ntwo\n" + b"y" * 70000
    reported = spool.refused("feed", *room, *options, given=given)
    assert "standard input: line 2 is longer than 4052 bytes, the limit of queue.maxdiskspace: skipped" in reported
    assert "standard input: line 4 " in reported and "2 lines were too long and were skipped" in reported
    assert spool("drain") == b"one\ntwo\n"
    most = b"m" * 4052 + b"\n"
    spool("feed", *room, *options, given=most)
    assert spool("drain") == most


def test_line_longer_than_any_message_is_skipped(spool):
    reported = spool.refused("feed", given=b"one\n" + b"x" * ((64 << 20) + 1) + b"\ntwo\n")
    assert "standard input: line 2 is longer than 67108864 bytes: skipped" in reported
    assert spool("drain") == b"one\ntwo\n"


def test_feeder_reports_how_many_lines_it_has_discarded(spool):
    done = spool.run("feed", "--size", 10, "--discardseverity", 6, given=lines(1, 20))
    assert done.returncode == 0
    assert done.stderr.decode() == ("quarry: queue.discardmark is reached: discarding lines\n"
                                    "quarry: 12 of 20 lines were discarded: queue.discardmark was reached\n")
    assert spool("drain") == lines(1, 8)
    # Only messages of severity 7 can be discarded now. Lines have a higher severity, so all of them are kept.
    done = spool.run("feed", "--size", 10, "--discardseverity", 7, given=lines(1, 9))
    assert done.returncode == 0 and done.stderr == b""


def test_feeder_samples_lines_before_it_discards_any(spool):
    spool("feed", "--samplinginterval", 3, given=lines(1, 10))
    assert spool("drain") == lines(3, 3) + lines(6, 6) + lines(9, 9)
    done = spool.run("feed", "--size", 10, "--discardseverity", 6, "--samplinginterval", 3, given=lines(1, 60))
    assert done.returncode == 0
    assert done.stderr.decode().endswith("quarry: 12 of 60 lines were discarded: queue.discardmark was reached\n")
    assert spool("drain") == b"".join(lines(each, each) for each in range(3, 25, 3))


def test_help_shows_the_actual_defaults(spool):
    def reported(command: str) -> dict[str, str]:
        text = subprocess.run([*spool.command(command)[:3], "--help"], capture_output=True, text=True, timeout=60,
                              check=True).stdout
        # The description of an option can be on the next line. The description ends with the default in parentheses.
        options = re.findall(r"^  --([a-z.]+) [^ ]+\s+([^\n]+)\n", text, re.MULTILINE)
        return {name: said.rsplit("(default: ", 1)[1].rstrip(")") for name, said in options if said.endswith(")")}

    feed, drain = reported("feed"), reported("drain")
    assert feed == {
        "type": "memory if a watermark is given, otherwise disk", "size": "no limit on disk, 10000 in memory",
        "highwatermark": "90 % of the size", "lowwatermark": "70 % of the size", "fulldelaymark": "the size",
        "discardmark": "80 % of the size", "discardseverity": "8", "samplinginterval": "0", "maxfilesize": "1m",
        "maxdiskspace": "no limit", "syncqueuefiles": "off", "timeoutenqueue": "for ever", "timeoutshutdown": "for ever"}
    # The default of --ack is described in a different form.
    drain.pop("ack")
    assert drain == {
        "dequeuebatchsize": "1000", "mindequeuebatchsize": "0", "mindequeuebatchsize.timeout": "1000",
        "dequeuetimebegin": "0", "dequeuetimeend": "25", "checkpointinterval": "1", "syncqueuefiles": "off",
        "oncorruption": "safe"}
    # By default, the number of messages is not limited. With --size 10, lines are discarded when the queue has 8
    # messages, which is 80 % of the size.
    spool("feed", given=lines(1, 12000))
    assert spool.status()["messages"] == 12000
    spool("purge")
    spool("feed", "--size", 10, "--discardseverity", 0, given=lines(1, 12))
    assert spool.status()["messages"] == 8
    manual = (places.TOP / "man" / "quarry-spool.1").read_text()
    for name in feed | drain:
        assert f"Fl Fl {name} " in manual, name
