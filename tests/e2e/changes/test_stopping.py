"""Change sets that are stopped, and servers that stop, while a gate runs."""

import os
import signal
from pathlib import Path

import pytest

from support import places, process, repofile
from support.changes import somebody, tarball
from support.process import processes, wait_until


@pytest.fixture
def server(launch, repository, everybodys, mark):
    gate = everybodys / "gate"
    # The gate starts a background process, which must be killed together with the gate.
    gate.write_text("#!/bin/sh\ngrep -q slow a.txt || exit 0\n"
                    f"sh -c 'sleep 300; : {mark}' &\nsh -c 'sleep 300; : {mark}'\n")
    gate.chmod(0o755)
    return launch(repository, settings={"changes": "on", "changes.scan": "1s", "changes.gate": gate,
                                   "changes.gate_read": everybodys,
                                   **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})


@pytest.mark.parametrize(("action", "state"), [("abandon", "abandoned"), ("terminate", "terminated")])
def test_stopping_a_change_set_kills_its_gate(server, fresh, fossil, quarry, mark, action, state):
    repofile.add_user(fresh, "other", "pen", "io")
    writer, other = somebody(server.port, fresh), somebody(server.port, fresh, "other")
    slow = writer.submit(tarball({"a.txt": b"slow\n"})).json["id"]
    wait_until(lambda: len(processes(mark)) >= 2, "the gate sleeps")
    assert writer.get(f"/queue/{slow}.json").json["state"] == "running"
    assert other.act(slow, action).status == 403
    assert len(processes(mark)) >= 2
    if action == "abandon":
        assert writer.act(slow, action, text="not now").status == 200
    else:
        quarry("queue", action, slow, "--why", "not now", "-R", fresh)
    wait_until(lambda: writer.get(f"/queue/{slow}.json").json["state"] == state, "it is stopped")
    assert writer.get(f"/queue/{slow}.json").json["why"].endswith(": not now")
    wait_until(lambda: not processes(mark), "the gate is gone")
    fast = writer.submit(tarball({"a.txt": b"fast\n"})).json["id"]
    wait_until(lambda: writer.get(f"/queue/{fast}.json").json["state"] == "landed", "another lands")
    assert fossil("cat", "a.txt", "-r", "trunk", "-R", fresh) == "fast\n"
    assert not list((fresh.parent / f"{fresh.name}.changes" / "tmp").iterdir())
    server.stop()
    assert fossil.integrity(fresh) == ""


@pytest.fixture
def go(everybodys):
    """The gate waits until this file exists."""
    return everybodys / "go"


@pytest.fixture
def waiting(launch, repository, everybodys, go, mark):
    """Starts a server whose gate has begun to wait, and returns the server and the change set."""
    gate = places.executable(everybodys / "gate",
                             f"#!/bin/sh\nsh -c 'until [ -e {go} ]; do sleep 0.05; done; : {mark}'\n")

    def start():
        return launch(repository, settings={"changes": "on", "changes.scan": "1s", "changes.gate": gate,
                                            "changes.gate_read": everybodys,
                                            **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})

    server = start()
    id_ = somebody(server.port, repository).submit(tarball({"a.txt": b"slow\n"})).json["id"]
    wait_until(lambda: processes(mark), "the gate")
    return server, id_, start


def assert_lands(server, repository, id_, check_ins=3):
    """Waits until the change set has landed. CHECK_INS is the expected number of check-ins, including the first two."""
    writer = somebody(server.port, repository)
    wait_until(lambda: writer.get(f"/queue/{id_}.json").json["state"] == "landed", "it has landed")
    assert repofile.value(repository, "SELECT count(*) FROM event WHERE type='ci'") == check_ins


def test_nothing_lands_after_the_server_has_stopped(waiting, fresh, fossil, go, mark):
    server, id_, start = waiting
    server.stop()
    assert not processes(mark)
    go.touch()
    check_ins = repofile.value(fresh, "SELECT count(*) FROM event WHERE type='ci'")
    assert check_ins == 2
    assert_lands(start(), fresh, id_)
    assert fossil.integrity(fresh) == ""


def test_the_end_of_a_daemon_interrupts_its_gates(waiting, fresh, go, mark):
    server, id_, _ = waiting
    gate = processes(mark)[0]
    daemon, = (pid for pid in process.children(server.main.pid)
               if b"\0execution\0" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(daemon, signal.SIGKILL)
    wait_until(lambda: not process.exists(gate), "the gate has ended")
    go.touch()
    assert_lands(server, fresh, id_)


def test_a_reload_interrupts_no_gate(waiting, fresh, go, mark):
    server, id_, _ = waiting
    os.kill(server.main.pid, signal.SIGUSR2)
    wait_until(lambda: server.log().count("ready: ") == 2, "the reload")
    # The daemons of the next generation execute other change sets while the old daemon finishes its job.
    writer = somebody(server.port, fresh)
    other = writer.submit(tarball({"b.txt": b"other\n"})).json["id"]
    wait_until(lambda: writer.get(f"/queue/{other}.json").json["state"] == "running", "the other one's gate")
    assert writer.get(f"/queue/{id_}.json").json["state"] == "running"
    go.touch()
    wait_until(lambda: writer.get(f"/queue/{other}.json").json["state"] == "landed", "the other one has landed")
    assert_lands(server, fresh, id_, check_ins=4)
    assert [line["state"] for line in writer.get(f"/queue/{id_}.json").json["history"]].count("running") == 1
