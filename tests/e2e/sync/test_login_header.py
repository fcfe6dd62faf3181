"""Clients since version 2.27 send their login in a header. The stock client and a proxy simulate such a client. The
proxy moves the login card of each request from the body to the header. The signed bytes are the same."""

import http.client
import http.server
import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from support import repofile, wire
from support.client import Pretender, reply
from support.fossil import Checkout

pytestmark = pytest.mark.ours("2.21 does not know the header")

#: A client sends the header if the server has at least this version and date.
FROM_NUMBER, FROM_TIME = 22700, (20250727, 110500)


@dataclass
class HeaderProxy:
    port: int
    sent: list[str] = field(default_factory=list)  # users who logged in with the header
    uses_header: bool = False  # true after a reply with a version that supports the header
    address: str = ""

    def cards_and_cookie(self, cards: bytes) -> tuple[bytes, str]:
        line, _, rest = cards.partition(b"\n")
        if not self.uses_header or not line.startswith(b"login "):
            return cards, ""
        self.sent.append(line.split()[1].decode())
        # The value is encoded like a cookie of fossil.
        return rest, "x-f-l-c=" + urllib.parse.quote(line.decode(), safe="")

    def look_at(self, cards: bytes) -> None:
        version = re.search(rb"^pragma server-version (\d+) (\d+) (\d+)$", cards, re.MULTILINE)
        if version:
            self.uses_header = int(version[1]) >= FROM_NUMBER and (int(version[2]), int(version[3])) >= FROM_TIME

    def pass_on(self, path: str, content_type: str, body: bytes) -> tuple[int, str, bytes]:
        is_compressed = content_type == wire.COMPRESSED
        cards, cookie = self.cards_and_cookie(wire.decompress(body) if is_compressed else body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", path, wire.compress(cards) if is_compressed else cards,
                               {"Content-Type": content_type, **({"Cookie": cookie} if cookie else {})})
            reply = connection.getresponse()
            kind, answer = reply.getheader("Content-Type"), reply.read()
        finally:
            connection.close()
        self.look_at(wire.decompress(answer) if kind == wire.COMPRESSED else answer)
        return reply.status, kind, answer


@pytest.fixture
def newer(launch, fresh) -> Iterator[HeaderProxy]:
    """A proxy in front of a server of `fresh`. Users without a login do not have any capabilities."""
    repofile.set_capabilities(fresh, "nobody", "")
    between = HeaderProxy(launch(fresh).port)

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        status, kind, made = between.pass_on(handler.path, handler.headers["Content-Type"], body)
        reply(status, made, Content_Type=kind)(handler, body)

    with Pretender(answer) as server:
        between.address = f"127.0.0.1:{server.port}"
        yield between


def test_new_clients_clone_commit_and_sync_with_their_login_in_a_header(newer, fresh, fossil, tmp_path):
    clone = fossil.clone(f"http://writer:pen@{newer.address}/", tmp_path / "clone.fossil")
    assert newer.uses_header and set(newer.sent) == {"writer"}
    assert repofile.artifacts(clone) == repofile.artifacts(fresh)
    checkout = Checkout(fossil, clone, tmp_path / "work")
    for number in range(3):
        checkout.write("new.txt", f"by header {number}\n")
        checkout("add", "new.txt") if number == 0 else None
        checkout.commit(f"commit {number}")
        newer.sent.clear()
        # The next command is a new process without information about the server's version.
        newer.uses_header = number == 2
        fossil("sync" if number != 1 else "push", "-R", clone)
        if number == 2:
            assert set(newer.sent) == {"writer"}
    assert repofile.artifacts(clone) == repofile.artifacts(fresh)
    assert repofile.value(fresh, "SELECT count(*) FROM rcvfrom JOIN user USING(uid) WHERE login='writer'") == 3
    assert not fossil.integrity(fresh)


def test_wrong_password_in_a_header(newer, fresh, fossil, tmp_path):
    newer.uses_header = True
    clone = tmp_path / "clone.fossil"
    with repofile.unchanged(fresh):
        status, output = fossil.attempt("clone", "--no-open", f"http://writer:wrong@{newer.address}/", clone)
        assert status != 0 and "login failed" in output
    assert newer.sent


def test_our_client_with_a_login_in_a_header(newer, fresh, quarry, tmp_path):
    clone = tmp_path / "clone.fossil"
    quarry("clone", f"http://writer@{newer.address}/", clone, "--password-file", quarry.password("pen"))
    assert repofile.artifacts(clone) == repofile.artifacts(fresh) and newer.sent
