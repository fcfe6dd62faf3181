"""Compares Quarry with `fossil http`. Both programs get the same requests on copies of one repository. They must reply
with the same cards, and the tables must be equal afterwards.

Requests are generated from seeds. The output of a failed test contains the seed and the request. QUARRY_REQUESTS sets
the number of requests (default: 250).

Intended differences:

- A failed request does not change the repository in Quarry. fossil commits the cards before some errors, and continues
  after other errors. After an error, the rest of fossil's reply is ignored, and fossil continues with a copy of
  Quarry's repository.
- Artifact names in upper case are invalid in Quarry.
- If a card has two errors, the two programs can report different errors. Some of Quarry's error messages have more
  details.
- The two programs have different versions.
- The programs can send an artifact whole, or as deltas on different sources. Only its content is compared.
- The programs make clusters at different times. To avoid clusters, the test starts with new copies of the repository
  before a hundred artifacts are unclustered.
- If an artifact becomes private, Quarry removes it from the table `unclustered`. fossil keeps such rows and skips them.
- Quarry ignores white space before a comment and on a blank line, as documented. fossil does not.
- Quarry deletes the setting `hook-embargo` in the next push for which the server does not request any artifacts.
  fossil also deletes the setting when a client only reads.
- Rows of the table `rcvfrom` differ for requests that stored nothing.
- Quarry does not write the setting `uv-hash`, which is a cache, when a client only reads.

Requests that crash fossil or exploit its security holes are not generated. Other tests in tests/unit/sync/server
cover Quarry's behavior:

- unversioned_test.cc: unversioned files without the right to read, empty files with a wrong hash, and omitted content
  that has never been sent
- pragmas_test.cc: check-in locks and links without rights
- configuration_test.cc: settings requested by name, rows as SQL text, and SQL keywords in values
- push_test.cc: private artifacts named as public
- pull_test.cc: SHA3 names for clients that have not sent their version

test_bad_cards.py tests compressed files, because fossil does not check their content. test_deltas_and_phantoms.py tests
deltas that arrive before their sources.
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
ROUND = 25
SEED = int(os.environ.get("QUARRY_SEED", "1"))

COMPARED = {
    "artifacts": "SELECT uuid, size, rcvid>0 FROM blob",
    "phantoms": "SELECT uuid FROM phantom JOIN blob USING(rid)",
    "private": "SELECT uuid FROM private JOIN blob USING(rid)",
    "unclustered": "SELECT uuid FROM unclustered JOIN blob USING(rid) WHERE rid NOT IN (SELECT rid FROM private)",
    "receipts": "SELECT DISTINCT uuid, uid, nonce, ipaddr FROM blob JOIN rcvfrom USING(rcvid)",
    "settings": "SELECT name, value, CASE WHEN name GLOB 'ci-lock-*' OR name GLOB 'sync*' OR name='hash-policy' THEN 0 "
                "ELSE mtime END FROM config WHERE name NOT IN ('uv-hash','hook-embargo') AND name NOT GLOB 'baseurl:*'",
    "users": "SELECT login, pw, cap, info, photo, jx, mtime FROM user",
    "reports": "SELECT title, owner, cols, sqlcode, jx, mtime FROM reportfmt",
    "shunned": "SELECT uuid, scom, mtime FROM shun",
    "addresses": "SELECT hash, content, mtime FROM concealed",
}
#: Tables that are created when they are first needed. A missing table counts as an empty table.
COMPARED_IF_THERE = {
    "unversioned": "SELECT name, mtime, hash, sz, encoding, content FROM unversioned",
    "subscribers": "SELECT semail, suname, sdigest, sdonotcall, ssub, sctime, smip, mtime, sverified FROM subscriber",
}


@pytest.fixture(scope="module")
def original(tmp_path_factory, fossil):
    """A repository with a few check-ins, private and shunned artifacts, settings, users and unversioned files."""
    folder = tmp_path_factory.mktemp("original")
    path = fossil.new(folder / "original.fossil", "--date-override", "2020-01-01T00:00:00")
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
    """Runs `fossil http` in a new process for each request."""

    path: Path
    environment: dict[str, str]

    def ask(self, body: bytes) -> wire.Answer:
        head = (f"POST / HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: {wire.PLAIN}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        done = subprocess.run(["fossil", "http", self.path, "--ipaddr", "127.0.0.1", "--nojail"], input=head + body,
                              env=self.environment, capture_output=True, timeout=60, check=False)
        header, _, raw = done.stdout.partition(b"\r\n\r\n")
        assert header.startswith(b"HTTP/1.0 200 OK"), f"fossil failed: {done.stdout[:2000]!r} {done.stderr!r}"
        return wire.Answer(200, {}, raw, cards=wire.parse(raw))


def error_text(answer: wire.Answer) -> str | None:
    """Returns the text of the first error card. Spaces that are encoded as plus signs are decoded."""
    for card in answer.of("error"):
        text = card.text().rstrip("\n")
        return urllib.parse.unquote_plus(text) if "+" in text and " " not in text else text
    return None


def is_same_error(ours: str | None, theirs: str | None) -> bool:
    if ours == "not authorized to write unversioned files":
        return True  # fossil ignores the file without an error, or reports a wrong hash first
    if ours is None or theirs is None:
        return ours == theirs
    wrong_in_two_ways = ours.startswith("malformed ") and theirs == "not authorized to write"
    # fossil continues after these errors and reports only the last error.
    reads_on = ours == "not authorized to write" or ours.startswith("bad command: ")
    # Our error can have details after a colon.
    return ours == theirs or wrong_in_two_ways or reads_on or (": " in ours and ours.partition(": ")[0] == theirs)


def comparable(answer: wire.Answer, contents: dict[str, bytes]) -> list[tuple]:
    """Returns the sorted cards, in which artifacts are replaced by their names. Repeated configuration is counted once,
    because only fossil repeats a configuration that is requested twice."""
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
            for sign, rows in (("only ours", set(ours[name]) - set(theirs[name])),
                               ("only theirs", set(theirs[name]) - set(ours[name]))) for row in sorted(rows)]


class Pair:
    """Two copies of a repository. Quarry serves one copy, and fossil serves the other."""

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
            assert repofile.everything(self.ours) == before, "a failed request changes nothing"
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


def test_generated_requests(served_folder, original, fossil, tmp_path):
    server, folder = served_folder
    programs = tmp_path / "programs"
    programs.mkdir()
    material = Material.of(original)
    # Each kind of server gets a share of the requests.
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


PULL, PUSH = f"pull {wire.SERVER_CODE} CODE", f"push {wire.SERVER_CODE} CODE"
HIDDEN, OPEN = wire.file_card(b"hidden"), wire.file_card(b"open")
NAME, OTHER = wire.sha3(b"hidden"), wire.sha3(b"other")
#: Cases that are rare in generated requests. Each case has SQL that changes the repository, and a list of requests with
#: their users ("" is nobody).
SCENARIOS = {
    "no rights": ("", [("", card) for card in ("clone 3 1", "clone", PULL, PUSH, "private", "pragma send-private")]),
    "the right to clone alone": ("UPDATE user SET cap='g' WHERE login='nobody'", [
        ("", f"gimme {NAME}"), ("", ("clone 2 1", f"gimme {NAME}")), ("", "pragma send-catalog"), ("", "reqconfig /all"),
        ("", f"igot {NAME}"), ("", PULL), ("", PUSH), ("", OPEN)]),
    "inherited rights": ("UPDATE user SET cap='o' WHERE login='reader'; UPDATE user SET cap='u' WHERE login='o'", [
        ("o", PULL), ("o", (PULL, PUSH)), ("v", (PUSH, PULL))]),
    "private artifacts": ("", [
        ("x", (PUSH, "private", HIDDEN, OPEN)), ("x", ("pragma send-private", PULL)), ("o", (PULL, f"gimme {NAME}")),
        ("x", (PULL, f"gimme {NAME}")), ("i", (PUSH, f"igot {OTHER} 1")), ("x", (PUSH, f"igot {OTHER} 1")),
        ("i", (PUSH, f"igot {wire.sha3(b'new')}")), ("i", (PUSH, f"igot {wire.sha3(b'new')} 1")), ("g", "clone"),
        ("g", "clone 2 1")]),
    **{f"hash policy {policy}": (f"REPLACE INTO config(name,value) VALUES('hash-policy',{policy})", [
        ("i", (PUSH, wire.file_card(b"old", wire.sha1(b"old")), f"igot {wire.sha1(b'other')}")), ("i", (PUSH, OPEN))])
       for policy in range(5)},
    **{f"schema {schema}": (f"UPDATE config SET value='{schema}' WHERE name='aux-schema'", [
        ("", "# nothing"), ("o", PULL), ("g", "clone 3 1")]) for schema in ("2015-01-25", "2026-01-01 12:00", "9")},
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(served_folder, original, fossil, tmp_path, name):
    server, folder = served_folder
    sql, requests = SCENARIOS[name]
    changed = repofile.copy(original, tmp_path / "changed.fossil")
    with repofile.database(changed, write=True) as connection:
        connection.executescript(sql)
    (tmp_path / "programs").mkdir()
    pair = Pair(server, changed, folder, 0, tmp_path / "programs", fossil.environment)
    code = repofile.project_code(changed)
    for user, cards in requests:
        cards = (cards,) if isinstance(cards, (str, bytes)) else cards
        body = wire.body(wire.CLIENT_VERSION, *cards).replace(b"CODE", code.encode())
        print(f"{user or 'nobody'}:\n{body.decode(errors='backslashreplace')}\n")
        if user:
            body = wire.signed(body, user, wire.shared_secret(code, user, "word"))
        pair.compare(body, {NAME: b"hidden", wire.sha3(b"open"): b"open", wire.sha1(b"old"): b"old"})
