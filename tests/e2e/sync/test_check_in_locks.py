"""Two users are about to commit on the same check-in. The second user is warned while the first is still writing the
comment."""

import pytest

from support import repofile
from support.fossil import Checkout, commit_in_progress

WARNING = 'Might fork due to a check-in race with user "anna"'


@pytest.fixture
def checkouts(launch, fresh, fossil, tmp_path):
    server = launch(fresh)
    made = []
    for name in ("anna", "bert"):
        repofile.add_user(fresh, name, "word", "gio")
        clone = fossil.clone(server.url_for(name, "word"), tmp_path / f"{name}.fossil")
        checkout = Checkout(fossil, clone, tmp_path / name)
        checkout("settings", "autosync", "on")
        checkout.write(f"{name}.txt", name)
        checkout("add", f"{name}.txt")
        made.append(checkout)
    return made


def locks(path):
    return repofile.query(path, "SELECT name, json_extract(value,'$.login') FROM config WHERE name GLOB 'ci-lock-*'")


def test_second_of_two_commits_is_warned(checkouts, fresh, fossil):
    anna, bert = checkouts
    parent = anna.head()
    with commit_in_progress(anna):
        assert locks(fresh) == [(f"ci-lock-{parent}", "anna")]
        status, output = fossil.attempt("commit", "--no-warnings", "--no-prompt", "-m", "mine", cwd=bert.folder)
        assert WARNING in output
        assert status != 0
        assert locks(fresh) == [(f"ci-lock-{parent}", "anna")]
    assert locks(fresh) == [], "released after the commit"
    bert("update")
    output = bert.commit("after hers")
    assert WARNING not in output
    assert repofile.value(fresh, "SELECT count(*) FROM leaf") == 1
