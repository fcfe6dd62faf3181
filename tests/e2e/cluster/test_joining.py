"""Hosts that have missed changes of a group, that have lost their files, or that join or leave the group."""

import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

import proof
from support import cluster, program, repofile
from support.cluster import Cluster, Host
from support.fossil import Checkout, Fossil, clone_and_open
from support.process import wait_until

pytestmark = pytest.mark.skipif(bool(cluster.obstacle()), reason=cluster.obstacle())

@pytest.fixture
def start_hosts(tmp_path: Path, fresh: Path) -> Iterator[Callable[..., Cluster]]:
    """Returns a function that starts three hosts with the repository `fresh`. Its arguments are directives."""
    repofile.add_user(fresh, "writer", "pen", "gioxywk")
    with ExitStack() as stack:
        yield lambda **directives: stack.enter_context(cluster.cluster(tmp_path, fresh, **directives))


def opened(fossil: Fossil, host: Host, folder: Path) -> Checkout:
    folder.mkdir()
    return clone_and_open(fossil, host.url_for("writer", "pen"), folder)[1]


def commit_and_push(fossil: Fossil, checkout: Checkout, host: Host, name: str, content: str = "text") -> str:
    checkout.commit_file(name, content, f"add {name}")
    fossil("push", "--once", host.url_for("writer", "pen"), "-R", checkout.repository)
    return checkout.head()


def run(host: Host, *command: str) -> subprocess.CompletedProcess:
    return program.quarry("replica", *command, "--config", host.folder / "quarryd.conf")


def join(host: Host, *options: str) -> dict:
    done = run(host, "join", "--json", *options)
    return json.loads(done.stdout)


def lose_files(host: Host) -> None:
    """Stops HOST and removes its repository and the state of quarry-replica, as if its disk were lost."""
    assert host.main.stop() == 0
    for path in host.repository.parent.glob("project.fossil*"):
        path.unlink()
    shutil.rmtree(host.folder / "replica")


def start_empty(host: Host) -> None:
    host.start_quarryd()
    host.wait_until_ready()
    wait_until(lambda: host.status().get("connected"), f"the connection of {host.name}")


def agrees(host: Host) -> bool:
    status = host.status()
    return bool(status.get("touched")) and status["different"] == 0 and all(each["same"] for each in status["touched"])


def test_a_host_whose_messages_were_discarded_becomes_equal_by_itself(start_hosts, fossil, tmp_path):
    hosts = start_hosts(keep_size="100K")
    one, two, away = hosts.hosts
    checkout = opened(fossil, one, tmp_path / "client")
    fossil("settings", "ignore-glob", "*.o", "-R", one.repository)
    commit_and_push(fossil, checkout, one, "first")
    hosts.wait_until_equal()
    assert away.main.stop() == 0
    head = commit_and_push(fossil, checkout, two, "missed")
    fossil("unset", "ignore-glob", "-R", one.repository)
    wait_until(lambda: not repofile.query(two.repository, "SELECT 1 FROM config WHERE name='ignore-glob'"), "the setting on host 2")
    for number in range(8):
        commit_and_push(fossil, checkout, two, f"file{number}", secrets.token_hex(20_000))
    away.start_quarryd()
    hosts.wait_until_equal(180)
    wait_until(lambda: all(agrees(host) for host in hosts.hosts), "hosts that know that they are equal", 120)
    assert head in repofile.artifacts(away.repository)
    proof.check(away.repository, fossil)


def test_a_host_that_has_lost_its_files_joins_while_clients_push(start_hosts, fossil, tmp_path):
    hosts = start_hosts(has_folder=True)
    one, two, three = hosts.hosts
    checkout = opened(fossil, one, tmp_path / "client")
    commit_and_push(fossil, checkout, one, "before", secrets.token_hex(1_500_000))
    hosts.wait_until_equal()
    lose_files(three)
    start_empty(three)
    with ThreadPoolExecutor() as pool:
        pushes = pool.submit(lambda: [commit_and_push(fossil, checkout, two, f"file{number}") for number in range(10)])
        joined = join(three)
        head = pushes.result()[-1]
    assert joined == {"error": "", "results": [{"repository": "www/project", "result": "copied", "reason": ""}]}
    hosts.wait_until_equal()
    assert head in repofile.artifacts(three.repository)
    proof.check(three.repository, fossil)
    assert "0 errors" in fossil("test-integrity", "-R", three.repository)
    assert join(three)["results"] == [{"repository": "www/project", "result": "kept", "reason": "the file exists"}]
    commit_and_push(fossil, checkout, three, "from host 3")
    hosts.wait_until_equal()


def test_an_interrupted_copy_leaves_nothing_and_can_be_repeated(start_hosts, fossil, tmp_path):
    hosts = start_hosts(has_folder=True)
    one, _, three = hosts.hosts
    checkout = opened(fossil, one, tmp_path / "client")
    commit_and_push(fossil, checkout, one, "large", secrets.token_hex(30_000_000))
    hosts.wait_until_equal(120)
    lose_files(three)
    start_empty(three)
    with ThreadPoolExecutor() as pool:
        joined = pool.submit(join, three, "--from", one.name)
        wait_until(lambda: list(three.repository.parent.iterdir()), "the download")
        os.kill(one.replica(), signal.SIGSTOP)
        assert joined.result()["error"].startswith("cannot copy www/project from host host1: ")
    assert not list(three.repository.parent.iterdir())
    # Another host answers.
    assert join(three)["results"][0]["result"] == "copied"
    os.kill(one.replica(), signal.SIGCONT)
    hosts.wait_until_equal(120)


def test_a_host_that_leaves_has_published_everything(start_hosts, fossil, tmp_path):
    hosts = start_hosts()
    one, two, three = hosts.hosts
    wait_until(lambda: len(one.status()["hosts"]) == 2, "the announcements of the other hosts")
    checkout = opened(fossil, three, tmp_path / "client")
    head = commit_and_push(fossil, checkout, three, "last")
    fossil("settings", "ignore-glob", "*.o", "-R", three.repository)
    assert "published" in run(three, "leave").stdout
    three.kill_quarryd()
    wait_until(lambda: repofile.value(one.repository, "SELECT value FROM config WHERE name='ignore-glob'") == "*.o", "the setting")
    assert head in repofile.artifacts(two.repository)
    wait_until(lambda: [each["host"] for each in one.status()["hosts"]] == ["host2"], "a group of two hosts")
