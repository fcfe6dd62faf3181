"""Private artifacts are not sent to users without the capability `x`. Shunned artifacts are never sent."""

import pytest

import proof
from support import artifacts, delta, repofile, wire
from support.fossil import clone_and_open
from support.program import succeeds


def private_names(path):
    return {name for name, in repofile.query(path, "SELECT uuid FROM private JOIN blob USING(rid)")}


@pytest.fixture
def with_private(small):
    """A repository with a private branch, a user with the capability `x`, and a user without this capability."""
    assert private_names(small)
    repofile.add_user(small, "trusted", "word", "giox")
    repofile.add_user(small, "plain", "word", "gio")
    return small


def test_private_branch_is_not_sent_to_a_user_without_x(launch, with_private, fossil, tmp_path):
    server = launch(with_private)
    clone = fossil.clone(server.url_for("plain", "word"), tmp_path / "clone.fossil")
    assert not repofile.artifacts(clone) & private_names(with_private)
    fossil("pull", server.url_for("plain", "word"), "-R", clone)
    assert not repofile.artifacts(clone) & private_names(with_private)
    assert not repofile.phantoms(clone), "not even the names"


def test_requesting_private_branches_without_x_is_refused(launch, with_private, fossil, tmp_path):
    server = launch(with_private)
    status, output = fossil.attempt("clone", "--no-open", "--private", server.url_for("plain", "word"), tmp_path / "clone.fossil")
    assert status != 0 and "not authorized to sync private content" in output
    assert not (tmp_path / "clone.fossil").exists()


def test_private_branch_is_sent_to_a_user_with_x(launch, with_private, fossil, tmp_path):
    server = launch(with_private)
    clone = fossil.clone(server.url_for("trusted", "word"), tmp_path / "clone.fossil", "--private")
    # Replies to a clone never contain private artifacts. The client requests private artifacts afterwards.
    fossil("pull", "--private", "-R", clone)
    assert repofile.artifacts(with_private) - repofile.artifacts(clone) == set()
    assert private_names(clone) == private_names(with_private), "it stays private there"


@pytest.mark.parametrize("version", ["", 2, 3])
@pytest.mark.parametrize("capabilities", ["gio", "giox"])
def test_no_clone_contains_private_artifacts(launch, with_private, peer_of, version, capabilities):
    """A clone contains neither private artifacts nor their names, even if they are the source of a delta."""
    hidden = private_names(with_private)
    peer = peer_of(launch(with_private), "hand", capabilities)
    answer = peer.clone(version, 1) if version else peer.ask(wire.body(wire.CLIENT_VERSION, "clone"))
    assert not answer.errors()
    assert set(answer.names("cfile") + answer.names("file") + answer.names("igot")) == repofile.public_artifacts(with_private)
    assert not answer.of("private")
    assert not any(name.encode() in answer.raw for name in hidden)


def test_private_branch_pushed_with_x_is_private_here(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    clone, checkout = clone_and_open(fossil, server.url_for("writer", "pen"), tmp_path)
    checkout.commit_file("secret.txt", "secret\n", "hidden", "--private")
    checkout("sync")
    assert not private_names(fresh), "an ordinary sync does not send it"
    checkout("sync", "--private")
    assert private_names(fresh) == private_names(clone) != set()
    proof.check(fresh, fossil)
    visitor = fossil.clone(server.url, tmp_path / "visitor.fossil")
    assert not repofile.artifacts(visitor) & private_names(fresh)


@pytest.mark.ours("it leaves the file private and the check-in out of `unclustered`; a rebuild corrects both")
def test_private_branch_that_becomes_public(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    _, checkout = clone_and_open(fossil, server.url_for("writer", "pen"), tmp_path)
    checkout.commit_file("secret.txt", "secret\n", "hidden", "--private")
    name = checkout.head()
    checkout("sync", "--private")
    assert name in private_names(fresh)
    checkout("publish", "--only", name)
    checkout("push")
    assert name not in private_names(fresh)
    assert name in repofile.artifacts(fresh)
    proof.check(fresh, fossil)


def test_private_check_in_stays_private_when_its_file_becomes_public(launch, fresh, peer_of, fossil):
    peer = peer_of(launch(fresh))
    hidden = artifacts.manifest("hidden", "2026-01-01T00:00:00.000", "hand", {"s.txt": b"s\n"},
                                tags=["*branch * private", "*sym-private *"])
    assert not peer.push("private", wire.file_card(hidden), "private", wire.file_card(b"s\n")).errors()
    assert private_names(fresh) == {wire.sha3(hidden), wire.sha3(b"s\n")}
    # The same content arrives again as a public artifact.
    peer.push(wire.file_card(b"s\n"))
    assert wire.sha3(hidden) in private_names(fresh)
    proof.check(fresh, fossil)


def test_tag_that_makes_the_source_of_a_delta_private(launch, fresh, fossil, peer_of):
    """An artifact that is stored as a delta on the private artifact stays public and complete."""
    peer = peer_of(launch(fresh))
    source = b"".join(b"line %d of a text\n" % number for number in range(200))
    target = source + b"one more\n"
    assert not peer.push(wire.file_card(source)).errors()
    assert not peer.push(wire.delta_card(wire.sha3(target), wire.sha3(source), delta.create(source, target))).errors()
    assert repofile.value(fresh, "SELECT count(*) FROM delta") == 1
    assert not peer.push(wire.file_card(artifacts.control("2026-01-01T00:00:00", "hand",
                                                          [f"+private {wire.sha3(source)}"]))).errors()
    assert private_names(fresh) == {wire.sha3(source)}
    assert fossil.integrity(fresh) == ""
    proof.check(fresh, fossil)
    assert repofile.contents(fresh)[wire.sha3(target)] == target


def some_file(path):
    """Returns the hash of a file's content that is not the source of any delta."""
    return repofile.value(path, "SELECT uuid FROM blob WHERE rid IN (SELECT fid FROM mlink)"
                                " AND rid NOT IN (SELECT srcid FROM delta) ORDER BY rid DESC LIMIT 1")


def test_shunned_artifact_is_never_sent(launch, small, fossil, tmp_path, peer_of):
    name = some_file(small)
    repofile.shun(small, name)
    server = launch(small)
    clone = fossil.clone(server.url, tmp_path / "clone.fossil")
    assert name not in repofile.artifacts(clone)
    peer = peer_of(server)
    answer = peer.pull(f"gimme {name}")
    assert name not in answer.names("file") and name not in answer.names("igot")
    for version in (2, 3):
        answer = peer.clone(version, 1)
        assert name not in answer.names("file") + answer.names("cfile")
    assert name not in peer.ask(wire.body(wire.CLIENT_VERSION, "clone")).names("igot")


def test_shunned_source_of_deltas(launch, small, fossil, tmp_path, peer_of):
    """An artifact that is stored as a delta on the shunned artifact is sent as full content."""
    name, dependent = repofile.query(small, "SELECT source.uuid, target.uuid FROM delta JOIN blob source ON source.rid=srcid"
                                            " JOIN blob target ON target.rid=delta.rid ORDER BY srcid LIMIT 1")[0]
    repofile.shun(small, name)
    server = launch(small)
    clone = fossil.clone(server.url, tmp_path / "clone.fossil")
    assert repofile.artifacts(clone) >= repofile.public_artifacts(small) - {name}
    assert name not in repofile.artifacts(clone)
    peer = peer_of(server)
    for cards in (peer.clone(2, 1).cards, peer.clone(3, 1).cards, peer.pull(f"gimme {dependent}").cards):
        received = wire.ClonedArtifacts()
        received.take(cards)
        assert wire.is_named(dependent, received.expand()[dependent])
        assert name not in received.names()


@pytest.mark.parametrize("what", ["a file", "a parent", "a grandparent", "a tagged check-in", "a baseline"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_history_that_refers_to_a_shunned_artifact(launch, fresh, fossil, peer_of, what, when):
    """The shunned artifact is not requested. Everything else is as in fossil, whether or not the artifact was stored
    before."""
    secret = b"secret key\n"
    date = "2026-01-0{}T00:00:00"
    first = artifacts.manifest("one", date.format(1), "hand", {"a": secret}, tags=["*branch * trunk", "*sym-trunk *"])
    second = artifacts.manifest("two", date.format(2), "hand", {"a": b"a\n", "b": secret}, [wire.sha3(first)])
    third = artifacts.manifest("three", date.format(3), "hand", {"a": b"a\n", "b": b"b\n"}, [wire.sha3(second)])
    tag = artifacts.control(date.format(4), "hand", [f"+label {wire.sha3(second)}"])
    based = artifacts.with_checksum([f"B {wire.sha3(first)}", "C four", f"D {date.format(5)}",
                                     f"F c {wire.sha3(b'a' + bytes([10]))}", f"P {wire.sha3(third)}", "U hand"])
    everything = [secret, b"a\n", b"b\n", first, second, third, tag, based]
    shunned = {"a file": secret, "a parent": second, "a grandparent": first, "a tagged check-in": second,
            "a baseline": first}[what]
    peer = peer_of(launch(fresh))
    if when == "before":
        repofile.shun(fresh, wire.sha3(shunned))
    for each in everything:
        assert not peer.push(wire.file_card(each)).errors()
    if when == "after":
        repofile.shun(fresh, wire.sha3(shunned))
        fossil("rebuild", fresh)
    assert wire.sha3(shunned) not in repofile.artifacts(fresh)
    assert wire.sha3(shunned) not in peer.pull().names("gimme") + peer.push().names("gimme")
    proof.check(fresh, fossil)
    succeeds("verify", fresh)


def test_artifact_shunned_while_clients_still_have_it(launch, small, fossil, tmp_path):
    """The client offers the artifact in every sync. The server neither accepts nor requests the artifact."""
    repofile.add_user(small, "writer", "pen", "gio")
    server = launch(small)
    clone = fossil.clone(server.url_for("writer", "pen"), tmp_path / "clone.fossil")
    name = some_file(small)
    repofile.shun(small, name)
    repofile.execute(small, "DELETE FROM delta WHERE rid=(SELECT rid FROM blob WHERE uuid=?)", name)
    repofile.execute(small, "DELETE FROM blob WHERE uuid=?", name)
    fossil("rebuild", small)
    repofile.mark_all_unsent(clone)
    fossil("sync", "-R", clone)
    assert name not in repofile.artifacts(small)
