"""Compares Quarry's commands on whole repositories with fossil's. Two sizes are measured, because a command that is
fast with 10,000 artifacts is not always fast with 100,000."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support import places, repofile
from support.fossil import Fossil
from support.servers import Launcher, Server

HERE = Path(__file__).resolve().parent
SIZES = (10_000, 100_000)
QUICK_SIZES = (500, 2_000)
LOGIN = PASSWORD = "bench"
MIB = 1 << 20


@dataclass
class Cost:
    seconds: float
    mib: float  # peak of resident memory


@dataclass
class Place:
    fossil: Fossil
    folder: Path
    made: Path
    empty: Path  # same project as `made`
    artifacts: int
    server: Server
    launch: Launcher

    def copy(self) -> Path:
        target = self.folder / "copy.fossil"
        for path in self.folder.glob("copy.fossil*"):
            path.unlink()
        shutil.copy(self.made, target)
        os.sync()
        return target


def run(place: Place, *command: object) -> Cost:
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], env=place.fossil.environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command}: exit code {process.returncode}"
    return Cost(time.monotonic() - began, used.ru_maxrss * 1024 / MIB)


def cloned(place: Place, program: object) -> Cost:
    target = place.folder / "clone.fossil"
    for path in place.folder.glob("clone.fossil*"):
        path.unlink()
    os.sync()
    cost = run(place, program, "clone", place.server.url, target)
    assert len(repofile.artifacts(target)) >= place.artifacts
    return cost


def pushed(place: Place) -> Cost:
    target = place.folder / "pushed.fossil"
    for path in place.folder.glob("pushed.fossil*"):
        path.unlink()
    shutil.copy(place.empty, target)
    source = place.copy()
    server = place.launch(target)
    password = place.folder / "password"
    password.write_text(PASSWORD + "\n")
    password.chmod(0o600)
    cost = run(place, places.program("quarry"), "sync", "--push", "--password-file", password, source,
               f"http://{LOGIN}@127.0.0.1:{server.port}/")
    server.stop()
    assert len(repofile.artifacts(target)) >= place.artifacts
    return cost


# Each row of the table is measured for fossil (None if fossil does not have a comparable command) and for Quarry.
Measure = Callable[[Place], Cost]
REBUILD = "`quarry rebuild`, and `fossil rebuild`"
VERIFY = "`quarry verify`, and `fossil rebuild`"
LINES: dict[str, tuple[Measure | None, Measure]] = {
    REBUILD: (lambda place: run(place, "fossil", "rebuild", place.copy()),
              lambda place: run(place, places.program("quarry"), "rebuild", place.copy())),
    VERIFY: (None, lambda place: run(place, places.program("quarry"), "verify", place.copy())),
    "`quarry clone`, and `fossil clone`, of quarryd": (lambda place: cloned(place, "fossil"),
                                                       lambda place: cloned(place, places.program("quarry"))),
    "whole push to quarryd by `quarry sync`": (None, pushed),
    "`quarry backup --no-verify`, and `cp` and `sync`": (
        lambda place: run(place, "sh", "-c", 'cp "$0" "$0.backup" && sync "$0.backup"', place.copy()),
        lambda place: run(place, places.program("quarry"), "backup", "--no-verify", place.copy(),
                          place.folder / "copy.fossil.backup")),
}
SAME_AS = {VERIFY: REBUILD}


def prepare(folder: Path, size: int) -> Place:
    folder.mkdir(parents=True)
    fossil = Fossil(folder / "home")
    made = folder / "made.fossil"
    subprocess.run([HERE / "make_repository", made, "--artifacts", str(size)], check=True, stdout=sys.stderr,
                   env=fossil.environment)
    repofile.add_user(made, LOGIN, PASSWORD, "giox")
    repofile.mark_all_unsent(made)
    empty = repofile.copy(made, folder / "empty.fossil")
    repofile.make_empty(empty, repofile.project_code(made))
    repofile.execute(empty, "VACUUM")
    launch = Launcher("gateway", folder, fossil)
    server = launch(repofile.copy(made, folder / "served.fossil"))
    return Place(fossil, folder, made, empty, len(repofile.public_artifacts(made)), server, launch)


def measure(folder: Path, runs: int, sizes: tuple[int, int]) -> dict[int, dict[str, tuple[Cost | None, Cost]]]:
    """Returns the median costs of fossil and Quarry for each size and each row of the table."""
    results = {}
    for size in sizes:
        place = prepare(folder / str(size), size)
        try:
            costs: dict[str, list[tuple[Cost | None, Cost]]] = {line: [] for line in LINES}
            for number in range(runs):
                print(f"{size:,} artifacts, run {number + 1} of {runs}", file=sys.stderr)
                for line, (theirs, ours) in LINES.items():
                    costs[line].append((theirs(place) if theirs else None, ours(place)))
        finally:
            place.launch.stop_all()
        results[size] = {line: (median([each[0] for each in found]), median([each[1] for each in found]))
                         for line, found in costs.items()}
    return results


def median(costs: list[Cost | None]) -> Cost | None:
    if None in costs:
        return None
    return Cost(statistics.median(each.seconds for each in costs), max(each.mib for each in costs))


def table(results: dict[int, dict[str, tuple[Cost | None, Cost]]]) -> str:
    small, large = results
    rows = [f"| {large:,} artifacts | fossil, s | Quarry, s | quicker | memory, MiB | with {small:,}, s | quicker "
            "| an artifact's cost |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for line in LINES:
        cells = []
        for size in (large, small):
            theirs, ours = results[size][SAME_AS.get(line, line)][0], results[size][line][1]
            ratio = f"{theirs.seconds / ours.seconds:.2g} ×" if theirs else ""
            cells.append([f"{theirs.seconds:.1f}" if theirs else "", f"{ours.seconds:.2f}", ratio, f"{ours.mib:.0f}"])
        growth = results[large][line][1].seconds / large / (results[small][line][1].seconds / small)
        rows.append(f"| {line} | {' | '.join(cells[0])} | {cells[1][1]} | {cells[1][2]} | {growth:.2f} × |")
    return "\n".join(rows)
