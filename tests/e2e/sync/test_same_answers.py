"""The same requests to the program (`fossil http`, with the rights that each request has) and to Quarry, on copies of
one repository: the same cards come back, and the same stands in the tables afterwards.

Requests are made from seeds; the test's output names the seed and the request that were answered differently.
QUARRY_REQUESTS=5000 makes as many of them.

Where the two differ on purpose:

- A request that fails changes nothing here. The program commits what came before some errors, and goes on after
  others; after an error its copy is made anew from ours, and what else it replied is not compared.
- Artifact names in capitals are none here.
- Of a card that is wrong in two ways, one or the other is told; sometimes more is told here.
- Which version the server is. How an artifact travels: whole, or as which delta; it is compared by its content.
- When clusters are made: copies are renewed before there are a hundred unclustered artifacts.
- White space before a comment or a blank card: the document lets it count for nothing, the program does not.
- `hook-embargo` is lifted by the next push that asks for no more, not by whoever reads in between.
- Rows of `rcvfrom` of requests that stored nothing; the row `uv-hash` of `config`, a cache that a reader here does
  not write.

These holes of the program (and crashes) are not asked about here; tests of their own show what Quarry does:
unversioned files for who may not read (test_unversioned.py), check-in locks and links for who may not write or read,
compressed files, whose content the program does not look at (test_bad_cards.py), SHA3 names for clients that did not say their version, content of unversioned files that is left out and was never
there, deltas whose source is not there yet (test_deltas_and_phantoms.py), an empty unversioned file with a wrong hash (unit/sync/server/unversioned_test.cc, pragmas_test.cc), settings by their names alone,
rows as SQL, and words of SQL in a value, which the program hands to SQLite (unit/sync/server/configuration_test.cc), private artifacts named as public ones (test_private_and_shunned.py).
"""

import os
import re
import shutil
import subprocess
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import delta, repofile, wire
from support.fossil import Checkout
from support.servers import disable_backoffice
from support.made_requests import USERS, Maker, Material

REQUESTS = int(os.environ.get("QUARRY_REQUESTS", "250"))
#: From one renewal of the copies to the next.
ROUND = 25
SEED = int(os.environ.get("QUARRY_SEED", "1"))

COMPARED = {
    "artifacts": "SELECT uuid, size, rcvid>0 FROM blob",
    "phantoms": "SELECT uuid FROM phantom JOIN blob USING(rid)",
    "private": "SELECT uuid FROM private JOIN blob USING(rid)",
    "unclustered": "SELECT uuid FROM unclustered JOIN blob USING(rid)",
    "receipts": "SELECT DISTINCT uuid, uid, nonce, ipaddr FROM blob JOIN rcvfrom USING(rcvid)",
    "settings": "SELECT name, value, CASE WHEN name GLOB 'ci-lock-*' OR name GLOB 'sync*' OR name='hash-policy' THEN 0 "
                "ELSE mtime END FROM config WHERE name NOT IN ('uv-hash','hook-embargo') AND name NOT GLOB 'baseurl:*'",
    "people": "SELECT login, pw, cap, info, photo, jx, mtime FROM user",
    "reports": "SELECT title, owner, cols, sqlcode, jx, mtime FROM reportfmt",
    "shunned": "SELECT uuid, scom, mtime FROM shun",
    "addresses": "SELECT hash, content, mtime FROM concealed",
}
#: Tables that are made when they are needed: no table is as good as an empty one.
COMPARED_IF_THERE = {
    "unversioned": "SELECT name, mtime, hash, sz, encoding, content FROM unversioned",
    "subscribers": "SELECT semail, suname, sdigest, sdonotcall, ssub, sctime, smip, mtime, sverified FROM subscriber",
}


@pytest.fixture(scope="module")
def original(tmp_path_factory, fossil):
    """A history of a few check-ins, private and shunned artifacts, settings, people, unversioned files."""
    folder = tmp_path_factory.mktemp("original")
    path = folder / "original.fossil"
    fossil.new(path, "--date-override", "2020-01-01T00:00:00")
    checkout = Checkout(fossil, path, folder / "work")
    for step in range(5):
        checkout.write("file.txt", "".join(f"line {line} of {step}\n" for line in range(40 + step)))
        checkout.write(f"other-{step}.txt", f"number {step}\n")
        checkout("add", f"other-{step}.txt", "file.txt") if step == 0 else checkout("add", f"other-{step}.txt")
        checkout.commit(f"step {step}", "--date-override", f"2020-01-02T00:0{step}:00", *(["--private"] if step == 4 else []))
    shunned = repofile.value(path, "SELECT uuid FROM blob WHERE rid=4")
    repofile.shun(path, shunned)
    for name, data in (("a.txt", b"some text\n" * 50), ("gone", b"x")):
        checkout.write("uv", data)
        fossil("uv", "add", checkout.folder / "uv", "--as", name, "-R", path)
    fossil("uv", "rm", "gone", "-R", path)
    for login, capabilities in USERS.items():
        repofile.add_user(path, login, "word", capabilities)
    repofile.execute(path, "UPDATE user SET mtime=NULL, cap='' WHERE login IN ('nobody','anonymous')")
    repofile.execute(path, "UPDATE unversioned SET mtime=1500000003")
    repofile.execute(path, "INSERT INTO config VALUES('css','body',1000),('interwiki:w','{}',5),('walias:/x','{}',7)")
    repofile.execute(path, "INSERT INTO config VALUES('syncwith:http://h/','{}',4000000000)")
    repofile.execute(path, "INSERT INTO concealed VALUES('hash',9,'me@here')")
    repofile.execute(path, "DELETE FROM config WHERE name GLOB 'ckout:*'")
    disable_backoffice(path)
    checkout("close", "--force")
    return path


@dataclass
class Program:
    """`fossil http`, one process a request."""

    path: Path
    environment: dict[str, str]

    def ask(self, body: bytes) -> wire.Answer:
        head = (f"POST / HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: {wire.PLAIN}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        done = subprocess.run(["fossil", "http", self.path, "--ipaddr", "127.0.0.1", "--nojail"], input=head + body,
                              env=self.environment, capture_output=True, timeout=60, check=False)
        header, _, raw = done.stdout.partition(b"\r\n\r\n")
        assert header.startswith(b"HTTP/1.0 200 OK"), f"the program failed: {done.stdout[:2000]!r} {done.stderr!r}"
        return wire.Answer(200, {}, raw, cards=wire.parse(raw))


def error_text(answer: wire.Answer) -> str | None:
    """The first error, whichever way its spaces were coded."""
    for card in answer.of("error"):
        text = card.text().rstrip("\n")
        return urllib.parse.unquote_plus(text) if "+" in text and " " not in text else text
    return None


def is_same_error(ours: str | None, theirs: str | None) -> bool:
    if ours == "not authorized to write unversioned files":
        return True  # the program passes the file over, or looks at its hash first
    if ours is None or theirs is None:
        return ours == theirs
    wrong_in_two_ways = ours.startswith("malformed ") and theirs == "not authorized to write"
    # After these the program reads on, and tells the last of several errors.
    reads_on = ours == "not authorized to write" or ours.startswith("bad command: ")
    # After a colon, ours says more.
    return ours == theirs or wrong_in_two_ways or reads_on or (": " in ours and ours.partition(": ")[0] == theirs)


def comparable(answer: wire.Answer, contents: dict[str, bytes]) -> list[tuple]:
    """The cards in an order of their own, artifacts by what they are. What is asked for twice fossil sends twice, of the configuration."""
    cards = []
    configured = set()
    private = False
    for card in answer.cards:
        if card.operator == "#" or card.arguments[:1] == ["server-version"]:
            continue
        if card.operator in ("file", "cfile"):
            name = card.arguments[0]
            plain = card.operator == "file"
            payload = card.payload if plain else wire.decompress(card.payload)
            source = card.arguments[1] if len(card.arguments) == (3 if plain else 4) else None
            assert wire.is_named(name, delta.apply(contents[source], payload) if source else payload), name
            cards.append(("artifact", card.operator, name, private))
        elif card.operator == "pragma" and card.arguments[0] == "ci-lock-fail":
            cards.append(("pragma", "ci-lock-fail", card.arguments[1]))
        elif card.operator == "pragma" and card.arguments[0] == "link":
            cards.append(("pragma", "link", card.arguments[1]))
        elif card.operator == "config":
            configured.add(("config", card.arguments[0], card.payload))
        elif card.operator != "private":
            cards.append((card.operator, *card.arguments, card.payload))
        private = card.operator == "private"
    return sorted([*cards, *configured])


def tables(path: Path) -> dict[str, list]:
    state = {name: sorted(map(repr, repofile.query(path, sql))) for name, sql in COMPARED.items()}
    present = {name for name, in repofile.query(path, "SELECT name FROM sqlite_master WHERE type='table'")}
    for name, sql in COMPARED_IF_THERE.items():
        there = re.search(r"FROM (\w+)", sql)[1] in present
        state[name] = sorted(map(repr, repofile.query(path, sql))) if there else []
    return state


def differences(ours: dict[str, list], theirs: dict[str, list]) -> list[str]:
    return [f"{name}: {sign} {row[:300]}" for name in ours
            for sign, rows in (("ours alone", set(ours[name]) - set(theirs[name])),
                               ("theirs alone", set(theirs[name]) - set(ours[name]))) for row in sorted(rows)]


class Pair:
    """Two copies of a repository, one served by Quarry, one for the program."""

    def __init__(self, server, original: Path, folder: Path, number: int, program_folder: Path, environment):
        self.ours = repofile.copy(original, folder / f"round-{number}.fossil")
        self.theirs = repofile.copy(original, program_folder / f"round-{number}.fossil")
        self.peer = wire.Peer(server.port, f"/round-{number}")
        self.program = Program(self.theirs, environment)
        self.contents = repofile.contents(self.ours)

    def renew_theirs(self) -> None:
        self.theirs.unlink()
        repofile.copy(self.ours, self.theirs)

    def compare(self, body: bytes, brought: dict[str, bytes]) -> None:
        before = repofile.everything(self.ours)
        mine = self.peer.post(body)
        programs = self.program.ask(body)
        assert mine.status == 200
        assert is_same_error(error_text(mine), error_text(programs)), f"{error_text(mine)} / {error_text(programs)}"
        if error_text(mine) is not None:
            assert repofile.everything(self.ours) == before, "a request that failed changes nothing"
            self.renew_theirs()
            return
        contents = {**self.contents, **brought}
        assert comparable(mine, contents) == comparable(programs, contents)
        assert not differences(tables(self.ours), tables(self.theirs))


@pytest.fixture
def served_folder(launch, tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    return launch(folder, workers=1), folder


def test_the_same_request_gets_the_same_answer_and_leaves_the_same_tables(served_folder, original, fossil, tmp_path):
    server, folder = served_folder
    programs = tmp_path / "programs"
    programs.mkdir()
    material = Material.of(original)
    # Each kind of server has its share of them.
    kinds = ("gateway", "nginx", "fossil")
    for number in range(kinds.index(server.kind), (REQUESTS + ROUND - 1) // ROUND, 2):
        seed = SEED * 1000 + number
        maker = Maker(material, seed)
        pair = Pair(server, original, folder, number, programs, fossil.environment)
        for step in range(ROUND):
            body = maker.make()
            print(f"seed {seed}, request {step}:\n{body.decode(errors='backslashreplace')}\n")
            pair.compare(body, maker.pushed)
        for path in (pair.ours, pair.theirs):
            path.unlink()
    shutil.rmtree(programs)
