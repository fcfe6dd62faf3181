"""Repository names that are invalid or lead out of the served folder are refused."""

import os

import pytest

from support import process, repofile, wire

SECRET = "the secret project"


@pytest.fixture(scope="module")
def world(launch_shared, fossil, tmp_path_factory):
    """Serves a folder that contains links to a secret repository outside of the folder."""
    top = tmp_path_factory.mktemp("names")
    root = top / "root"
    (root / "sub").mkdir(parents=True)
    fossil.new(root / "open.fossil")
    fossil.new(root / "sub" / "inner.fossil")
    (top / "outside").mkdir()
    secret = fossil.new(top / "outside" / "secret.fossil")
    fossil.new(root / ".hidden.fossil")
    for path in (secret, root / ".hidden.fossil"):
        repofile.set_config(path, "project-code", wire.sha1(SECRET.encode()))
    os.symlink(secret, root / "link.fossil")
    os.symlink(top / "outside", root / "folder-link")
    os.symlink("../outside", root / "relative-link")
    os.symlink("loop.fossil", root / "loop.fossil")
    (root / "text.fossil").write_text("no repository at all, but long enough to be looked at" * 50)
    (root / "empty.fossil").write_bytes(b"")
    (root / "folder.fossil").mkdir()
    os.mkfifo(root / "pipe.fossil")
    return launch_shared(root), secret


NAMES = [
    "/../outside/secret", "/%2e%2e/outside/secret", "/..%2foutside%2fsecret", "/%2e%2e%2foutside/secret",
    "/.%2e/outside/secret", "/sub/../../outside/secret", "/sub/%2e%2e/%2e%2e/outside/secret", "/open/../../outside/secret",
    "/%252e%252e/outside/secret", "/..\\outside\\secret", "/%c0%ae%c0%ae/outside/secret", "/....//outside/secret",
    "/link", "/link/xfer", "/folder-link/secret", "/relative-link/secret", "/loop", "/folder-link/../open",
    "/.hidden", "/%2ehidden", "/sub/./../.hidden", "/open%00", "/%00", "/open%00.fossil", "/open.fossil/%00",
    "//outside/secret", "/-rf", "/sub/-x", "/absent", "/absent/xfer", "/sub", "/sub/", "/", "",
    "/text", "/empty", "/folder", "/pipe", "/open%0d%0aSet-Cookie:x", "/\xff\xfe", "/%ff%fe", "/" + "a" * 3000,
    "/" + "a/" * 1500, "/open~", "/open;x", "/$(touch x)", "/dev/null", "/OPEN",
]
#: Paths that begin or end with the name of the repository `open`. The server can answer requests for these paths, but
#: only with repositories in the served folder.
NEVER_LEFT = ("/open/../../outside/secret", "/folder-link/../open", "/open.fossil/%00")
#: Links that lead out of the folder. Requests for these links are logged for the administrator.
WAYS_OUT = ("/link", "/link/xfer", "/folder-link/secret", "/relative-link/secret")
BROKEN = ("/text", "/empty", "/folder", "/pipe")
CLONE = wire.body(wire.CLIENT_VERSION, "clone 3 1")


@pytest.mark.ours("it shows pages for some")
@pytest.mark.parametrize("name", NAMES, ids=[repr(name)[:40] for name in NAMES])
def test_an_invalid_name_is_refused(world, name):
    server, secret = world
    code = repofile.project_code(secret)
    request = b"POST %s HTTP/1.0\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        name.encode("latin-1"), wire.PLAIN.encode(), len(CLONE), CLONE)
    logged = len(server.all_logs())
    with repofile.unchanged(secret):
        reply = wire.Peer(server.port).exchange_bytes(request)
    assert code.encode() not in reply
    status = int(reply.split()[1]) if reply.startswith(b"HTTP/") else 400
    if name in NEVER_LEFT and status == 200:
        # Any text can follow a repository's name in the path. The reply must come from the repository `open`.
        assert repofile.project_code(server.target / "open.fossil").encode() in reply
        return
    assert 400 <= status < 500 or name in BROKEN and status == 500, reply[:300]
    assert server.is_running()
    if status != 404 or name in WAYS_OUT:
        process.wait_until(lambda: "127.0.0.1" in server.all_logs()[logged:],
                           "a line in the log with the client's address")


def test_a_query_is_not_part_of_the_name(world):
    server, secret = world
    answer = wire.Peer(server.port).post(CLONE, path="/open?name=../outside/secret")
    assert answer.of("push")[0].arguments[1] == repofile.project_code(server.target / "open.fossil")


def test_valid_names_are_served(world):
    server, _ = world
    for name in ("/open", "/open/", "/open/xfer", "/sub/inner", "/sub/inner/xfer", "/open?x=y"):
        answer = wire.Peer(server.port).post(CLONE, path=name)
        assert answer.status == 200 and answer.of("push"), name


def test_a_link_that_replaces_an_open_repository_is_not_followed(launch, fossil, tmp_path):
    """The worker already has the repository open when the link is created."""
    root = tmp_path / "root"
    root.mkdir()
    fossil.new(root / "a.fossil")
    secret = fossil.new(tmp_path / "secret.fossil")
    server = launch(root)
    peer = wire.Peer(server.port, "/a")
    assert peer.post(CLONE).status == 200
    (root / "a.fossil").unlink()
    os.symlink(secret, root / "a.fossil")
    if server.kind != "fossil":
        for _ in range(8):
            assert repofile.project_code(secret).encode() not in peer.post(CLONE).raw


@pytest.mark.ours("it opens the file for each request")
def test_a_replaced_repository_is_noticed(launch, fossil, tmp_path, peer_of):
    """The file is replaced by `mv`. The next request uses the new file, and both files stay intact."""
    path = fossil.new(tmp_path / "r.fossil")
    other = fossil.new(tmp_path / "other.fossil")
    code = repofile.project_code(other)
    server = launch(path, workers=1)
    peer = peer_of(server)
    assert not peer.push(wire.file_card(b"into the old one")).errors()
    assert peer.clone(3, 1).of("push")[0].arguments[1] != code
    os.replace(other, path)
    for _ in range(3):
        assert wire.Peer(server.port).clone(3, 1).of("push")[0].arguments[1] == code
    assert not peer_of(server).push(wire.file_card(b"into the new one")).errors()
    server.stop()
    assert fossil.integrity(path) == ""
    there = repofile.artifacts(path)
    assert wire.sha3(b"into the new one") in there
    assert wire.sha3(b"into the old one") not in there
