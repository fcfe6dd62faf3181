"""How mail leaves: to a real SMTP server that works, refuses, hangs or is away; through a command; into a database. And
what becomes of it when a run is killed, or two run at once."""

import contextlib
import signal
import socket
import sqlite3
import subprocess
import threading

import pytest

from support import mail, places, repofile
from support.fossil import Checkout
from support.process import free_port, wait_until
from support.program import quarry

ADDRESSES = [f"person{number}@example.net" for number in range(5)]


@pytest.fixture
def world(tmp_path, fossil):
    """A repository with one check-in that five people are to be told of."""
    path = tmp_path / "made.fossil"
    fossil.new(path)
    mail.set_up(path, fossil, tmp_path / "mail")
    for address in ADDRESSES:
        mail.subscribe(path, address, "c")
    checkout = Checkout(fossil, path, tmp_path / "checkout")
    checkout.commit_file("file", "text\n", "something new")
    return path


@pytest.fixture
def relay(world, fossil):
    """Call it for a mail server that the repository uses; it starts anew on the same port."""
    port = free_port()
    fossil("settings", "email-send-method", "relay", "-R", world)
    fossil("settings", "email-send-relayhost", f"127.0.0.1:{port}", "-R", world)
    servers = []

    def start(received):
        servers.append(mail.MailServer(port, received))
        servers[-1].start()
        return servers[-1]
    start.port = port
    yield start
    for server in servers:
        with contextlib.suppress(Exception):
            server.stop()


def use_method(path, method, setting, value):
    repofile.execute(path, "REPLACE INTO config(name,value,mtime) VALUES('email-send-method',?,1)", method)
    repofile.execute(path, "REPLACE INTO config(name,value,mtime) VALUES(?,?,1)", setting, str(value))


def move_clock(path, seconds):
    """As if so much time had gone by since everything in the outbox."""
    repofile.execute(path, "UPDATE fx_quarry_mail SET due=due-?, made=made-?", seconds, seconds)


def waiting(path):
    return repofile.value(path, "SELECT count(*) FROM fx_quarry_mail")


def send(path):
    return quarry("alerts", "send", path)


def test_a_relay_gets_each_mail_once(world, relay):
    received = mail.Received()
    relay(received)
    done = send(world)
    assert done.returncode == 0, done.stderr
    assert received.recipients() == ADDRESSES
    assert {sender for sender, _, _ in received.envelopes} == {mail.SELF}
    for _, to, message in received.envelopes:
        assert message["To"].addresses[0].addr_spec == to
        assert "something new" in mail.text(message)
    assert send(world).returncode == 0
    assert len(received.envelopes) == len(ADDRESSES)


def test_who_is_refused_for_good_is_given_up_and_the_others_get_theirs(world, relay):
    received = mail.Received(answers={ADDRESSES[1]: "550 nobody of that name"})
    relay(received)
    done = send(world)
    assert done.returncode == 1
    assert "550" in done.stderr and ADDRESSES[1] in done.stderr
    assert "given up: 1" in done.stdout
    assert received.recipients() == [each for each in ADDRESSES if each != ADDRESSES[1]]
    assert waiting(world) == 0


def test_who_is_put_off_gets_it_later_and_the_others_nothing_twice(world, relay):
    received = mail.Received(answers={ADDRESSES[1]: "451 not now"})
    relay(received)
    done = send(world)
    assert "451" in done.stderr and "failed: 1" in done.stdout
    assert waiting(world) == 1
    received.answers = {}
    send(world)
    assert len(received.envelopes) == 4  # not before its time
    move_clock(world, 60)
    assert send(world).returncode == 0
    assert received.recipients() == ADDRESSES


def test_a_relay_that_is_back_after_an_hour_gets_everything_once(world, relay):
    done = send(world)
    assert done.returncode == 1
    assert f"127.0.0.1:{relay.port}" in done.stderr
    assert waiting(world) == len(ADDRESSES)
    for _ in range(6):
        move_clock(world, 600)
        send(world)
    received = mail.Received()
    relay(received)
    move_clock(world, 3600)
    assert send(world).returncode == 0
    assert received.recipients() == ADDRESSES
    assert waiting(world) == 0


def test_a_mail_that_nobody_takes_for_five_days_is_given_up(world, relay):
    relay(mail.Received(answer="451 not now"))
    send(world)
    move_clock(world, 5 * 86400 + 1)
    for _ in range(3):
        send(world)
    assert waiting(world) == 0


@pytest.mark.slow
def test_a_relay_that_hangs_is_tried_once_in_a_run(world, relay):
    with socket.create_server(("127.0.0.1", relay.port)) as silent:
        assert send(world).returncode == 1
        # It waits for a minute once, and not for each subscriber.
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert waiting(world) == len(ADDRESSES)
    received = mail.Received()
    relay(received)
    move_clock(world, 3600)
    send(world)
    assert received.recipients() == ADDRESSES


def test_a_command_takes_mails_on_its_input(world, tmp_path):
    use_method(world, "pipe", "email-send-command", f"cat >{tmp_path}/$$.email")
    assert send(world).returncode == 0
    assert sorted(message["To"].addresses[0].addr_spec for message in mail.read(tmp_path)) == ADDRESSES


@pytest.mark.parametrize(("command", "said", "left"), [
    ("echo 'no such user' >&2; exit 67", "no such user", 0),
    ("echo later; exit 75", "later", 5),
    ("no-such-program", "not found", 5),
    ("kill -9 $$", "signal 9", 5),
])
def test_a_command_that_fails_is_told_of(world, command, said, left):
    use_method(world, "pipe", "email-send-command", command)
    done = send(world)
    assert done.returncode == 1
    assert said in done.stderr
    assert waiting(world) == left


def test_a_database_gets_rows_as_fossil_writes_them(world, tmp_path, fossil):
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


def test_a_folder_that_is_not_there_is_told_of_and_nothing_is_lost(world, tmp_path):
    use_method(world, "dir", "email-send-dir", tmp_path / "absent")
    done = send(world)
    assert done.returncode == 1
    assert str(tmp_path / "absent") in done.stderr
    (tmp_path / "absent").mkdir()
    move_clock(world, 3600)
    assert send(world).returncode == 0
    assert len(mail.read(tmp_path / "absent")) == len(ADDRESSES)


def test_who_unsubscribes_before_a_mail_is_sent_does_not_get_it(world, relay):
    send(world)
    repofile.execute(world, "DELETE FROM subscriber WHERE semail=?", ADDRESSES[0])
    repofile.execute(world, "UPDATE subscriber SET sdonotcall=1 WHERE semail=?", ADDRESSES[1])
    received = mail.Received()
    relay(received)
    move_clock(world, 3600)
    assert send(world).returncode == 0
    assert received.recipients() == ADDRESSES[2:]


def many(path, number):
    with repofile.database(path, write=True) as database:
        database.executemany("INSERT INTO subscriber(semail,sverified,sdonotcall,sdigest,ssub,sctime,mtime,lastContact)"
                             " VALUES(?,1,0,0,'c',1,1,30000)", [(f"more{n}@example.net",) for n in range(number)])


def test_of_runs_at_once_each_mail_is_sent_by_one(world, relay):
    many(world, 95)
    received = mail.Received()
    relay(received)
    runs = [threading.Thread(target=send, args=(world,)) for _ in range(4)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(received.envelopes) == 100
    assert len(set(received.recipients())) == 100


def test_of_runs_that_are_killed_no_mail_is_lost(world, relay):
    many(world, 195)
    received = mail.Received()
    relay(received)
    for _ in range(8):
        before = len(received.envelopes)
        run = subprocess.Popen([places.program("quarry"), "alerts", "send", str(world)], stdout=subprocess.DEVNULL)
        wait_until(lambda before=before, run=run: len(received.envelopes) > before + 3 or run.poll() is not None, "some mails")
        run.send_signal(signal.SIGKILL)
        run.wait()
    move_clock(world, 3600)
    assert send(world).returncode == 0
    assert set(received.recipients()) == {*ADDRESSES, *(f"more{n}@example.net" for n in range(195))}
    # Each kill can repeat the one mail that was under way.
    assert len(received.envelopes) <= 200 + 8
    assert waiting(world) == 0
