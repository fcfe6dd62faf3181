"""Measures change sets from the request to the check-in: how many land per second on one branch (compared with `fossil
commit`), how long a single change set takes, and how long it takes while 10,000 others wait."""

import contextlib
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from made_text import Text
from support import places, repofile
from support.changes import Queue, Somebody, somebody, tarball
from support.fossil import ADMIN, Checkout, Fossil
from support.process import children, wait_until
from support.servers import Launcher, Server

FILES = 10
LINES = 330
SPACE = 4  # distance between changed lines, to avoid conflicts
TOGETHER = LINES // SPACE  # change sets that can be merged in any order
SENDERS = 4
WAITING = 10_000
PATIENCE = 120.0
HELD = "held.txt"


@dataclass
class Figures:
    commits: float
    landed: float
    milliseconds: list[float]  # from each request to its check-in
    staged: list[float]  # from each request until the change set is in staging/, while others wait
    restart: float  # seconds from the restart until a new change set is in staging/


def is_built() -> bool:
    return all(places.program(name).exists() for name in ("quarryd", "quarry-changes"))


def new_repository(fossil: Fossil, place: Path) -> Path:
    repository = fossil.new(place / "queue.fossil")
    repofile.add_user(repository, "writer", "pen", "giox")
    checkout = Checkout(fossil, repository, place / "base")
    checkout.write(HELD, "held\n")
    checkout("add", HELD)
    checkout.commit("base")
    checkout("close", "--force")
    return repository


def versions(seed: int) -> Iterator[dict[str, str]]:
    """Yields new versions of all files. In each version, one line of every file is changed."""
    text = Text(random.Random(seed))
    files = {f"src/made_{number}.c": text.lines(LINES) for number in range(FILES)}
    while True:
        for lines in files.values():
            lines[text.random.randrange(LINES)] = text.lines(1)[0]
        yield {name: b"".join(lines).decode() for name, lines in files.items()}


def commits_per_second(fossil: Fossil, repository: Path, folder: Path, count: int) -> float:
    checkout = Checkout(fossil, repository, folder)
    seconds = 0.0
    made = versions(1)
    for number in range(count + 1):
        files = next(made)
        for name, content in files.items():
            checkout.write(name, content)
        if number == 0:
            checkout("add", *files)
        began = time.monotonic()
        checkout.commit(f"version {number}", "--user-override", ADMIN)
        seconds += time.monotonic() - began if number > 0 else 0
    checkout("close", "--force")
    shutil.rmtree(folder)
    return count / seconds


class Project:
    """The files that the change sets change."""

    def __init__(self):
        self.text = Text(random.Random(3))
        self.files = {f"src/made_{number}.c": self.text.lines(LINES) for number in range(FILES)}

    def first_version(self) -> bytes:
        return tarball({name: b"".join(lines) for name, lines in self.files.items()})

    def bodies(self, repository: Path, count: int) -> list[bytes]:
        """Returns COUNT (at most TOGETHER) change sets based on the tip. Each changes a different line of every file.
        All of them have to land before the next call."""
        tip = repofile.value(repository, "SELECT uuid FROM blob JOIN leaf USING(rid)")
        changed = [{name: (number * SPACE, self.text.lines(1)[0]) for name in self.files} for number in range(count)]
        made = []
        for lines in changed:
            files = {name: b"".join([*self.files[name][:at], line, *self.files[name][at + 1:]])
                     for name, (at, line) in lines.items()}
            made.append(tarball(files, comment="a version", base=tip))
        for lines in changed:
            for name, (at, line) in lines.items():
                self.files[name][at] = line
        return made


def submitted(writer: Somebody, body: bytes, what: str = "id") -> str:
    answer = writer.submit(body)
    assert answer.status == 202, answer.body
    return answer.json[what]


def is_landed(repository: Path, id_: str) -> bool:
    return repofile.value(repository, "SELECT 1 FROM tag JOIN tagxref USING(tagid) WHERE tagname=?", f"cs-{id_}") is not None


def landed_per_second(writer: Somebody, repository: Path, project: Project, count: int) -> float:
    """Returns the number of change sets landed per second. Several clients submit them concurrently."""
    queue = Queue.of(repository)
    seconds = 0.0
    with ThreadPoolExecutor(SENDERS) as senders:
        for first in range(0, count, TOGETHER):
            made = project.bodies(repository, min(TOGETHER, count - first))
            before = len(queue.names("done"))
            began = time.monotonic()
            ids = list(senders.map(lambda body: submitted(writer, body), made))
            wait_until(lambda: len(queue.names("done")) >= before + len(ids), "the last check-in", PATIENCE)
            seconds += time.monotonic() - began
            assert all(is_landed(repository, id_) for id_ in ids)
    return count / seconds


def is_at_rest(pid: int) -> bool:
    """Returns whether the process PID and all of its descendants are sleeping and do not wait for the disk."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "S" and all(is_at_rest(child) for child in children(pid))
    return False


def milliseconds_to_land(server: Server, writer: Somebody, repository: Path, project: Project, count: int) -> list[float]:
    queue = Queue.of(repository)
    taken = []
    for _ in range(count):
        body, = project.bodies(repository, 1)
        began = time.monotonic()
        id_ = submitted(writer, body)
        while not is_landed(repository, id_):
            assert time.monotonic() < began + PATIENCE, "it does not land"
        taken.append(1000 * (time.monotonic() - began))
        wait_until(lambda: queue.stage_of(id_) == "done", "its end", PATIENCE)
        wait_until(lambda: is_at_rest(server.main.pid), "the daemons to be idle", PATIENCE)
    return taken


def make_waiting(queue: Queue, model: str, count: int) -> None:
    """Adds COUNT copies of the job MODEL, which is in staging/."""
    text = (queue.base / "staging" / model).read_bytes()
    id_, tai, rest = model.split("_", 2)
    log = (queue.base / "log" / id_).read_text()
    for number in range(count):
        name = f"{number + 1:016x}_{int(tai, 16) + 1000 * (number + 1):024x}_{rest}"
        (queue.base / "staging" / name).write_bytes(text)
        (queue.base / "staging" / name).chmod(0o600)
        (queue.base / "log" / name.split("_")[0]).write_text(log.replace(model, name))
        for end in ("", ".submission"):
            os.link(queue.base / "data" / f"{model}{end}", queue.base / "data" / f"{name}{end}")


def milliseconds_to_stage(writer: Somebody, queue: Queue, began: float, body: bytes) -> float:
    path = queue.base / "staging" / submitted(writer, body, "name")
    wait_until(path.exists, "its staging", PATIENCE, pause=0.0002)
    return 1000 * (time.monotonic() - began)


def beside_many(launcher: Launcher, repository: Path, settings: dict[str, str], count: int) -> tuple[list[float], float]:
    """Measures COUNT new change sets while WAITING others wait. Returns two results: for each new change set, the
    milliseconds from its request until it is in staging/; and the seconds from a restart of the server until a new
    change set is in staging/."""
    user = {"changes.gate_user": "nobody"} if os.geteuid() == 0 else {}
    settings = {**settings, "changes.gate": "/usr/bin/sleep 600", **user}
    server = launcher(repository, settings=settings)
    writer = somebody(server.port, repository)
    queue = Queue.of(repository)
    first = submitted(writer, tarball({HELD: b"first\n"}))
    wait_until(lambda: queue.stage_of(first) == "run", "the first at the gate", PATIENCE)
    model = submitted(writer, tarball({HELD: b"another\n"}))
    wait_until(lambda: queue.stage_of(model) == "staging", "the second behind it", PATIENCE)
    kill(server)
    make_waiting(queue, next(name for name in queue.names("staging") if name.startswith(model)), WAITING - 1)

    began = time.monotonic()
    server = launcher(repository, settings=settings)
    writer = somebody(server.port, repository)
    restart = milliseconds_to_stage(writer, queue, began, tarball({HELD: b"new\n"})) / 1000
    wait_until(lambda: queue.stage_of(first) == "run", "the first at the gate again", PATIENCE)
    staged = []
    for number in range(count):
        body = tarball({HELD: f"new {number}\n".encode()})
        staged.append(milliseconds_to_stage(writer, queue, time.monotonic(), body))
    kill(server)
    return staged, restart


def kill(server: Server) -> None:
    server.was_stopped = True
    server.main.kill_group()
    server.main.wait()


def measure(folder: Path, runs: int, seconds: int) -> Figures:
    place = folder / "queue"
    place.mkdir()
    fossil = Fossil(place / "home")
    launcher = Launcher("gateway", place, fossil)
    repository = new_repository(fossil, place)
    settings = {"changes": "on"}
    try:
        server = launcher(repository, settings=settings)
        writer = somebody(server.port, repository)
        project = Project()
        first = submitted(writer, project.first_version())
        wait_until(lambda: is_landed(repository, first), "the first version", PATIENCE)
        landed, commits, times = [], [], []
        for run in range(runs):
            landed.append(landed_per_second(writer, repository, project, 40 * seconds))
            times += milliseconds_to_land(server, writer, repository, project, 4 * seconds)
            beside = fossil.new(place / f"commits-{run}.fossil")
            commits.append(commits_per_second(fossil, beside, place / "work", 4 * seconds))
            print(f"  commits {commits[-1]:.1f}/s, landed {landed[-1]:.0f}/s, one {statistics.median(times):.1f} ms",
                  file=sys.stderr)
        server.stop()
        staged, restart = beside_many(launcher, repository, settings, 10 * seconds)
        return Figures(statistics.median(commits), statistics.median(landed), times, staged, restart)
    finally:
        launcher.stop_all()


def table(figures: Figures) -> str:
    def middle_and_most(values: list[float]) -> str:
        return f"{statistics.median(values):.1f} | {sorted(values)[int(0.95 * len(values))]:.1f}"

    return "\n".join([
        f"| check-ins of {FILES} files of 10 kB on one branch | a second | ratio |", "| --- | ---: | ---: |",
        f"| `fossil commit`, one by one | {figures.commits:.1f} | |",
        f"| through the whole queue, sent by {SENDERS} at once | {figures.landed:.0f} |"
        f" {figures.landed / figures.commits:.1f} × |", "",
        "| | median, ms | 95 of 100, ms |", "| --- | ---: | ---: |",
        f"| from the request to the check-in, while nothing else is there | {middle_and_most(figures.milliseconds)} |",
        f"| from the request to staging/, beside {WAITING:,} that wait | {middle_and_most(figures.staged)} |",
        f"| from a restart with these to the first one in staging/ | {1000 * figures.restart:.0f} | |"])
