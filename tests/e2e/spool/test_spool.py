"""`quarry spool` is a durable pipe that loses nothing if a process at either end is killed. The commands that inspect a
queue are also tested."""

import json
import os
import random
import signal
import subprocess

import pytest

from support.places import is_sanitized
from support.process import wait_until
from support.spool import lines, unread


def test_fed_lines_are_drained_once_and_in_order(spool):
    spool("feed", given=lines(1, 5000))
    spool("feed", "--highwatermark", 50, "--lowwatermark", 10, "--size", 100, "--maxfilesize", "4k", given=lines(5001, 9000))
    assert spool.status()["messages"] == 9000
    assert spool("drain") == lines(1, 9000)
    assert spool("drain") == b""
    assert not spool.segments()


def test_empty_and_unterminated_lines_and_any_bytes_are_messages(spool):
    given = b"\n\xff\xfe\x00\n" + b"x" * 200000 + b"\nlast"
    spool("feed", given=given)
    assert spool("drain") == given + b"\n"
    spool("feed", "--null", given=b"one\ntwo\0three\0")
    assert spool("drain", "--null") == b"one\ntwo\0three\0"


def test_following_drain_gets_lines_immediately(spool, tmp_path):
    out = tmp_path / "out"
    with out.open("wb") as sink:
        follower = spool.start("drain", "--follow", stdout=sink)
    feeder = spool.start("feed", "--syncqueuefiles", "on", stdin=subprocess.PIPE)
    try:
        for first in (1, 101, 201):
            feeder.stdin.write(lines(first, first + 99))
            feeder.stdin.flush()
            wait_until(lambda until=first + 99: out.read_bytes() == lines(1, until), "the lines")
        wait_until(lambda: spool.status()["messages"] == 0, "their deletion")
        status = spool.status()
        assert status["reader"] and status["writer"]
        assert "another process reads from this queue" in spool.refused("drain")
        assert "another process reads from this queue" in spool.refused("purge")
        assert "another process writes to this queue" in spool.refused("feed", given=b"x\n")
    finally:
        feeder.communicate(timeout=60)
        follower.terminate()
    assert feeder.returncode == 0 and follower.wait(60) == -signal.SIGTERM
    assert not spool.segments()


def test_terminated_feeder_keeps_what_it_has_read(spool):
    feeder = spool.start("feed", stdin=subprocess.PIPE)
    feeder.stdin.write(lines(1, 100))
    feeder.stdin.flush()
    wait_until(lambda: unread(feeder.stdin) == 0, "the feeder to read them")
    feeder.terminate()
    feeder.stdin.close()
    assert feeder.wait(60) == -signal.SIGTERM
    assert spool("drain") == lines(1, 100)


def test_drain_that_is_killed_repeatedly_loses_nothing(spool, tmp_path):
    # With sanitizers, the start of the program takes most of the time, so fewer messages are enough.
    count = 15000 if is_sanitized() else 60000
    spool("feed", "--maxfilesize", "64k", given=lines(1, count))
    out = tmp_path / "out"
    chance = random.Random(1)
    killed = 0
    while spool.status()["messages"]:
        with out.open("ab") as sink:
            drain = spool.start("drain", "--dequeuebatchsize", 20, stdout=sink)
        try:
            # The time limit grows with each kill. Otherwise, on a slow machine, every process might be killed before it
            # has started.
            drain.wait(chance.random() * (0.1 + killed / 200))
        except subprocess.TimeoutExpired:
            drain.send_signal(signal.SIGKILL)
            drain.wait()
            killed += 1
    assert killed >= 5
    seen, highest = set(), 0
    for text in out.read_bytes().split(b"\n"):
        if text.startswith(b"line ") and text[5:].isdigit():
            number = int(text[5:])
            # After a kill, numbers can be truncated or repeated, but never skipped.
            assert number <= highest + 1
            highest = max(highest, number)
            seen.add(number)
    assert seen >= set(range(1, count + 1))


def test_list_and_export_change_nothing(spool):
    spool("feed", "--severity", 3, given=b"plain\n\x1b[2J\xff\n")
    shown = spool("list").decode()
    assert "1 3        5 plain" in shown and "\\x1b[2J\\xff" in shown
    assert spool("export") == b"plain\n\x1b[2J\xff\n"
    first, second = map(json.loads, spool("export", "--json").splitlines())
    assert first == {"number": 1, "severity": 3, "content": "plain"} and second["base64"] == "G1sySv8="
    assert spool("drain") == b"plain\n\x1b[2J\xff\n"


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_a_drain_that_nobody_reads_and_a_feed_without_room(spool, ends):
    feeder = spool.start("feed", "--maxfilesize", "4k", "--maxdiskspace", "8k", stdin=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    feeder.stdin.write(lines(1, 5000))
    feeder.stdin.flush()
    wait_until(lambda: spool.folder.exists() and spool.status()["bytes"] > 7000, "the full spool")
    feeder.send_signal(ends)
    assert feeder.wait(60) == 1
    assert b"lines that were read were not stored" in feeder.stderr.read()
    feeder.stderr.close()
    feeder.stdin.close()
    stuck, end = os.pipe()
    try:
        spool("purge")
        spool("feed", given=lines(1, 50000))
        drain = spool.start("drain", stdout=end)
        wait_until(lambda: unread(stuck) > 30000, "the full pipe")
        drain.send_signal(ends)
        assert drain.wait(60) == -ends
        seen = os.read(stuck, 1 << 20)
    finally:
        os.close(stuck)
        os.close(end)
    assert lines(1, 50000).startswith(seen)
    assert spool("drain") == lines(1, 50000)


def test_feeds_that_start_while_drains_end_are_not_refused(spool):
    for number in range(40):
        drain = spool.start("drain", stdout=subprocess.DEVNULL)
        spool("feed", given=b"line %d\n" % number)
        drain.wait(60)


@pytest.mark.parametrize("command", [("export",), ("list",), ("status",), ("status", "--json"), ("purge",)])
def test_output_that_cannot_be_printed_is_an_error(spool, command):
    spool("feed", given=lines(1, 50000))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(spool.command(*command), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 1 and b"No space left on device" in done.stderr


@pytest.mark.parametrize("command", [("export",), ("list",), ("drain",)])
def test_closed_standard_output_is_an_error_and_loses_nothing(spool, command):
    spool("feed", given=lines(1, 100))
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *spool.command(*command)], capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and b"standard output: Bad file descriptor" in done.stderr
    assert spool("drain") == lines(1, 100)


def test_purges_while_a_feeder_runs_remove_each_message_once(spool, tmp_path):
    given = tmp_path / "given"
    given.write_bytes(lines(1, 50000))
    with given.open("rb") as source:
        feeder = spool.start("feed", "--size", 1000, "--maxfilesize", "4k", stdin=source)
    wait_until(lambda: spool.folder.exists(), "the folder")
    removed = 0
    while feeder.poll() is None:
        removed += int(spool("purge").split()[0])
    removed += int(spool("purge").split()[0])
    assert feeder.returncode == 0 and removed == 50000
    assert not spool.segments()
