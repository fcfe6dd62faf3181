"""Invalid bodies and HTTP requests are answered with an error status or an error card. Nothing is stored, and memory is
limited."""

import dataclasses
import zlib

import pytest

from support import repofile, wire
from support.places import is_sanitized
from support.siege import Siege, is_refused

LIMIT = 8 << 20


@pytest.fixture(scope="module")
def siege(launch_shared, fossil, tmp_path_factory):
    path = fossil.new(tmp_path_factory.mktemp("siege") / "r.fossil")
    secret = repofile.add_user(path, "hand", "written", "giox")
    server = launch_shared(path, settings={"max_body": "8M", "sync.max_body": "8M", "http.max_body": "8M",
                                           "repository.max_artifact_size": "8M", "read_timeout": "3s",
                                           "http.client_timeout": "3s"})
    return Siege(server, path, wire.Peer(server.port, "/", "hand", secret, repofile.project_code(path)))


def size(value: int) -> bytes:
    return value.to_bytes(4, "big")


def pushing(siege, data: bytes = b"a good one") -> bytes:
    return wire.signed(wire.body(f"push {wire.SERVER_CODE} {siege.peer.project_code}", wire.file_card(data)),
                       siege.peer.login, siege.peer.secret)


# Broken copies of a valid, signed push. The server would store the push if its body were intact.
COMPRESSED_BODIES = {
    "no zlib stream": lambda good: size(len(good)) + b"this is no zlib stream",
    "a stream that is cut off": lambda good: wire.compress(good)[:-10],
    "a size and nothing else": lambda good: size(len(good)),
    "three bytes": lambda good: b"\0\0\0",
    "a size that is too small": lambda good: size(len(good) - 1) + zlib.compress(good),
    "a size that is too large": lambda good: size(len(good) + 1) + zlib.compress(good),
    "a size of 4 GB": lambda good: size(0xFFFFFFFF) + zlib.compress(good),
    "a size of 0": lambda good: size(0) + zlib.compress(good),
    "a wrong checksum": lambda good: wire.compress(good)[:-1] + bytes([wire.compress(good)[-1] ^ 1]),
    "plain text": lambda good: good,
    "a stream that expands without end": lambda good: size(1000) + zlib.compress(good + bytes(200 << 20)),
    "a stream that expands to what it says": lambda good: wire.compress(good + bytes(200 << 20)),
    "one byte more than is allowed": lambda good: wire.compress(good + b"\n" * (LIMIT - len(good) + 1)),
}


@pytest.mark.ours("it takes some, and has no limits")
@pytest.mark.parametrize("what", COMPRESSED_BODIES)
def test_compressed_body(siege, what):
    with siege.nothing_happens():
        answer = siege.peer.post(COMPRESSED_BODIES[what](pushing(siege)), wire.COMPRESSED)
        assert is_refused(answer), (answer.status, answer.raw[:300])
        assert what != "plain text" or answer.status == 400


@pytest.mark.ours("it has no limits")
def test_body_over_the_limit(siege):
    with siege.nothing_happens():
        answer = siege.peer.post(pushing(siege) + b"#" * LIMIT)
        assert answer.status == 413
        assert answer.raw.strip() and answer.raw.strip().count(b"\n") <= (0 if siege.server.kind == "gateway" else 9)


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


TYPE = f"Content-Type: {wire.PLAIN}"
HOST = "Host: localhost"


def status_of(reply: bytes) -> int:
    return int(reply.split()[1]) if reply.startswith(b"HTTP/") else 0


@pytest.mark.ours("it has no limits of time")
@pytest.mark.parametrize("ending", ["closes", "stays silent"])
def test_a_truncated_body_is_refused(siege, ending, request):
    if ending == "stays silent" and siege.server.kind == "nginx" and not request.config.getoption("--full"):
        pytest.skip("slow: nginx waits for a minute; only with --full")
    body = pushing(siege)
    data = head("POST / HTTP/1.1", HOST, TYPE, f"Content-Length: {len(body) + 100}") + body
    with siege.nothing_happens():
        patient = dataclasses.replace(siege.peer, timeout=90)
        reply = patient.exchange_bytes(data, half_close=ending == "closes")
        assert status_of(reply) in (400, 408, 0), reply[:300]


def test_content_type_with_a_charset(siege):
    answer = siege.peer.post(b"# hello\n", "application/x-fossil-debug; charset=US-ASCII")
    assert answer.status == 200 and answer.of("#")


@pytest.mark.ours("it has another log")
def test_a_client_cannot_forge_a_log_line(siege):
    for data in (head("POST /x%0a[forged]%20notice: HTTP/1.1", HOST, TYPE, "Content-Length: 9") + b"forged 1\n",
                 head("POST / HTTP/1.1", HOST, TYPE, "Content-Length: 27") + b"login a\\n[forged]\\sx y z\n #\n",
                 head("POST / HTTP/1.1", HOST, TYPE, "Content-Length: 20") + b"for\r[forged] \x1b[31m\n\n"):
        siege.peer.exchange_bytes(data, half_close=True)
    log = siege.server.log()
    assert not any(line.startswith("[forged]") for line in log.splitlines())
    assert "\x1b" not in log and "\r" not in log


def test_memory_stayed_within_the_limits(siege):
    if siege.server.kind == "fossil" or is_sanitized():
        pytest.skip("says nothing here")
    assert siege.peak_memory_mib() < 80
