"""Prepares one repository for all servers, and the requests that are sent to them.

    served.fossil   the repository with all clusters and a user with write access
    empty.fossil    a repository of the same project and user without artifacts
    requests        requests of a whole push, recorded from the stock client (fossil push --httptrace)
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import generator
from support import places, repofile, wire
from support.fossil import Fossil
from support.servers import Launcher

LOGIN = "bench"
PASSWORD = "bench"


@dataclass
class Workload:
    fossil: Fossil
    folder: Path
    served: Path
    empty: Path
    client: Path
    requests: list[bytes]
    nothing_new: bytes
    artifacts: int


def prepare(folder: Path, repository: Path | None) -> Workload:
    """Prepares all files in FOLDER. The artifacts come from REPOSITORY if it is set, otherwise from hiredis if the
    corpus is available, and otherwise from a generated repository."""
    fossil = Fossil(folder / "home")
    served = folder / "served.fossil"
    source = repository or places.corpus("hiredis.fossil")
    if source:
        repofile.copy(source, served)
    else:
        generator.build(served, fossil, binary_size=0)
    repofile.set_config(served, "backoffice-disable", 1)
    client = repofile.copy(served, folder / "client.fossil")
    repofile.execute(client, "DELETE FROM unclustered")
    repofile.mark_all_unsent(client)

    secret = repofile.add_user(served, LOGIN, PASSWORD, "giox")
    empty = repofile.copy(served, folder / "empty.fossil")
    repofile.make_empty(empty, repofile.project_code(served))
    repofile.execute(empty, "VACUUM")
    _make_clusters(fossil, folder, served, secret)
    return Workload(fossil, folder, served, empty, client, _record_push(fossil, folder, empty, client),
                    _nothing_new(served, secret), len(repofile.public_artifacts(client)))


def fresh_empty(workload: Workload, name: str) -> Path:
    """Copies the empty repository, and returns the path of the copy."""
    path = workload.folder / f"pushed-{name}.fossil"
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copy(workload.empty, path)
    return path


def _served_by_fossil(fossil: Fossil, folder: Path, repository: Path, name: str) -> tuple[Launcher, int]:
    place = folder / name
    place.mkdir()
    launcher = Launcher("fossil", place, fossil)
    return launcher, launcher(repository).port


def _make_clusters(fossil: Fossil, folder: Path, served: Path, secret: str) -> None:
    """Sends a pull to `fossil server`, which creates clusters at the first pull. A measured sync therefore does not get
    new clusters."""
    launcher, port = _served_by_fossil(fossil, folder, served, "clustering")
    peer = wire.Peer(port, "/", LOGIN, secret, repofile.project_code(served))
    assert not peer.pull().errors()
    launcher.stop_all()


def _nothing_new(served: Path, secret: str) -> bytes:
    """Returns the compressed request of a client that already has every artifact. The stock client sends the same
    request."""
    code = repofile.project_code(served)
    known = repofile.query(served, "SELECT uuid FROM unclustered JOIN blob USING(rid) WHERE size>=0 ORDER BY rid")
    cards = wire.body(f"{wire.CLIENT_VERSION} 20230226 192424", f"pull {wire.SERVER_CODE} {code}",
                      f"push {wire.SERVER_CODE} {code}", *[f"igot {name}" for name, in known])
    return wire.compress(wire.signed(cards, LOGIN, secret))


def _record_push(fossil: Fossil, folder: Path, empty: Path, client: Path) -> list[bytes]:
    """Records the request bodies of a whole push into the empty repository."""
    target = repofile.copy(empty, folder / "recorded.fossil")
    launcher, port = _served_by_fossil(fossil, folder, target, "recording")
    trace = folder / "trace"
    trace.mkdir()
    fossil("push", "--once", "--httptrace", f"http://{LOGIN}:{PASSWORD}@127.0.0.1:{port}/", "-R",
           repofile.copy(client, folder / "recording-client.fossil"), cwd=trace, seconds=600)
    launcher.stop_all()
    missing = repofile.public_artifacts(client) - repofile.artifacts(target)
    assert not missing, f"{len(missing)} artifacts did not arrive while recording"
    files = sorted(trace.glob("http-request-*.txt"), key=lambda path: int(path.stem.rpartition("-")[2]))
    return [wire.compress(path.read_bytes().partition(b"\r\n\r\n")[2]) for path in files]
