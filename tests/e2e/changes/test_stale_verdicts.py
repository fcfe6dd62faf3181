"""Change sets whose gate has to run again, because the branch moved or the gate rejected a batch. They must not be
overtaken again and again, and an emergency must not wait for the further runs for a batch."""

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import repofile
from support.changes import Somebody, somebody, tarball
from support.process import processes, wait_until
from support.servers import Server


@dataclass
class Branch:
    """A branch whose gate waits, for each file and tip, until the test lets the file pass."""
    server: Server
    writer: Somebody
    folder: Path
    mark: str
    tip: str

    def submit(self, name: str, kind: str = "DC") -> str:
        """Submits a change of NAME, and waits until its gate runs on the current tip."""
        id_ = self.writer.submit(tarball({name: b"new\n"}, kind=kind), kind).json["id"]
        self.wait_for_gate(name)
        return id_

    def wait_for_gate(self, name: str) -> None:
        wait_until(lambda: processes(f"{self.mark}-{name}-{self.tip}"), f"the gate of {name} on {self.tip}")

    def accept(self, name: str, tip: str = "", code: int = 0) -> None:
        """Lets the gate accept the change of NAME on TIP (default: the current tip), or exit with CODE."""
        run = f"{name}-{tip or self.tip}"
        (self.folder / "code").write_text(str(code))
        (self.folder / "code").rename(self.folder / run)
        wait_until(lambda: not processes(f"{self.mark}-{run}"), f"the end of the gate for {run}")

    def state(self, id_: str) -> str:
        return self.writer.get(f"/queue/{id_}.json").json["state"]

    def land(self, id_: str) -> None:
        """Waits until the change set lands, and updates the tip."""
        wait_until(lambda: self.state(id_) == "landed", f"{id_} has landed")
        self.tip = self.writer.get(f"/queue/{id_}.json").json["landed"]

    def expect_to_wait(self, id_: str) -> None:
        """Requires that the change set, which its gate has accepted, does not land yet."""
        with contextlib.suppress(AssertionError):
            wait_until(lambda: self.state(id_) == "landed", "a landing out of turn", seconds=1)
        assert self.state(id_) == "running"

    def runs(self, id_: str) -> list[str]:
        """Returns the tips on which the gate has accepted the change set."""
        output = self.writer.get(f"/queue/{id_}.json").json["output"]
        return [line.split()[-1] for line in output.splitlines() if line.startswith("accepted on ")]


@pytest.fixture
def branch(launch, repository, everybodys, mark, request):
    gate = everybodys / "gate"
    gate.write_text("#!/bin/sh\n"
                    'run="$(paste -sd+ "$QUARRY_FILES")-$QUARRY_TIP"\n'
                    f"sh -c 'until [ -e {everybodys}/\"$1\" ]; do sleep 0.05; done; : \"$0\"' \"{mark}-$run\" \"$run\"\n"
                    f'code=$(cat "{everybodys}/$run")\n'
                    'test "$code" != 0 || echo "accepted on $QUARRY_TIP"\n'
                    'exit "$code"\n')
    gate.chmod(0o755)
    server = launch(repository, settings={"changes": "on", "changes.scan": "1s", "changes.emergency": "i",
                                          "changes.gate": gate, "changes.gate_read": everybodys,
                                          **getattr(request, "param", {}),
                                          **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})
    tip = repofile.value(repository, "SELECT uuid FROM blob JOIN leaf USING (rid)")
    return Branch(server, somebody(server.port, repository), everybodys, mark, str(tip))


def test_nothing_lands_while_a_gate_runs_again(branch, fresh, fossil):
    root = branch.tip
    first = branch.submit("a.txt")
    emergency = branch.submit("b.txt", "EM")
    branch.accept("a.txt")
    branch.land(first)
    after_first = branch.tip
    other = branch.submit("c.txt")
    branch.accept("b.txt", root)
    branch.wait_for_gate("b.txt")
    # The tip has not moved since the gate of c.txt began. c.txt waits because the emergency's gate is running again.
    branch.accept("c.txt")
    branch.expect_to_wait(other)
    branch.accept("b.txt")
    branch.land(emergency)
    after_emergency = branch.tip
    branch.wait_for_gate("c.txt")
    branch.accept("c.txt")
    branch.land(other)
    assert branch.runs(first) == [root]
    assert branch.runs(emergency) == [root, after_first]
    assert branch.runs(other) == [after_first, after_emergency]
    branch.server.stop()
    assert fossil.integrity(fresh) == ""


def test_the_next_generation_does_not_overtake_a_gate(branch):
    root = branch.tip
    first = branch.submit("a.txt")
    os.kill(branch.server.main.pid, signal.SIGUSR2)
    wait_until(lambda: branch.server.log().count("ready: ") == 2, "the reload")
    other = branch.submit("b.txt")
    branch.accept("b.txt")
    branch.expect_to_wait(other)
    branch.accept("a.txt")
    branch.land(first)
    branch.wait_for_gate("b.txt")
    branch.accept("b.txt")
    after_first = branch.tip
    branch.land(other)
    assert branch.runs(first) == [root] and branch.runs(other) == [root, after_first]


@pytest.mark.parametrize("branch", [{"changes.batch": 4, "changes.children": 1}], indirect=True)
@pytest.mark.parametrize(("file", "rest"), [("e.txt", "c.txt+d.txt"), ("d.txt", "c.txt")],
                         ids=["another-file", "a-file-of-the-batch"])
def test_an_emergency_does_not_wait_for_the_halves_of_a_batch(branch, file, rest):
    first = branch.submit("z.txt")
    sets = [branch.writer.submit(tarball({f"{name}.txt": b"new\n"})).json["id"] for name in "abcd"]
    wait_until(lambda: all(branch.state(id_) == "pending" for id_ in sets), "the batch waits")
    branch.accept("z.txt")
    branch.land(first)
    branch.wait_for_gate("a.txt+b.txt+c.txt+d.txt")
    branch.accept("a.txt+b.txt+c.txt+d.txt", code=100)
    branch.wait_for_gate("a.txt+b.txt")
    emergency = branch.writer.submit(tarball({file: b"urgent\n"}, kind="EM"), "EM").json["id"]
    wait_until(lambda: branch.state(emergency) == "pending", "the emergency waits")
    branch.accept("a.txt+b.txt")
    branch.land(sets[1])
    assert branch.state(sets[0]) == "landed"
    branch.wait_for_gate(file)
    assert [branch.state(id_) for id_ in sets[2:]] == ["pending", "pending"]
    branch.accept(file)
    branch.land(emergency)
    branch.wait_for_gate(rest)
