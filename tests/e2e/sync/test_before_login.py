"""Measures how much memory a worker uses for a small compressed request before it checks the login."""

import struct
import urllib.parse
import zlib

import pytest

from support import process, repofile, wire
from support.daemon import user

MIB = 1 << 20
CONTENT = b"\0" * (100 * MIB)  # compressed: 100 KiB


@pytest.fixture
def served(start, fresh):
    """Starts a server with one worker. Returns a client, and a function that returns the worker's peak memory in
    MiB."""
    repofile.set_capabilities(fresh, "nobody", "oi")
    server = start(http=user())
    peer = wire.Peer(server.port, project_code=repofile.project_code(fresh))
    assert peer.pull().errors() == []
    return peer, lambda: process.memory_kib(server.child(), "VmHWM") // 1024


@pytest.fixture(scope="module")
def compressed():
    """Returns a function that makes a compressed body of a login card and CONTENT. CONTENT is compressed only once for
    all bodies."""
    packer = zlib.compressobj(wbits=-15)
    rest = packer.compress(CONTENT) + packer.flush()

    def make(card: bytes = b"") -> bytes:
        packer = zlib.compressobj(wbits=-15)
        start = packer.compress(card) + packer.flush(zlib.Z_FULL_FLUSH)
        check = zlib.adler32(CONTENT, zlib.adler32(card))
        return struct.pack(">I", len(card) + len(CONTENT)) + b"\x78\x9c" + start + rest + struct.pack(">I", check)
    return make


def login_of(body: bytes, code: str, password: str) -> bytes:
    whole = wire.signed(body, "writer", wire.shared_secret(code, "writer", password))
    return whole[:len(whole) - len(body)]


def cookie_of(card: bytes) -> dict[str, str]:
    return {"Cookie": "x-f-l-c=" + urllib.parse.quote_plus(card.decode().strip())}


@pytest.mark.slow
def test_a_request_without_a_valid_login_takes_little_memory(served, compressed):
    peer, peak = served
    before = peak()
    code = peer.project_code
    assert len(compressed()) < MIB

    assert peer.post(compressed(), wire.COMPRESSED).status == 413
    wrong = login_of(CONTENT, code, "wrong")
    other = login_of(b"something else\n", code, "pen")
    for card in (wrong, other):
        assert peer.post(compressed(card), wire.COMPRESSED).errors() == ["login failed"]
        assert peer.post(compressed(), wire.COMPRESSED, cookie_of(card)).errors() == ["login failed"]
    assert peak() - before < 16, "MiB more than for a small request"

    right = login_of(CONTENT, code, "pen")
    assert peer.post(compressed(right), wire.COMPRESSED).errors() == ["a card is longer than 65536 bytes"]
    assert peak() - before > len(CONTENT) // MIB, "a user may send that much"


def test_the_limit_can_be_configured(start, fresh):
    """The limit applies to requests without a login. A logged-in user can send larger pushes."""
    repofile.set_capabilities(fresh, "nobody", "oi")
    port = start({"sync.max_body_without_login": "1M"}, http=user()).port
    code = repofile.project_code(fresh)
    large, small = b"large" * 300_000, b"small" * 100_000
    nobody = wire.Peer(port, project_code=code)
    for content_type in (wire.PLAIN, wire.COMPRESSED):
        assert nobody.push(wire.file_card(large), content_type=content_type).status == 413
        assert nobody.push(wire.file_card(small), content_type=content_type).errors() == []
    writer = wire.Peer(port, "/", "writer", wire.shared_secret(code, "writer", "pen"), code)
    assert writer.push(wire.file_card(large), content_type=wire.COMPRESSED).errors() == []
    assert {wire.sha3(large), wire.sha3(small)} <= repofile.artifacts(fresh)
