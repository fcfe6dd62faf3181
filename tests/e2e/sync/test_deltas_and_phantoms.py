"""Phantoms, and artifacts that arrive as deltas before their sources or in chains."""

import itertools

import pytest

import proof
from support import artifacts, delta, repofile, wire

BASE = b"".join(b"line %d of a text\n" % number for number in range(200))


def edited(text: bytes, step: int) -> bytes:
    lines = text.split(b"\n")
    lines[step % 190] = b"edit %d" % step
    return b"\n".join(lines)


@pytest.fixture
def peer(launch, fresh, peer_of):
    return peer_of(launch(fresh))


def test_check_in_that_arrives_as_a_delta_before_its_source(peer, fresh, fossil):
    """A manifest that waited for its source is added to the derived tables when the source arrives."""
    files = {"a.txt": BASE, "b.txt": b"b\n"}
    first = artifacts.manifest("first", "2026-01-01T00:00:01.000", "hand", files,
                               tags=["*branch * trunk", "*sym-trunk *"])
    second = artifacts.manifest("second", "2026-01-01T00:00:02.000", "hand", {**files, "b.txt": b"c\n"},
                                parents=[wire.sha3(first)])
    assert not peer.push(wire.delta_card(wire.sha3(second), wire.sha3(first), delta.create(first, second)),
                         wire.file_card(b"c\n")).errors()
    assert not peer.push(*[wire.file_card(data) for data in files.values()], wire.file_card(first)).errors()
    assert "second" in fossil.timeline(fresh)
    assert not repofile.phantoms(fresh)
    proof.check(fresh, fossil)


@pytest.mark.parametrize("order", ["forwards", "backwards"])
def test_chain_of_a_thousand_deltas(peer, fresh, fossil, order):
    """Each artifact is a delta on the previous one. In reverse order, each artifact waits for a source that arrives in
    a later request."""
    versions = [BASE]
    for step in range(1000):
        versions.append(edited(versions[-1], step))
    cards = [wire.file_card(BASE)]
    cards += [wire.delta_card(wire.sha3(new), wire.sha3(old), delta.create(old, new))
              for old, new in zip(versions, versions[1:])]
    if order == "backwards":
        cards.reverse()
    for start in range(0, len(cards), 250):
        assert not peer.push(*cards[start:start + 250], content_type=wire.COMPRESSED).errors()
    assert repofile.artifacts(fresh) >= {wire.sha3(version) for version in versions}
    assert not repofile.phantoms(fresh)
    proof.check(fresh, fossil)
    got = peer.pull(f"gimme {wire.sha3(versions[-1])}", f"gimme {wire.sha3(versions[500])}")
    received = wire.ClonedArtifacts()
    received.take(got.cards)
    assert set(received.names()) == {wire.sha3(versions[-1]), wire.sha3(versions[500])}


def test_phantom_filled_two_requests_later(peer, fresh, fossil):
    name = wire.sha3(BASE)
    assert name in peer.push(f"igot {name}").names("gimme")
    assert repofile.phantoms(fresh) == {name}
    # The second request does not contain the missing artifact, so the server requests it again.
    assert name in peer.push(wire.file_card(b"something else")).names("gimme")
    assert name not in peer.pull().names("igot")
    proof.check(fresh, fossil)
    answer = peer.push(wire.file_card(BASE))
    assert not answer.errors() and name not in answer.names("gimme")
    assert not repofile.phantoms(fresh)
    assert name in peer.pull().names("igot")
    assert repofile.contents(fresh)[name] == BASE
    proof.check(fresh, fossil)


def test_files_of_a_check_in_that_arrives_first(peer, fresh, fossil):
    """If a manifest arrives before its files, the files become phantoms and are requested."""
    files = {f"f{number}": b"%d\n" % number for number in range(20)}
    manifest = artifacts.manifest("files follow", "2026-01-01T00:00:00.000", "hand", files,
                                  tags=["*branch * trunk", "*sym-trunk *"])
    asked = peer.push(wire.file_card(manifest)).names("gimme")
    assert set(asked) == {wire.sha3(data) for data in files.values()}
    proof.check(fresh, fossil)
    assert not peer.push(*[wire.file_card(data) for data in files.values()]).of("gimme")
    proof.check(fresh, fossil)
    assert fossil("ls", "-R", fresh, "-r", wire.sha3(manifest)).split() == sorted(files)


def test_delta_manifest_before_its_baseline(peer, fresh, fossil):
    """The delta manifest waits in the table orphan."""
    files = {"a": b"a\n", "b": b"b\n"}
    baseline = artifacts.manifest("baseline", "2026-01-01T00:00:01.000", "hand", files,
                                  tags=["*branch * trunk", "*sym-trunk *"])
    child = artifacts.manifest("child", "2026-01-01T00:00:02.000", "hand", {"b": b"bb\n"},
                               parents=[wire.sha3(baseline)], baseline=wire.sha3(baseline))
    peer.push(wire.file_card(child), wire.file_card(b"bb\n"), wire.file_card(b"a\n"), wire.file_card(b"b\n"))
    proof.check(fresh, fossil)
    assert repofile.value(fresh, "SELECT count(*) FROM orphan") == 1
    assert not peer.push(wire.file_card(baseline)).errors()
    assert repofile.value(fresh, "SELECT count(*) FROM orphan") == 0
    assert repofile.value(fresh, "SELECT count(*) FROM mlink JOIN blob ON mid=rid WHERE uuid=?", wire.sha3(child)) == 1
    proof.check(fresh, fossil)


def test_cluster_from_a_client(peer, fresh, fossil):
    """Missing members of the cluster become phantoms, and all members are removed from `unclustered`."""
    here, missing = b"here\n", b"missing\n"
    peer.push(wire.file_card(here))
    cluster = artifacts.cluster([wire.sha3(here), wire.sha3(missing)])
    answer = peer.push(wire.file_card(cluster))
    assert wire.sha3(missing) in answer.names("gimme")
    assert repofile.clusters(fresh) == {wire.sha3(cluster)}
    offered = peer.pull().names("igot")
    assert wire.sha3(cluster) in offered and wire.sha3(here) not in offered
    peer.push(wire.file_card(missing))
    proof.check(fresh, fossil)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_leaves_of_branches_without_a_tag(launch, fresh, fossil, peer_of, order):
    """In old histories, the root and its children on trunk do not always have a branch tag."""
    date = "2026-01-0{}T00:00:00"
    root = artifacts.manifest("root", date.format(1), "hand", {"a": b"a"})
    branch = artifacts.manifest("one", date.format(2), "hand", {"a": b"a"}, [wire.sha3(root)],
                                ["*branch * br1", "*sym-br1 *"])
    trunk = artifacts.manifest("two", date.format(3), "hand", {"a": b"b"}, [wire.sha3(root)])
    merge = artifacts.manifest("merged", date.format(4), "hand", {"a": b"b"}, [wire.sha3(branch), wire.sha3(trunk)])
    peer = peer_of(launch(fresh))
    for data in (b"a", b"b", *((root, branch, trunk, merge)[number] for number in order)):
        assert not peer.push(wire.file_card(data)).errors()
    proof.check(fresh, fossil)
