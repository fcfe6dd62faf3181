"""Submitters are mailed if their change sets do not land. The addresses of submitters are not revealed to others."""

import email
import email.policy

import pytest

from support import changes, repofile
from support.changes import Queue, somebody, tarball
from support.courier import sections
from support.fossil import Checkout
from support.mailserver import MailServer
from support.process import wait_until
from support.program import quarryd

ADDRESSES = {"writer": "writer@example.org", "second": "second@example.org", "gone": "gone@example.org",
             "mute": "mute@example.org"}


@pytest.fixture
def people(fresh, fossil, tmp_path):
    """Adds users with addresses, and the user `silent`, who does not have an address."""
    work = Checkout(fossil, fresh, tmp_path / "work")
    work.commit_file("a.txt", "a\n", "base")
    for login in ("boss", "second", "gone", "mute", "silent"):
        repofile.add_user(fresh, login, "pen", "a" if login == "boss" else "giox")
    for login, address in ADDRESSES.items():
        repofile.execute(fresh, "UPDATE user SET info=? WHERE login=?", f"{login.title()} <{address}>", login)
    # This command creates the table of subscribers. One user has a confirmed address, and another user does not want
    # mail.
    fossil("alerts", "subscribers", "-R", fresh)
    add = "INSERT INTO subscriber(semail,suname,sverified,sdonotcall,sdigest,ssub,sctime,mtime) VALUES(?,?,1,?,0,'a',0,0)"
    repofile.execute(fresh, add, "second@confirmed.example.org", "second", 0)
    repofile.execute(fresh, add, "mute@confirmed.example.org", "mute", 1)
    return fresh


def test_submitters_are_mailed_when_their_change_set_did_not_land(start, people, tmp_path):
    events = tmp_path / "events"
    with MailServer() as server:
        post = {"type": "mail", "url": server.url, "from": "quarry@example.org"}
        more = sections(tmp_path, {"people": post | {"to": "submitter", "events": "change-set"},
                                   "boss": post | {"to": "boss@example.org", "events": "change-set"},
                                   "all": {"type": "file", "path": events}})
        daemon = start({"changes": "on", "changes.scan": "1s"}, http={}, more=more)
        port = daemon.port
        boss = somebody(port, people, "boss")
        assert boss.post("/queue/freeze?branch=trunk&r=1", kind=changes.ACTION).status == 200
        ids = {login: somebody(port, people, login).submit(tarball({"none.txt": None})).json["id"]
               for login in (*ADDRESSES, "silent")}
        queue = Queue.of(people)
        wait_until(lambda: len(queue.names("staging")) == len(ids), "all of them waiting")
        repofile.execute(people, "DELETE FROM user WHERE login='gone'")
        assert boss.post("/queue/thaw?branch=trunk&r=2", kind=changes.ACTION).status == 200
        wait_until(lambda: len(queue.names("fail")) == len(ids), "their failures")
        landed = somebody(port, people).submit(tarball({"a.txt": b"b\n"})).json["id"]
        wait_until(lambda: events.exists() and f'{landed}/landed' in events.read_text(), "its event")

        def mails_to(address):
            return [email.message_from_bytes(each.content, policy=email.policy.default) for each in server.mails
                    if each.rcpt_tos == [address]]

        wait_until(lambda: any(f"{landed} of trunk: landed" in each["Subject"] for each in mails_to("boss@example.org")),
                   "the last mail to the boss")
        expected = {"writer": "writer@example.org", "second": "second@confirmed.example.org"}
        wait_until(lambda: all(mails_to(address) for address in expected.values()), "the mails")
        for login, address in expected.items():
            mail, = mails_to(address)
            assert mail["To"] == address and f"your change set {ids[login]} for trunk did not land" in mail["Subject"]
            assert "none.txt" in mail.get_content() and mail["X-Quarry-Event"] == "notice"
        assert {address for each in server.mails for address in each.rcpt_tos} == {*expected.values(), "boss@example.org"}
        assert "example.org" not in events.read_text().replace("https://example.org", "")
        for mail in mails_to("boss@example.org"):
            assert not any(each in mail.as_string() for each in (*ADDRESSES.values(), "confirmed"))
        assert not any(each in daemon.log() for each in (*ADDRESSES.values(), "confirmed"))


def test_invalid_destinations_for_submitters_are_refused(tmp_path):
    for words, part in (({"type": "file", "to": "submitter", "path": tmp_path / "x"}, "type"),
                        ({"type": "mail", "from": "a@b.c", "to": "submitter", "events": "push"}, "change-set"),
                        ({"type": "mail", "from": "a@b.c", "to": "submitter, d@e.f"}, "not an address"),
                        ({"type": "mail", "from": "submitter", "to": "d@e.f"}, "not an address")):
        (tmp_path / "q.conf").write_text(sections(tmp_path, {"people": words}))
        done = quarryd("--config", tmp_path / "q.conf", "--test")
        assert done.returncode != 0 and part in done.stdout + done.stderr, done
