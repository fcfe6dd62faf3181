"""`fossil sync --verily`: what an ordinary sync passes over, since somebody's tables say that all have it."""

from support import repofile
from support.fossil import Checkout, clone_and_open


def test_artifact_that_no_list_names_any_more_is_found(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    one, other = tmp_path / "one.fossil", tmp_path / "other.fossil"
    for path in (one, other):
        fossil.clone(server.url_for("writer", "pen"), path)
    checkout = Checkout(fossil, one, tmp_path / "work")
    checkout.commit_file("a.txt", "a\n", "lost sight of")
    checkout("push")
    repofile.execute(fresh, "DELETE FROM unclustered")
    fossil("pull", "-R", other)
    assert not repofile.artifacts(fresh) <= repofile.artifacts(other)
    fossil("sync", "--verily", "-R", other)
    assert repofile.artifacts(other) == repofile.artifacts(fresh)


def test_artifact_that_the_server_lost_comes_back(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    clone, checkout = clone_and_open(fossil, server.url_for("writer", "pen"), tmp_path)
    checkout.commit_file("a.txt", "a\n", "never pushed, though the clone believes so")
    repofile.execute(clone, "DELETE FROM unsent")
    repofile.execute(clone, "DELETE FROM unclustered")
    fossil("sync", "-R", clone)
    assert not repofile.artifacts(clone) <= repofile.artifacts(fresh)
    fossil("sync", "--verily", "-R", clone)
    assert repofile.artifacts(fresh) == repofile.artifacts(clone)
