"""The queue behind nginx and Apache with our sample configurations: signatures in headers, large bodies, pages."""

import json
import os
import subprocess
import time
import urllib.request

import pytest

import proof
from support import places, repofile
from support.changes import Queue, somebody, tarball
from support.fossil import Checkout
from support.process import PATIENCE, wait_until
from support.servers import Launcher

MIB = 1 << 20


@pytest.fixture(params=["nginx", "apache"])
def server(request, fresh, fossil, tmp_path):
    base = Checkout(fossil, fresh, tmp_path / "base")
    base.commit_file("a.txt", "a\n", "base")
    launcher = Launcher(request.param, tmp_path, fossil)
    yield launcher(fresh, settings={"changes": "on", "changes.scan": "1s", "changes.max_size": "8M"}, web_pages=True)
    launcher.stop_all()


def page(server, path, kind="text/html"):
    request = urllib.request.Request(server.url + path, headers={"Accept": kind})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.headers["Content-Type"], reply.read().decode()


def test_submitting_and_pages_work_behind_a_web_server(server, fresh, fossil, quarry, tmp_path):
    there = ["--to", server.url, "--user", "writer", "--password-file", quarry.password("pen")]
    clone = fossil.clone(server.url_for("writer", "pen"), tmp_path / "clone.fossil")
    work = Checkout(fossil, clone, tmp_path / "work")
    work.write("a.txt", "from a check-out\n")
    done = subprocess.run([places.program("quarry"), "submit", *there, "--target", "trunk", "--comment", "through it",
                           "--wait"], cwd=work.folder, env=quarry.environment, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    id_ = done.stdout.split()[0]
    assert fossil("cat", "a.txt", "-r", "trunk", "-R", fresh) == "from a check-out\n"
    # The queue records the client's address, not the address of the web server.
    assert "##address\n127.0.0.1\n" in Queue.of(fresh).job(id_)
    listed = json.loads(quarry("queue", "list", "--json", *there))
    assert [(each["id"], each["state"]) for each in listed["jobs"]] == [(id_, "landed")]
    assert "landed" in quarry("queue", "log", id_[:8], *there)
    repofile.add_user(fresh, "boss", "pen", "s")
    boss = [*there[:2], "--user", "boss", *there[4:]]
    quarry("queue", "freeze", "trunk", *boss)
    late = somebody(server.port, fresh).submit(tarball({"a.txt": b"late\n"})).json["id"]
    wait_until(lambda: Queue.of(fresh).stage_of(late) not in ("prequeue", "run"), "it waits")
    quarry("queue", "hold", late, "--why", "wait & see: 100% ü?", *boss)
    assert "boss: wait & see: 100% ü?" in quarry("queue", "show", late, *there)
    wrong = [*there[:4], "--password-file", quarry.password("wrong")]
    assert "hold" not in quarry.refused("queue", "release", late, *wrong)
    kind, text = page(server, "queue")
    assert kind.startswith("text/html") and "through it" in text and late[:8] in text
    kind, text = page(server, f"queue/{id_}")
    assert "through it" in text and "href=\"../queue\"" in text
    assert page(server, "queue.json?state=landed&limit=1")[0].startswith("application/json")
    assert "through it" in page(server, "timeline")[1]
    work("revert")
    work("update")
    work.write("a.txt", "pushed\n")
    work.commit("pushed")
    work("push", server.url_for("writer", "pen"))
    assert fossil("cat", "a.txt", "-r", "trunk", "-R", fresh) == "pushed\n"
    server.stop()
    proof.check(fresh, fossil)


def test_nginx_delays_an_address_that_reads_a_queue_very_often(server):
    if server.kind != "nginx":
        pytest.skip("the sample of Apache does not contain a rate limit")
    begin = time.monotonic()
    for _ in range(60):
        page(server, "queue")
    assert time.monotonic() - begin > 0.7


def test_bodies_up_to_the_limit(server, fresh):
    writer = somebody(server.port, fresh)
    large = os.urandom(7 * MIB)
    answer = writer.submit(tarball({"large.bin": large}))
    assert answer.status == 202, answer.body
    assert Queue.of(fresh).content(answer.json["id"])["lroot/large.bin"] == large
    wait_until(lambda: writer.get(f"/queue/{answer.json['id']}.json").json["state"] == "landed", "it lands")
    answer = writer.submit(tarball({"larger.bin": os.urandom(9 * MIB)}))
    assert answer.status == 413 and "changes.max_size" in answer.json["error"]
    body = tarball({"a.txt": b"b\n"})
    target = "/queue?type=DC&r=1"
    assert writer.send("POST", target, body + b"x", writer.headers("POST", target, body, "application/x-quarry-change-set")
                       ).status == 403
