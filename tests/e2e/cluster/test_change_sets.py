"""Change sets on three hosts that replicate a repository."""

import contextlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import proof
from support import cluster, process, repofile
from support.changes import Somebody, tarball
from support.cluster import Cluster, Host
from support.fossil import Checkout, Fossil, clone_and_open
from support.process import wait_until

pytestmark = pytest.mark.skipif(bool(cluster.obstacle()), reason=cluster.obstacle())


@pytest.fixture
def hosts(tmp_path: Path, fresh: Path) -> Iterator[Cluster]:
    """Three hosts, each with a queue of change sets."""
    repofile.add_user(fresh, "writer", "pen", "gioxywk")
    with cluster.own_network():
        made = Cluster(tmp_path, fresh)
        try:
            for host in made.hosts:
                with (host.folder / "quarryd.conf").open("a") as configuration:
                    configuration.write("changes.scan = 1s\nchanges.retry_delay = 1s\n")
            made.start()
            yield made
        finally:
            made.stop()


def user_of(host: Host) -> Somebody:
    return Somebody(cluster.PORT, repofile.project_code(host.repository), address=host.address)


def submitted(host: Host, name: str) -> str:
    answer = user_of(host).submit(tarball({name: b"text\n"}))
    assert answer.status == 202, answer.body
    return answer.json["id"]


def is_in(host: Host, id_: str, state: str) -> bool:
    return user_of(host).get(f"/queue/{id_}.json").json["state"] == state


@contextlib.contextmanager
def locked(host: Host) -> Iterator[None]:
    """Holds the write lock of HOST's repository."""
    with contextlib.closing(sqlite3.connect(host.repository, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def changes_daemons(host: Host) -> list[int]:
    """Returns the process IDs of HOST's daemons of queues, with their children."""
    daemons = [pid for pid in process.children(host.main.pid) if process.name(pid) == "quarry-changes"]
    return daemons + [child for pid in daemons for child in process.children(pid)]


def push_some(fossil: Fossil, checkout: Checkout, host: Host, names: list[str]) -> None:
    for name in names:
        checkout.commit_file(name, "text", name)
        fossil("push", "--once", host.url_for("writer", "pen"), "-R", checkout.repository)


def check(hosts: Cluster, fossil: Fossil, *ids: str) -> None:
    """Checks that all hosts are equal and do not have a fork, and that each change set has landed once."""
    hosts.wait_until_equal()
    for host in hosts.hosts:
        assert repofile.value(host.repository, "SELECT count(*) FROM leaf") == 1
        for id_ in ids:
            assert repofile.value(host.repository, "SELECT count(*) FROM tagxref JOIN tag USING(tagid) WHERE tagname=?", f"cs-{id_}") == 1
    proof.check(hosts.host(1).repository, fossil)


def test_a_change_set_lands_after_pushes_to_another_host(hosts, fossil, tmp_path):
    one, two = hosts.hosts[:2]
    checkout = clone_and_open(fossil, two.url_for("writer", "pen"), tmp_path)[1]
    ids = []
    for number in range(3):
        # The landing has been prepared, and waits for the lock while a client pushes to the same branch.
        with locked(one):
            ids.append(submitted(one, f"set{number}"))
            wait_until(lambda: is_in(one, ids[-1], "running"), "the execution")
            push_some(fossil, checkout, two, [f"push{number}-{each}" for each in range(3)])
        wait_until(lambda: is_in(one, ids[-1], "landed"), "the landing")
        hosts.wait_until_equal()
        fossil("pull", "--once", two.url_for("writer", "pen"), "-R", checkout.repository)
        checkout("update", "trunk")
    check(hosts, fossil, *ids)


def test_a_host_that_was_stopped_during_a_landing_does_not_land_on_an_old_tip(hosts, fossil, tmp_path):
    one, two = hosts.hosts[:2]
    checkout = clone_and_open(fossil, two.url_for("writer", "pen"), tmp_path)[1]
    with locked(one):
        first = submitted(one, "first")
        wait_until(lambda: is_in(one, first, "running"), "the execution")
        stopped = [one.replica(), *changes_daemons(one)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        # The queue of the other host waits until the lease of the stopped host has expired.
        second = submitted(two, "second")
        wait_until(lambda: is_in(two, second, "landed"), "the landing on the other host")
        fossil("pull", "--once", two.url_for("writer", "pen"), "-R", checkout.repository)
        checkout("update", "trunk")
        push_some(fossil, checkout, two, ["push"])
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    wait_until(lambda: is_in(one, first, "landed"), "the landing")
    check(hosts, fossil, first, second)


def test_a_change_set_waits_for_a_quorum(hosts, fossil):
    one = hosts.host(1)
    for host in hosts.hosts[1:]:
        host.kill_nats()
    id_ = submitted(one, "file")
    wait_until(lambda: is_in(one, id_, "pending"), "the check")
    for host in hosts.hosts[1:]:
        host.start_nats()
    wait_until(lambda: is_in(one, id_, "landed"), "the landing")
    check(hosts, fossil, id_)
