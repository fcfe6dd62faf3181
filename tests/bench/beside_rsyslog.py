"""Compares the queue with rsyslog. Both programs receive messages on a socket, queue them with the same parameters, and
send them to another socket. The two programs are measured alternately.

rsyslog uses the modules that were the fastest in our measurements: imptcp on a Unix socket with one thread, the parser
for the old format (RFC 3164), a template that does not change the message, and omfwd over TCP, which sends 16 KiB at
once. Quarry's queue runs in spool_relay. spool_load sends messages of 128 bytes including the newline, and checks and
counts the received messages.

  memory   Time from the first sent message to the last received message.
  spill    There is no receiver, so messages above the high water mark go to the disk. Time from the first sent message
           until the last message is in the queue and the queue's files have stopped growing.
  replay   The relay is stopped, saves the remaining messages (queue.saveonshutdown), and is restarted with a receiver.
           Time from the start of the process to the last received message.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measures import Results
from support import places, process
from support.process import Process, wait_until

SIDES = ("rsyslog", "quarry")
PROGRAM = shutil.which("rsyslogd") or "/usr/sbin/rsyslogd"

COUNT = 200_000
#: The queue's files are complete if they have not grown for this number of seconds.
QUIET = 1.0

#: rsyslog's defaults for the queue of a ruleset, with a longer timeout, so that rsyslog does not discard messages. The
#: size must exceed the high water mark by at least two batches of 1024 messages. Otherwise, rsyslog can wait forever.
QUEUE = {"type": "linkedlist", "size": 50000, "dequeuebatchsize": 1024, "workerthreads": 1, "timeoutenqueue": 60000}
DISK = {**QUEUE, "filename": "spool", "highwatermark": 45000, "lowwatermark": 35000, "maxfilesize": "16m",
        "checkpointinterval": 0, "saveonshutdown": "on", "syncqueuefiles": "off"}
#: With syncqueuefiles, rsyslog syncs after each message, so the test sends fewer messages. The queue is smaller, so
#: that most messages still go to the disk.
SYNCED = {**DISK, "size": 4000, "highwatermark": 1500, "lowwatermark": 500, "syncqueuefiles": "on"}
SYNCED_COUNT = 5_000

LINES = [
    ("memory", "in memory, messages/s", "{:,.0f}"),
    ("memory-cpu", "the same, processor time of the relay, µs a message", "{:.2f}"),
    ("spill", "disk-assisted, while everything goes to the disk, messages/s", "{:,.0f}"),
    ("spill-cpu", "the same, processor time of the relay, µs a message", "{:.2f}"),
    ("replay", "replay from the disk at the start, messages/s", "{:,.0f}"),
    ("spill-synced", "to the disk with queue.syncqueuefiles, messages/s", "{:,.0f}"),
    ("replay-synced", "replay of that, messages/s", "{:,.0f}"),
]


def is_installed() -> bool:
    return Path(PROGRAM).exists()


def bench_program(name: str) -> Path:
    return places.build_directory() / "tests" / "bench" / name


class Program:
    process: Process


class Sink(Program):
    def __init__(self, folder: Path, port: int, count: int):
        self.process = Process([bench_program("spool_load"), "receive", f"127.0.0.1:{port}", "--count", count],
                               folder / "sink.log")
        wait_until(lambda: process.port_answers(port) or not self.process.is_running(), "the receiver")
        assert self.process.is_running(), self.process.output()

    def wait(self, seconds: float) -> dict:
        """Waits until all messages have arrived or SECONDS have passed. Returns the final counts."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.stop()
        return json.loads(self.process.output())


def rsyslog_config(folder: Path, port: int, queue: dict[str, object]) -> str:
    words = " ".join(f'queue.{name}="{value}"' for name, value in queue.items())
    return f"""global(workDirectory="{folder}" net.enableDNS="off" parser.escapeControlCharactersOnReceive="off")
module(load="imptcp" threads="1")
template(name="raw" type="string" string="%rawmsg%")
ruleset(name="relay" parser=["rsyslog.rfc3164"] {words}) {{
  action(type="omfwd" target="127.0.0.1" port="{port}" protocol="tcp" template="raw"
         action.resumeRetryCount="-1" action.resumeInterval="1" action.reportSuspension="off")
}}
input(type="imptcp" path="{folder}/in" unlink="on" flowControl="off" ruleset="relay")
"""


class Relay(Program):
    """A running rsyslog or spool_relay with one queue."""

    def __init__(self, side: str, folder: Path, port: int, queue: dict[str, object]):
        self.socket = folder / "in"
        if "filename" in queue:
            (folder / "spool").mkdir(exist_ok=True)
            queue = {**queue, "spooldirectory": folder / "spool"}
        if side == "rsyslog":
            config = folder / "rsyslog.conf"
            config.write_text(rsyslog_config(folder, port, queue))
            command = [PROGRAM, "-n", "-i", folder / "rsyslog.pid", "-f", config]
        else:
            command = [bench_program("spool_relay"), "--listen", self.socket, "--to", f"127.0.0.1:{port}"]
            command += [word for name, value in queue.items() for word in (f"--{name}", value)]
        self.process = Process(command, folder / "relay.log")

    def wait_until_ready(self) -> "Relay":
        wait_until(lambda: process.socket_answers(self.socket) or not self.process.is_running(), "the relay")
        assert self.process.is_running(), self.process.output()
        return self

    def processor_seconds(self) -> float:
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Stops the program and waits until it has saved the remaining messages."""
        self.process.send(signal.SIGTERM)
        try:
            self.process.wait(120)
        finally:
            self.process.kill_group()


@contextmanager
def stopped_at_last(started: Program) -> Iterator[Program]:
    try:
        yield started
    finally:
        started.process.kill_group()


def send(relay: Relay, count: int) -> dict:
    done = subprocess.run([bench_program("spool_load"), "send", relay.socket, "--count", str(count)],
                          capture_output=True, text=True, check=True, timeout=180)
    return json.loads(done.stdout)


def note_losses(results: Results, side: str, tally: dict, count: int) -> None:
    assert tally["spoilt"] == 0, f"{side}: {tally}"
    results.note("lost", side, count - tally["distinct"])
    results.note("twice", side, tally["messages"] - tally["distinct"])
    results.note("disorder", side, tally["out_of_order"])


def measure_memory(results: Results, side: str, folder: Path, count: int) -> None:
    folder.mkdir()
    port = process.free_port()
    with (stopped_at_last(Sink(folder, port, count)) as sink,
          stopped_at_last(Relay(side, folder, port, QUEUE)) as relay):
        relay.wait_until_ready()
        before = relay.processor_seconds()
        began = send(relay, count)["began"]
        tally = sink.wait(60)
        results.note("memory", side, tally["distinct"] / (tally["last"] - began))
        results.note("memory-cpu", side, (relay.processor_seconds() - before) / count * 1e6)
        relay.stop()
    note_losses(results, side, tally, count)


def time_of_last_growth(folder: Path, since: float) -> float:
    """Waits until the files in FOLDER have stopped growing. Returns the time at which they last grew, or SINCE if they
    have not grown."""

    def size() -> int:
        return sum(entry.stat().st_size for entry in os.scandir(folder))

    had, grown, began = size(), since, time.monotonic()
    while time.monotonic() - max(grown, began) < QUIET:
        time.sleep(0.01)
        if (has := size()) != had:
            had, grown = has, time.monotonic()
    return grown


def measure_disk(results: Results, side: str, folder: Path, count: int, queue: dict[str, object], suffix: str) -> None:
    folder.mkdir()
    port = process.free_port()
    with stopped_at_last(Relay(side, folder, port, queue)) as relay:
        relay.wait_until_ready()
        before = relay.processor_seconds()
        sent = send(relay, count)
        done = time_of_last_growth(folder / "spool", sent["taken"])
        results.note("spill" + suffix, side, count / (done - sent["began"]))
        results.note("spill-cpu" + suffix, side, (relay.processor_seconds() - before) / count * 1e6)
        relay.stop()
    with stopped_at_last(Sink(folder, port, count)) as sink:
        began = time.monotonic()
        with stopped_at_last(Relay(side, folder, port, queue)) as relay:
            tally = sink.wait(120)
            results.note("replay" + suffix, side, tally["distinct"] / (tally["last"] - began))
            relay.stop()
    note_losses(results, side, tally, count)


def measure(folder: Path, runs: int, seconds: int) -> Results:
    results = Results()
    for run in range(runs):
        for side in SIDES:
            measure_memory(results, side, folder / f"memory-{run}-{side}", COUNT * seconds)
        for side in SIDES:
            measure_disk(results, side, folder / f"disk-{run}-{side}", COUNT * seconds, DISK, "")
        for side in SIDES:
            measure_disk(results, side, folder / f"synced-{run}-{side}", SYNCED_COUNT, SYNCED, "-synced")
    return results


def table(results: Results) -> str:
    rows = ["| | rsyslog | Quarry | ratio |", "| --- | ---: | ---: | ---: |"]
    for name, title, form in LINES:
        theirs, ours = (statistics.median(results[name][side]) for side in SIDES)
        rows.append(f"| {title} | {form.format(theirs)} | {form.format(ours)} | {ours / theirs:.2f} × |")
    for name, title in (("lost", "messages lost, in all runs"), ("twice", "messages that came twice"),
                        ("disorder", "messages that came after a later one, or a gap")):
        theirs, ours = (sum(results[name][side]) for side in SIDES)
        rows.append(f"| {title} | {theirs:,.0f} | {ours:,.0f} | |")
    return "\n".join(rows)


__all__ = ["is_installed", "measure", "table"]
