"""Mail is sent to a real SMTP server, by a command, or to a database. The SMTP server accepts mail, rejects it, hangs,
or is down. Some tests kill runs or start overlapping runs."""

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess

import pytest

from support import mail, places, repofile
from support.daemon import section
from support.fossil import Checkout
from support.mailserver import MailServer
from support.process import Process, wait_until
from support.program import quarry, quarry_as_user, unprivileged

ADDRESSES = [f"person{number}@example.net" for number in range(5)]


@pytest.fixture
def world(tmp_path, fossil):
    path = fossil.new(tmp_path / "made.fossil")
    mail.set_up(path, fossil, tmp_path / "mail")
    for address in ADDRESSES:
        mail.subscribe(path, address, "c")
    checkout = Checkout(fossil, path, tmp_path / "checkout")
    checkout.commit_file("file", "text\n", "something new")
    return path


@pytest.fixture
def relay(world):
    """Returns a mail server for the repository. The server is not started."""
    server = MailServer()
    use_method(world, "relay", "email-send-relayhost", f"127.0.0.1:{server.port}")
    return server


def use_method(path, method, setting, value):
    repofile.set_config(path, "email-send-method", method)
    repofile.set_config(path, setting, str(value))


def move_clock(path, seconds):
    """Changes the stored times as if SECONDS had passed."""
    repofile.execute(path, "UPDATE fx_quarry_mail SET due=due-?, made=made-?", seconds, seconds)


def waiting(path):
    return repofile.value(path, "SELECT count(*) FROM fx_quarry_mail")


def have_all_failed(path):
    """Returns whether the repository has emails, and each of them has failed at least once."""
    has_outbox = repofile.value(path, "SELECT 1 FROM sqlite_schema WHERE name='fx_quarry_mail'")
    return bool(has_outbox and repofile.value(path, "SELECT min(attempts) FROM fx_quarry_mail"))


def send(path):
    return quarry_as_user("alerts", "send", path)


def test_a_relay_gets_each_mail_once(world, relay):
    with relay:
        done = send(world)
        assert done.returncode == 0, done.stderr
        assert relay.reached() == ADDRESSES
        for envelope in relay.mails:
            message = mail.parse(envelope.content)
            assert envelope.mail_from == mail.SELF and message["To"].addresses[0].addr_spec == envelope.rcpt_tos[0]
            assert "something new" in mail.text(message)
        assert send(world).returncode == 0
        assert relay.reached() == ADDRESSES


def test_a_refused_mail_is_given_up_a_deferred_one_retried_and_others_are_sent_once(world, relay):
    relay.handler.recipients = {ADDRESSES[1]: "550 no such user", ADDRESSES[2]: "451 not now"}
    with relay:
        done = send(world)
        assert done.returncode == 1
        assert "550" in done.stderr and ADDRESSES[1] in done.stderr and "451" in done.stderr
        assert "failed: 1  given up: 1" in done.stdout
        assert waiting(world) == 1
        relay.handler.recipients = {}
        send(world)
        assert len(relay.mails) == 3, "it is not due yet"
        move_clock(world, 60)
        assert send(world).returncode == 0
        assert relay.reached() == [each for each in ADDRESSES if each != ADDRESSES[1]]


def test_a_relay_that_was_down_for_an_hour_gets_each_mail_once(world, relay):
    done = send(world)
    assert done.returncode == 1
    assert f"127.0.0.1:{relay.port}" in done.stderr
    assert waiting(world) == len(ADDRESSES)
    for _ in range(6):
        move_clock(world, 600)
        send(world)
    move_clock(world, 3600)
    with relay:
        assert send(world).returncode == 0
        assert relay.reached() == ADDRESSES and waiting(world) == 0


@pytest.mark.slow
def test_a_relay_that_hangs_is_tried_once_per_run(world, relay):
    with socket.create_server(("127.0.0.1", relay.port)) as silent:
        assert send(world).returncode == 1
        # The run waits for one timeout of a minute, not for a timeout per subscriber.
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert waiting(world) == len(ADDRESSES)
    move_clock(world, 3600)
    with relay:
        send(world)
        assert relay.reached() == ADDRESSES


def test_a_command_reads_mails(world, tmp_path):
    use_method(world, "pipe", "email-send-command", f"cat >{tmp_path}/$$.email")
    assert send(world).returncode == 0
    assert sorted(message["To"].addresses[0].addr_spec for message in mail.read(tmp_path)) == ADDRESSES


@pytest.mark.parametrize(("command", "said", "left"), [
    ("echo 'no such user' >&2; exit 67", "no such user", 0),
    ("echo later; exit 75", "later", 5),
    ("no-such-program", "not found", 5),
    ("kill -9 $$", "signal 9", 5),
])
def test_a_failed_command_is_reported(world, command, said, left):
    use_method(world, "pipe", "email-send-command", command)
    done = send(world)
    assert done.returncode == 1
    assert said in done.stderr
    assert waiting(world) == left


def test_a_database_gets_the_same_rows_as_from_fossil(world, tmp_path, fossil):
    use_method(world, "db", "email-send-db", tmp_path / "ours.db")
    twin = repofile.copy(world, tmp_path / "twin.fossil")
    use_method(twin, "db", "email-send-db", tmp_path / "fossils.db")
    assert send(world).returncode == 0
    fossil("alerts", "send", "-R", twin)
    rows = {}
    for name in ("ours.db", "fossils.db"):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as database:
            rows[name] = sorted((repr(mail.facts(mail.parse(text.encode()))) for text, in
                                 database.execute("SELECT msg FROM email ORDER BY emailid")))
    assert rows["ours.db"] == rows["fossils.db"]
    assert len(rows["ours.db"]) == len(ADDRESSES)


@pytest.mark.parametrize(("method", "setting", "allowed"), [
    ("pipe", "email-send-command", "relay"), ("dir", "email-send-dir", "relay, db"), ("db", "email-send-db", "off"),
    ("stdout", "email-self", "relay, pipe, dir, db")])
def test_a_server_uses_only_methods_that_its_configuration_allows(start, world, tmp_path, method, setting, allowed):
    """Users with the setup capability can change the method over the web, so the server's configuration limits the
    methods."""
    there = tmp_path / "there"
    there.mkdir()
    value = {"pipe": f"touch {there}/file", "dir": there, "db": there / "file", "stdout": mail.SELF}[method]
    use_method(world, method, setting, value)
    repofile.set_config(world, "backoffice-disable", "0")
    # Without an interval, the first run is started by a request. With an interval, it is started by a timer in the
    # server.
    for interval in ("0", "1s"):
        server = start({"backoffice": "yes", "backoffice.interval": interval, "backoffice.lease_time": "1s",
                        "backoffice.mail_methods": allowed, "user": None}, repository=world, command=unprivileged())
        server.ask()
        server.wait_for_log(f'email-send-method is "{method}", which the pool\'s backoffice.mail_methods does not allow')
        server.stop()
        assert not list(there.iterdir()) and "something new" not in server.log()
    assert mail.pending(world) and not any(sent for _, sent, _, _ in mail.pending(world))


@pytest.mark.parametrize(("allowed", "count"), [("relay, dir", 0), ("relay, pipe", len(ADDRESSES))])
def test_http_uses_only_methods_that_the_configuration_allows(world, tmp_path, allowed, count):
    """The configuration does not contain a courier."""
    use_method(world, "pipe", "email-send-command", f"cat >{tmp_path}/$$.email")
    repofile.set_config(world, "backoffice-disable", "0")
    config = tmp_path / "quarry.conf"
    config.write_text(section("www", {"listen": tmp_path / "www.sock", "repository": world,
                                      "backoffice.mail_methods": allowed}))
    done = quarry_as_user("http", "--config", config, world, input="GET / HTTP/1.0\r\nHost: h\r\n\r\n")
    assert "200 OK" in done.stdout, done.stderr
    # Maintenance runs after the mail job, so the mail has been handled now.
    wait_until(lambda: repofile.value(world, "SELECT 1 FROM config WHERE name='quarry-maintenance'"), "a run")
    assert len(mail.read(tmp_path)) == count


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("by", ["alerts send", "backoffice --nolease", "http", "server"])
@pytest.mark.parametrize(("method", "setting"), [("pipe", "email-send-command"), ("dir", "email-send-dir"),
                                                 ("db", "email-send-db")])
def test_root_uses_no_program_folder_or_database_of_a_setting(start, world, tmp_path, method, setting, by):
    """The repository belongs to root."""
    there = tmp_path / "there"
    there.mkdir()
    value = {"pipe": f"touch {there}/file", "dir": there, "db": there / "file"}[method]
    use_method(world, method, setting, value)
    repofile.set_config(world, "backoffice-disable", "0")
    complaint = f'email-send-method is "{method}", which root does not use'
    if by == "server":
        server = start({"backoffice": "yes", "backoffice.interval": "0", "backoffice.lease_time": "1s",
                        "backoffice.mail_methods": method}, repository=world)
        server.ask()
        server.wait_for_log(complaint)
        server.stop()
    elif by == "http":
        quarry("http", world, input="GET / HTTP/1.0\r\nHost: h\r\n\r\n")
        wait_until(lambda: repofile.value(world, "SELECT 1 FROM config WHERE name='quarry-maintenance'"), "a run")
    else:
        done = quarry(*by.split(), world)
        assert done.returncode == 1 and complaint in done.stderr, done.stderr
    assert not list(there.iterdir())
    assert mail.pending(world) and not any(sent for _, sent, _, _ in mail.pending(world))


@pytest.mark.parametrize("word", ["repository", "repositories"])
def test_a_server_retries_the_mail_of_an_earlier_server_without_requests(start, world, relay, word):
    assert send(world).returncode == 1
    move_clock(world, 60)
    repofile.set_config(world, "backoffice-disable", "0")
    with relay:
        paths = {"repository": None, word: world if word == "repository" else world.parent}
        server = start({"backoffice": "yes", "backoffice.interval": "0", "backoffice.lease_time": "1s", **paths})
        wait_until(lambda: relay.reached() == ADDRESSES, "the mail")
        server.stop()
    assert waiting(world) == 0


@pytest.mark.slow  # the first retry is after a minute
@pytest.mark.parametrize("by", ["server", "poll"])
def test_deferred_mail_is_retried_when_it_is_due(start, world, relay, tmp_path, by):
    """The repository does not change in the meantime, and nobody sends a request."""
    repofile.set_config(world, "backoffice-disable", "0")
    if by == "server":
        server = start({"backoffice": "yes", "backoffice.interval": "0", "backoffice.lease_time": "1s"}, repository=world)
        server.ask()
    else:
        server = Process([places.program("quarry"), "backoffice", "--poll", "1", "--min", "0", world], tmp_path / "output")
    wait_until(lambda: have_all_failed(world), "failed attempts")
    with relay:
        wait_until(lambda: relay.reached() == ADDRESSES, "the mail", 120)
    server.stop()


def test_a_password_in_the_name_of_the_relay_is_not_shown(world):
    use_method(world, "relay", "email-send-relayhost", "ann:pen@relay.example.net")
    done = send(world)
    assert done.returncode == 1
    assert 'email-send-relayhost is "ann:***@relay.example.net"' in done.stderr and ":pen@" not in done.stderr


def test_a_missing_folder_is_reported_and_no_mail_is_lost(world, tmp_path):
    use_method(world, "dir", "email-send-dir", tmp_path / "absent")
    done = send(world)
    assert done.returncode == 1
    assert str(tmp_path / "absent") in done.stderr
    (tmp_path / "absent").mkdir()
    move_clock(world, 3600)
    assert send(world).returncode == 0
    assert len(mail.read(tmp_path / "absent")) == len(ADDRESSES)


def test_after_unsubscribing_no_waiting_mail_is_sent(world, relay):
    send(world)
    repofile.execute(world, "DELETE FROM subscriber WHERE semail=?", ADDRESSES[0])
    repofile.execute(world, "UPDATE subscriber SET sdonotcall=1 WHERE semail=?", ADDRESSES[1])
    move_clock(world, 3600)
    with relay:
        assert send(world).returncode == 0
        assert relay.reached() == ADDRESSES[2:]


def many(path, number):
    """Adds NUMBER subscribers. Returns the addresses of all subscribers."""
    more = [f"more{each}@example.net" for each in range(number)]
    for address in more:
        mail.subscribe(path, address, "c")
    return sorted(ADDRESSES + more)


def start_sending(path):
    return subprocess.Popen([places.program("quarry"), "alerts", "send", path], stdout=subprocess.DEVNULL)


def test_concurrent_runs_send_each_mail_once(world, relay):
    addresses = many(world, 95)
    with relay:
        runs = [start_sending(world) for _ in range(4)]
        assert [run.wait(120) for run in runs] == [0] * 4
        assert relay.reached() == addresses


def test_killed_runs_lose_no_mail(world, relay):
    addresses = many(world, 195)
    with relay:
        for _ in range(8):
            before = len(relay.mails)
            run = start_sending(world)
            wait_until(lambda before=before, run=run: len(relay.mails) > before + 3 or run.poll() is not None, "some mails")
            run.send_signal(signal.SIGKILL)
            run.wait()
        move_clock(world, 3600)
        assert send(world).returncode == 0
        assert sorted(set(relay.reached())) == addresses
        # Each kill can cause one duplicate email.
        assert len(relay.mails) <= 200 + 8
    assert waiting(world) == 0
