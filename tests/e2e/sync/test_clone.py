"""The stock client clones, and has what the original has."""

import pytest

from support import repofile


def assert_is_whole_clone(fossil, clone, original):
    """CLONE has every public artifact of ORIGINAL and shows the same history."""
    assert not repofile.artifacts(clone) ^ repofile.public_artifacts(original)
    assert not repofile.phantoms(clone)
    assert fossil.integrity(clone) == ""
    # A private branch stays at home, so it is no part of the history that the two share.
    scrubbed = repofile.copy(original, original.with_suffix(".scrubbed"))
    fossil("scrub", "--force", "--private", scrubbed)
    assert not fossil.timeline_differences(clone, scrubbed)


def test_generated_repository_arrives_whole(launch, generated, fossil, tmp_path):
    server = launch(generated)
    clone = tmp_path / "clone.fossil"
    fossil.clone(server.url, clone)
    assert_is_whole_clone(fossil, clone, generated)
    assert repofile.project_code(clone) == repofile.project_code(generated)


def test_real_history_arrives_whole(launch, hiredis, fossil, tmp_path):
    server = launch(hiredis)
    clone = tmp_path / "clone.fossil"
    fossil.clone(server.url, clone)
    # What was there before; the server may have clustered it since.
    assert len(repofile.artifacts(clone)) >= 5640
    assert_is_whole_clone(fossil, clone, hiredis)


def test_clone_with_a_password_where_nobody_may_clone(launch, small, fossil, tmp_path):
    """The client's first request has no login: it learns the project code from the refusal."""
    repofile.set_capabilities(small, "nobody", "")
    repofile.add_user(small, "reader1", "secret word", "go")
    server = launch(small)
    clone = tmp_path / "clone.fossil"
    fossil.clone(server.url_for("reader1", "secret%20word"), clone)
    assert_is_whole_clone(fossil, clone, small)


def test_clone_changes_nothing_but_clusters(launch, small, fossil, tmp_path):
    before = repofile.artifacts(small)
    server = launch(small)
    fossil.clone(server.url, tmp_path / "clone.fossil")
    assert repofile.artifacts(small) - before == repofile.clusters(small) - before


def test_folder_of_repositories(launch, small, fossil, tmp_path):
    """/srv/fossil/**/NAME.fossil is /NAME."""
    root = tmp_path / "root"
    (root / "deep" / "er").mkdir(parents=True)
    repofile.copy(small, root / "one.fossil")
    fossil.new(root / "deep" / "er" / "two.fossil")
    server = launch(root)
    for name in ("one", "deep/er/two"):
        clone = tmp_path / "clone-of.fossil"
        clone.unlink(missing_ok=True)
        fossil.clone(server.url + name, clone)
        assert_is_whole_clone(fossil, clone, root / f"{name}.fossil")
        assert fossil("pull", "-R", clone)


def test_open_update_and_pull_after_a_clone(launch, small, fossil, tmp_path):
    """What a newcomer does next."""
    from support.fossil import Checkout
    server = launch(small)
    clone = tmp_path / "clone.fossil"
    fossil.clone(server.url, clone)
    checkout = Checkout(fossil, clone, tmp_path / "work", "tail-19")
    assert "tail 19" in (checkout.folder / "three.txt").read_text()
    assert "0" in checkout("pull")
    checkout("update", "middle")


@pytest.mark.parametrize("content_type", ["application/x-fossil", "application/x-fossil-debug"])
def test_empty_body_is_an_empty_conversation(launch, small, content_type):
    from support.wire import Peer
    server = launch(small)
    answer = Peer(server.port).post(b"", content_type)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(content_type)
    assert "timestamp" in answer.cards[-1].arguments
