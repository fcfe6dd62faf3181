"""Submitting change sets over HTTP."""

import concurrent.futures
import contextlib
import hashlib
import json
import os

import pytest

from support import changes, places, repofile
from support.changes import Queue, somebody, tarball

ON = {"changes": "on"}


@pytest.fixture
def server(launch_idle, fresh):
    return launch_idle(fresh, settings=ON)


@pytest.fixture
def writer(server, fresh):
    return somebody(server.port, fresh)


def nobody(repository):
    return repofile.value(repository, "SELECT cap FROM user WHERE login='nobody'")


def test_a_submission_is_stored_before_it_is_answered(writer, fresh):
    body = tarball({"a.txt": b"one\n", "gone.txt": None})
    answer = writer.submit(body)
    assert answer.status == 202, answer.body
    queue = Queue.of(fresh)
    name = answer.json["name"]
    assert name.startswith(answer.json["id"] + "_") and name.endswith("_DC_writer")
    assert queue.files() == [f"data/{name}", f"data/{name}.submission", f"prequeue/{name}"]
    assert (queue.base / "data" / name).read_bytes() == body
    assert (queue.base / "prequeue" / name).stat().st_size == 0
    for path in (queue.base / "prequeue" / name, queue.base / "data" / name):
        assert path.stat().st_mode & 0o777 == 0o600
    submission = (queue.base / "data" / f"{name}.submission").read_text().splitlines()
    assert submission[0] == "submitter writer" and submission[2] == "address 127.0.0.1"
    # The submission records the capabilities of the users writer and nobody.
    assert set("giox") <= set(submission[1].removeprefix("capabilities ")) <= set("giox" + str(nobody(fresh)))
    shown = writer.get(f"/queue/{answer.json['id'][:7]}.json").json
    assert (shown["state"], shown["submitter"], shown["is_new"]) == ("submitted", "writer", True)


def test_the_example_of_the_manual_works(writer, fresh):
    manual = (places.TOP / "man" / "quarry-changes.7").read_text()
    start = manual.index("import datetime, hashlib")
    example: dict = {}
    exec(manual[start:manual.index(".Ed", start)].replace("\\e", "\\"), example)  # noqa: S102
    answer = example["send"](f"http://127.0.0.1:{writer.port}", writer.code, "writer", "pen", tarball({"a": b"1"}))
    assert Queue.of(fresh).stage_of(json.loads(answer)["id"]) == "prequeue"


def test_without_changes_there_is_no_queue(launch_idle, fresh):
    server = launch_idle(fresh, settings={"pm.max_requests": "1000"})
    writer = somebody(server.port, fresh)
    assert writer.submit(tarball({"a": b"1"})).status == 404
    assert writer.get("/queue.json").status == 404
    assert not Queue.of(fresh).base.exists()


def test_hundreds_of_concurrent_submissions(server, writer, fresh):
    count = 300
    bodies = [tarball({f"f{i}.txt": os.urandom(2000)}) for i in range(count)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(writer.submit, bodies))
    assert {answer.status for answer in answers} == {202}
    queue = Queue.of(fresh)
    assert len({answer.json["id"] for answer in answers}) == count
    assert sorted(answer.json["name"] for answer in answers) == queue.names("prequeue")
    for answer, body in zip(answers, bodies):
        assert (queue.base / "data" / answer.json["name"]).read_bytes() == body
    assert queue.names("tmp") == []
    assert writer.get("/queue.json?waiting=5").json["counts"]["submitted"] == count


def test_hostile_paths(server, writer, fresh, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("found")
    before = sorted(tmp_path.rglob("*.changes/*"))
    for path in ("/queue/../secret", "/queue/..%2f..%2fsecret", "/queue/%2e%2e/secret", "/queue/a%00b.json",
                 "/queue/" + "a" * 5000, "/queue/*", "/queue/%ff.json", "/queue//etc/passwd", "/queue/.json",
                 "/queue.json?waiting=-1", "/queue.json?waiting=999999999999999999999", "/queue.json?branch=%zz",
                 "/queue.json?state=..", "/queue.json?after=w../../../etc/passwd", "/queue?limit=1&after=%22%3E"):
        answer = writer.get(path)
        # nginx passes all other paths to fossil's pages. fossil is not running in this test, so nginx replies with 502.
        assert answer.status in (200, 400, 404, 409, 414, 502), (path, answer.status)
        assert b"found" not in answer.body and b"root:" not in answer.body
    for action in ("", "hold/more", "../../x", "explode", "HOLD"):
        assert writer.act("ab", action).status in (400, 404, 415, 502), action
    for name in ("a\nb", "", "x" * 3000):
        repofile.add_user(fresh, "boss", "pen", "a")
        assert somebody(server.port, fresh, "boss").act("freeze", "", branch=name).status in (400, 404)
    assert sorted(tmp_path.rglob("*.changes/*")) == before
    assert server.is_running()


def test_garbage_in_cookies_and_dates(server, writer, fresh):
    body = tarball({"a": b"1"})
    good = writer.headers("POST", "/queue", body, changes.TARBALL)
    for cookie in ("x-f-l-c=", "x-f-l-c=login", "x-f-l-c=login+a+b+c", "x-f-l-c=%00", "x-f-l-c=login+writer+%ff+%ff",
                   "x-f-l-c=" + "a" * 4000, "x-f-l-c=login+nobody+x+y", "x-f-l-c=login+anonymous+x+y"):
        answer = writer.send("POST", "/queue", body, {**good, "Cookie": cookie})
        assert answer.status in (401, 403), (cookie, answer.status, answer.body)
    for date in ("", "now", "2026-13-45T00:00:00Z", "9" * 200, "0000-00-00T00:00:00Z"):
        assert writer.send("POST", "/queue", body, {**good, "X-Quarry-Date": date}).status in (400, 403), date
    assert Queue.of(fresh).files() == []


def test_secrets_are_neither_logged_nor_returned(server, writer, fresh, quarry, tmp_path):
    """The list of processes must not contain the secrets either."""
    secret = hashlib.sha1(f"{writer.code}/writer/pen".encode()).hexdigest()
    body = tarball({"a": b"1"})
    headers = writer.headers("POST", "/queue", body, changes.TARBALL)
    assert writer.send("POST", "/queue", body, headers).status == 202
    signature = headers["Cookie"].rsplit("+", 1)[1]
    seen = server.all_logs() + writer.get("/queue.json").body.decode() + writer.get("/queue").body.decode()
    writer.post("/queue?type=DC&token=opensesame", b"", kind="text/plain")
    seen += server.all_logs()
    for each in (secret, signature, "opensesame"):
        assert each not in seen
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                assert secret.encode() not in file.read()


def test_repositories_of_a_folder_have_queues_of_their_own(launch_idle, fresh, tmp_path):
    folder = tmp_path / "served" / "team"
    folder.mkdir(parents=True)
    one = repofile.copy(fresh, folder / "one.fossil")
    two = repofile.copy(fresh, folder.parent / "two.fossil")
    server = launch_idle(folder.parent, settings=ON)
    writer = somebody(server.port, one)
    id_ = writer.submit(tarball({"a": b"1"}), queue="/team/one/queue").json["id"]
    assert Queue.of(one).stage_of(id_) == "prequeue"
    assert not Queue.of(two).base.exists()
    assert writer.get("/team/one/queue.json").json["counts"]["submitted"] == 1
    assert writer.get("/two/queue.json").json["counts"]["submitted"] == 0
    assert writer.get("/nobody/queue.json").status == 404
    server.stop()
    server = launch_idle(folder.parent, settings={**ON, "changes.base": str(tmp_path / "queues")})
    id_ = somebody(server.port, one).submit(tarball({"a": b"1"}), queue="/team/one/queue").json["id"]
    assert Queue(tmp_path / "queues" / "team" / "one.changes").stage_of(id_) == "prequeue"
