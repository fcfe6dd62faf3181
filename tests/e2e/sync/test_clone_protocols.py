"""Clones by the three versions of the protocol, with hand-written requests."""

import pytest

from support import repofile, wire


def follow_clone(peer, version, first=1, content_type=wire.PLAIN, limit=10000):
    """Sends further requests until clone_seqno is 0. Each request contains the clone_seqno of the previous reply.
    Returns the artifacts and all replies."""
    received = wire.ClonedArtifacts()
    answers = []
    sequence = first
    while sequence or not answers:
        answer = peer.clone(version, sequence, content_type=content_type)
        assert not answer.errors()
        received.take(answer.cards)
        answers.append(answer)
        following = answer.clone_sequence()
        assert following == 0 or following > sequence, "no progress"
        sequence = following
        assert len(answers) < limit
    return received, answers


def assert_complete(received, repository):
    """Checks that every public artifact has arrived exactly once, and that its content matches its name."""
    assert received.names() == repofile.public_artifacts(repository)
    assert received.repeated == 0
    assert received.expand() == {name: data for name, data in repofile.contents(repository).items()
                                 if name in received.names()}


def test_clone_3_continues_over_many_replies(launch, small, peer_of):
    repofile.set_config(small, "max-download", 20000)
    peer = peer_of(launch(small), login="")
    received, answers = follow_clone(peer, 3)
    assert_complete(received, small)
    assert len(answers) > 5
    for answer in answers:
        operators = [card.operator for card in answer.cards]
        assert operators.count("clone_seqno") == 1 and operators.count("push") == 1
        # The client continues as soon as it reads `push`, so `clone_seqno` must come first.
        assert operators.index("clone_seqno") < operators.index("push")


def test_clone_2_with_a_small_max_download(launch, small, peer_of):
    repofile.set_config(small, "max-download", 20000)
    peer = peer_of(launch(small), login="")
    received, answers = follow_clone(peer, 2, content_type=wire.COMPRESSED)
    assert_complete(received, small)
    assert len(answers) > 5
    assert all(answer.of("file") and not answer.of("cfile") for answer in answers[:-1])
    assert answers[0].headers["content-type"].startswith(wire.COMPRESSED)
    assert all(len(answer.raw) < 200000 for answer in answers)


def test_legacy_clone(launch, small, peer_of):
    """Version 1 does not have sequence numbers. The server announces every artifact with an igot card, and the client
    then requests the artifacts."""
    repofile.set_config(small, "max-download", 30000)
    peer = peer_of(launch(small), login="")
    first = peer.ask(wire.body(wire.CLIENT_VERSION, "clone"))
    assert not first.errors()
    offered = set(first.names("igot"))
    assert offered == repofile.public_artifacts(small)
    assert first.of("push")[0].arguments[1] == repofile.project_code(small)

    received = wire.ClonedArtifacts()
    wanted = sorted(offered)
    rounds = 0
    while wanted:
        answer = peer.pull(*[f"gimme {name}" for name in wanted])
        assert not answer.errors()
        received.take(answer.cards)
        still = [name for name in wanted if name not in received.names()]
        assert len(still) < len(wanted), "no progress"
        wanted = still
        rounds += 1
    assert rounds > 1, "the reply is limited by max-download"
    contents = received.expand()
    assert set(contents) >= offered


@pytest.mark.slow
def test_clone_of_the_large_repository_is_byte_exact(launch, generated, peer_of):
    received, answers = follow_clone(peer_of(launch(generated), login=""), 3)
    assert_complete(received, generated)
    assert len(answers) >= 2
