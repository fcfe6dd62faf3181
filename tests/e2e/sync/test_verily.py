"""`fossil sync --verily` finds artifacts that an ordinary sync misses because tables are wrong."""

from support import repofile
from support.fossil import Checkout, clone_and_open


def test_artifact_missing_in_unclustered_is_found(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    one, other = tmp_path / "one.fossil", tmp_path / "other.fossil"
    for path in (one, other):
        fossil.clone(server.url_for("writer", "pen"), path)
    checkout = Checkout(fossil, one, tmp_path / "work")
    checkout.commit_file("a.txt", "a\n", "lost")
    checkout("push")
    repofile.execute(fresh, "DELETE FROM unclustered")
    fossil("pull", "-R", other)
    assert not repofile.artifacts(fresh) <= repofile.artifacts(other)
    fossil("sync", "--verily", "-R", other)
    assert repofile.artifacts(other) == repofile.artifacts(fresh)


def test_artifact_marked_as_sent_but_missing_on_the_server_is_pushed(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    clone, checkout = clone_and_open(fossil, server.url_for("writer", "pen"), tmp_path)
    checkout.commit_file("a.txt", "a\n", "never pushed, but marked as sent")
    repofile.execute(clone, "DELETE FROM unsent")
    repofile.execute(clone, "DELETE FROM unclustered")
    fossil("sync", "-R", clone)
    assert not repofile.artifacts(clone) <= repofile.artifacts(fresh)
    fossil("sync", "--verily", "-R", clone)
    assert repofile.artifacts(fresh) == repofile.artifacts(clone)
