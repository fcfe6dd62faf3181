"""The three kinds of clone, asked for by hand-written requests."""

import pytest

from support import repofile, wire


def follow_clone(peer, version, first=1, content_type=wire.PLAIN, limit=10000):
    """Asks on from each clone_seqno until it is 0. Returns the artifacts and all answers."""
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
    """All that is public, once, and every name proved by its content."""
    assert received.names() == repofile.public_artifacts(repository)
    assert received.repeated == 0
    assert received.expand() == {name: data for name, data in repofile.contents(repository).items()
                                 if name in received.names()}


def test_clone_3_in_one_reply(launch, small, peer_of):
    peer = peer_of(launch(small), login="")
    received, answers = follow_clone(peer, 3)
    assert_complete(received, small)
    assert len(answers) == 1
    only = answers[0]
    assert only.headers["content-type"].startswith("application/x-fossil-uncompressed")
    assert int(only.headers["content-length"]) == len(only.raw)
    assert only.of("cfile") and not only.of("file")


def test_clone_3_continues_over_many_replies(launch, small, peer_of):
    repofile.set_config(small, "max-download", 20000)
    peer = peer_of(launch(small), login="")
    received, answers = follow_clone(peer, 3)
    assert_complete(received, small)
    assert len(answers) > 5
    for answer in answers:
        operators = [card.operator for card in answer.cards]
        assert operators.count("clone_seqno") == 1 and operators.count("push") == 1
        # The client goes on when it reads `push`: what it goes on with has to stand before.
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


@pytest.mark.parametrize("version", [2, 3])
def test_old_clients_begin_with_sequence_number_0(launch, small, peer_of, version):
    received, _ = follow_clone(peer_of(launch(small), login=""), version, first=0)
    assert_complete(received, small)


def test_a_sequence_number_beyond_the_end_ends_the_clone(launch, small, peer_of):
    answer = peer_of(launch(small), login="").clone(3, 99999999)
    assert answer.clone_sequence() == 0 and not answer.of("cfile")


def test_push_card_of_a_clone_tells_the_codes(launch, small, peer_of):
    answer = peer_of(launch(small), login="").clone(3, 1)
    server_code = repofile.value(small, "SELECT value FROM config WHERE name='server-code'")
    assert answer.of("push")[0].arguments == [server_code, repofile.project_code(small)]


def test_legacy_clone(launch, small, peer_of):
    """No numbers: an igot for everything, and the client asks for each."""
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


def test_what_does_not_fit_is_offered_instead(launch, small, peer_of):
    repofile.set_config(small, "max-download", 5000)
    peer = peer_of(launch(small), login="")
    wanted = sorted(repofile.public_artifacts(small))
    answer = peer.pull(*[f"gimme {name}" for name in wanted])
    sent, offered = set(answer.names("file")), set(answer.names("igot"))
    assert sent and set(wanted) <= sent | offered


def test_a_phantom_is_left_out(launch, small, peer_of):
    peer = peer_of(launch(small))
    peer.push("igot " + "ab" * 32)
    received, _ = follow_clone(peer, 3)
    assert "ab" * 32 not in received.names()
    assert_complete(received, small)


def test_a_client_too_old_for_sha3_is_told_so(launch, small, peer_of):
    peer = peer_of(launch(small), login="")
    answer = peer.ask("pragma client-version 10037\nclone 3 1\n")
    assert answer.errors()


@pytest.mark.slow
def test_clone_of_the_real_history_is_byte_exact(launch, hiredis, peer_of):
    received, _ = follow_clone(peer_of(launch(hiredis), login=""), 3)
    assert_complete(received, hiredis)


@pytest.mark.slow
def test_clone_of_the_large_repository_is_byte_exact(launch, generated, peer_of):
    received, answers = follow_clone(peer_of(launch(generated), login=""), 3)
    assert_complete(received, generated)
    assert len(answers) >= 2
