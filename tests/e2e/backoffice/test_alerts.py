"""`fossil alerts send` and `quarry alerts send` send the same emails to the same subscribers."""

import pytest

from support import documents, mail, repofile
from support.fossil import Checkout
from support.program import quarry_as_user

USERS = {"ann": "s", "bob": "v", "cid": "u", "dot": "5", "eve": "q", "fay": "l", "gil": "", "hal": "a"}
LETTERS = {"ann": "acftwx", "bob": "acftwx", "cid": "acftwx", "dot": "fx", "eve": "tc", "fay": "w", "gil": "cftw", "hal": "ft"}


@pytest.fixture
def world(tmp_path, fossil):
    """A repository with events of every kind, and subscribers with different capabilities and selections."""
    path = fossil.new(tmp_path / "made.fossil")
    mail.set_up(path, fossil, tmp_path / "nowhere")
    for user, capabilities in USERS.items():
        fossil("user", "new", user, f"{user.title()} Müller <{user}@example.net>", "secret", "-R", path)
        fossil("user", "capabilities", user, capabilities or "b", "-R", path)
        mail.subscribe(path, f"{user}@example.net", LETTERS[user], user)
        mail.subscribe(path, f"{user}.daily@example.net", LETTERS[user], user, digest=1)
    mail.subscribe(path, "stranger@example.net", "acftwx")
    mail.subscribe(path, "unconfirmed@example.net", "acftwx", "ann", verified=0)
    mail.subscribe(path, "silent@example.net", "acftwx", "ann", do_not_call=1)
    mail.subscribe(path, "undecided@example.net", "acftwx", "ann", digest=None)
    mail.subscribe(path, "nothing@example.net", "a", "ann")
    mail.subscribe(path, "expired@example.net", "acftwx", "ann", contact=100)
    checkout = Checkout(fossil, path, tmp_path / "checkout")
    checkout.write("file", "text\n")
    checkout("add", "file")
    checkout.commit("Größe: more <b>text</b>\n\nand a second paragraph: x=1", "--tag", "release", "--tag", "v1")
    happen(path)
    repofile.execute(path, "REPLACE INTO config(name,value,mtime) VALUES('email-renew-cutoff',20000,1)")
    return path


def happen(path):
    """Adds wiki pages, tickets, a technote and a forum thread. Some of these artifacts wait for moderation."""
    page = documents.wiki_page("A Page", "2026-01-02T00:00:00", "text")
    ticket = documents.identifier("ticket")
    (first,) = mail.store(path, page)
    mail.store(path, documents.wiki_page("A Page", "2026-01-03T00:00:00", "other", prior=first),
               documents.wiki_page("Gone", "2026-01-04T00:00:00", ""),
               documents.technote(documents.identifier("note"), "2026-01-05T00:00:00", "a note", "text"),
               documents.ticket_change(ticket, "2026-01-06T00:00:00", {"title": "it breaks", "status": "Open"}),
               documents.ticket_change(ticket, "2026-01-07T00:00:00", {"status": "Fixed"}))
    root, = mail.store(path, documents.post("2026-02-01T00:00:00", "Hello all:\n.\n..dots\nünïcode = x\n", "A thread: <of> söme"))
    edit, = mail.store(path, documents.post("2026-02-02T00:00:00", "Hello, better", "A better title", root=root, prior=root))
    reply, = mail.store(path, documents.post("2026-02-03T00:00:00", "Hello you", root=root, reply_to=edit))
    mail.store(path, documents.post("2026-02-04T00:00:00", "Hello again\r\n\r\n", root=root, reply_to=reply))
    waiting = mail.store(path, documents.post("2026-02-05T00:00:00", "Buy this", root=root, reply_to=reply),
                         documents.wiki_page("Spam", "2026-02-06T00:00:00", "buy"),
                         documents.ticket_change(documents.identifier("spam"), "2026-02-07T00:00:00", {"title": "buy"}))
    for name in waiting:
        mail.hold_back(path, name)


class Twins:
    def __init__(self, path, tmp_path, fossil):
        self.fossil_program = fossil
        self.paths, self.folders = {}, {}
        for name in ("fossil", "quarry"):
            self.folders[name] = tmp_path / f"{name}.mail"
            self.folders[name].mkdir()
            self.paths[name] = repofile.copy(path, tmp_path / f"{name}.fossil")
            fossil("settings", "email-send-dir", self.folders[name], "-R", self.paths[name])

    def send(self, *options):
        self.fossil_program("alerts", "send", *options, "-R", self.paths["fossil"])
        done = quarry_as_user("alerts", "send", *options, self.paths["quarry"])
        assert done.returncode == 0, done.stderr

    def change(self, action):
        for path in self.paths.values():
            action(path)

    def sent(self):
        """Returns the emails that Quarry has sent. Checks that fossil has sent the same emails and stored the same
        rows."""
        sent = {name: mail.all_facts(folder) for name, folder in self.folders.items()}
        assert sent["quarry"] == sent["fossil"]
        marks = [mail.pending(path) for path in self.paths.values()]
        assert marks[0] == marks[1]
        settings = [repofile.query(path, "SELECT name, CAST(value AS TEXT) FROM config WHERE name GLOB 'email-*'"
                                         " AND name<>'email-send-dir' ORDER BY name") for path in self.paths.values()]
        assert settings[0] == settings[1]
        return sent["quarry"]


@pytest.fixture
def twins(world, tmp_path, fossil):
    return Twins(world, tmp_path, fossil)


@pytest.mark.parametrize("nobody", ["gjorz", "", "2", "oj"])
def test_the_same_subscribers_get_the_same_mails(world, tmp_path, fossil, nobody):
    for login, lent in (("nobody", nobody), ("developer", "o2u"), ("reader", "rj")):
        repofile.execute(world, "UPDATE user SET cap=? WHERE login=?", lent, login)
    twins = Twins(world, tmp_path, fossil)
    twins.send()
    sent = twins.sent()
    assert len(sent) > 5
    notified = {to for each in sent for to in each["to"]}
    assert notified >= {"ann@example.net", "bob@example.net", "cid@example.net"}
    assert not {each for each in notified if each.split("@")[0].split(".")[-1] in
                ("daily", "unconfirmed", "silent", "undecided", "nothing", "expired")}


def test_posts_get_their_own_mails_in_a_thread(twins):
    twins.send()
    to_ann = [each for each in twins.sent() if each["to"] == ["ann@example.net"]]
    posts = [each for each in to_ann if each["id"]]
    assert len(posts) == 4
    ids = {each["id"] for each in posts}
    replies = [each for each in posts if "In-Reply-To" in each]
    assert len(replies) == 2
    assert all(each["In-Reply-To"] in ids for each in replies)
    moderation = [each for each in to_ann if "Pending Moderation" in each["Subject"]]
    assert len(moderation) == 1
    others, = [each for each in to_ann if "activity alert" in each["Subject"]]
    assert others["body"].count("\n== ") == 8
    assert others["body"].count("Pending moderator approval") == 2


def test_moderators_are_notified_first_and_others_after_approval(twins):
    twins.send()
    before = len(twins.sent())
    twins.send()
    assert len(twins.sent()) == before
    for name, in repofile.query(twins.paths["quarry"], "SELECT uuid FROM blob, private USING(rid)"):
        twins.change(lambda path, name=name: mail.let_through(path, name))
    twins.send()
    after = twins.sent()
    assert len(after) > before
    twins.send()
    assert len(twins.sent()) == len(after)


def test_digests(twins):
    twins.send("--digest")
    sent = twins.sent()
    assert {each["to"][0] for each in sent} >= {"ann.daily@example.net", "bob.daily@example.net"}
    assert all(each["to"][0].split("@")[0].endswith(".daily") for each in sent)
    assert len(sent) == len({each["to"][0] for each in sent})
    twins.send("--digest")
    assert len(twins.sent()) == len(sent)
    twins.send()
    assert len(twins.sent()) > len(sent)
    assert len(mail.pending(twins.paths["quarry"])) == 3


def test_renewals(twins):
    def expire(path):
        for name, value in (("email-renew-interval", "30"), ("email-renew-warning", "20000"), ("email-renew-cutoff", "0")):
            repofile.execute(path, "REPLACE INTO config(name,value,mtime) VALUES(?,?,1)", name, value)
        repofile.execute(path, "UPDATE subscriber SET lastContact=20005 WHERE semail LIKE 'bob%' OR semail LIKE 'un%'")
    twins.change(expire)
    twins.send("--digest", "--renewal")
    renewals = {name: [message for message in mail.read(folder) if "expires soon" in message["Subject"]]
                for name, folder in twins.folders.items()}

    def essence(messages):
        """Returns the recipient, the subject and the indented lines of each email. The other parts are allowed to
        differ."""
        return sorted((message["To"].addresses[0].addr_spec, message["Subject"],
                       [line for line in mail.text(message).splitlines() if line.startswith("  ")]) for message in messages)
    assert essence(renewals["quarry"]) == essence(renewals["fossil"])
    # Bob gets two emails, and the unconfirmed address gets one email. Subscribers who have opted out, or whose
    # selection is empty, do not get email.
    assert len(renewals["quarry"]) == 3
    kept = [repofile.query(path, "SELECT name, CAST(value AS TEXT) FROM config WHERE name GLOB 'email-renew*' ORDER BY name")
            for path in twins.paths.values()]
    assert kept[0] == kept[1]
    twins.send("--digest", "--renewal")
    sent = [len(mail.read(folder)) for folder in twins.folders.values()]
    assert sent[0] == sent[1]


def test_neither_program_repeats_the_alerts_of_the_other(world, tmp_path, fossil):
    twins = Twins(world, tmp_path, fossil)
    shared = twins.paths["quarry"]
    assert quarry_as_user("alerts", "send", shared).returncode == 0
    sent = len(mail.read(twins.folders["quarry"]))
    fossil("alerts", "send", "-R", shared)
    assert len(mail.read(twins.folders["quarry"])) == sent
    fossil("alerts", "send", "--digest", "-R", shared)
    sent_all = len(mail.read(twins.folders["quarry"]))
    assert sent_all > sent
    for option in ([], ["--digest"]):
        assert quarry_as_user("alerts", "send", *option, shared).returncode == 0
    assert len(mail.read(twins.folders["quarry"])) == sent_all


def test_option_test_prints_mails_and_changes_nothing(twins):
    before = mail.pending(twins.paths["quarry"])
    done = quarry_as_user("alerts", "send", "--test", twins.paths["quarry"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Subject: [proj]") == 18
    assert mail.pending(twins.paths["quarry"]) == before
    assert not mail.read(twins.folders["quarry"])
    twins.send()
    twins.sent()


def test_pending_lists_the_same_as_fossil(twins, fossil):
    twins.send()
    repofile.execute(twins.paths["quarry"], "UPDATE pending_alert SET sentDigest=1 WHERE eventid GLOB 'w*'")
    assert quarry_as_user("alerts", "pending", twins.paths["quarry"]).stdout == fossil("alerts", "pending", "-R", twins.paths["quarry"])


def test_with_mail_disabled_nothing_is_changed(world, fossil, tmp_path):
    fossil("settings", "email-send-method", "off", "-R", world)
    before = mail.pending(world)
    done = quarry_as_user("alerts", "send", world)
    assert (done.returncode, done.stdout) == (0, "")
    assert "mail is disabled" in done.stderr
    assert mail.pending(world) == before
    empty = tmp_path / "empty.fossil"
    fossil.new(empty)
    assert quarry_as_user("alerts", "send", empty).returncode == 0
    assert quarry_as_user("alerts", "pending", empty).stdout == ""


@pytest.mark.parametrize("setting", ["email-url", "email-subname", "email-self", "email-send-dir"])
def test_missing_settings_are_reported_and_alerts_wait(world, setting):
    before = mail.pending(world)
    repofile.execute(world, "DELETE FROM config WHERE name=?", setting)
    done = quarry_as_user("alerts", "send", world)
    assert done.returncode == 1
    assert setting in done.stderr
    assert mail.pending(world) == before
