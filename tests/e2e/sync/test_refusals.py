"""Wrong credentials and missing rights: a message that a person understands, and an untouched file."""

import urllib.parse

import pytest

from support import repofile, wire
from support.fossil import Checkout, clone_and_open


@pytest.fixture
def closed(fresh):
    """A repository where one has to log in for anything."""
    repofile.set_capabilities(fresh, "nobody", "")
    repofile.set_capabilities(fresh, "anonymous", "")
    return fresh


def refused(fossil, *arguments):
    """The client fails. Returns what it said."""
    status, output = fossil.attempt(*arguments)
    assert status != 0 or "Error" in output or "error" in output, output
    return output


def test_clone_with_a_wrong_password(launch, closed, fossil, tmp_path):
    server = launch(closed)
    with repofile.unchanged(closed):
        output = refused(fossil, "clone", "--no-open", server.url_for("writer", "wrong"), tmp_path / "clone.fossil")
        assert "login failed" in output


def test_clone_by_an_unknown_user(launch, closed, fossil, tmp_path):
    server = launch(closed)
    with repofile.unchanged(closed):
        output = refused(fossil, "clone", "--no-open", server.url_for("stranger", "pen"), tmp_path / "clone.fossil")
        assert "login failed" in output


def test_clone_without_a_login(launch, closed, fossil, tmp_path):
    server = launch(closed)
    with repofile.unchanged(closed):
        output = refused(fossil, "clone", "--no-open", server.url, tmp_path / "clone.fossil")
        assert "not authorized to clone" in output


def test_clone_by_a_user_without_g(launch, closed, fossil, tmp_path):
    repofile.add_user(closed, "reader1", "word", "o")
    server = launch(closed)
    with repofile.unchanged(closed):
        output = refused(fossil, "clone", "--no-open", server.url_for("reader1", "word"), tmp_path / "clone.fossil")
        assert "not authorized to clone" in output


@pytest.fixture
def clone_alone(closed, fossil, tmp_path):
    """One that anybody may clone, and nobody may read, with much that a clone might ask for."""
    repofile.set_capabilities(closed, "nobody", "g")
    repofile.set_config(closed, "uv-sync", "on")
    (tmp_path / "uv").write_text("unversioned")
    fossil("uv", "add", tmp_path / "uv", "--as", "a.txt", "-R", closed)
    repofile.execute(closed, "INSERT INTO config(name,value,mtime) VALUES('css','body',1700000000)")
    # Something that is named and not here.
    repofile.execute(closed, "INSERT INTO blob(rcvid,size,uuid) VALUES(0,-1,?)", "ab" * 32)
    repofile.execute(closed, "INSERT INTO phantom SELECT rid FROM blob WHERE size<0")
    return closed


@pytest.mark.parametrize("options", [[], ["-u"]])
def test_who_may_clone_and_no_more_has_a_whole_clone_and_no_more(launch, clone_alone, fossil, tmp_path, options):
    server = launch(clone_alone)
    clone = tmp_path / "clone.fossil"
    fossil("clone", "--no-open", *options, server.url, clone)
    assert repofile.artifacts(clone) == repofile.artifacts(clone_alone)
    assert not fossil.integrity(clone)
    assert not repofile.value(clone, "SELECT 1 FROM config WHERE name='css'")
    for command in ("pull", "sync"):
        assert "not authorized to read" in refused(fossil, command, "-R", clone)


@pytest.mark.ours("it gives unversioned files without the right to read")
def test_our_client_has_a_whole_clone_where_it_may_clone_and_no_more(launch, clone_alone, quarry, fossil, tmp_path):
    server = launch(clone_alone)
    clone = tmp_path / "clone.fossil"
    quarry("clone", server.url, clone, "--uv")
    assert repofile.artifacts(clone) == repofile.artifacts(clone_alone)
    assert not fossil.integrity(clone)
    assert "not authorized to read" in quarry.refused("sync", clone, "--pull")


@pytest.mark.ours("it gives unversioned files without the right to read")
def test_who_may_clone_and_no_more_is_given_nothing_by_name(launch, clone_alone, peer_of):
    peer = peer_of(launch(clone_alone))
    peer.login = ""
    name = sorted(repofile.artifacts(clone_alone))[0]
    for card in (f"gimme {name}", f"pragma uv-hash {'0' * 40}", "uvgimme a.txt", "reqconfig /all", "pragma req-links"):
        assert peer.pull(card).errors() == ["not authorized to read"]
        answer = peer.ask(wire.body(wire.CLIENT_VERSION, card))
        assert [each.operator for each in answer.cards] == ["#"], card


@pytest.fixture
def committed(launch, fresh, fossil, tmp_path):
    """A served repository and a clone with a check-in that it does not have."""
    server = launch(fresh)
    clone, checkout = clone_and_open(fossil, server.url, tmp_path)
    checkout.commit_file("new.txt", "new\n", "wants to go")
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


def test_sync_by_a_user_without_i_who_has_nothing_to_push(launch, fresh, fossil, tmp_path):
    """The pull half goes on, and the client is told that it is all."""
    repofile.add_user(fresh, "reader1", "word", "go")
    server = launch(fresh)
    clone = tmp_path / "clone.fossil"
    fossil.clone(server.url_for("reader1", "word"), clone)
    direct = Checkout(fossil, fresh, tmp_path / "direct")
    direct.commit_file("theirs.txt", "theirs\n", "to be pulled")
    output = fossil("sync", "-R", clone)
    assert "pull only" in output
    assert direct.head() in repofile.artifacts(clone)


def test_sync_by_a_user_without_i_who_has_something_to_push(committed, fresh, fossil):
    """The client sends files with its first request, before it can know."""
    server, clone = committed
    repofile.add_user(fresh, "reader1", "word", "go")
    with repofile.unchanged(fresh):
        assert "not authorized to write" in refused(fossil, "sync", "--once", server.url_for("reader1", "word"), "-R", clone)


def test_wrong_project_code(launch, fresh, fossil, tmp_path):
    stranger = tmp_path / "stranger.fossil"
    fossil.new(stranger)
    server = launch(fresh)
    with repofile.unchanged(fresh):
        for command in ("push", "pull", "sync"):
            output = refused(fossil, command, "--once", server.url, "-R", stranger)
            assert "wrong project" in output


def test_pull_without_read_right(committed, fresh, fossil):
    server, clone = committed
    repofile.set_capabilities(fresh, "nobody", "")
    with repofile.unchanged(fresh):
        output = refused(fossil, "pull", "--once", server.url, "-R", clone)
        assert "not authorized to read" in output


# --- the same by hand: what the stock client never sends ------------------------------------------------


def test_wrong_project_code_by_hand(launch, fresh, peer_of):
    peer = peer_of(launch(fresh))
    with repofile.unchanged(fresh):
        for code in ("0" * 40, peer.project_code.upper(), peer.project_code + "x", peer.project_code[:-1]):
            for card in ("push", "pull"):
                answer = peer.ask(f"{card} {wire.SERVER_CODE} {code}\n")
                assert answer.errors() == ["wrong project"] or len(code) != 40 and answer.errors()


@pytest.mark.ours("after some errors it keeps what came before them")
def test_an_error_after_artifacts_undoes_them(launch, fresh, peer_of):
    """The whole request changes nothing."""
    peer = peer_of(launch(fresh))
    with repofile.unchanged(fresh):
        for wrong in ("bogus card", "file zz 3", "igot", "gimme not-a-hash"):
            answer = peer.push(wire.file_card(b"before"), f"igot {'ab' * 32}", wrong, wire.file_card(b"after"))
            assert len(answer.errors()) == 1
            assert [card.operator for card in answer.cards if card.operator not in ("#", "pragma")] == ["error"]


def test_cards_that_need_a_granted_push(launch, fresh, peer_of):
    """igot and file count only after one."""
    peer = peer_of(launch(fresh))
    with repofile.unchanged(fresh):
        peer.ask(f"igot {'ab' * 32}\n")
        peer.pull(f"igot {'ab' * 32}")
        assert peer.ask(wire.file_card(b"no push card")).errors()
        assert peer.ask(wire.body(f"pull {wire.SERVER_CODE} {peer.project_code}", wire.file_card(b"only pull"))).errors()


def test_gimme_needs_a_granted_pull(launch, fresh, peer_of):
    peer = peer_of(launch(fresh))
    name = sorted(repofile.artifacts(fresh))[0]
    assert peer.pull(f"gimme {name}").names("file") == [name]
    assert not peer.ask(f"gimme {name}\n").names("file")


def tampered(rest, login, secret):
    """Login cards that are wrong, each in one way."""
    nonce = wire.sha1(rest)
    good = wire.sha1((nonce + secret).encode())
    return {
        "signature": f"login {login} {nonce} {'0' * 40}\n",
        "short signature": f"login {login} {nonce} {good[:-1]}\n",
        "empty signature": f"login {login} {nonce}\n",
        "nonce": f"login {login} {'1' * 40} {wire.sha1(('1' * 40 + secret).encode())}\n",
        "password in the clear": f"login {login} {nonce} {wire.sha1((nonce + 'written').encode())}\n",
        "nobody with a wrong nonce": f"login nobody {'1' * 40} x\n",
        "developer": f"login developer {nonce} {wire.sha1(nonce.encode())}\n",
        "reader": f"login reader {nonce} {wire.sha1(nonce.encode())}\n",
        "without a password": f"login empty {nonce} {wire.sha1(nonce.encode())}\n",
    }


@pytest.mark.parametrize("what", tampered(b"", "", ""))
def test_login_card_that_is_wrong(launch, fresh, peer_of, what):
    peer = peer_of(launch(fresh))
    repofile.execute(fresh, "INSERT INTO user(login,pw,cap) VALUES('empty','','giox')")
    with repofile.unchanged(fresh):
        rest = wire.body(f"push {wire.SERVER_CODE} {peer.project_code}", wire.file_card(b"x"))
        answer = peer.post(tampered(rest, peer.login, peer.secret)[what].encode() + rest)
        assert answer.errors(), answer.raw


def test_body_changed_after_signing(launch, fresh, peer_of):
    peer = peer_of(launch(fresh))
    with repofile.unchanged(fresh):
        rest = wire.body(f"push {wire.SERVER_CODE} {peer.project_code}", wire.file_card(b"x"))
        signed = wire.signed(rest, peer.login, peer.secret)
        assert "login failed" in peer.post(signed + b"# one more\n").errors()


@pytest.mark.parametrize("login", ["plain", "with space", "bäck\\slash", "tab\tname"])
def test_user_names_of_every_kind(launch, fresh, peer_of, login):
    peer = peer_of(launch(fresh), login)
    assert not peer.push(wire.file_card(b"signed by " + login.encode())).errors()
    sender = repofile.value(fresh, "SELECT login FROM rcvfrom JOIN user USING(uid) ORDER BY rcvid DESC LIMIT 1")
    assert sender == login


def test_nonce_of_sha3(launch, fresh, peer_of):
    peer = peer_of(launch(fresh))
    rest = wire.body(f"push {wire.SERVER_CODE} {peer.project_code}", wire.file_card(b"x"))
    nonce = wire.sha3(rest)
    answer = peer.post(f"login {peer.login} {nonce} {wire.sha1((nonce + peer.secret).encode())}\n".encode() + rest)
    assert not answer.errors()
    assert wire.sha3(b"x") in repofile.artifacts(fresh)


def test_password_in_the_clear_in_an_old_file(launch, fresh, peer_of):
    """user.pw that is no 40 digits: as it stands, or as the shared secret made of it."""
    peer = peer_of(launch(fresh))
    repofile.execute(fresh, "UPDATE user SET pw='written' WHERE login='hand'")
    assert not peer.push(wire.file_card(b"shared secret")).errors()
    peer.secret = "written"
    assert not peer.push(wire.file_card(b"clear")).errors()


@pytest.mark.ours("2.21 does not know it")
def test_login_in_a_header(launch, fresh, peer_of):
    """New clients: a cookie with the form-encoded login card, its nonce over the whole body."""
    peer = peer_of(launch(fresh))

    def cookie(body: bytes, spoil: str = "") -> dict[str, str]:
        nonce = wire.sha1(body)
        card = f"login {peer.login} {nonce} {wire.sha1((nonce + peer.secret).encode())}{spoil}"
        return {"Cookie": "other=1; x-f-l-c=" + urllib.parse.quote_plus(card) + "; more=2"}

    rest = wire.body(f"push {wire.SERVER_CODE} {peer.project_code}", wire.file_card(b"x"))
    assert peer.post(rest, headers=cookie(rest, "0")).errors()
    assert peer.post(rest, headers=cookie(rest + b"more")).errors()
    twice = wire.signed(rest, peer.login, peer.secret)
    assert peer.post(twice, headers=cookie(twice)).errors() == ["multiple login cards"]
    assert wire.sha3(b"x") not in repofile.artifacts(fresh)
    assert not peer.post(rest, headers=cookie(rest)).errors()
    assert wire.sha3(b"x") in repofile.artifacts(fresh)
