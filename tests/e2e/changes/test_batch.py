"""Change sets that are landed together, after one gate."""

import os

import proof
from support import repofile
from support.changes import somebody, tarball
from support.fossil import Checkout
from support.process import wait_until

COUNT = 8
GUILTY = 5


def test_of_eight_that_one_gate_refuses_the_guilty_alone_fails(launch, fresh, fossil, tmp_path, everybodys):
    base = Checkout(fossil, fresh, tmp_path / "base")
    base.commit_file("base.txt", "base\n", "base")
    gate = everybodys / "gate"
    gate.write_text("#!/bin/sh\ngrep -l bad f*.txt\ntest $? = 1\n")
    gate.chmod(0o755)
    server = launch(fresh, settings={"changes": "on", "changes.scan": "1s", "changes.batch": COUNT, "changes.children": 1,
                                     "changes.gate": gate, "changes.gate_read": everybodys,
                                     **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})
    repofile.add_user(fresh, "boss", "pen", "a")
    writer, boss = somebody(server.port, fresh), somebody(server.port, fresh, "boss")
    assert boss.post("/queue/freeze?branch=trunk&r=1", kind="application/x-quarry-action").status == 200
    ids = [writer.submit(tarball({f"f{n}.txt": b"bad\n" if n == GUILTY else b"good\n"}, comment=f"number {n}")).json["id"]
           for n in range(COUNT)]
    wait_until(lambda: all("frozen" in writer.get(f"/queue/{each}.json?ask=why").json.get("why", "") for each in ids),
               "all wait")
    assert boss.post("/queue/thaw?branch=trunk&r=2", kind="application/x-quarry-action").status == 200

    def seen():
        return [writer.get(f"/queue/{each}.json").json for each in ids]

    wait_until(lambda: all(each["stage"] in ("done", "fail") for each in seen()), "all are over")
    for n, each in enumerate(seen()):
        assert each["stage"] == ("fail" if n == GUILTY else "done"), each["why"]
        assert (f"f{GUILTY}.txt" in each["output"]) == (n == GUILTY), each["output"]
    # Some were looked at together, and each became a check-in of its own.
    assert "change sets)" in seen()[0]["output"]
    landed = [each["landed"] for n, each in enumerate(seen()) if n != GUILTY]
    assert len(set(landed)) == COUNT - 1
    timeline = fossil("timeline", "-n", 20, "-W", 0, "-t", "ci", "-R", fresh)
    assert [n for n in range(COUNT) if f"number {n} (user: writer" in timeline] == [n for n in range(COUNT) if n != GUILTY]
    listed = fossil("ls", "-r", "trunk", "-R", fresh).split()
    assert listed == ["base.txt", *(f"f{n}.txt" for n in range(COUNT) if n != GUILTY)]
    assert fossil.integrity(fresh) == ""
    server.stop()
    proof.check(fresh, fossil)
