"""Ten users submit change sets of all kinds concurrently, in some tests while processes are killed. The resulting
branch is the same as if the change sets had landed one after another."""

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import proof
from support import changes, places, process, repofile
from support.changes import Queue, Somebody, somebody, tarball
from support.fossil import Checkout, Fossil
from support.process import wait_until
from support.servers import Launcher, Server

SUBMITTERS = 10
FILES = 8
SPACE = 4  # distance between changed lines, to avoid conflicts
PLACES = 24
OVER = ("done", "fail", "term", "abandon")

# Compiles and runs all programs of the tree. Each program must exit with 0.
GATE = """#!/bin/sh
set -e
for each in src/*.c; do
  cc -Wall -Werror -o /tmp/program "$each" || exit 100
  /tmp/program || exit 100
done
"""
GOOD, BROKEN, FAILING = "int main(void) { return 0; }\n", "int main(void) { return\n", "int main(void) { return 3; }\n"


@dataclass
class Set:
    comment: str
    who: str
    files: dict[str, bytes | None]
    kind: str = "DC"
    base: str = ""
    depends: list["Set"] = field(default_factory=list)
    id: str = ""

    def body(self) -> bytes:
        return tarball(self.files, kind=self.kind, comment=self.comment, base=self.base,
                       dependencies="\n".join(each.id for each in self.depends))


def text(name: str, changed: dict[int, str]) -> bytes:
    return "".join(changed.get(number, f"{name} {number}") + "\n" for number in range(PLACES * SPACE)).encode()


def at_base() -> dict[str, bytes]:
    return {**{f"text/{number}.txt": text(f"text/{number}.txt", {}) for number in range(FILES)},
            "src/main.c": GOOD.encode(), "urgent.txt": b"at first\n", "shared.txt": b"at first\n",
            "both.txt": text("both.txt", {})}


class People:
    """Users who submit change sets. A user retries until the queue has accepted a change set, even if quarryd is
    killed."""

    def __init__(self, server: Server, repository: Path):
        for number in range(SUBMITTERS):
            repofile.add_user(repository, f"user{number}", "pen", "giox")
        repofile.add_user(repository, "boss", "pen", "a")
        self.by_login: dict[str, Somebody] = {login: somebody(server.port, repository, login)
                                              for login in ["boss", *(f"user{number}" for number in range(SUBMITTERS))]}

    def is_there(self, each: Set) -> bool:
        listed = self.by_login["boss"].get("/queue.json?waiting=1000&over=1000")
        assert listed.status == 200, listed.body
        found = [job["id"] for job in listed.json["jobs"] if job["comment"] == each.comment]
        each.id = found[0] if found else ""
        return bool(found)

    def send(self, each: Set) -> None:
        """Submits a change set. If the reply is lost, looks for the change set in the queue by its comment, and submits
        the change set again if it is missing. The comment is available only after the change set is checked."""
        def is_sent() -> bool:
            answer = self.by_login[each.who].submit(each.body(), each.kind)
            assert answer.status in (202, 502, 503, 504), answer.body
            each.id = answer.json["id"] if answer.status == 202 else ""
            return answer.status == 202

        def is_looked_at() -> bool:
            with contextlib.suppress(OSError):
                listed = self.by_login["boss"].get("/queue.json?waiting=1000&over=1000")
                return listed.status == 200 and not any(job.get("is_new") for job in listed.json["jobs"])
            return False

        end = time.monotonic() + 240
        while time.monotonic() < end:
            with contextlib.suppress(OSError, changes.http.client.HTTPException):
                if is_sent():
                    return
            wait_until(is_looked_at, "an answer of the queue")
            with contextlib.suppress(OSError, AssertionError):
                if self.is_there(each):
                    return
        raise AssertionError(f"the queue took no {each.comment}")

    def send_all(self, sets: list[Set]) -> None:
        """Submits the change sets. The users submit concurrently, and each user submits in order."""
        failures: list[BaseException] = []

        def send(own: list[Set]) -> None:
            try:
                for each in own:
                    self.send(each)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=send, args=([each for each in sets if each.who == login],))
                   for login in self.by_login]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures


def edits(count: int, base: str, choice: random.Random) -> list[Set]:
    """Generates change sets that change one line each. Most of them are based on BASE. The others are based on the tip
    at their submission, so they also revert the earlier changes of their file."""
    made = []
    for number in range(count):
        name, place = f"text/{choice.randrange(FILES)}.txt", choice.randrange(PLACES) * SPACE + 1
        made.append(Set(f"edit {number} at {place}", f"user{number % SUBMITTERS}",
                        {name: text(name, {place: f"changed by {number}"})}, choice.choice(("DC", "DC", "BF")),
                        base if number % 4 else ""))
    return made


def after(state: dict[str, bytes], base: dict[str, bytes], each: Set) -> dict[str, bytes]:
    """Returns the files of the branch after EACH has landed. STATE contains the files before the landing, and BASE the
    files of EACH's base."""
    new = dict(state)
    for name, content in each.files.items():
        if content is None:
            del new[name]
        elif name in base:
            lines = zip(state[name].splitlines(), base[name].splitlines(), content.splitlines(), strict=True)
            merged = []
            for now, was, wanted in lines:
                assert wanted == was or now in (was, wanted), f"{each.comment} should have conflicted"
                merged.append(now if wanted == was else wanted)
            new[name] = b"\n".join(merged) + b"\n"
        else:
            new[name] = content
    return new


def sections(job: str) -> dict[str, str]:
    return {name: rest.strip() for name, _, rest in
            (part.partition("\n") for part in ("\n" + job).split("\n##")[1:])}


@pytest.fixture
def work_place(tmp_path: Path, open_folder: Path, fossil: Fossil) -> Iterator[tuple[Launcher, Path, dict[str, str]]]:
    gate = places.executable(open_folder / "gate", GATE)
    open_folder.chmod(0o755)
    launcher = Launcher("gateway", tmp_path, fossil)
    yield launcher, gate, {"changes": "on", "changes.gate": str(gate), "changes.scan": "1s", "changes.retry_delay": "100ms",
                           "changes.max_put_off": "100", "changes.max_crashes": "100",
                           **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})}
    launcher.stop_all()


def landed_in_order(repository: Path) -> list[str]:
    """Returns the change sets that belong to the check-ins of trunk, oldest first."""
    sets = dict(repofile.query(repository, "SELECT tagxref.rid, substr(tagname, 4) FROM tag JOIN tagxref USING(tagid)"
                                           " WHERE tagname GLOB 'cs-*'"))
    child = dict(repofile.query(repository, "SELECT pid, cid FROM plink WHERE isprim"))
    parents = set(child) - set(child.values())
    assert len(parents) == 1 and len(child) == len(set(child.values())), "the history is no line"
    rid, order = parents.pop(), []
    while rid in child:
        rid = child[rid]
        if rid in sets:
            order.append(sets.pop(rid))
    assert not sets, "a change set has landed twice, or elsewhere"
    return order


def the_whole_day(server: Server, fossil: Fossil, repository: Path, quarry, folder: Path, count: int, *,
                  seconds: float) -> Counter:
    """Submits COUNT change sets. Checks the outcome of each change set, and the resulting branch. Returns the number of
    change sets in each final folder."""
    base_state = at_base()
    checkout = Checkout(fossil, repository, folder / "base")
    for name, content in base_state.items():
        checkout.write(name, content)
        checkout("add", name)
    checkout.commit("base")
    base = checkout.head()
    people = People(server, repository)
    boss = people.by_login["boss"]
    choice = random.Random(7)

    def whole(comment: str, who: int, files: dict[str, bytes | None], *depends: Set, kind: str = "DC") -> Set:
        return Set(comment, "boss" if kind == "EM" else f"user{who % SUBMITTERS}", files, kind, depends=list(depends))

    def patiently(ask) -> None:
        def is_done() -> bool:
            with contextlib.suppress(OSError, changes.http.client.HTTPException):
                return ask().status in (200, 409)
            return False

        wait_until(is_done, "the boss's word")

    # All change sets wait while the branch is frozen. The emergency change set is submitted last and lands first.
    patiently(lambda: boss.post(f"/queue/freeze?branch=trunk&r={random.random()}", kind=changes.ACTION))
    slow = [whole(f"slow {number}", number, {"urgent.txt": f"slow {number}\n".encode()}) for number in range(3)]
    root = whole("root", 0, {"shared.txt": b"root\n", "kept/0.txt": b"root\n"})
    broken = [whole("broken", 1, {"src/broken.c": BROKEN.encode()}), whole("failing", 2, {"src/failing.c": FAILING.encode()})]
    pair = [Set(f"one of two {number}", f"user{number}", {"both.txt": text("both.txt", {1: f"by {number}"})}, base=base)
            for number in range(2)]
    first = [*slow, root, *broken, *pair, *edits(count // 2 - 12, base, choice)]
    people.send_all(first)
    leaves = [whole(f"leaf {number}", number, {f"kept/{number}.txt": b"leaf\n"}, root) for number in range(1, 5)]
    doomed = whole("doomed", 3, {"src/doomed.c": GOOD.encode()}, broken[0])
    urgent = whole("urgent", 0, {"urgent.txt": b"urgent\n"}, kind="EM")
    people.send_all([*leaves, doomed, urgent])
    # This change set depends on a leaf, and therefore also on the root. Five change sets now depend on the root.
    last_leaf = whole("leaf 5", 5, {"kept/5.txt": b"leaf\n"}, leaves[0])
    people.send_all([last_leaf])
    known = [*first, *leaves, doomed, urgent, last_leaf]

    queue = Queue.of(repository)
    wait_until(lambda: not queue.names("prequeue") and not queue.names("queue"), "all in their order", seconds)
    patiently(lambda: boss.post(f"/queue/thaw?branch=trunk&r={random.random()}", kind=changes.ACTION))
    later = edits(count - len(known) - 1, base, choice)
    for each in later:
        each.comment = f"later {each.comment}"
    people.send_all(later)
    known += later

    def is_quiet() -> bool:
        return all(queue.names(stage) == [] for stage in ("prequeue", "queue", "staging", "pending", "run"))

    wait_until(is_quiet, "the end of all", seconds)
    rollback = quarry("queue", "rollback", root.id, "-R", repository).split()[0]
    wait_until(lambda: is_quiet() and queue.stage_of(rollback) in OVER, "the end of the rollback", seconds)

    stages = {each.id: queue.stage_of(each.id) for each in known}
    assert queue.stage_of(rollback) == "done", queue.job(rollback)
    assert len(stages) == len(known) == count - 1
    assert sum(len(queue.names(stage)) for stage in changes.STAGES) == count
    for each in broken:
        assert stages[each.id] == "fail" and "100" in queue.job(each.id).splitlines()[-1], queue.job(each.id)
    assert stages[doomed.id] == "fail" and broken[0].id[:6] in queue.job(doomed.id).splitlines()[-1], queue.job(doomed.id)
    assert sorted(stages[each.id] for each in pair) == ["done", "fail"]
    fates = Counter(stages.values())
    assert set(fates) <= {"done", "fail"}, fates
    for each in known:
        if stages[each.id] == "fail" and each not in [*broken, doomed]:
            reason = queue.job(each.id).splitlines()[-1]
            assert "conflicts with" in reason or "does not change any file" in reason, queue.job(each.id)

    # The branch has the same content as if the finished change sets had landed in this order.
    order = landed_in_order(repository)
    by_id = {each.id: each for each in known}
    assert set(order) == {id_ for id_, stage in stages.items() if stage == "done"} | {rollback}
    assert order[-1] == rollback
    assert [by_id[id_].comment for id_ in order if id_ in {each.id for each in [*slow, urgent]}][0] == "urgent"
    state = base_state
    states = {base: state}  # by check-in
    for id_ in order[:-1]:
        job = sections(queue.job(id_))
        state = after(state, states[job["base"]], by_id[id_])
        states[job["landed"]] = state
    for number in range(6):
        del state[f"kept/{number}.txt"]
    state["shared.txt"] = base_state["shared.txt"]
    people_see(server, fossil, state, folder, by_id, order)
    return fates


def people_see(server: Server, fossil: Fossil, state: dict[str, bytes], folder: Path, by_id: dict[str, Set],
               order: list[str]) -> None:
    """Checks that a clone by fossil has the same files and timeline, and passes fossil's checks."""
    clone = fossil.clone(server.url_for("user0", "pen"), folder / "clone.fossil")
    checkout = Checkout(fossil, clone, folder / "cloned")
    found = {str(path.relative_to(checkout.folder)): path.read_bytes() for path in checkout.folder.rglob("*")
             if path.is_file() and path.name != ".fslckout"}
    assert found == state
    timeline = fossil("timeline", "-n", 0, "-W", 0, "-t", "ci", "-R", clone)
    for id_ in order[:-1]:
        assert timeline.count(f"] {by_id[id_].comment} (user: {by_id[id_].who}") \
            + timeline.count(f"] *CURRENT* {by_id[id_].comment} (user: {by_id[id_].who}") == 1, by_id[id_].comment
    assert fossil.integrity(clone) == ""


def kill_at_random(server: Server, enough: threading.Event, killed: list[int]) -> None:
    """Repeatedly kills a random child or grandchild of the master, or all processes. Starts another master if the
    master was killed."""
    choice = random.Random(11)
    environment = {**os.environ, "TZ": "UTC"}
    while not enough.wait(choice.uniform(0.3, 1.5)):
        first = process.children(server.main.pid)
        below = [*first, *(pid for each in first for pid in process.children(each))]
        if not below:
            continue
        if choice.random() < 0.2:
            killed.append(server.main.pid)
            server.main.kill_group()
            server.main.wait()
            group = server.main.pid
            wait_until(lambda: not any(process.exists(int(line.split()[1])) for line in process.group(group)),
                       "the end of all that were killed")
            server.main = process.Process(server.main.arguments, server.folder / "log", env=environment)
            enough.wait(1)
        else:
            with contextlib.suppress(ProcessLookupError):
                killed.append(choice.choice(below))
                os.kill(killed[-1], signal.SIGKILL)


def test_ten_users_submit_concurrently(work_place, fresh, fossil, quarry, tmp_path):
    """Several change sets form a batch. If the gate rejects the batch, only the change sets that cause the rejection
    fail."""
    launcher, _, settings = work_place
    server = launcher(fresh, settings={**settings, "changes.batch": "4"})
    fates = the_whole_day(server, fossil, fresh, quarry, tmp_path, 30, seconds=240)
    assert fates["fail"] >= 4
    server.stop()
    assert fossil.integrity(fresh) == ""
    proof.check(fresh, fossil)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("is_killed", [False, True], ids=["undisturbed", "killed"])
def test_two_hundred(work_place, fresh, fossil, quarry, tmp_path, is_killed):
    launcher, _, settings = work_place
    server = launcher(fresh, settings=settings)
    enough = threading.Event()
    killed: list[int] = []
    killer = threading.Thread(target=kill_at_random, args=(server, enough, killed)) if is_killed else None
    if killer:
        killer.start()
    try:
        fates = the_whole_day(server, fossil, fresh, quarry, tmp_path, 200, seconds=1200)
    finally:
        enough.set()
        if killer:
            killer.join()
    assert fates["done"] > 100 and fates["fail"] > 10, fates
    assert (len(killed) > 4) == is_killed
    server.stop()
    assert fossil.integrity(fresh) == ""
    proof.check(fresh, fossil)
