"""Mail to a real SMTP server: what it refuses, where it hangs, logins and TLS (tests/unit/courier/send_mail.cc)."""

import subprocess
from pathlib import Path

import pytest

from support import places
from support.mailserver import MailServer, certificate

MESSAGE = "Subject: Hello\nTo: you\n\nline one\n.\n..two dots\nthe last"


def send(server: MailServer, recipients: list[str], *options: object, sender: str = "ann@example.org",
         message: str = MESSAGE) -> dict[str, list[str]]:
    """What became of each recipient, one word and the reason each time."""
    done = subprocess.run([places.build_directory() / "tests" / "unit" / "courier" / "send-mail", server.url, sender,
                           *recipients, *map(str, options)], input=message, capture_output=True, text=True, timeout=60,
                          check=True)
    fates: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, fate = line.partition(" ")
        fates.setdefault(name, []).append(fate.strip())
    return fates


def test_a_mail_arrives_as_it_was_with_its_dots():
    with MailServer() as server:
        assert send(server, ["bob@example.org"]) == {"bob@example.org": ["sent"]}
        mail, = server.mails
        assert mail.mail_from == "ann@example.org" and mail.rcpt_tos == ["bob@example.org"]
        assert mail.content.decode() == MESSAGE.replace("\n", "\r\n") + "\r\n"


def test_several_mails_go_over_one_connection():
    with MailServer() as server:
        assert send(server, ["bob@example.org"], "--times", 20) == {"bob@example.org": ["sent"] * 20}
        assert len(server.mails) == 20 and len(server.handler.sessions) == 1


def test_recipients_that_are_refused_do_not_keep_others_from_their_mail():
    with MailServer() as server:
        server.handler.recipients = {"gone@example.org": "550 5.1.1 no such user", "full@example.org": "452 4.2.2 full"}
        fates = send(server, ["gone@example.org", "bob@example.org", "full@example.org"])
        assert fates == {"gone@example.org": ["refused 550 5.1.1 no such user"], "bob@example.org": ["sent"],
                         "full@example.org": ["later 452 4.2.2 full"]}
        assert [mail.rcpt_tos for mail in server.mails] == [["bob@example.org"]]


def test_all_recipients_refused():
    with MailServer() as server:
        server.handler.recipients = {"gone@example.org": "550 no"}
        assert send(server, ["gone@example.org"], "--times", 2) == {"gone@example.org": ["refused 550 no"] * 2}


@pytest.mark.parametrize(("answer", "fate"), [("451 4.3.0 later", "later"), ("554 5.7.1 spam", "refused")])
def test_a_mail_that_is_refused_at_its_end(answer: str, fate: str):
    with MailServer() as server:
        server.handler.at_end = answer
        assert send(server, ["bob@example.org"]) == {"bob@example.org": [f"{fate} {answer}"]}


def test_a_server_that_hangs_means_later_and_not_for_ever():
    with MailServer() as server:
        server.handler.hangs = True
        fate, = send(server, ["bob@example.org"], "--timeout", 1000)["bob@example.org"]
        assert fate.startswith("later ")


def test_a_connection_that_the_server_has_ended_is_made_again():
    with MailServer() as server:
        server.controller.SMTP_kwargs["timeout"] = 0.3
        assert send(server, ["bob@example.org"], "--times", 2, "--pause", 800) == {"bob@example.org": ["sent"] * 2}
        assert len(server.handler.sessions) == 2


def test_starttls(tmp_path: Path):
    tls = certificate(tmp_path)
    with MailServer(tls) as server:
        # Nobody is known to have signed it: fine between mail servers, not where a certificate is asked for.
        assert send(server, ["bob@example.org"], "--starttls", "if-offered") == {"bob@example.org": ["sent"]}
        assert server.mails[0].smtp_utf8 is False
        refused, = send(server, ["bob@example.org"], "--starttls", "required")["bob@example.org"]
        assert refused.startswith("later ") and "certificate" in refused
        required = ["--starttls", "required", "--ca-file", tls[0]]
        assert send(server, ["bob@example.org"], *required) == {"bob@example.org": ["sent"]}
    with MailServer() as server:
        refused, = send(server, ["bob@example.org"], *required)["bob@example.org"]
        assert refused.startswith("later ")
        assert not server.mails


@pytest.mark.slow
def test_a_login_and_a_wrong_one(tmp_path: Path):
    tls = certificate(tmp_path)
    with MailServer(tls, login=("ann", "secret")) as server:
        with_tls = ["--ca-file", tls[0], "--user", "ann"]
        assert send(server, ["bob@example.org"], *with_tls, "--password", "secret") == {"bob@example.org": ["sent"]}
        wrong, = send(server, ["bob@example.org"], *with_tls, "--password", "other")["bob@example.org"]
        assert wrong.startswith("later ") and "other" not in wrong
        none, = send(server, ["bob@example.org"])["bob@example.org"]
        assert none.startswith("later 530")
