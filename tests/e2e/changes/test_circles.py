"""Change sets that depend on each other in a circle. Nobody can submit one, since an id is known only when the server has
given it: it takes somebody who writes or replaces files in the queue's own folders. Each fails with its reason, what is
beside it lands, and nothing waits for ever."""

import pytest

from support import changes, repofile
from support.changes import Queue, somebody, tarball
from support.fossil import Checkout
from support.process import wait_until

OVER = ("done", "fail", "term", "abandon")
ON = {"changes": "on", "changes.scan": "1s"}


@pytest.fixture
def repository(fresh, fossil, tmp_path):
    base = Checkout(fossil, fresh, tmp_path / "base")
    for name in ("a.txt", "b.txt"):
        base.write(name, f"{name}\n")
        base("add", name)
    base.commit("base")
    repofile.add_user(fresh, "boss", "pen", "a")
    return fresh


def write(queue: Queue, stage: str, id_: str, dependencies: list[str], kind: str = "DC", files: str = "b.txt",
          history: str = "Q by hand", more: str = "") -> None:
    """A job file as somebody would write it, with a tarball that has nothing to do with it."""
    name = f"{id_}_400000006a000000{int(id_[-8:], 16) & 0xffff:08x}_1_h_{kind}_x"
    target = "" if kind == "RB" else f"##target\ntrunk\n##files\n{files}\n"
    text = f"##movetype\n{kind}\n{target}"
    text += "##dependencies\n" + "".join(f"{each}\n" for each in dependencies) if dependencies else ""
    text += f"##comment\nby hand\n{more}##submitter\nwriter\ngio\n##history\n2026-01-01T00:00:00.000 {history}\n"
    path = queue.base / "tmp" / name
    path.write_text(text)
    path.chmod(0o600)
    (queue.base / "data" / name).write_bytes(tarball({"b.txt": id_.encode()}))
    path.rename(queue.base / stage / name)


def reason(queue: Queue, id_: str) -> str:
    return queue.job(id_).splitlines()[-1]


def until_over(queue: Queue, *ids: str) -> dict[str, str]:
    wait_until(lambda: all(queue.is_in(each, *OVER) for each in ids), f"the end of {ids}")
    return {each: queue.stage_of(each) for each in ids}


def test_a_circle_by_hand_fails_and_others_land(launch, repository):
    server = launch(repository, settings=ON)
    writer, queue = somebody(server.port, repository), Queue.of(repository)
    first = writer.submit(tarball({"a.txt": b"one\n"})).json["id"]
    assert until_over(queue, first) == {first: "done"}
    itself, pair, three = "1" * 16, ["2" * 16, "3" * 16], ["4" * 16, "5" * 16, "6" * 16]
    server.stop()
    write(queue, "queue", itself, [itself])
    for number, each in enumerate(pair):
        write(queue, "queue", each, [pair[1 - number]])
    for number, each in enumerate(three):
        write(queue, "queue", each, [first, three[(number + 1) % 3]])
    ids = [itself, *pair, *three]
    server = launch(repository, settings=ON)
    writer.port = server.port
    assert until_over(queue, *ids) == dict.fromkeys(ids, "fail")
    assert f"it depends on {itself}, which depends on it" in reason(queue, itself)
    for circle in (pair, three):
        reasons = [reason(queue, each) for each in circle]
        # One closes the circle; the others depended on what did not land.
        assert sum("which depends on it" in text for text in reasons) == 1, reasons
        assert sum("did not land" in text for text in reasons) == len(circle) - 1, reasons
    assert writer.get(f"/queue/{pair[0]}.json").json["stage"] == "fail"
    last = writer.submit(tarball({"b.txt": b"good\n"})).json["id"]
    assert until_over(queue, last) == {last: "done"}
    assert repofile.value(repository, "SELECT count(*) FROM event WHERE type='ci'") == 4


def test_a_circle_made_of_files_that_are_replaced(launch, repository):
    """Both wait, one for the other; then the first is made to wait for the second."""
    server = launch(repository, settings=ON)
    writer, boss, queue = somebody(server.port, repository), somebody(server.port, repository, "boss"), Queue.of(repository)
    assert boss.post("/queue/freeze?branch=trunk&r=1", kind=changes.ACTION).status == 200
    one = writer.submit(tarball({"a.txt": b"one\n"})).json["id"]
    wait_until(lambda: queue.is_in(one, "staging"), "its order")
    other = writer.submit(tarball({"b.txt": b"two\n"}, dependencies=one)).json["id"]
    wait_until(lambda: queue.is_in(other, "staging"), "its order")
    server.stop()
    name = next(each for each in queue.names("staging") if each.startswith(one))
    path = queue.base / "staging" / name
    path.write_text(path.read_text().replace("##comment", f"##dependencies\n{other}\n##comment"))
    server = launch(repository, settings=ON)
    writer.port = boss.port = server.port
    assert until_over(queue, one, other) == {one: "fail", other: "fail"}
    reasons = reason(queue, one) + reason(queue, other)
    assert "which depends on it" in reasons and "did not land" in reasons, reasons
    assert boss.post("/queue/thaw?branch=trunk&r=2", kind=changes.ACTION).status == 200
    last = writer.submit(tarball({"a.txt": b"good\n"})).json["id"]
    assert until_over(queue, last) == {last: "done"}


def test_rollbacks_in_circles(launch, repository, quarry):
    server = launch(repository, settings=ON)
    writer, queue = somebody(server.port, repository), Queue.of(repository)
    landed = writer.submit(tarball({"a.txt": b"one\n"})).json["id"]
    assert until_over(queue, landed) == {landed: "done"}
    itself, pair = "a" * 16, ["b" * 16, "c" * 16]
    write(queue, "queue", itself, [itself], "RB")
    for number, each in enumerate(pair):
        write(queue, "queue", each, [pair[1 - number]], "RB")
    ids = [itself, *pair]
    assert until_over(queue, *ids) == dict.fromkeys(ids, "fail")
    for each in ids:
        assert "is a rollback" in reason(queue, each), reason(queue, each)
    # One that would be taken back by what it waits for goes, and that lands.
    rollback, waiting = "d" * 16, "e" * 16
    server.stop()
    write(queue, "queue", waiting, [landed, rollback])
    write(queue, "queue", rollback, [landed], "RB")
    launch(repository, settings=ON)
    assert until_over(queue, rollback, waiting) == {rollback: "done", waiting: "abandon"}
    assert f"taken back by {rollback}" in reason(queue, waiting)


def test_those_that_each_followed_the_other_are_taken_back_together(launch, repository, quarry, fossil):
    """##precursors in a circle, as no queue writes them: nobody waits for these, and a rollback goes through them once."""
    server = launch(repository, settings=ON)
    writer, queue = somebody(server.port, repository), Queue.of(repository)
    ids = [writer.submit(tarball({"a.txt": text})).json["id"] for text in (b"one\n", b"two\n")]
    until_over(queue, *ids)
    server.stop()
    for id_, other in (ids, reversed(ids)):
        path = next(each for each in (queue.base / "done").iterdir() if each.name.startswith(id_))
        text = path.read_text()
        begin, _, rest = text.partition("##precursors\n")
        text = begin + rest[17:] if rest else begin
        # Both at one moment: who was first cannot be told.
        lines = [line if " D " not in line else "2026-01-01T00:00:00.000 D landed" for line in text.splitlines()]
        path.write_text("\n".join(lines).replace("##comment", f"##precursors\n{other}\n##comment") + "\n")
    launch(repository, settings=ON)
    listed = quarry("queue", "rollback", ids[0], "--dry-run", "-R", repository)
    assert all(each[:8] in listed for each in ids)
    rollback = quarry("queue", "rollback", ids[0], "-R", repository).split()[-1]
    stages = until_over(queue, rollback)
    assert stages == {rollback: "done"}, queue.job(rollback)
    assert fossil("cat", "a.txt", "-r", "trunk", "-R", repository) == "a.txt\n"
