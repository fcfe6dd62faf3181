"""What is over is forgotten after a time, and what is needed stays."""

import shutil

import pytest

import proof
from support import repofile
from support.changes import Queue, somebody, tarball
from support.process import wait_until

KEPT_FOR_A_MOMENT = {"changes": "on", "changes.scan": "1s", "changes.keep": "2s"}


def files_of(queue, id_):
    return [name for name in queue.files() if id_ in name]


def test_what_has_landed_is_forgotten_and_never_lands_again(launch, repository, fossil, quarry, tmp_path):
    queue = Queue.of(repository)
    server = launch(repository, settings={"changes": "on", "changes.scan": "1s"})
    writer = somebody(server.port, repository)
    id_ = writer.submit(tarball({"a.txt": b"changed\n"})).json["id"]
    wait_until(lambda: queue.names("done"), "the landing")
    server.stop()
    name = queue.names("done")[0]
    copy = tmp_path / "copy"
    shutil.copytree(queue.base / "data", copy)

    server = launch(repository, settings=KEPT_FOR_A_MOMENT)
    writer.port = server.port
    wait_until(lambda: files_of(queue, id_) == [], "the end of what was kept")
    assert writer.get(f"/queue/{id_}.json").status == 404
    for command in ("show", "log", "why", "rollback", "retry"):
        assert "it is not kept here any more" in quarry.refused("queue", command, id_, "-R", repository), command
    # What depends on it fails, and says why.
    late = writer.submit(tarball({"a.txt": b"later\n"}, dependencies=id_)).json["id"]
    wait_until(lambda: "or no longer" in writer.get(f"/queue/{late}.json").json.get("why", "")
               or files_of(queue, late) == [], "its failure")
    server.stop()

    # Somebody puts it back by hand, as if it were new.
    server = launch(repository, settings={"changes": "on", "changes.scan": "1s"})
    for each in copy.iterdir():
        shutil.copy(each, queue.base / "data" / each.name)
    (queue.base / "prequeue" / name).touch(mode=0o600)
    wait_until(lambda: queue.names("done") == [name], "its second outcome")
    assert "has landed before" in queue.job(id_)
    assert repofile.value(repository, "SELECT count(*) FROM event WHERE type='ci'") == 3
    server.stop()
    proof.check(repository, fossil)


@pytest.mark.slow
def test_what_something_waits_for_stays(launch, repository, quarry, tmp_path):
    queue = Queue.of(repository)
    server = launch(repository, settings={"changes": "on", "changes.scan": "1s"})
    writer = somebody(server.port, repository)
    needed = writer.submit(tarball({"a.txt": b"changed\n"})).json["id"]
    wait_until(lambda: queue.names("done"), "the landing")
    quarry("queue", "freeze", "trunk", "-R", repository)
    waiting = writer.submit(tarball({"a.txt": b"more\n"}, dependencies=needed)).json["id"]
    wait_until(lambda: queue.names("staging"), "the order")
    server.stop()

    server = launch(repository, settings=KEPT_FOR_A_MOMENT)
    writer.port = server.port
    other = writer.submit(b"no tarball").json["id"]
    # That one fails, and is forgotten: so there was a pass over all, long after the first had landed.
    wait_until(lambda: files_of(queue, other) == [], "the end of what nobody needs")
    assert queue.stage_of(needed) == "done" and len(files_of(queue, needed)) == 4
    quarry("queue", "thaw", "trunk", "-R", repository)
    wait_until(lambda: files_of(queue, waiting) == [], "its landing, and its end")
    wait_until(lambda: files_of(queue, needed) == [], "the end of what nobody needs any more")
    assert repofile.value(repository, "SELECT count(*) FROM event WHERE type='ci'") == 4
