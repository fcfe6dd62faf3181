"""Three hosts that replicate a repository: what is replicated, and which errors clients get while the NATS servers are down."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

import proof
from support import cluster, documents, mail, places, process, repofile
from support.cluster import Cluster, Host
from support.courier import running
from support.fossil import Checkout, Fossil, beside_others, clone_and_open, commit_in_progress
from support.process import wait_until
from support.program import quarry_as_user

pytestmark = pytest.mark.skipif(bool(cluster.obstacle()), reason=cluster.obstacle())

#: The errors of a push. fossil 2.21 nevertheless exits with 0, as after all errors of a server. The second one is the answer
#: when quarry-replica knows that the servers do not answer.
NOT_CONFIRMED = "Error: the push is stored on this host, but the other hosts have not confirmed it"
NOT_STORED = "Error: the push was not stored, because the other hosts cannot be reached"


@pytest.fixture
def start_hosts(tmp_path: Path, fresh: Path) -> Iterator[Callable[..., Cluster]]:
    """Returns a function that starts three hosts with the repository `fresh`. Its arguments are directives."""
    repofile.add_user(fresh, "boss", "pen", "s")
    repofile.add_user(fresh, "writer", "pen", "gioxywk")
    with ExitStack() as stack:
        yield lambda **directives: stack.enter_context(cluster.cluster(tmp_path, fresh, **directives))


def opened(fossil: Fossil, host: Host, folder: Path) -> Checkout:
    """Returns a checkout of a new clone."""
    folder.mkdir()
    return clone_and_open(fossil, host.url_for("writer", "pen"), folder)[1]


def push(fossil: Fossil, checkout: Checkout, host: Host) -> str:
    """Returns the output of `fossil push`."""
    return fossil.attempt("push", "--once", host.url_for("writer", "pen"), "-R", checkout.repository)[1]


def is_refused(fossil: Fossil, checkout: Checkout, host: Host) -> bool:
    output = push(fossil, checkout, host)
    return NOT_CONFIRMED in output or NOT_STORED in output


def succeeds(fossil: Fossil, checkout: Checkout, host: Host) -> str:
    return fossil("push", "--once", host.url_for("writer", "pen"), "-R", checkout.repository)


def has(host: Host, check_in: str) -> bool:
    return check_in in repofile.artifacts(host.repository)


def test_a_push_to_one_host_is_on_all_hosts(start_hosts, fossil, tmp_path):
    hosts = start_hosts()
    checkout = opened(fossil, hosts.host(1), tmp_path / "client")
    checkout.commit_file("one", "1", "first")
    succeeds(fossil, checkout, hosts.host(1))
    hosts.wait_until_equal()
    for host in hosts.hosts:
        assert has(host, checkout.head())
        assert repofile.query(host.repository, "SELECT DISTINCT login FROM rcvfrom JOIN user USING(uid) JOIN blob USING(rcvid)"
                                               " WHERE uuid=?", checkout.head()) == [("writer",)]
        proof.check(host.repository, fossil)
    other = opened(fossil, hosts.host(3), tmp_path / "other")
    assert (other.folder / "one").read_text() == "1"


def test_children_of_the_same_check_in_are_a_fork_on_all_hosts(start_hosts, fossil, tmp_path):
    hosts = start_hosts()
    checkouts = [opened(fossil, host, tmp_path / f"client{host.number}") for host in hosts.hosts[:2]]
    for checkout in checkouts:
        checkout.commit_file("one", str(checkout.folder), "a child")
    with ThreadPoolExecutor() as pool:
        list(pool.map(succeeds, [fossil] * 2, checkouts, hosts.hosts))
    hosts.wait_until_equal()
    for host in hosts.hosts:
        leaves = {name for name, in repofile.query(host.repository, "SELECT uuid FROM leaf JOIN blob USING(rid)")}
        assert leaves == {checkout.head() for checkout in checkouts}
    for checkout, host in zip(checkouts, hosts.hosts):
        assert "WARNING: a fork has occurred" in fossil("pull", "--once", host.url_for("writer", "pen"), "-R", checkout.repository)


def test_everything_else_is_replicated_too(start_hosts, fossil, tmp_path):
    hosts = start_hosts()
    checkout = opened(fossil, hosts.host(1), tmp_path / "client")
    one, two, three = hosts.hosts
    # A setting and a user, with fossil on the host's file. quarry-replica writes to it, too.
    for host, *command in ((one, "settings", "ignore-glob", "*.o"), (two, "user", "new", "guest", "contact", "word"),
                           (two, "user", "capabilities", "guest", "gio")):
        beside_others(lambda host=host, command=command: fossil(*command, "-R", host.repository))
    # A user and a wiki page, with web pages. If quarry-replica writes at the same time, fossil's answer is 400.
    browser = three.browser()
    for status, request in (
            (302, lambda: browser.log_in("/login", "boss", "pen")),
            (302, lambda: browser.submit("/setup_uedit?id=0", id="0", login="paula", info="", pw="word", ae="on", apply="Apply Changes")),
            (200, lambda: browser.post("/wikiajax/save", page="Page", content="text", mimetype="text/plain", isnew="1"))):
        wait_until(lambda status=status, request=request: request().status == status, "a database that is not locked")
    # A ticket and unversioned files, by sync.
    fossil("ticket", "add", "title", "It breaks", "-R", checkout.repository)
    succeeds(fossil, checkout, two)
    for name in ("kept", "deleted"):
        (tmp_path / name).write_text(name)
        fossil("unversioned", "add", tmp_path / name, "--as", name, "-R", checkout.repository)
    fossil("unversioned", "sync", three.url_for("writer", "pen"), "-R", checkout.repository)
    hosts.wait_until_equal()
    fossil("unversioned", "remove", "deleted", "--mtime", "2035-01-01", "-R", checkout.repository)
    fossil("unversioned", "sync", one.url_for("writer", "pen"), "-R", checkout.repository)
    hosts.wait_until_equal()
    for host in hosts.hosts:
        assert repofile.value(host.repository, "SELECT value FROM config WHERE name='ignore-glob'") == "*.o"
        assert dict(repofile.query(host.repository, "SELECT login, cap FROM user WHERE login IN ('guest','paula')")) == {
            "guest": "gio", "paula": "e"}
        assert repofile.value(host.repository, "SELECT title FROM ticket") == "It breaks"
        assert repofile.value(host.repository, "SELECT count(*) FROM tag WHERE tagname='wiki-Page'") == 1
        assert repofile.query(host.repository, "SELECT name FROM unversioned WHERE hash IS NOT NULL") == [("kept",)]
        # The password that was set on another host.
        fossil.clone(host.url_for("guest", "word"), tmp_path / f"{host.name}.fossil")


def test_only_the_host_that_received_a_push_sends_its_events_and_mail(start_hosts, fresh, fossil, tmp_path):
    mail.set_up(fresh, fossil, tmp_path / "mail")
    repofile.execute(fresh, "DELETE FROM config WHERE name='backoffice-disable'")
    mail.subscribe(fresh, "ann@example.net", "cf", "boss")
    hosts = start_hosts()
    with ExitStack() as stack:
        paths = [tmp_path / f"events{host.number}" for host in hosts.hosts]
        # A courier ignores repeated events, so each host has its own.
        couriers = [stack.enter_context(running(tmp_path / f"courier{host.number}", {"all": {"type": "file", "path": path}}))
                    for host, path in zip(hosts.hosts, paths)]

        def run_backoffice() -> None:
            for host, courier in zip(hosts.hosts, couriers):
                done = quarry_as_user("backoffice", "--nolease", "--courier", courier.socket, host.repository)
                assert done.returncode == 0, done.stderr
                courier.wait_until_delivered("all")

        run_backoffice()
        checkout = opened(fossil, hosts.host(2), tmp_path / "client")
        checkout.commit_file("one", "1", "first")
        mail.store(checkout.repository, documents.post("2026-03-04T05:06:07.000", "Hello", "A thread"))
        # fossil, which stored the thread, might still run its backoffice for the clone.
        beside_others(lambda: succeeds(fossil, checkout, hosts.host(2)))
        hosts.wait_until_equal()
        run_backoffice()
    events = [[json.loads(line)["type"] for line in path.read_text().splitlines()] if path.exists() else [] for path in paths]
    assert events[0] == events[2] == []
    # The client sends the push in several requests.
    assert sorted(each for each in events[1] if each != "push") == ["artifact.check-in", "artifact.forum"]
    assert len(mail.read(tmp_path / "mail")) == 2


def test_one_host_sends_the_daily_digest_of_all(start_hosts, fresh, fossil, tmp_path):
    mail.set_up(fresh, fossil, tmp_path / "mail")
    repofile.execute(fresh, "DELETE FROM config WHERE name='backoffice-disable'")
    mail.subscribe(fresh, "ann@example.net", "c", "boss", digest=1)
    hosts = start_hosts()
    away = hosts.host(3)
    assert away.main.stop() == 0
    heads = []
    for host in hosts.hosts[:2]:
        checkout = opened(fossil, host, tmp_path / f"client{host.number}")
        checkout.commit_file(host.name, "text", f"commit on {host.name}")
        succeeds(fossil, checkout, host)
        heads.append(checkout.head())
    wait_until(lambda: all(has(host, head) for host in hosts.hosts[:2] for head in heads), "both check-ins on both hosts")
    wait_until(lambda: all(host.is_idle() for host in hosts.hosts[:2]), "the record of what is published")

    def sent(host: Host) -> list:
        done = quarry_as_user("backoffice", "--nolease", "--replica", host.folder / "replica.sock", "--pool", "www", host.repository)
        assert done.returncode == 0, done.stderr
        return mail.read(tmp_path / "mail")

    # A host that has not applied all changes does not send the digest.
    wait_until(lambda: sent(hosts.host(2)), "the digest")
    away.start_quarryd()
    hosts.wait_until_equal()
    for host in hosts.hosts:
        repofile.execute(host.repository, "UPDATE config SET value=0 WHERE name='email-last-digest'")
        sent(host)
    digest, = mail.read(tmp_path / "mail")
    assert all(head[:10] in digest.get_content() for head in heads)
    for host in hosts.hosts:
        wait_until(lambda path=host.repository: not repofile.query(path, "SELECT 1 FROM pending_alert WHERE NOT sentDigest"),
                   "the record of the digest")


def test_two_clients_commit_on_two_hosts(start_hosts, fossil, tmp_path):
    hosts = start_hosts()
    one, two = hosts.hosts[:2]
    anna, bert = (opened(fossil, host, tmp_path / f"client{host.number}") for host in (one, two))
    for checkout, name in ((anna, "a"), (bert, "b")):
        checkout("settings", "autosync", "on")
        checkout.write(name, name)
        checkout("add", name)
    # The client that commits second is refused, because it has asked for a lock.
    with commit_in_progress(anna):
        commit = ("commit", "--no-warnings", "--no-prompt", "-m", "mine")
        status, output = fossil.attempt(*commit, cwd=bert.folder)
        assert status != 0 and 'Might fork due to a check-in race with user "writer"' in output
    # Without a lock, it makes a fork.
    bert(*commit, "--allow-fork")
    hosts.wait_until_equal()
    for host in hosts.hosts:
        assert repofile.value(host.repository, "SELECT count(*) FROM leaf") == 2
        assert has(host, anna.head()) and has(host, bert.head())


def test_a_push_fails_without_a_quorum_and_succeeds_later(start_hosts, fossil, tmp_path):
    hosts = start_hosts(acknowledge_timeout="2s")
    checkout = opened(fossil, hosts.host(1), tmp_path / "client")
    for host in hosts.hosts[1:]:
        host.kill_nats()
    checkout.commit_file("one", "1", "first")
    wait_until(lambda: NOT_STORED in push(fossil, checkout, hosts.host(1)) or has(hosts.host(1), checkout.head()), "a refusal")
    for _ in range(2):  # a repeated push is refused, too
        assert is_refused(fossil, checkout, hosts.host(1))
    assert not has(hosts.host(2), checkout.head())
    fossil.clone(hosts.host(1).url_for("writer", "pen"), tmp_path / "later.fossil")
    for host in hosts.hosts[1:]:
        host.start_nats()
    wait_until(lambda: not is_refused(fossil, checkout, hosts.host(1)), "a confirmed push")
    hosts.wait_until_equal()
    assert has(hosts.host(3), checkout.head())


def test_an_isolated_host_does_not_confirm(start_hosts, fossil, tmp_path):
    hosts = start_hosts(acknowledge_timeout="2s")
    checkout = opened(fossil, hosts.host(1), tmp_path / "client")
    hosts.isolate(1)
    checkout.commit_file("one", "1", "first")
    assert is_refused(fossil, checkout, hosts.host(1))
    # The other two hosts are a majority. They might have to elect a leader first.
    wait_until(lambda: not is_refused(fossil, checkout, hosts.host(2)), "a confirmed push")
    wait_until(lambda: has(hosts.host(3), checkout.head()), "the push on host 3")
    hosts.mend()
    hosts.wait_until_equal()


def test_with_local_a_push_succeeds_without_the_servers_and_is_replicated_later(start_hosts, fossil, tmp_path):
    hosts = start_hosts(acknowledge="local")
    checkout = opened(fossil, hosts.host(1), tmp_path / "client")
    hosts.host(1).kill_nats()
    checkout.commit_file("one", "1", "first")
    succeeds(fossil, checkout, hosts.host(1))
    assert has(hosts.host(1), checkout.head()) and not has(hosts.host(2), checkout.head())
    hosts.host(1).start_nats()
    hosts.wait_until_equal()
    assert has(hosts.host(2), checkout.head())


def test_a_host_that_was_stopped_catches_up(start_hosts, fossil, tmp_path):
    hosts = start_hosts()
    checkout = opened(fossil, hosts.host(1), tmp_path / "client")
    away = hosts.host(3)
    assert away.main.stop() == 0
    away.nats.stop()
    for number in range(5):
        checkout.commit_file(f"file{number}", "text", f"check-in {number}")
        succeeds(fossil, checkout, hosts.hosts[number % 2])
    fossil("settings", "ignore-glob", "*.o", "-R", hosts.host(1).repository)
    away.start_nats()
    away.start_quarryd()
    hosts.wait_until_equal()
    assert has(away, checkout.head())
    proof.check(away.repository, fossil)


def test_start_runs_three_hosts_as_in_the_readme_until_it_is_stopped(fossil, tmp_path):
    with subprocess.Popen([places.TOP / "tests/cluster/start", "--port", "0"], stdout=subprocess.PIPE, text=True) as running:
        lines = [running.stdout.readline() for _ in range(4)]
        commands, = re.findall(r"^```sh\n([^`]*:8082/[^`]*)^```$", (places.TOP / "README.md").read_text(), re.MULTILINE)
        for number, line in enumerate(lines[:3], 8081):
            commands = commands.replace(f"http://demo:PASSWORD@127.0.0.1:{number}/", line.split()[1])
        commands = commands.replace("fossil clone", "fossil clone --save-http-password --no-open")
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=tmp_path, env=fossil.environment, capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == 0 and "On one host (user: demo" in done.stdout, done.stdout + done.stderr
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0


def test_the_checker_leaves_nothing_behind_when_it_is_interrupted(open_folder):
    with subprocess.Popen([sys.executable, "-u", places.TOP / "tests/cluster/check"], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"TMPDIR": str(open_folder)}) as running:
        assert any(" host " in line for line in running.stdout), "no disturbance"
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 130
    assert process.processes(str(open_folder)) == [] == list(open_folder.iterdir())
    assert str(open_folder) not in Path("/proc/mounts").read_text()


def check(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, places.TOP / "tests/cluster/check", *map(str, arguments)], capture_output=True, text=True,
                          timeout=500, check=False)


@pytest.mark.slow
def test_the_checker_does_not_find_a_violation():
    done = check("--seconds", 45, "--seed", 1)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "operation", "violation"), [
    ("acknowledges-early", "commit", "did not reach a quorum"), ("reorders", "unversioned", "the unversioned file .* has the content"),
    ("does-not-compare", "change_set", "the branch landed has forked")])
def test_the_checker_finds_a_broken_promise(fault, operation, violation):
    """The schedule of a run is random, so several runs are allowed."""
    assert any(re.search(violation, check("--seconds", 12, "--patience", 15, "--seed", seed, "--only", operation, "--fault", fault).stdout)
               for seed in range(1, 6))
