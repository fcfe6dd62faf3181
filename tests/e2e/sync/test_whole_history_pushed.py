"""Whole histories are pushed into an empty repository of the same project."""

import random

import pytest

import generator
import proof
from support import delta, repofile, wire


def assert_has_all(path, names):
    """Checks that PATH has exactly the artifacts NAMES, and clusters of these artifacts."""
    there = repofile.artifacts(path)
    assert not names - there
    assert not there - names - repofile.clusters(path)
    assert not repofile.phantoms(path)


def without_private(fossil, path, tmp_path):
    scrubbed = repofile.copy(path, tmp_path / "scrubbed.fossil")
    fossil("scrub", "--force", "--private", scrubbed)
    return scrubbed


def empty_like(fossil, original, tmp_path):
    """Returns a new empty repository of the same project as ORIGINAL."""
    empty = fossil.new(tmp_path / "empty.fossil")
    repofile.make_empty(empty, repofile.project_code(original))
    return empty


def push_everything(launch, fossil, original, tmp_path):
    """Pushes all of ORIGINAL into a new empty repository. Checks that repository and returns its path."""
    empty = empty_like(fossil, original, tmp_path)
    repofile.add_user(empty, "writer", "pen", "gio")
    server = launch(empty)
    client = repofile.copy(original, tmp_path / "client.fossil")
    repofile.mark_all_unsent(client)
    fossil("push", "--once", server.url_for("writer", "pen"), "-R", client, seconds=300)
    assert_has_all(empty, repofile.public_artifacts(original))
    proof.check(empty, fossil)
    return empty


@pytest.mark.slow
def test_generated_history(launch, generated, fossil, tmp_path):
    push_everything(launch, fossil, generated, tmp_path)


def test_real_history(launch, hiredis, fossil, tmp_path):
    empty = push_everything(launch, fossil, hiredis, tmp_path)
    assert len(repofile.artifacts(empty) & repofile.artifacts(hiredis)) == 5640
    assert not fossil.timeline_differences(empty, hiredis)


def test_a_pushed_history_can_be_cloned(launch, small, fossil, tmp_path):
    received = push_everything(launch, fossil, small, tmp_path)
    server = launch(received)
    clone = fossil.clone(server.url_for("writer", "pen"), tmp_path / "clone.fossil")
    assert repofile.artifacts(clone) >= repofile.public_artifacts(small)
    proof.check(clone, fossil)


@pytest.mark.ours("its mlink.pid of some merges depends on the order of arrival")
@pytest.mark.parametrize("order", ["youngest first", "shuffled 1", "shuffled 2",
                                   *[pytest.param(f"shuffled {seed}", marks=pytest.mark.slow) for seed in range(3, 20)]])
def test_in_any_order_and_split(launch, small, fossil, tmp_path, peer_of, order):
    """Children arrive before parents, and tags before the tagged artifacts, in many small requests."""
    empty = empty_like(fossil, small, tmp_path)
    peer = peer_of(launch(empty))
    public = repofile.public_artifacts(small)
    names = [name for name, in repofile.query(small, "SELECT uuid FROM blob ORDER BY rid DESC") if name in public]
    sizes = [40]
    if order.startswith("shuffled"):
        chance = random.Random(order)
        names = sorted(names)
        chance.shuffle(names)
        sizes = [1, 2, 3, 10, 50, 100]
    contents = repofile.contents(small)
    start = 0
    while start < len(names):
        end = start + (sizes[0] if len(sizes) == 1 else chance.choice(sizes))
        assert not peer.push(*[wire.file_card(contents[name], name) for name in names[start:end]]).errors()
        start = end
    assert_has_all(empty, public)
    proof.check(empty, fossil)


@pytest.mark.ours("its mlink.pid of some merges depends on the order of arrival")
@pytest.mark.parametrize("seed", [1, *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12)]])
def test_as_deltas_on_artifacts_that_may_not_have_arrived(launch, small, fossil, tmp_path, peer_of, seed):
    """The artifacts arrive in any order. Each is sent whole, compressed, or as a delta on any other artifact."""
    chance = random.Random(seed)
    empty = empty_like(fossil, small, tmp_path)
    peer = peer_of(launch(empty))
    contents = repofile.contents(small)
    names = sorted(repofile.public_artifacts(small))
    # To prevent cycles, deltas are only made on artifacts that come earlier in this order. The artifacts are sent in a
    # different order.
    rank = names.copy()
    chance.shuffle(rank)
    cards = []
    for index, name in enumerate(rank):
        kind = chance.choice(["file", "cfile", "delta", "delta", "delta"]) if index else "file"
        if kind == "delta":
            source = rank[chance.randrange(max(0, index - 5), index)]
            cards.append(wire.delta_card(name, source, delta.create(contents[source], contents[name])))
        else:
            cards.append((wire.file_card if kind == "file" else wire.cfile_card)(contents[name], name))
    chance.shuffle(cards)
    while cards:
        count = chance.choice([1, 2, 5, 20, 80])
        assert not peer.push(*cards[:count], content_type=chance.choice([wire.PLAIN, wire.COMPRESSED])).errors()
        cards = cards[count:]
    assert_has_all(empty, set(names))
    proof.check(empty, fossil)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_other_histories(launch, fossil, tmp_path, peer_of, seed):
    """Histories generated from other seeds arrive in shuffled order, in many requests."""
    chance = random.Random(seed)
    original = tmp_path / "original.fossil"
    generator.build(original, fossil, check_ins=400, seed=seed, binary_size=0)
    empty = empty_like(fossil, original, tmp_path)
    peer = peer_of(launch(empty))
    contents = repofile.contents(original)
    names = sorted(repofile.public_artifacts(original))
    chance.shuffle(names)
    for start in range(0, len(names), 100):
        cards = [wire.file_card(contents[name], name) for name in names[start:start + 100]]
        assert not peer.push(*cards, content_type=wire.COMPRESSED).errors()
    assert_has_all(empty, set(names))
    proof.check(empty, fossil)
    assert not fossil.timeline_differences(empty, without_private(fossil, original, tmp_path))
