"""Change sets of 10 files of 10 kB that land on a branch, beside `fossil commit` of the same changes one by one in a
checkout: in a new repository and in a real one, with and without the checksum over all files of a check-in."""

import json
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from made_text import Text
from support import places, repofile
from support.fossil import ADMIN, Checkout, Fossil

FILES = 10
LINES = 330  # about 10 kB
BATCH = 50
PROGRAM = Path("tests") / "unit" / "changes" / "landing" / "land-change-sets"

# Title, file of the corpus (none: a new repository), branch.
REPOSITORIES = (("a new repository", None, "trunk"), ("nginx, 540 files", "nginx.fossil", "master"))


def is_built() -> bool:
    return (places.build_directory() / PROGRAM).exists()


def versions(seed: int) -> Iterator[dict[str, str]]:
    """All files anew again and again, each with a line changed."""
    text = Text(random.Random(seed))
    files = {f"src/made_{number}.c": text.lines(LINES) for number in range(FILES)}
    while True:
        for lines in files.values():
            lines[text.random.randrange(LINES)] = text.lines(1)[0]
        yield {name: b"".join(lines).decode() for name, lines in files.items()}


def commits_per_second(fossil: Fossil, repository: Path, branch: str, folder: Path, count: int) -> float:
    checkout = Checkout(fossil, repository, folder, branch)
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


def landings(repository: Path, branch: str, count: int, batch: int) -> tuple[float, float]:
    """How many land in a second, and the seconds of the first call, in which nothing is known yet."""
    made = versions(2)
    numbers = random.Random()
    orders = "".join(json.dumps({"id": f"{numbers.getrandbits(64):016x}", "branch": branch, "comment": f"version {number}",
                                 "author": ADMIN, "files": {name: {"text": text} for name, text in next(made).items()}})
                     + "\n" for number in range(count + batch))
    before = repofile.value(repository, "SELECT count(*) FROM event")
    done = subprocess.run([places.build_directory() / PROGRAM, repository, "--batch", str(batch), "--time"],
                          input=orders, text=True, stdout=subprocess.PIPE, check=True)
    assert repofile.value(repository, "SELECT count(*) FROM event") == before + count + batch, "not all have landed"
    first, *others = [int(line) / 1e6 for line in done.stdout.split()]
    return count / sum(others), first


def measure_one(folder: Path, corpus: str | None, branch: str, checksum: bool, runs: int, count: int) -> list[float]:
    fossil = Fossil(folder / "home")
    made: list[list[float]] = []
    for run in range(runs):
        place = folder / f"run-{run}"
        place.mkdir()
        copies = [place / f"{name}.fossil" for name in ("commits", "singles", "batches")]
        for copy in copies:
            if corpus is None:
                fossil.new(copy)
            else:
                repofile.copy(places.corpus(corpus), copy)
                repofile.add_user(copy, ADMIN, "secret", "s")
            repofile.set_config(copy, "repo-cksum", int(checksum))
        commits = commits_per_second(fossil, copies[0], branch, place / "work", max(5, count // 5))
        singles, first = landings(copies[1], branch, count, 1)
        batches, _ = landings(copies[2], branch, max(count, BATCH) // BATCH * BATCH, BATCH)
        made.append([commits, singles, batches, first])
        print(f"  commits {commits:.1f}/s, one by one {singles:.0f}/s, in batches {batches:.0f}/s", file=sys.stderr)
        shutil.rmtree(place)
    return [statistics.median(values) for values in zip(*made)]


def measure(folder: Path, runs: int, seconds: int) -> list[tuple[str, bool, list[float]]]:
    results = []
    for title, corpus, branch in REPOSITORIES:
        if corpus is not None and places.corpus(corpus) is None:
            continue
        for checksum in (True, False):
            place = folder / f"landing-{len(results)}"
            place.mkdir()
            results.append((title, checksum, measure_one(place, corpus, branch, checksum, runs, 20 * seconds)))
    return results


def table(results: list[tuple[str, bool, list[float]]]) -> str:
    rows = [f"| check-ins a second of {FILES} files of 10 kB | `repo-cksum` | `fossil commit` | landed one by one | ratio"
            f" | {BATCH} at once | ratio | the first, ms |", "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for title, checksum, (commits, singles, batches, first) in results:
        rows.append(f"| {title} | {'on' if checksum else 'off'} | {commits:.1f} | {singles:.0f} | {singles / commits:.0f} ×"
                    f" | {batches:.0f} | {batches / commits:.0f} × | {1000 * first:.0f} |")
    return "\n".join(rows)
