"""Clones by the stock client."""

from support import repofile
from support.fossil import Checkout


def assert_is_whole_clone(fossil, clone, original):
    """Checks that CLONE has every public artifact of ORIGINAL and shows the same history."""
    assert not repofile.artifacts(clone) ^ repofile.public_artifacts(original)
    assert not repofile.phantoms(clone)
    assert fossil.integrity(clone) == ""
    # Private branches are not cloned, so the clone is compared with a copy without private branches.
    scrubbed = repofile.copy(original, original.with_suffix(".scrubbed"))
    fossil("scrub", "--force", "--private", scrubbed)
    assert not fossil.timeline_differences(clone, scrubbed)


def test_clone_of_the_generated_repository_is_complete(launch, generated, fossil, tmp_path):
    server = launch(generated)
    clone = fossil.clone(server.url, tmp_path / "clone.fossil")
    assert_is_whole_clone(fossil, clone, generated)
    assert repofile.project_code(clone) == repofile.project_code(generated)


def test_clone_of_a_real_history_is_complete(launch, hiredis, fossil, tmp_path):
    server = launch(hiredis)
    clone = fossil.clone(server.url, tmp_path / "clone.fossil")
    # The clone has all artifacts of the history, and perhaps clusters that the server has added.
    assert len(repofile.artifacts(clone)) >= 5640
    assert_is_whole_clone(fossil, clone, hiredis)


def test_clone_with_a_password_if_anonymous_users_may_not(launch, small, fossil, tmp_path):
    """The client's first request does not have a login. The error reply contains the project code, which the client
    needs to log in."""
    repofile.set_capabilities(small, "nobody", "")
    repofile.add_user(small, "reader1", "secret word", "go")
    server = launch(small)
    clone = fossil.clone(server.url_for("reader1", "secret%20word"), tmp_path / "clone.fossil")
    assert_is_whole_clone(fossil, clone, small)


def test_clone_changes_nothing_but_clusters(launch, small, fossil, tmp_path):
    before = repofile.artifacts(small)
    server = launch(small)
    fossil.clone(server.url, tmp_path / "clone.fossil")
    assert repofile.artifacts(small) - before == repofile.clusters(small) - before


def test_folder_of_repositories(launch, small, fossil, tmp_path):
    """The file NAME.fossil in the folder or a subfolder is served under its path without the suffix."""
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
    server = launch(small)
    clone = fossil.clone(server.url, tmp_path / "clone.fossil")
    checkout = Checkout(fossil, clone, tmp_path / "work", "tail-19")
    assert "tail 19" in (checkout.folder / "three.txt").read_text()
    assert "0" in checkout("pull")
    checkout("update", "middle")
