"""Malformed and false cards are answered with an error card. Nothing is stored, a line is logged, and the server
continues."""

import random

import pytest

import proof
from support import artifacts, delta, repofile, wire
from support.places import is_sanitized
from support.siege import Siege, is_refused

SOURCE = bytes(range(256)) * 40
TARGET = SOURCE[:5000] + b"different" + SOURCE[6000:]
ABSENT = "ab" * 32
HASH = wire.sha3(TARGET)
SOURCE_HASH = wire.sha3(SOURCE)


@pytest.fixture(scope="module")
def siege(launch_shared, fossil, tmp_path_factory):
    """A repository with the artifact SOURCE, served with low limits."""
    path = fossil.new(tmp_path_factory.mktemp("siege") / "r.fossil")
    secret = repofile.add_user(path, "hand", "written", "gioxy")
    server = launch_shared(path, settings={"sync.max_body": "32M", "sync.max_cards": "5000",
                                           "repository.max_artifact_size": "16M"})
    peer = wire.Peer(server.port, "/", "hand", secret, repofile.project_code(path))
    assert not peer.push(wire.file_card(SOURCE)).errors()
    return Siege(server, path, peer)


def blob(size: int, data: bytes) -> bytes:
    """Returns DATA in the format of blobs. SIZE is the declared size."""
    return size.to_bytes(4, "big") + wire.zlib.compress(data)


def cfile(name: str, usize: int, payload: bytes, csize: int | None = None) -> bytes:
    return f"cfile {name} {usize} {len(payload) if csize is None else csize}\n".encode() + payload + b"\n"


MALFORMED = {
    "unknown operator": b"bogus 1 2 3\n",
    "an HTTP request as body": b"GET / HTTP/1.0\n\n",
    "binary": random.Random(1).randbytes(5000) + b"\n",
    "NUL bytes": b"\0" * 1000,
    "a NUL in an operator": b"pu\0sh x y\n",
    "not UTF-8": b"\xff\xfe\xfd\n",
    "a line of a megabyte": b"x" * (1 << 20),
    "a card with very many words": b"igot" + b" a" * 100000 + b"\n",
    "file without arguments": b"file\n",
    "file with only a name": f"file {ABSENT}\n".encode(),
    "file with too many words": f"file {ABSENT} {ABSENT} {ABSENT} 3\nabc".encode(),
    "file with a negative size": f"file {ABSENT} -3\nabc".encode(),
    "file with a size that is not a number": f"file {ABSENT} 3x\nabc".encode(),
    "file with a size of 4 GB": f"file {ABSENT} 4294967296\nabc".encode(),
    "file with a size of 4 GB minus one": f"file {ABSENT} 4294967295\nabc".encode(),
    "file with a size beyond 64 bits": f"file {ABSENT} 99999999999999999999999\nabc".encode(),
    "file with a size that wraps around": f"file {ABSENT} 18446744073709551617\nabc".encode(),
    "file that is truncated": f"file {HASH} {len(TARGET)}\n".encode() + TARGET[:-1],
    "file with more bytes than declared": f"file {wire.sha3(TARGET[:-9])} {len(TARGET) - 9}\n".encode() + TARGET,
    "file with other content": wire.file_card(b"other", HASH),
    "file with a name in upper case": wire.file_card(TARGET, HASH.upper()),
    "file with a short name": wire.file_card(TARGET, HASH[:39]),
    "file with a name of 41 digits": wire.file_card(TARGET, HASH[:41]),
    "file with a name of 65 digits": wire.file_card(TARGET, HASH + "0"),
    "file with a name without digits": wire.file_card(TARGET, "g" * 64),
    "file larger than the limit on artifacts": wire.file_card(bytes(17 << 20)),
    "cfile without arguments": b"cfile\n",
    "cfile of 4 GB": cfile(HASH, 4294967296, blob(len(TARGET), TARGET)),
    "cfile whose payload says 4 GB": cfile(HASH, len(TARGET), blob(0xFFFFFFFF, TARGET)),
    "cfile whose payload says less": cfile(HASH, len(TARGET), blob(len(TARGET) - 1, TARGET)),
    "cfile whose payload says more": cfile(HASH, len(TARGET), blob(len(TARGET) + 1, TARGET)),
    "cfile whose card says less": cfile(HASH, len(TARGET) - 1, blob(len(TARGET), TARGET)),
    "cfile whose card says more": cfile(HASH, len(TARGET) + 1, blob(len(TARGET), TARGET)),
    "cfile that is truncated": cfile(HASH, len(TARGET), blob(len(TARGET), TARGET), 100000),
    "cfile with a truncated stream": cfile(HASH, len(TARGET), blob(len(TARGET), TARGET)[:-20]),
    "cfile that is not a zlib stream": cfile(HASH, len(TARGET), bytes(4) + b"no zlib at all"),
    "cfile of three bytes": cfile(HASH, len(TARGET), b"\0\0\0"),
    "cfile without bytes": cfile(HASH, len(TARGET), b""),
    "cfile with other content": cfile(HASH, 5, blob(5, b"other")),
    "cfile that expands to more than declared": cfile(HASH, 100, blob(100, bytes(50 << 20))),
    "cfile that declares 1 GB": cfile(HASH, 1 << 30, blob(1 << 30, bytes(50 << 20))),
    "igot without a name": b"igot\n",
    "igot with an invalid hash": b"igot zebra\n",
    "igot with a short hash": f"igot {ABSENT[:20]}\n".encode(),
    "igot with SQL": b"igot x');DROP/**/TABLE/**/blob;--\n",
    "gimme with an invalid hash": b"gimme zebra\n",
    "push with one argument": b"push x\n",
    "pull without arguments": b"pull\n",
    "a second push with a wrong project": f"push x {'0' * 40}\n".encode(),
    "clone with invalid numbers": b"clone x y\n",
    "clone with a negative number": b"clone 3 -5\n",
    "clone with a number beyond 64 bits": b"clone 3 99999999999999999999999\n",
    "login in the middle": b"login nobody x y\n",
    "login with one argument": b"login hand\n",
    "uvfile with other content": f"uvfile a 1 {HASH} 5 0\n".encode() + b"other",
    "uvfile that is empty but has another hash": f"uvfile a 1 {HASH} 0 0\n".encode(),
    "uvfile that is truncated": f"uvfile a 1 {HASH} {len(TARGET)} 0\n".encode() + TARGET[:-1],
    "uvfile of 4 GB": f"uvfile a 1 {HASH} 4294967296 0\n".encode() + TARGET,
    "uvfile larger than the limit": f"uvfile a 1 {wire.sha3(bytes(17 << 20))} {17 << 20} 0\n".encode() + bytes(17 << 20),
    "uvfile that is deleted and has content": b"uvfile a 1 - 3 0\nabc",
    "uvfile with .. in its name": f"uvfile ../../etc/passwd 1 {HASH} {len(TARGET)} 0\n".encode() + TARGET,
    "uvfile with an absolute name": f"uvfile /etc/passwd 1 {HASH} {len(TARGET)} 0\n".encode() + TARGET,
    "uvfile whose name is not UTF-8": b"uvfile \xff 1 - 0 1\n",
    "uvfile with a time before 1970": f"uvfile a -1 {HASH} {len(TARGET)} 0\n".encode() + TARGET,
    "uvfile with a time beyond 64 bits": f"uvfile a 99999999999999999999 {HASH} {len(TARGET)} 0\n".encode() + TARGET,
    "uvfile with an invalid hash": b"uvfile a 1 zebra 3 0\nabc",
    "uvfile without flags": f"uvfile a 1 {HASH} 3\nabc".encode(),
    "uvgimme with .. in its name": b"uvgimme ../../etc/passwd\n",
    "uvigot, which only servers send": f"uvigot a 1 {HASH} 3\n".encode(),
    "config by a user who is not an admin": b"config /config 17\n9 'css' value 'x'\n",
    "config with SQL by a user who is not an admin": b"config @user 16\nDELETE FROM user\n",
    "config that is truncated": b"config /config 100\n9 'css' value 'x'\n",
    "config with a size that is not a number": b"config /config x\n9 'css' value 'x'\n",
    "reqconfig without a name": b"reqconfig\n",
    "more cards than allowed": b"".join(b"igot %064x\n" % number for number in range(6000)),
}


@pytest.mark.ours("it is laxer with some, and keeps what came before an error")
@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_card(siege, what):
    before = len(siege.server.log())
    with siege.nothing_happens():
        answer = siege.peer.push(wire.file_card(b"a good one before"), MALFORMED[what])
        assert is_refused(answer), (answer.status, answer.raw[:500])
    assert len(siege.own_log_lines(before)) == 1, siege.server.log()[before:]


BAD_DELTAS = {
    "copies beyond its source": delta.compose(200, [delta.copy(200, len(SOURCE) - 100)], 0),
    "copies from behind its source": delta.compose(1, [delta.copy(1, len(SOURCE))], 0),
    "copies from 4 GB": delta.compose(1, [delta.copy(1, 0xFFFFFFFF)], 0),
    "copies from beyond 64 bits": b"1\n1@" + b"z" * 30 + b",0;",
    "copies more than 64 bits": b"1\n" + b"z" * 30 + b"@0,0;",
    "declares more than it produces": delta.compose(len(TARGET) + 1, [delta.insert(TARGET)], delta.checksum(TARGET)),
    "declares less than it produces": delta.compose(len(TARGET) - 1, [delta.insert(TARGET)], delta.checksum(TARGET)),
    "declares 4 GB": delta.compose(1 << 32, [delta.insert(TARGET)], delta.checksum(TARGET)),
    "declares more than 64 bits": b"z" * 40 + b"\n3:abc0;",
    "expands to gigabytes": delta.compose(1 << 31, [delta.copy(len(SOURCE), 0)] * 300000, 0),
    "has a wrong checksum": delta.compose(len(TARGET), [delta.insert(TARGET)], delta.checksum(TARGET) ^ 1),
    "has no checksum": delta.compose(len(TARGET), [delta.insert(TARGET)], 0)[:-2],
    "inserts beyond its end": delta.number(100) + b"\n" + delta.number(100) + b":short",
    "has an unknown segment": delta.number(3) + b"\n3!abc0;",
    "does not have a size": b"\n3:abc0;",
    "is empty": b"",
    "is not a delta": b"this is no delta at all",
    "is binary": random.Random(2).randbytes(300),
    "produces other content": delta.create(SOURCE, b"other"),
    "continues after its end": delta.create(SOURCE, TARGET) + b"more",
}


@pytest.mark.ours("it is laxer with some, and keeps what came before an error")
@pytest.mark.parametrize("what", BAD_DELTAS)
def test_bad_delta_on_a_stored_artifact(siege, what):
    before = len(siege.server.log())
    with siege.nothing_happens():
        answer = siege.peer.push(wire.file_card(b"a good one before"),
                                 wire.delta_card(HASH, SOURCE_HASH, BAD_DELTAS[what]))
        assert is_refused(answer), (answer.status, answer.raw[:500])
    assert len(siege.own_log_lines(before)) == 1


@pytest.mark.ours("it keeps the delta, and the true artifact is never stored")
@pytest.mark.parametrize("what", BAD_DELTAS)
def test_bad_delta_whose_source_arrives_later(siege, fossil, what):
    """The error can only be detected when the source arrives. The error must not affect the source or the artifact that
    really has the declared name."""
    source = b"the source for one that " + what.encode() + b"\n" + SOURCE
    target = b"the target of it, " + what.encode() + b"\n" + TARGET
    siege.peer.push(wire.delta_card(wire.sha3(target), wire.sha3(source), BAD_DELTAS[what]))
    answer = siege.peer.push(wire.file_card(source))
    assert not answer.errors()
    assert not siege.peer.push(wire.file_card(target)).errors()
    contents = repofile.contents(siege.repository)
    assert contents[wire.sha3(source)] == source and contents[wire.sha3(target)] == target


def test_the_file_is_undamaged_after_all_attacks(siege, fossil):
    proof.check(siege.repository, fossil)


@pytest.mark.ours("it keeps the deltas, and the true artifacts are never stored")
def test_delta_on_itself_and_in_a_cycle(siege, fossil):
    """A delta on itself, and two deltas on each other, are never expanded."""
    one, other = b"one of a cycle\n", b"other of a cycle\n"
    siege.peer.push(wire.delta_card(wire.sha3(one), wire.sha3(one), delta.create(one, one)))
    siege.peer.push(wire.delta_card(wire.sha3(one), wire.sha3(other), delta.create(other, one)),
                    wire.delta_card(wire.sha3(other), wire.sha3(one), delta.create(one, other)))
    assert siege.server.is_running()
    assert not siege.peer.pull(f"gimme {wire.sha3(one)}").errors()
    assert not siege.peer.clone(3, 1).errors()
    assert not siege.peer.push(wire.file_card(one), wire.file_card(other)).errors()
    contents = repofile.contents(siege.repository)
    assert contents[wire.sha3(one)] == one and contents[wire.sha3(other)] == other
    proof.check(siege.repository, fossil)


def large_manifest(megabytes: int) -> bytes:
    files = {f"file-{number:08}": b"%d" % number for number in range((megabytes << 20) // 84)}
    return artifacts.manifest("a large one", "2026-01-01T00:00:00.000", "hand", files, tags=["*branch * trunk"])


def check_quickly(path, fossil, request):
    """Checks the repository. Runs the complete proof only with --full, because it takes half a minute for such a
    repository."""
    if request.config.getoption("--full"):
        proof.check(path, fossil)
    else:
        assert fossil.integrity(path) == ""


LARGE = {
    "10 MB of F cards": (lambda: large_manifest(10), "ci"),
    "10 MB of T cards": (lambda: artifacts.control("2026-01-01T00:00:00", "hand",
                                                   [f"+tag-{number} {ABSENT}" for number in range(130000)]), "g"),
    "10 MB of one card": (lambda: artifacts.with_checksum(["C " + "x" * 10_000_000, "D 2026-01-01T00:00:00", "U hand"]),
                          "ci"),
}
#: The server accepts pushes of these malformed structural artifacts and stores them as data.
DATA = {
    "10 MB of cards in a wrong order": lambda: artifacts.with_checksum(["D 2026-01-01T00:00:00"])[:-35] +
                                       b"F z\n" * 2_500_000,
    "10 MB of M cards without a checksum": lambda: artifacts.with_checksum([f"M {number:064x}"
                                                                            for number in range(150000)])[:-2],
    "not UTF-8": lambda: b"C \xff\xfe\nD 2026-01-01T00:00:00\nU \xc3\x28\nZ " + b"0" * 32 + b"\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", [*LARGE, *DATA])
def test_ten_megabytes_of_cards(launch, fresh, peer_of, fossil, what, request):
    """Large artifacts are parsed as in fossil, and memory use is limited."""
    server = launch(fresh)
    peer = peer_of(server)
    siege = Siege(server, fresh, peer)
    make, kind = LARGE.get(what) or (DATA[what], None)
    data = make()
    assert not peer.push(wire.file_card(data)).errors()
    assert wire.sha3(data) in repofile.artifacts(fresh)
    assert repofile.value(fresh, "SELECT type FROM event JOIN blob ON rid=objid WHERE uuid=?", wire.sha3(data)) == kind
    check_quickly(fresh, fossil, request)
    if server.kind != "fossil" and not is_sanitized():
        assert siege.peak_memory_mib() < 400


STRANGE_MANIFESTS = {
    "a name that is not UTF-8": ["C c", "D 2026-01-01T00:00:00", f"F \xff {ABSENT}", "U hand"],
    "a path with ..": ["C c", "D 2026-01-01T00:00:00", f"F ../../etc/passwd {ABSENT}", "U hand"],
    "an absolute path": ["C c", "D 2026-01-01T00:00:00", f"F /etc/passwd {ABSENT}", "U hand"],
    "an invalid date": ["C c", "D 2026-13-45T99:99:99", "U hand"],
    "the same parent twice": ["C c", "D 2026-01-01T00:00:00", f"P {ABSENT} {ABSENT}", "U hand"],
    "no comment": ["D 2026-01-01T00:00:00", "U hand"],
    "a far future": ["C c", "D 9999-12-31T23:59:59.999", "U hand"],
    "two comments": ["C c", "C d", "D 2026-01-01T00:00:00", "U hand"],
    "a propagating tag on a missing artifact": ["D 2026-01-01T00:00:00", f"T *x {ABSENT} v", "U hand"],
}


@pytest.mark.parametrize("what", STRANGE_MANIFESTS)
def test_strange_structural_artifact(launch, fresh, peer_of, fossil, what):
    """The artifact is parsed as in fossil."""
    peer = peer_of(launch(fresh))
    data = artifacts.with_checksum(STRANGE_MANIFESTS[what])
    assert not peer.push(wire.file_card(data)).errors()
    proof.check(fresh, fossil)


def test_memory_stayed_within_the_limits(siege):
    if siege.server.kind == "fossil" or is_sanitized():
        pytest.skip("not meaningful here")
    assert siege.peak_memory_mib() < 200
