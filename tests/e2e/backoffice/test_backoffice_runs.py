"""Backoffice runs that are started by `quarry backoffice` and by the server."""

import calendar
import json
import os
import re
import signal
import sqlite3
import subprocess
import time

import pytest

from support import documents, fastcgi, mail, repofile
from support.browser import Browser
from support.daemon import section, user
from support.places import program
from support.process import children, free_port, name, wait_until
from support.program import fails, quarry, succeeds, unprivileged

RUNS = "runs.log"


def rows(path):
    with sqlite3.connect(path) as database:
        return dict(database.execute("SELECT name, value FROM config WHERE name IN ('backoffice', 'quarry-lease', "
                                     "'quarry-maintenance')"))


def lease(path):
    return [int(number) for number in rows(path).get("backoffice", "0 0 0 0").split()]


@pytest.fixture
def logged(tmp_path):
    """Returns the directives of a pool that logs each backoffice run in a file."""
    return {"backoffice": "yes", "backoffice.log": tmp_path / RUNS}


@pytest.fixture
def served(start, logged, tmp_path):
    """Returns a function that starts a server with a short lease. The server logs each backoffice run."""
    def begin(**pool):
        return start({**logged, "backoffice.lease_time": "2s", **pool}), tmp_path / RUNS
    return begin


@pytest.fixture
def folder_of(tmp_path, fossil):
    """Returns a function that creates a folder with repositories of the given names."""
    def make(*names):
        folder = tmp_path / "folder"
        for each in names:
            path = folder / f"{each}.fossil"
            path.parent.mkdir(parents=True, exist_ok=True)
            fossil.new(path)
        return folder
    return make


def runs(path):
    return path.read_text().splitlines() if path.exists() else []


def files(path):
    return {re.search(r" on (\S+\.fossil)", line).group(1) for line in runs(path)}


def is_at_rest(path, seconds):
    before = runs(path)
    time.sleep(seconds)
    return runs(path) == before


def ask(server):
    reply = fastcgi.ask(server.socket, "/")
    assert "Fossil repository" in reply.text


def jobs(server):
    return [pid for pid in children(server.main.pid) if name(pid) == "quarry"]


def figures(server, pool="backoffice www"):
    output = succeeds("status", "--socket", server.folder / "control.sock", "--json")
    return next(each for each in json.loads(output)["services"] if each["service"] == pool)["jobs"]


def wait_for_startup_job(server, *pools):
    """Waits until each of POOLS has run the job that it runs once at startup."""
    for pool in pools:
        wait_until(lambda pool=pool: figures(server, pool)["started"] == 1 and not jobs(server), f"the first job of {pool}")


def test_a_run_takes_the_lease_and_the_next_one_waits(fresh):
    assert quarry("backoffice", fresh).returncode == 0
    first = lease(fresh)
    assert first[0] > 0 and 0 < first[1] - time.time() <= 60 and first[2:] == [0, 0]
    second = subprocess.Popen([program("quarry"), "backoffice", fresh])
    try:
        wait_until(lambda: lease(fresh)[2] == second.pid, "the next one")
        assert lease(fresh)[3] == first[1] + 60
        third = quarry("backoffice", "--trace", fresh)
        assert third.returncode == 0 and "another process holds the lease" in third.stderr
        assert second.poll() is None
    finally:
        second.send_signal(signal.SIGTERM)
        assert second.wait(60) == 0
    # The process that waited for the lease has exited, so the new process waits in its place.
    fourth = subprocess.Popen([program("quarry"), "backoffice", fresh])
    try:
        wait_until(lambda: lease(fresh)[2] == fourth.pid, "the next one")
    finally:
        fourth.kill()
        fourth.wait()


def test_fossil_waits_for_our_lease(fresh, fossil):
    quarry("backoffice", fresh)
    current = lease(fresh)
    waiting = subprocess.Popen(["fossil", "backoffice", fresh], env=fossil.environment)
    try:
        wait_until(lambda: lease(fresh)[2] == waiting.pid, "fossil as the next one")
        assert lease(fresh)[:2] == current[:2]
        assert "another process holds the lease" in quarry("backoffice", "--trace", fresh).stderr
    finally:
        waiting.kill()
        waiting.wait()


def test_we_respect_fossils_lease(fresh, fossil):
    fossil("backoffice", fresh)
    assert lease(fresh)[1] > time.time()
    assert "another process holds the lease" in quarry("backoffice", "--nodelay", "--trace", fresh).stderr
    assert ": started" in quarry("backoffice", "--nolease", "--trace", fresh).stderr


def test_several_repositories_run_independently(fresh, small, tmp_path):
    error = fails("backoffice", "--trace", fresh, tmp_path / "nothing.fossil", small)
    assert error.count(": started") == 2 and "nothing.fossil" in error


@pytest.mark.slow
def test_polling_runs_changed_repositories(fresh, small, tmp_path, fossil):
    log = tmp_path / RUNS
    polling = subprocess.Popen([program("quarry"), "backoffice", "--poll", "1", "--logfile", log, fresh, small])
    try:
        wait_until(lambda: {str(fresh), str(small)} == files(log), "a run of both")
        # The first runs change the repository and thereby start further runs, which find no work.
        wait_until(lambda: is_at_rest(log, 3), "no more runs")
        before = len(runs(log))
        repofile.set_config(small, "project-name", "changed")
        wait_until(lambda: len(runs(log)) > before, "another run")
        assert str(small) in runs(log)[before]
    finally:
        polling.terminate()
        assert polling.wait(60) == 0


def test_fossils_settings(fresh, tmp_path):
    # This setting is ignored, because it could select any file that the server can write.
    repofile.set_config(fresh, "backoffice-logfile", str(tmp_path / "other"))
    assert "the backoffice-logfile setting is ignored" in quarry("backoffice", "--nolease", fresh).stderr
    quarry("backoffice", "--logfile", tmp_path / RUNS, fresh)
    assert not (tmp_path / "other").exists()
    assert re.fullmatch(rf"[-0-9T:]+Z backoffice \d+ ran on {re.escape(str(fresh))}.*", runs(tmp_path / RUNS)[0])
    repofile.set_config(fresh, "backoffice-nodelay", "1")
    assert "another process holds the lease" in quarry("backoffice", "--trace", fresh).stderr
    # The setting does not disable runs that are started by hand.
    repofile.set_config(fresh, "backoffice-disable", "1")
    assert ": started" in quarry("backoffice", "--nolease", "--trace", fresh).stderr


def test_maintenance_reports_damage(fresh, small):
    assert quarry("backoffice", "--nolease", small).returncode == 0
    verified = rows(small)["quarry-maintenance"].split()
    assert verified[2] == "0"
    with sqlite3.connect(small) as database:
        database.execute("UPDATE blob SET content=(SELECT content FROM blob WHERE rid=2) WHERE rid=1")
        database.execute("UPDATE config SET value='0 0 0' WHERE name='quarry-maintenance'")
    error = fails("backoffice", "--nolease", small)
    assert re.search(r"maintenance: \d+ damaged artifacts, the first is [0-9a-f]+: ", error), error


def test_maintenance_deletes_expired_rows(fresh):
    with sqlite3.connect(fresh) as database:
        database.execute("INSERT INTO config(name, value, mtime) VALUES('ci-lock-aa', '{}', strftime('%s')-3600), "
                         "('ci-lock-bb', '{}', strftime('%s'))")
        database.execute("CREATE TABLE accesslog(uname TEXT, ipaddr TEXT, success BOOLEAN, mtime TIMESTAMP)")
        database.execute("INSERT INTO accesslog VALUES('a', '1', 1, julianday('now')-400), ('b', '1', 1, julianday('now'))")
    assert quarry("backoffice", "--nolease", fresh).returncode == 0
    with sqlite3.connect(fresh) as database:
        assert database.execute("SELECT name FROM config WHERE name GLOB 'ci-lock*'").fetchall() == [("ci-lock-bb",)]
        assert database.execute("SELECT uname FROM accesslog").fetchall() == [("b",)]


def test_each_request_is_followed_by_a_run_with_the_lease_between_two(served):
    server, log = served()
    ask(server)
    wait_until(lambda: len(runs(log)) == 1, "a run")
    for _ in range(20):
        ask(server)
        assert len(jobs(server)) <= 2
    asked = time.time()
    wait_until(lambda: len(runs(log)) >= 2 and not jobs(server), "the end of all")
    ends = [calendar.timegm(time.strptime(line[:19], "%Y-%m-%dT%H:%M:%S")) for line in runs(log)]
    assert ends[-1] >= int(asked)
    # Runs start at least two seconds apart. The logged end times are whole seconds, so they can be only one second
    # apart.
    assert all(later - earlier >= 1 for earlier, later in zip(ends, ends[1:])), ends


@pytest.mark.parametrize("front", ["web server", "gateway"])
def test_a_page_is_followed_by_a_run(start, fresh, logged, tmp_path, front):
    server = start({**logged, "pages": "fossil"}, http={})
    if front == "gateway":
        assert Browser(server.port).get("/timeline").status == 200
    else:
        assert "Timeline" in fastcgi.ask(server.socket, "/timeline").text
    wait_until(lambda: len(runs(tmp_path / RUNS)) == 1, "a run")
    assert lease(fresh)[1] > time.time()


def test_a_forum_post_is_mailed_without_another_request(start, fresh, logged, fossil, tmp_path):
    mail.set_up(fresh, fossil, tmp_path / "mails")
    fossil("user", "new", "ann", "Ann <ann@example.net>", "secret", "-R", fresh)
    fossil("user", "capabilities", "ann", "s", "-R", fresh)
    mail.subscribe(fresh, "ann@example.net", "f", "ann")
    repofile.set_config(fresh, "backoffice-disable", "0")
    port = free_port()
    server = start({**logged, "backoffice.lease_time": "1s", "pages": "fossil", "user": None},
                   http={"listen": f"127.0.0.1:{port}"}, command=unprivileged())
    visitor = Browser(port)
    assert visitor.log_in("/login", "ann", "secret").status == 302
    # If another process writes between the first read and the first write of a page, fossil cannot store the post.
    wait_until(lambda: runs(tmp_path / RUNS) and not jobs(server), "the run after the login")
    post = visitor.post("/forumnew", title="A question", content="Why?", mimetype="text/plain", submit="Submit")
    assert post.status == 302, post.text
    wait_until(lambda: mail.read(tmp_path / "mails"), "the mail")
    assert "A question" in mail.read(tmp_path / "mails")[0]["Subject"]


def test_a_page_that_is_not_served_is_followed_by_a_run(start, fresh, logged, tmp_path):
    server = start({**logged, "pages": "off"})
    assert fastcgi.ask(server.socket, "/timeline").status == 404
    wait_until(lambda: len(runs(tmp_path / RUNS)) == 1, "a run")


@pytest.mark.parametrize("command", ["http", "test-http"])
@pytest.mark.parametrize("path, status", [("/", "200 OK"), ("/timeline", "404 Not Found")])
def test_a_request_without_a_server_is_followed_by_a_run(fresh, command, path, status):
    done = quarry(command, fresh, input=f"GET {path} HTTP/1.0\r\nHost: h\r\n\r\n")
    assert status in done.stdout, done.stderr
    wait_until(lambda: "quarry-maintenance" in rows(fresh), "a run")
    assert lease(fresh)[1] > time.time()
    repofile.set_config(fresh, "backoffice-disable", "1")
    before = lease(fresh)
    quarry(command, fresh, input="GET / HTTP/1.0\r\nHost: h\r\n\r\n")
    assert lease(fresh) == before


def test_backoffice_disable(start, folder_of, logged, tmp_path):
    folder = folder_of("none", "other")
    repofile.set_config(folder / "none.fossil", "backoffice-disable", "1")
    server = start({**logged, "repository": None, "repositories": folder})
    for path in ("/none",) * 5 + ("/other",):
        assert "Fossil repository" in fastcgi.ask(server.socket, path).text
    # When the run for the last request has ended, any runs for the earlier requests have ended too.
    wait_until(lambda: runs(tmp_path / RUNS) and not jobs(server), "a run")
    assert files(tmp_path / RUNS) == {str(folder / "other.fossil")} and "backoffice" not in rows(folder / "none.fossil")


def test_a_server_without_backoffice(served, fresh):
    server, log = served(backoffice="no")
    ask(server)
    server.stop()
    assert not runs(log) and "backoffice" not in rows(fresh)


def test_a_request_starts_a_run_of_its_repository_alone(start, folder_of, logged, tmp_path):
    server = start({**logged, "repository": None, "repositories": folder_of("one", "deep/two", "three")})
    assert "Fossil repository" in fastcgi.ask(server.socket, "/deep/two").text
    wait_until(lambda: len(runs(tmp_path / RUNS)) == 1, "a run")
    assert "deep/two.fossil" in runs(tmp_path / RUNS)[0]


def test_all_repositories_have_runs_without_requests(start, folder_of, logged, tmp_path):
    folder = folder_of("one", "two")
    start({**logged, "backoffice.interval": "1s", "repository": None, "repositories": folder})
    wait_until(lambda: len(files(tmp_path / RUNS)) == 2, "a run of both")


@pytest.mark.slow
def test_a_digest_is_sent_without_requests(fresh, start, logged, tmp_path, fossil):
    """A timer in the server starts the run that sends yesterday's digest."""
    mail.set_up(fresh, fossil, tmp_path / "mails")
    fossil("user", "new", "ann", "Ann <ann@example.net>", "secret", "-R", fresh)
    fossil("user", "capabilities", "ann", "s", "-R", fresh)
    mail.subscribe(fresh, "ann@example.net", "w", "ann", digest=1)
    mail.store(fresh, documents.wiki_page("Page", "2026-01-02T00:00:00", "text"))
    for name, value in (("backoffice-disable", 0),
                        ("email-last-digest", repofile.value(fresh, "SELECT CAST(julianday('now') AS INT)") + 1)):
        repofile.set_config(fresh, name, str(value))
    server = start({**logged, "backoffice.interval": "1s", "backoffice.lease_time": "1s", "user": None},
                   settings={"control.socket": tmp_path / "control.sock"}, command=unprivileged())
    wait_until(lambda: len(runs(tmp_path / RUNS)) >= 2, "runs")
    assert not mail.read(tmp_path / "mails"), "today's digest was sent already"
    repofile.set_config(fresh, "email-last-digest", "1")
    wait_until(lambda: mail.read(tmp_path / "mails"), "a digest")
    digest, = mail.read(tmp_path / "mails")
    assert digest["To"].addresses[0].addr_spec == "ann@example.net" and "Page" in mail.text(digest)
    before = len(runs(tmp_path / RUNS))
    wait_until(lambda: len(runs(tmp_path / RUNS)) >= before + 2, "two more runs")
    assert len(mail.read(tmp_path / "mails")) == 1
    assert int(repofile.value(fresh, "SELECT value FROM config WHERE name='email-last-digest'")) > 1
    done = quarry("status", "--socket", tmp_path / "control.sock", "--json")
    assert json.loads(done.stdout)["pools"][0]["requests"] == 0
    server.stop()


def test_a_reload_and_a_stop_end_sleeping_processes(served):
    server, log = served(**{"backoffice.lease_time": "1h"})
    ask(server)
    wait_until(lambda: len(runs(log)) == 1 and not jobs(server), "a run")
    ask(server)
    wait_until(lambda: jobs(server), "a sleeping process")
    sleeper = jobs(server)[0]
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: sleeper not in jobs(server), "its end")
    ask(server)
    wait_until(lambda: jobs(server), "another one")
    server.main.stop()


def test_sleeping_runs_do_not_count_for_max_children(start, folder_of, logged, tmp_path):
    names = ["one", "two", "three"]
    server = start({**logged, "backoffice.max_children": 1, "backoffice.lease_time": "1h", "repository": None,
                    "repositories": folder_of(*names, "four")}, settings={"control.socket": tmp_path / "control.sock"})
    server.folder = tmp_path
    wait_for_startup_job(server, "backoffice www")
    log = tmp_path / RUNS
    for number, each in enumerate(names, 1):
        fastcgi.ask(server.socket, f"/{each}")
        wait_until(lambda: len(runs(log)) == number and len(jobs(server)) == number - 1, "the end of a run")
        fastcgi.ask(server.socket, f"/{each}")
        wait_until(lambda: len(jobs(server)) == number, "a sleeping process")
    fastcgi.ask(server.socket, "/four")
    wait_until(lambda: len(runs(log)) == 4, "a run beside the sleeping ones")
    shown = figures(server)
    assert shown["paused"] == 3 and shown["failed"] == 0 and shown["started"] == 1 + 7


def test_all_pools_together_respect_the_maximum(start, tmp_path, fossil):
    """Only one run is allowed at a time. While a run of one pool is active, the run of the other pool waits. Sleeping
    processes do not count as active."""
    repositories = {"www": tmp_path / "one.fossil", "other": tmp_path / "two.fossil"}
    slow = tmp_path / "slow.fifo"
    for path in repositories.values():
        fossil.new(path)
    # A run that logs to this pipe blocks until the test reads from the pipe.
    os.mkfifo(slow)
    other = section("other", {"listen": tmp_path / "other.sock", "repository": repositories["other"], "pm": "static",
                              "pm.max_children": 1, "backoffice.lease_time": "1h", "backoffice.log": tmp_path / RUNS, **user()})
    server = start({"backoffice": "yes", "backoffice.lease_time": "1h", "backoffice.log": slow}, repository=repositories["www"], more=other,
                   settings={"backoffice.max": 1, "control.socket": tmp_path / "control.sock"})
    server.folder = tmp_path
    wait_for_startup_job(server, "backoffice www", "backoffice other")
    old = {pool: figures(server, f"backoffice {pool}") for pool in repositories}
    ask(server)
    wait_until(lambda: figures(server)["running"] == 1 and lease(repositories["www"])[0], "a blocked run")
    assert "Fossil repository" in fastcgi.ask(tmp_path / "other.sock", "/").text
    wait_until(lambda: figures(server, "backoffice other")["waiting"] == 1, "a waiting run")
    shown = figures(server, "backoffice other")
    assert shown["running"] == 0 and all(shown[each] == old["other"][each] + 1 for each in ("delayed", "held back"))
    server.wait_for_log("[backoffice other] backoffice.max (1) is reached: 1 waiting, 0 running")
    counts = [0, 1, 0, 1, 0, shown["delayed"], shown["held back"]]
    lines = quarry("status", "--socket", tmp_path / "control.sock").stdout.splitlines()
    assert ["backoffice", "other", *map(str, counts)] in [line.split() for line in lines], lines
    assert not runs(tmp_path / RUNS)
    assert slow.read_text().count("backoffice") == 1
    wait_until(lambda: len(runs(tmp_path / RUNS)) == 1 and not jobs(server), "the other one's run")
    for socket, pool in ((server.socket, "backoffice www"), (tmp_path / "other.sock", "backoffice other")):
        fastcgi.ask(socket, "/")
        wait_until(lambda: figures(server, pool)["paused"] == 1, "a sleeping process")

    def shown_by_pools():
        document = json.loads(quarry("status", "--socket", tmp_path / "control.sock", "--json").stdout)
        return {each["pool"]: (each["backoffice runs"], each["backoffice delayed"]) for each in document["pools"]}
    counted = {"www": (3, old["www"]["delayed"]), "other": (3, old["other"]["delayed"] + 1)}
    assert shown_by_pools() == counted
    server.main.send(signal.SIGUSR2)
    # The counts survive the reload. The next generation runs the startup job of each pool again.
    wait_until(lambda: all(count == 4 for count, _ in shown_by_pools().values()), "the startup jobs")
    assert all(shown_by_pools()[pool][1] >= delayed for pool, (_, delayed) in counted.items())


def test_a_killed_run_is_logged_and_has_no_other_effect(served, fresh):
    server, _ = served(**{"backoffice.lease_time": "60s", "backoffice.log": "/nowhere/at/all"})
    ask(server)
    server.wait_for_log("cannot write to /nowhere/at/all")
    ask(server)
    wait_until(lambda: lease(fresh)[2] in jobs(server), "a sleeping process")
    os.kill(lease(fresh)[2], signal.SIGKILL)
    server.wait_for_log("was killed by signal 9")
    ask(server)
    assert server.main.is_running()
