"""Artifacts of every kind, from the stock client and hand-written, result in the same derived tables as in fossil."""

import random
import subprocess

import pytest

import proof
from support import artifacts, documents, repofile, wire
from support.fossil import Checkout
from support.program import succeeds

ALERTS = """CREATE TABLE pending_alert(eventid TEXT PRIMARY KEY, sentSep BOOLEAN DEFAULT false,
            sentDigest BOOLEAN DEFAULT false, sentMod BOOLEAN DEFAULT false) WITHOUT ROWID"""


@pytest.fixture
def served(fresh, launch):
    return launch(fresh)


@pytest.fixture
def client(served, fossil, tmp_path):
    path = fossil.clone(served.url_for("writer", "pen"), tmp_path / "client.fossil")
    return path


def assert_correct(path, fossil):
    proof.check(path, fossil)
    succeeds("verify", path)


def write_documents(fossil, client, folder):
    page = folder / "page.txt"
    page.write_text("The [abcd1234|first] text.\n")
    fossil("wiki", "create", "A Page", page, "-R", client)
    page.write_text("# The second\n\nSee [this](beef1234).\n")
    fossil("wiki", "commit", "A Page", page, "-M", "text/x-markdown", "-R", client)
    fossil("wiki", "create", "--technote", "2026-01-02 03:04:05", "A note", page, "-R", client)
    fossil("wiki", "commit", "--technote", "2026-01-02 03:04:05", "A note", page, "-R", client)
    fossil("ticket", "add", "title", "It breaks", "status", "Open", "comment", "Since [cafe1234].", "-R", client)
    ticket = repofile.value(client, "SELECT tkt_uuid FROM ticket")
    fossil("ticket", "change", ticket, "status", "Fixed", "+comment", " No more.", "-R", client)
    fossil("ticket", "set", ticket, "severity", "Severe", "-R", client)
    fossil("attachment", "add", "A Page", page, "-R", client)
    fossil("attachment", "add", page, "--technote", "2026-01-02 03:04:05", "-R", client)
    checkout = Checkout(fossil, client, folder / "checkout")
    checkout.commit_file("a.txt", "a\n", f"fixes [{ticket[:10]}]")
    checkout("close")


def test_from_client_to_client(served, client, fossil, tmp_path):
    write_documents(fossil, client, tmp_path)
    fossil("push", "-R", client)
    assert_correct(served.target, fossil)
    assert {kind for kind, in repofile.query(served.target, "SELECT DISTINCT type FROM event")} >= {"ci", "w", "e", "t"}
    assert not fossil.timeline_differences(served.target, client)

    other = fossil.clone(served.url_for("writer", "pen"), tmp_path / "other.fossil")
    page = tmp_path / "exported"
    fossil("wiki", "export", "A Page", page, "-R", other)
    assert page.read_text() == "# The second\n\nSee [this](beef1234).\n"
    assert fossil("ticket", "show", "0", "-R", other) == fossil("ticket", "show", "0", "-R", served.target)
    ticket = repofile.value(other, "SELECT tkt_uuid FROM ticket")
    fossil("ticket", "change", ticket, "status", "Closed", "-R", other)
    fossil("sync", "-R", other)
    fossil("sync", "-R", client)
    assert_correct(served.target, fossil)
    assert repofile.value(client, "SELECT status FROM ticket") == "Closed"
    assert repofile.value(served.target, "SELECT status FROM ticket") == "Closed"


def in_requests(peer, made, seed):
    """Pushes MADE in several requests. SEED determines the order and how the artifacts are divided among the
    requests."""
    chance = random.Random(seed)
    chance.shuffle(made)
    while made:
        count = chance.randint(1, 12)
        answer = peer.push(*[wire.file_card(artifact) for artifact in made[:count]])
        assert not answer.errors(), answer.errors()
        made = made[count:]


@pytest.mark.parametrize("seed", range(4))
def test_documents_in_any_order(launch, fresh, fossil, peer_of, seed):
    server = launch(fresh)
    in_requests(peer_of(server), documents.of_every_kind(), seed)
    assert_correct(fresh, fossil)
    assert repofile.value(fresh, "SELECT count(DISTINCT type) FROM event") == 6
    assert repofile.value(fresh, "SELECT title||status||comment FROM ticket") == \
        "it <breaks> badlyFixedsince [cafe1234] and more"


def signed_history(root: str, kind: str) -> list[bytes]:
    """Returns check-ins on ROOT and tags. Some of them have a signature of KIND."""
    one, two = b"one\n", b"two\n"
    files = {"one.txt": one}
    first = artifacts.signed(artifacts.manifest("first", "2026-01-02T03:04:05.000", "hand", files, [root]), kind)
    files = {"one.txt": two, "two.txt": one}
    second = artifacts.signed(artifacts.manifest(
        "second", "2026-01-03T03:04:05.000", "hand", files, [wire.sha3(first)],
        ["*branch * side", "*sym-side *", "-sym-trunk *"]), kind)
    third = artifacts.manifest("third", "2026-01-04T03:04:05.000", "hand", {"two.txt": two}, [wire.sha3(second)])
    closing = artifacts.signed(artifacts.control("2026-01-05T03:04:05.000", "hand", [f"+closed {wire.sha3(third)}"]), kind)
    tagging = artifacts.control("2026-01-06T03:04:05.000", "hand", [f"+sym-release {wire.sha3(second)}"])
    return [one, two, first, second, third, closing, tagging]


def rows_of(path, made: list[bytes]) -> list[str]:
    """Returns the rows of all derived tables, with numbers instead of the names of the artifacts MADE."""
    text = "\n".join(proof.dump(path))
    for number, artifact in enumerate(made):
        for length in (64, 16, 10):
            text = text.replace(wire.sha3(artifact)[:length], f"<{number}, {length}>")
    return sorted(text.splitlines())


@pytest.mark.parametrize("seed", range(3))
def test_artifacts_with_a_signature(launch, fresh, fossil, peer_of, tmp_path, seed):
    """An SSH signature has the same effect as an OpenPGP signature, which all versions of fossil know."""
    root = repofile.value(fresh, "SELECT uuid FROM blob JOIN event ON rid=objid")
    rows = {}
    for kind in ("PGP", "SSH"):
        path = repofile.copy(fresh, tmp_path / f"{kind}.fossil")
        made = signed_history(root, kind)
        in_requests(peer_of(launch(path)), list(made), seed)
        assert_correct(path, fossil)
        succeeds("rebuild", "--quiet", path)
        rows[kind] = rows_of(path, made)
        assert repofile.value(path, "SELECT count(*) FROM event WHERE type='ci'") == 4
        assert proof.unknown_to_fossil(path, fossil) <= {wire.sha3(made[index]) for index in (2, 3, 5)}
    assert rows["SSH"] == rows["PGP"]


@pytest.mark.parametrize("definition", [
    # This ticket table does not have the columns tkt_ctime and status. The table has a generated column and a column
    # named after an SQL keyword. The table ticketchng is missing.
    "CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT UNIQUE, tkt_mtime DATE, title, \"order\", comment,"
    " words AS (length(comment)));",
    "CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT UNIQUE, tkt_mtime DATE, tkt_ctime DATE, status, title,"
    " icomment, \"baseline for status\" INTEGER, mimetype AS (iif(icomment GLOB '*(*','text/x-markdown',NULL)));"
    "CREATE TABLE ticketchng(tkt_id INTEGER REFERENCES ticket, tkt_mtime DATE, icomment, status);",
])
def test_tickets_as_the_project_defines_them(launch, fresh, fossil, peer_of, definition):
    repofile.set_config(fresh, "ticket-table", definition)
    repofile.set_config(fresh, "ticket-status-column", "title")
    fossil("rebuild", fresh)
    server = launch(fresh)
    in_requests(peer_of(server), documents.of_every_kind(), 1)
    assert_correct(fresh, fossil)


def test_a_push_succeeds_although_the_ticket_table_rejects_a_change(launch, fresh, peer_of):
    repofile.execute(fresh, "DROP TABLE ticket")
    repofile.execute(fresh, "CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT, tkt_mtime CHECK(tkt_mtime<0), title)")
    server = launch(fresh)
    change = documents.ticket_change(documents.identifier("t"), "2026-01-01T00:00:00", {"title": "x"})
    answer = peer_of(server).push(wire.file_card(change))
    assert not answer.errors()
    assert wire.sha3(change) in repofile.artifacts(fresh)
    assert repofile.query(fresh, "SELECT * FROM ticket") == []


ODD = {
    "a change with fields that are missing from the table":
        lambda: [documents.ticket_change(documents.identifier("t"), "2026-01-01T00:00:00", {"unheard-of": "x", "+tkt_id": "7"})],
    "a delta manifest whose baseline is missing":
        lambda: [artifacts.manifest("c", "2026-01-01T00:00:00", "u", {}, baseline=wire.sha3(b"never"))],
    "a delta manifest whose baseline is not a manifest":
        lambda: [b"some text", artifacts.manifest("c", "2026-01-01T00:00:00", "u", {}, baseline=wire.sha3(b"some text"))],
    "a reply whose parent is missing":
        lambda: [documents.post("2026-01-01T00:00:00", "re", root=wire.sha3(b"never"), reply_to=wire.sha3(b"never"))],
    "a reply to an artifact that is not a post":
        lambda: [documents.wiki_page("W", "2026-01-01T00:00:00", "w"),
                 documents.post("2026-01-02T00:00:00", "re", root=wire.sha3(documents.wiki_page("W", "2026-01-01T00:00:00", "w")),
                                reply_to=wire.sha3(b"never"))],
    "a page whose previous version is missing":
        lambda: [documents.wiki_page("W", "2026-01-01T00:00:00", "w", prior=wire.sha3(b"never"))],
    "tags on a missing artifact":
        lambda: [artifacts.control("2026-01-01T00:00:00", "u", [f"+bgcolor {wire.sha3(b'never')} #fff",
                                                                f"+comment {wire.sha3(b'never')} see\\s[abcd1234]",
                                                                f"+sym-x {wire.sha3(b'never')}"])],
    "an attachment to nothing": lambda: [documents.attachment("a", "nothing", "2026-01-01T00:00:00", wire.sha3(b"never"))],
    "a page with an empty title": lambda: [documents.wiki_page("", "2026-01-01T00:00:00", "w")],
    "a text with a NUL in it": lambda: [documents.wiki_page("W", "2026-01-01T00:00:00", "w [abcd1234]\0[beef1234]")],
    "two independent notes with one id":
        lambda: [documents.technote(documents.identifier("n"), f"2026-01-0{day}T00:00:00", f"{day}", "text") for day in (1, 2)],
    "changes with the same time":
        lambda: [documents.ticket_change(documents.identifier("t"), "2026-01-01T00:00:00", {"title": title}) for title in "abc"],
}


@pytest.mark.parametrize("which", ODD)
def test_odd_but_well_formed_artifacts_are_stored(launch, fresh, fossil, peer_of, which):
    made = ODD[which]()
    peer = peer_of(launch(fresh))
    for artifact in made:
        answer = peer.push(wire.file_card(artifact))
        assert answer.status == 200 and not answer.errors(), answer.raw[:300]
    assert {wire.sha3(artifact) for artifact in made} <= repofile.artifacts(fresh)
    assert_correct(fresh, fossil)


def test_new_events_enter_pending_alert_once(launch, fresh, peer_of):
    repofile.execute(fresh, ALERTS)
    peer = peer_of(launch(fresh))
    for artifact in documents.of_every_kind():
        peer.push(wire.file_card(artifact))
    events = {f"{kind[0]}{rid}" for kind, rid in repofile.query(fresh, "SELECT type, objid FROM event")}
    waiting = {event for event, in repofile.query(fresh, "SELECT eventid FROM pending_alert")}
    # `c1`, the first check-in, is older than the table pending_alert. The table also contains the first version of the
    # technote, whose event was replaced by the second version. The first letter is not compared, because an attachment
    # without a known target has the letter of a wiki page.
    assert {event[1:] for event in events - {"c1"}} <= {event[1:] for event in waiting}
    repofile.execute(fresh, "DELETE FROM pending_alert")
    later = documents.ticket_change(documents.identifier("ticket"), "2026-09-01T00:00:00", {"status": "Closed"})
    earlier = documents.ticket_change(documents.identifier("ticket"), "2026-01-01T00:00:00", {"title": "first of all"})
    peer.push(wire.file_card(later), wire.file_card(earlier))
    rids = [rid for rid, in repofile.query(fresh, "SELECT rid FROM blob WHERE uuid IN (?,?)", wire.sha3(later), wire.sha3(earlier))]
    assert sorted(event for event, in repofile.query(fresh, "SELECT eventid FROM pending_alert")) == \
        sorted(f"t{rid}" for rid in rids)


def search(fossil, path, word):
    """Returns the page of search results for a user with all rights."""
    request = f"GET /search?s={word}&y=all HTTP/1.0\r\n\r\n"
    return subprocess.run(["fossil", "test-http", path], input=request, capture_output=True, text=True,
                          env=fossil.environment, check=True, timeout=60).stdout


def test_fossils_search_finds_pushed_artifacts(launch, fresh, fossil, peer_of):
    fossil("fts-config", "enable", "cdtwef", "-R", fresh)
    fossil("fts-config", "index", "on", "-R", fresh)
    peer = peer_of(launch(fresh))
    page = documents.wiki_page("Zoo", "2026-01-01T00:00:00", "an aardvark")
    peer.push(wire.file_card(page))
    peer.push(wire.file_card(documents.wiki_page("Zoo", "2026-01-02T00:00:00", "a buffalo", prior=wire.sha3(page))),
              *[wire.file_card(artifact) for artifact in documents.of_every_kind()])
    assert repofile.query(fresh, "SELECT idxed FROM ftsdocs WHERE type='w' AND name='Zoo'") == [(0,)]
    for word, trace in (("buffalo", "Zoo"), ("breaks", "badly"), ("hello", "A better title"), ("more", "the note, better")):
        assert trace in search(fossil, fresh, word), word
    assert "Zoo" not in search(fossil, fresh, "aardvark")


def test_a_push_of_many_changes_of_one_ticket_is_fast(launch, fresh, fossil, peer_of):
    """The ticket is computed once per request, not once for each change."""
    peer = peer_of(launch(fresh))
    ticket = documents.identifier("t")
    made = [documents.ticket_change(ticket, f"2026-01-01T{i // 60 % 24:02d}:{i % 60:02d}:{i // 1440:02d}",
                                    {"+comment": f"change {i}\n"}) for i in range(3000)]
    assert not peer.push(*[wire.file_card(change) for change in made]).errors()
    assert repofile.value(fresh, "SELECT count(*) FROM ticketchng") == 3000
    assert_correct(fresh, fossil)
