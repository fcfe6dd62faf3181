"""Change sets on their way in: who may send them, what is left of what is refused, and what others see of it."""

import base64
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import subprocess

import pytest

from support import changes, places, repofile
from support.changes import ACTION, Queue, somebody, tarball

ON = {"changes": "on"}

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def server(launch_idle, fresh):
    return launch_idle(fresh, settings=ON)


@pytest.fixture
def writer(server, fresh):
    return somebody(server.port, fresh)


def nobody(repository):
    return repofile.value(repository, "SELECT cap FROM user WHERE login='nobody'")


def test_what_is_submitted_is_there_before_the_answer(writer, fresh):
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
    # His own, and those of nobody.
    assert set("giox") <= set(submission[1].removeprefix("capabilities ")) <= set("giox" + str(nobody(fresh)))
    shown = writer.get(f"/queue/{answer.json['id'][:7]}.json").json
    assert (shown["stage"], shown["submitter"], shown["is_new"]) == ("prequeue", "writer", True)


def test_the_example_of_the_manual_works(writer, fresh):
    manual = (places.TOP / "man" / "quarry-changes.7").read_text()
    start = manual.index("import datetime, hashlib")
    example: dict = {}
    exec(manual[start:manual.index(".Ed", start)].replace("\\e", "\\"), example)  # noqa: S102
    answer = example["send"](f"http://127.0.0.1:{writer.port}", writer.code, "writer", "pen", tarball({"a": b"1"}))
    assert Queue.of(fresh).stage_of(json.loads(answer)["id"]) == "prequeue"


def test_a_wrong_signature_leaves_nothing(server, writer, fresh):
    body = tarball({"a": b"1"})
    forger = somebody(server.port, fresh, password="guessed")
    assert forger.submit(body).status == 403
    headers = writer.headers("POST", "/queue?type=DC", body, changes.TARBALL)
    for target, sent in (("/queue?type=BF", body), ("/queue?type=DC", body[:-1] + b"x"), ("/queue?type=DC", b"")):
        assert writer.send("POST", target, sent, headers).status == 403
    assert writer.send("POST", "/queue?type=DC", body, {"Content-Type": changes.TARBALL}).status == 401
    assert Queue.of(fresh).files() == []
    log = server.log()
    assert 'login failed for "writer"' in log


def test_a_request_is_taken_once_and_soon_or_never(writer, fresh):
    body = tarball({"a": b"1"})
    target = "/queue?type=DC"
    headers = writer.headers("POST", target, body, changes.TARBALL)
    assert writer.send("POST", target, body, headers).status == 202
    assert writer.send("POST", target, body, headers).status == 409
    for late in (301, -330):
        answer = writer.post(target, body, late=late)
        assert answer.status == 403 and b"minutes" in answer.body
    assert len(Queue.of(fresh).names("prequeue")) == 1


def test_rights(server, fresh, writer):
    repofile.add_user(fresh, "looker", "pen", "o")
    repofile.add_user(fresh, "boss", "pen", "a")
    body = tarball({"a": b"1"})
    looker = somebody(server.port, fresh, "looker")
    boss = somebody(server.port, fresh, "boss")
    assert looker.submit(body).status == 403
    assert writer.submit(body, "EM").status == 403
    assert boss.submit(body, "EM").status == 202
    id_ = writer.submit(body).json["id"]
    queue = Queue.of(fresh)
    queue.take(id_)
    assert looker.get("/queue.json").json["counts"]["queue"] == 1
    assert looker.act(id_, "abandon").status == 403
    assert writer.act(id_, "approve").status == 403
    assert boss.act(id_, "approve", text="ticket 7").status == 200
    assert "##approval\nticket 7\n" in queue.job(id_)
    assert boss.act(id_, "hold", text="not now").status == 200
    assert "##held\nboss: not now\n" in queue.job(id_)
    assert writer.act(id_, "release").status == 403
    assert writer.act(id_, "abandon", text="no more wanted").status == 200
    assert queue.stage_of(id_) == "abandon"
    assert boss.act(id_, "retry").status == 200
    assert queue.stage_of(id_) == "queue"


def test_who_may_not_read_learns_nothing(server, fresh, writer):
    repofile.set_capabilities(fresh, "nobody", "")
    id_ = writer.submit(tarball({"a": b"1"})).json["id"]
    stranger = somebody(server.port, fresh)
    for target in ("/queue", "/queue.json", f"/queue/{id_}", f"/queue/{id_}.json", "/queue/0000"):
        answer = stranger.send("GET", target, b"", {})
        assert answer.status == 401 and id_.encode() not in answer.body
    repofile.set_capabilities(fresh, "nobody", "o")
    assert id_.encode() in stranger.send("GET", "/queue.json", b"", {}).body


def test_without_changes_there_is_no_queue(launch_idle, fresh):
    server = launch_idle(fresh, settings={"pm.max_requests": "1000"})
    writer = somebody(server.port, fresh)
    assert writer.submit(tarball({"a": b"1"})).status == 404
    assert writer.get("/queue.json").status == 404
    assert not Queue.of(fresh).base.exists()


def test_a_tarball_that_is_too_large_is_not_taken(launch_idle, fresh):
    server = launch_idle(fresh, settings={**ON, "changes.max_size": "100K"})
    writer = somebody(server.port, fresh)
    assert writer.submit(os.urandom(100 * 1024)).status == 202
    assert writer.submit(os.urandom(100 * 1024 + 1)).status == 413
    assert len(Queue.of(fresh).names("prequeue")) == 1
    assert len(Queue.of(fresh).files()) == 3


def test_hundreds_at_once(server, writer, fresh):
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
    assert writer.get("/queue.json?waiting=5").json["counts"]["prequeue"] == count


@contextlib.contextmanager
def small_disk(folder, size: str):
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@is_root
def test_a_full_disk_loses_nothing_that_was_taken(launch_idle, fresh, tmp_path):
    with small_disk(tmp_path / "queues", "600k"):
        server = launch_idle(fresh, settings={**ON, "changes.base": str(tmp_path / "queues")})
        writer = somebody(server.port, fresh)
        queue = Queue(tmp_path / "queues" / "fresh.changes")
        bodies = [tarball({"a": os.urandom(90_000)}) for _ in range(10)]
        answers = [writer.submit(body) for body in bodies]
        taken = [(answer, body) for answer, body in zip(answers, bodies) if answer.status == 202]
        full = [answer for answer in answers if answer.status != 202]
        assert len(taken) >= 3 and full
        for answer in full:
            assert answer.status == 507 and answer.json == {"error": "the server's disk is full"}
        assert queue.names("prequeue") == sorted(answer.json["name"] for answer, _ in taken)
        for answer, body in taken:
            assert (queue.base / "data" / answer.json["name"]).read_bytes() == body
        assert queue.names("tmp") == []
        # Room again, and it goes on.
        (queue.base / "data" / taken[0][0].json["name"]).unlink()
        assert writer.submit(bodies[0]).status == 202
        server.stop()


def test_hostile_paths(server, writer, fresh, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("found")
    before = sorted(tmp_path.rglob("*.changes/*"))
    for path in ("/queue/../secret", "/queue/..%2f..%2fsecret", "/queue/%2e%2e/secret", "/queue/a%00b.json",
                 "/queue/" + "a" * 5000, "/queue/*", "/queue/%ff.json", "/queue//etc/passwd", "/queue/.json",
                 "/queue.json?waiting=-1", "/queue.json?waiting=999999999999999999999", "/queue.json?branch=%zz",
                 "/queue.json?state=..", "/queue.json?after=w../../../etc/passwd", "/queue?limit=1&after=%22%3E"):
        answer = writer.get(path)
        # Of what is not the queue's, nginx asks for fossil's pages, which are not there.
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


def test_no_secret_goes_out(server, writer, fresh, quarry, tmp_path):
    """Neither in logs nor in replies nor in the list of processes."""
    secret = hashlib.sha1(f"{writer.code}/writer/pen".encode()).hexdigest()
    body = tarball({"a": b"1"})
    headers = writer.headers("POST", "/queue", body, changes.TARBALL)
    assert writer.send("POST", "/queue", body, headers).status == 202
    signature = headers["Cookie"].rsplit("+", 1)[1]
    seen = server.all_logs() + writer.get("/queue.json").body.decode() + writer.get("/queue").body.decode()
    writer.post("/queue?type=DC&token=hidden", b"", kind="text/plain")
    seen += server.all_logs()
    for each in (secret, signature, "hidden"):
        assert each not in seen
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                assert secret.encode() not in file.read()


def test_page_is_plain_and_safe(writer, fresh):
    hostile = "<img src=x onerror=alert(1)>"
    id_ = writer.submit(tarball({"<b>.txt": b"1"}, comment=hostile, target="a&b")).json["id"]
    Queue.of(fresh).take(id_)
    for target in ("/queue", f"/queue/{id_}"):
        answer = writer.get(target)
        page = answer.body.decode()
        assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html")
        assert "<img" not in page and "<b>" not in page and "&lt;img src=x" in page and "a&amp;b" in page
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "no-store" in answer.headers["Cache-Control"]
        style = page.split("<style>")[1].split("</style>")[0]
        assert "'sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() + "'" in policy


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
    assert writer.get("/team/one/queue.json").json["counts"]["prequeue"] == 1
    assert writer.get("/two/queue.json").json["counts"]["prequeue"] == 0
    assert writer.get("/nobody/queue.json").status == 404
    server.stop()
    server = launch_idle(folder.parent, settings={**ON, "changes.base": str(tmp_path / "queues")})
    id_ = somebody(server.port, one).submit(tarball({"a": b"1"}), queue="/team/one/queue").json["id"]
    assert Queue(tmp_path / "queues" / "team" / "one.changes").stage_of(id_) == "prequeue"


def test_a_form_of_another_site_submits_nothing(server, writer, fresh):
    """What a browser sends for a page without asking has one of these types."""
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        body = tarball({"a": b"1"})
        connection.request("POST", "/queue", body, writer.headers("POST", "/queue", body, kind))
        assert connection.getresponse().status in (404, 415, 502)
        connection.close()
    assert Queue.of(fresh).files() == []
    assert writer.act("ab", "hold").status == 404
    assert ACTION.startswith("application/x-")
