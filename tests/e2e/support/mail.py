"""The email of a repository: settings and sent emails."""

import email
import email.policy
import re
import subprocess
from email.message import EmailMessage
from pathlib import Path

from support import repofile, wire
from support.fossil import Fossil

URL = "https://example.org/project"
SELF = "project@example.org"


def set_up(path: Path, fossil: Fossil, folder: Path, **settings: str) -> None:
    """Makes fossil create its tables, and delivers mail to FOLDER unless SETTINGS say otherwise. Underscores in setting
    names stand for hyphens."""
    folder.mkdir(exist_ok=True)
    # Without this setting, fossil sends alerts immediately, but the test expects them to be pending.
    fossil("settings", "backoffice-disable", "on", "-R", path)
    fossil("alerts", "status", "-R", path)
    values = {"email_send_method": "dir", "email_send_dir": str(folder), "email_url": URL, "email_subname": "[proj]",
              "email_self": SELF, "email_listid": "<project.example.org>", **settings}
    for name, value in values.items():
        fossil("settings", name.replace("_", "-"), value, "-R", path)


def subscribe(path: Path, address: str, letters: str, user: str | None = None, digest: int | None = 0,
              verified: int = 1, do_not_call: int | None = 0, contact: int | None = 30_000) -> None:
    repofile.execute(path, "INSERT INTO subscriber(semail,suname,sverified,sdonotcall,sdigest,ssub,sctime,mtime,smip,"
                     "lastContact) VALUES(?,?,?,?,?,?,1,1,'',?)",
                     address, user, verified, do_not_call, digest, letters, contact)


def send(path: Path, *cards: bytes) -> None:
    """Sends a push with CARDS to fossil, which treats the sender as a user with all capabilities."""
    code = repofile.project_code(path)
    body = wire.body(f"push {'0' * 40} {code}", *cards)
    request = (f"POST /xfer HTTP/1.0\r\nContent-Type: application/x-fossil-uncompressed\r\n"
               f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    done = subprocess.run(["fossil", "test-http", str(path)], input=request, capture_output=True, timeout=60, check=False)
    assert b"200 OK" in done.stdout and b"error " not in done.stdout, done.stdout


def store(path: Path, *artifacts: bytes) -> list[str]:
    send(path, *[wire.file_card(artifact) for artifact in artifacts])
    return [wire.sha3(artifact) for artifact in artifacts]


def number(path: Path, name: str) -> int:
    """Returns the row number of the artifact NAME."""
    return int(repofile.value(path, "SELECT rid FROM blob WHERE uuid=?", name))


def hold_back(path: Path, name: str) -> None:
    """Makes the artifact NAME wait for a moderator."""
    repofile.execute(path, "INSERT INTO private(rid) VALUES(?)", number(path, name))


def let_through(path: Path, name: str) -> None:
    repofile.execute(path, "DELETE FROM private WHERE rid=?", number(path, name))


def pending(path: Path) -> list[tuple]:
    return repofile.query(path, "SELECT eventid, sentSep, sentDigest, sentMod FROM pending_alert ORDER BY eventid")


def parse(data: bytes) -> EmailMessage:
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert not message.defects, message.defects
    return message


def read(folder: Path) -> list[EmailMessage]:
    """Returns all emails in FOLDER. Ignores unfinished emails, whose names begin with a dot."""
    return [parse(path.read_bytes()) for path in sorted(folder.glob("[!.]*.email"))]


def text(message: EmailMessage) -> str:
    return message.get_content().replace("\r\n", "\n")


def _sorted_tags(found: re.Match) -> str:
    return " tags: " + ", ".join(sorted(found[1].split(", ")))


def facts(message: EmailMessage) -> dict:
    """Returns the parts that must be equal in the emails of both programs. Random values and the wording of the first
    line are left out."""
    body = re.sub(r" tags: ([^)\n]*)", _sorted_tags, text(message))
    is_post = " activity alert" not in message["Subject"]
    return {
        **{name: str(message[name]).strip() for name in ("Subject", "List-Id", "In-Reply-To") if message[name] is not None},
        # Later versions of fossil also send these two headers in emails about posts, so the headers are not compared
        # there.
        **{name: str(message[name]).strip() for name in ("List-Unsubscribe", "List-Unsubscribe-Post") if not is_post},
        "to": [address.addr_spec for address in message["To"].addresses],
        "from": [(address.display_name, address.addr_spec) for address in message["From"].addresses],
        "sender": message["Sender"].address.addr_spec if message["Sender"] else None,
        "id": message["Message-Id"].strip() if is_post and "Pending" not in message["Subject"] else None,
        "body": body if is_post else body.split("\n", 1)[1],
    }


def all_facts(folder: Path) -> list[dict]:
    return sorted((facts(message) for message in read(folder)), key=repr)
