"""Wrong credentials and missing capabilities result in a clear message and an unchanged file. Requests that the stock
client never sends are tested in tests/unit/sync/server/."""

import pytest

from support import repofile, wire
from support.fossil import Checkout, clone_and_open


@pytest.fixture
def closed(fresh):
    """A repository in which users without a login do not have any capabilities."""
    repofile.set_capabilities(fresh, "nobody", "")
    repofile.set_capabilities(fresh, "anonymous", "")
    return fresh


def refused(fossil, *arguments):
    """Runs a fossil command that must fail, and returns its output."""
    status, output = fossil.attempt(*arguments)
    assert status != 0 or "Error" in output or "error" in output, output
    return output


@pytest.mark.parametrize("login, password, message", [
    ("writer", "wrong", "login failed"),
    ("stranger", "pen", "login failed"),
    ("", "", "not authorized to clone"),
    ("reader1", "word", "not authorized to clone"),
])
def test_clone_is_refused(launch, closed, fossil, tmp_path, login, password, message):
    repofile.add_user(closed, "reader1", "word", "o")
    server = launch(closed)
    url = server.url_for(login, password) if login else server.url
    with repofile.unchanged(closed):
        assert message in refused(fossil, "clone", "--no-open", url, tmp_path / "clone.fossil")


@pytest.fixture
def clone_only(closed, fossil, tmp_path):
    """A repository with unversioned files, settings and a phantom. Users without a login can clone the repository, but
    cannot read it."""
    repofile.set_capabilities(closed, "nobody", "g")
    repofile.set_config(closed, "uv-sync", "on")
    (tmp_path / "uv").write_text("unversioned")
    fossil("uv", "add", tmp_path / "uv", "--as", "a.txt", "-R", closed)
    repofile.execute(closed, "INSERT INTO config(name,value,mtime) VALUES('css','body',1700000000)")
    repofile.execute(closed, "INSERT INTO blob(rcvid,size,uuid) VALUES(0,-1,?)", "ab" * 32)
    repofile.execute(closed, "INSERT INTO phantom SELECT rid FROM blob WHERE size<0")
    return closed


@pytest.mark.parametrize("options", [[], ["-u"]])
def test_a_user_who_may_only_clone_gets_a_complete_clone(launch, clone_only, fossil, tmp_path, options):
    server = launch(clone_only)
    clone = tmp_path / "clone.fossil"
    fossil("clone", "--no-open", *options, server.url, clone)
    assert repofile.artifacts(clone) == repofile.artifacts(clone_only)
    assert not fossil.integrity(clone)
    assert not repofile.value(clone, "SELECT 1 FROM config WHERE name='css'")
    for command in ("pull", "sync"):
        assert "not authorized to read" in refused(fossil, command, "-R", clone)


@pytest.mark.ours("it sends unversioned files without the right to read")
def test_our_client_gets_a_complete_clone_with_the_right_to_clone_alone(launch, clone_only, quarry, fossil, tmp_path):
    server = launch(clone_only)
    clone = tmp_path / "clone.fossil"
    quarry("clone", server.url, clone, "--uv")
    assert repofile.artifacts(clone) == repofile.artifacts(clone_only)
    assert not fossil.integrity(clone)
    assert "not authorized to read" in quarry.refused("sync", clone, "--pull")


@pytest.mark.ours("it sends unversioned files without the right to read")
def test_a_user_who_may_only_clone_can_request_nothing_by_name(launch, clone_only, peer_of):
    peer = peer_of(launch(clone_only))
    peer.login = ""
    name = sorted(repofile.artifacts(clone_only))[0]
    for card in (f"gimme {name}", f"pragma uv-hash {'0' * 40}", "uvgimme a.txt", "reqconfig /all", "pragma req-links"):
        assert peer.pull(card).errors() == ["not authorized to read"]
        answer = peer.ask(wire.body(wire.CLIENT_VERSION, card))
        assert [each.operator for each in answer.cards] == ["#"], card


@pytest.fixture
def committed(launch, fresh, fossil, tmp_path):
    """Returns a served repository, and a clone with a new check-in."""
    server = launch(fresh)
    clone, checkout = clone_and_open(fossil, server.url, tmp_path)
    checkout.commit_file("new.txt", "new\n", "a new check-in")
    return server, clone


@pytest.mark.parametrize("login, password, message", [
    ("writer", "wrong", "login failed"),
    ("stranger", "pen", "login failed"),
    ("reader1", "word", "not authorized to write"),
])
def test_push_is_refused(committed, fresh, fossil, login, password, message):
    server, clone = committed
    repofile.add_user(fresh, "reader1", "word", "go")
    with repofile.unchanged(fresh):
        output = refused(fossil, "push", "--once", server.url_for(login, password), "-R", clone)
        assert message in output


def test_sync_without_the_right_to_write_only_pulls(launch, fresh, fossil, tmp_path):
    """The pull continues, and the client gets a message that nothing is pushed."""
    repofile.add_user(fresh, "reader1", "word", "go")
    server = launch(fresh)
    clone = fossil.clone(server.url_for("reader1", "word"), tmp_path / "clone.fossil")
    direct = Checkout(fossil, fresh, tmp_path / "direct")
    direct.commit_file("theirs.txt", "theirs\n", "to be pulled")
    output = fossil("sync", "-R", clone)
    assert "pull only" in output
    assert direct.head() in repofile.artifacts(clone)


def test_sync_of_a_new_check_in_without_the_right_to_write_is_refused(committed, fresh, fossil):
    """The client sends the new files in its first request, before it knows that it must not push."""
    server, clone = committed
    repofile.add_user(fresh, "reader1", "word", "go")
    with repofile.unchanged(fresh):
        assert "not authorized to write" in refused(fossil, "sync", "--once", server.url_for("reader1", "word"), "-R", clone)


def test_wrong_project_code(launch, fresh, fossil, tmp_path):
    stranger = fossil.new(tmp_path / "stranger.fossil")
    server = launch(fresh)
    with repofile.unchanged(fresh):
        for command in ("push", "pull", "sync"):
            output = refused(fossil, command, "--once", server.url, "-R", stranger)
            assert "wrong project" in output


def test_pull_without_the_right_to_read(committed, fresh, fossil):
    server, clone = committed
    repofile.set_capabilities(fresh, "nobody", "")
    with repofile.unchanged(fresh):
        output = refused(fossil, "pull", "--once", server.url, "-R", clone)
        assert "not authorized to read" in output
