"""Generates the history of an invented project with the statistical shape of a real project.

The real project is a library with a history of twenty years, 2,394 check-ins and 5,640 artifacts. A third of its
check-ins are on the main line. Another third begin a branch. Most branches have one or two check-ins. A third of the
branches are merged, a third are only merged into a check-in without descendants, and a third are abandoned. Half of the
changes are in eight files, and a quarter are in twenty other files. The number of files, their sizes and the number of
active tags do not depend on the number of artifacts. With more artifacts, only the delta chains become longer.
"""

import hashlib
import random
import time
from collections.abc import Iterator

from made_store import Artifact, Store
from made_text import Text
from support.wire import fossilize

BEGAN, ENDED = 1262304000, 1767225600  # 2010 to 2025
CLUSTER = 800
FIRST_FILES, LAST_FILES = 8, 90
# Maps the number of files that a check-in changes to its relative frequency.
CHANGES = {1: 1430, 2: 350, 3: 90, 4: 30, 5: 20, 6: 12, 7: 8, 8: 5, 10: 5, 12: 3, 20: 2, 31: 1}
# Maps the number of check-ins on a branch to its relative frequency.
LENGTHS = {1: 379, 2: 87, 3: 51, 4: 12, 5: 14, 6: 3, 7: 3, 8: 4, 10: 4, 13: 6, 17: 2, 20: 4, 33: 3, 155: 1}
MAIN_LINE, MERGE, TRIED, BRANCH = "main line", "merge", "tried", "branch"
KINDS = {MAIN_LINE: 606, MERGE: 174, TRIED: 187, BRANCH: 1427}
# Maps the way in which a branch ends to its relative frequency. None means that the branch is abandoned.
FATES = {MERGE: 34, TRIED: 34, None: 32}
MAX_OPEN, MAX_FINISHED = 20, 10
# Fractions of the check-ins on the main line that add a file (ADDS) or rename a file (RENAMES).
ADDS, RENAMES = 0.4, 0.1
CONTROLS = 32 / 2394
# Probability that a check-in on the main line does not store the waiting manifests. A later check-in then stores these
# manifests as deltas on its own manifest, so that several deltas share one source.
WAITS = 0.3
# Points in the history, from 0 to 1, at which the main line gets another branch name.
NAMES = (0.05, 0.07, 0.085, 0.115, 0.3, 0.36, 0.38, 0.39, 0.485, 0.6, 0.86)
# Line counts of the files that change most. The first file changes most often.
HOT = (1500, 1000, 700, 950, 300, 400, 600, 200)
YOUNG = 0.6  # initial size of a file, as a fraction of its final size
WARM = 20
HEAT = {"hot": 53, "warm": 23, "cold": 24}
MAX_WAITING = 8


class Entry:
    __slots__ = ("artifact", "card", "goal")

    def __init__(self, name: str, artifact: Artifact, goal: int, former: str = ""):
        self.artifact, self.goal = artifact, goal
        suffix = f" w {former}" if former else " x" if name.endswith(".sh") else ""
        self.card = f"F {name} {artifact.name}{suffix}\n".encode()


class Line:
    """A branch: its last check-in and the files in that check-in. BASES are the original versions of the files that the
    branch has changed."""

    def __init__(self, name: str, head: Artifact, files: dict[str, Entry], left: int):
        self.name, self.head, self.files, self.left = name, head, files, left
        self.bases: dict[str, Entry] = {}
        self.starts = True


class Project:
    def __init__(self, store: Store, artifacts: int, seed: int):
        self.store = store
        self.wanted = artifacts
        self.random = random.Random(seed)
        self.text = Text(self.random)
        self.users = [f"person-{number}" for number in (1, 2, 3)]
        self.main: Line | None = None
        self.main_names = ["trunk"]
        self.open: list[Line] = []
        self.finished: dict[str, list[Line]] = {MERGE: [], TRIED: []}
        self.waiting: list[Artifact] = []
        self.waiting_files: dict[str, list[Artifact]] = {}
        self.hot: list[str] = []
        self.warm: list[str] = []
        self.renamed: list[str] = []
        self.serial = 0

    def write(self) -> Iterator[int]:
        """Generates the whole history. Yields the current number of artifacts after each step."""
        self._begin()
        while self._left() > 0:
            self._step()
            yield self.store.count
        self._end()

    def _left(self) -> int:
        return self.wanted - self.store.count

    def _progress(self) -> float:
        return self.store.count / self.wanted

    def _date(self) -> str:
        seconds = BEGAN + int((ENDED - BEGAN) * self._progress())
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))

    def _draw(self, weights: dict):
        return self.random.choices(list(weights), list(weights.values()))[0]

    def _begin(self) -> None:
        self._receive()
        files = {}
        for goal in HOT[:max(0, self._left() - 1)]:
            name = self.text.file_name()
            self.hot.append(name)
            files[name] = self._new_file(name, goal, int(goal * YOUNG))
        self.main = Line("trunk", None, files, 0)
        self._check_in(self.main, [], "initial empty check-in", ["*branch * trunk", "*sym-trunk *"])

    def _step(self) -> None:
        if self.random.random() < 1 / 3:
            self._receive()
        if len(self.store.unclustered) >= CLUSTER:
            self._cluster()
        elif self._left() == 1 or self.random.random() < CONTROLS:
            self._control()
        else:
            self._one_of(self._draw(KINDS))

    def _one_of(self, kind: str) -> None:
        if kind == BRANCH:
            self._on_a_branch()
        elif kind != MAIN_LINE and self.finished[kind]:
            merged = self.finished[kind].pop(self.random.randrange(len(self.finished[kind])))
            self._merge(merged) if kind == MERGE else self._try_out(merged)
        else:
            self._on_the_main_line()

    def _end(self) -> None:
        for line in [*self.open, *self.finished[MERGE], *self.finished[TRIED]]:
            self._give_up(line)
        for name, artifacts in self.waiting_files.items():
            for artifact in artifacts:
                self.store.settle(artifact, self.main.files[name].artifact)
        for artifact in self.waiting:
            self.store.settle(artifact, self.main.head)
        for artifact in [self.main.head, *(entry.artifact for entry in self.main.files.values())]:
            if not artifact.is_settled:
                self.store.settle(artifact)
        self.store.flush()

    def _receive(self) -> None:
        seconds = BEGAN + (ENDED - BEGAN) * self._progress()
        self.store.begin_receipt(2440587.5 + seconds / 86400, f"192.0.2.{self.random.randrange(1, 255)}")

    def _on_the_main_line(self) -> None:
        line = self.main
        self._change(line)
        tags = []
        if len(self.main_names) <= len(NAMES) and self._progress() > NAMES[len(self.main_names) - 1]:
            line.name = f"line-{len(self.main_names)}"
            self.main_names.append(line.name)
            tags = [f"*branch * {line.name}", f"*sym-{line.name} *"]
        self._check_in(line, [line.head], self.text.comment(), tags)

    def _on_a_branch(self) -> None:
        starts = not self.open or (len(self.open) < MAX_OPEN and self.random.random() < 0.45)
        if starts:
            self.serial += 1
            line = Line(f"{self.serial}/head", self.main.head, dict(self.main.files), self._draw(LENGTHS))
            self.open.append(line)
        else:
            line = self.random.choice(self.open)
        self._change(line)
        tags = []
        if line.starts and self.random.random() > 0.01:  # the other branches do not get a name
            tags = [f"*branch * {line.name}", f"*sym-{line.name} *", f"-sym-{self.main.name} *"]
        self._check_in(line, [line.head], self.text.comment(), tags)
        line.left -= 1
        if line.left <= 0:
            self.open.remove(line)
            self._finish(line)

    def _finish(self, line: Line) -> None:
        fate = self._draw(FATES)
        if fate is None:
            self._give_up(line)
            return
        self.finished[fate].append(line)
        if len(self.finished[fate]) > MAX_FINISHED:
            self._give_up(self.finished[fate].pop(0))

    def _give_up(self, line: Line) -> None:
        if line.head is not self.main.head and not line.head.is_settled:
            self.waiting.append(line.head)
        for name in line.bases:
            self._leave(name, line.files[name].artifact)

    def _leave(self, name: str, artifact: Artifact) -> None:
        """Stores ARTIFACT, the last version of the file NAME on a branch, as a delta on a later version on the main
        line."""
        if artifact.is_settled:
            return
        current = self.main.files.get(name)
        if not current or current.artifact is artifact:
            if not current:
                self.store.settle(artifact)
            return
        waiting = self.waiting_files.setdefault(name, [])
        if artifact in waiting:
            return
        waiting.append(artifact)
        if len(waiting) > MAX_WAITING:
            self.store.settle(waiting.pop(0), current.artifact)

    def _merged_files(self, line: Line) -> dict[str, Entry]:
        """Returns the changes that a merge of LINE makes on the main line."""
        changed = {}
        for name, base in line.bases.items():
            current = self.main.files.get(name)
            if current is base:
                changed[name] = line.files[name]
            elif current and self._left() > 1:
                changed[name] = self._new_version(name, current)
        return changed

    def _merge(self, line: Line) -> None:
        for name, entry in self._merged_files(line).items():
            self._put_on_main_line(name, entry)
        head = self.main.head
        self.waiting.append(line.head)
        self._check_in(self.main, [head, line.head],
                       f"Merge pull request #{self.serial} from {line.name}\n\n{self.text.comment()}", [])
        for name in line.bases:
            self._leave(name, line.files[name].artifact)

    def _try_out(self, line: Line) -> None:
        self.serial += 1
        changed = self._merged_files(line)
        tried = Line(f"{self.serial}/merge", self.main.head, {**self.main.files, **changed}, 0)
        self._check_in(tried, [self.main.head, line.head], f"Merge {line.head.name} into {self.main.head.name}",
                       [f"*branch * {tried.name}", f"*sym-{tried.name} *", f"-sym-{self.main.name} *"])
        self.waiting += [tried.head, line.head]
        for name in line.bases:
            self._leave(name, line.files[name].artifact)
            if name in changed:
                self._leave(name, changed[name].artifact)

    def _check_in(self, line: Line, parents: list[Artifact], comment: str, tags: list[str]) -> None:
        cards = [f"C {fossilize(comment)}\n".encode(), f"D {self._date()}\n".encode(),
                 *[line.files[name].card for name in sorted(line.files)]]
        if parents:
            cards.append(f"P {' '.join(parent.name for parent in parents)}\n".encode())
        cards += [f"T {tag}\n".encode() for tag in tags]
        manifest = self._structural(cards)
        if line is self.main:
            self._forget_former_names()
        before, line.head, line.starts = line.head, manifest, False
        if line is self.main:
            if before:
                self.waiting.append(before)
            if self.random.random() > WAITS:
                for older in self.waiting:
                    self.store.settle(older, manifest)
                self.waiting.clear()
        elif before is not self.main.head and not before.is_settled and before not in self.waiting:
            self.store.settle(before, manifest)

    def _change(self, line: Line) -> None:
        """Makes the changes of the next check-in on LINE. Each change adds an artifact, and so does the manifest of the
        check-in."""
        most = min(self._draw(CHANGES), self._left() - 1)
        adds = line is self.main and len(line.files) < self._goal_of_files()
        if line is self.main and most > 0:
            if self.random.random() < ADDS:
                if not adds:
                    self._remove()
                self._add_file()
                most -= 1
            elif self.random.random() < RENAMES:
                self._rename()
        for _ in range(most):
            self._edit(line)

    def _goal_of_files(self) -> float:
        return FIRST_FILES + (LAST_FILES - FIRST_FILES) * self._progress() ** 0.8

    def _new_file(self, name: str, goal: int, lines: int) -> Entry:
        return Entry(name, self._unique(lambda: self.text.lines(max(1, lines))), goal)

    def _unique(self, make) -> Artifact:
        while not (artifact := self.store.add(make())):
            pass
        return artifact

    def _new_version(self, name: str, entry: Entry) -> Entry:
        goal = entry.goal
        if name in self.hot:
            goal = int(goal * (YOUNG + (1 - YOUNG) * self._progress()))
        return Entry(name, self._unique(lambda: self.text.edited(entry.artifact.lines, goal)), entry.goal)

    def _add_file(self) -> None:
        name = self.text.file_name()
        warm = len(self.warm) < WARM
        goal = min(4000, int(self.random.lognormvariate(5.8 if warm else 4.6, 1.4)) + 2)
        if warm:
            self.warm.append(name)
        self.main.files[name] = self._new_file(name, goal, goal)

    def _cold(self, line: Line) -> list[str]:
        lasting = {*self.hot, *self.warm}
        return [name for name in line.files if name not in lasting]

    def _remove(self) -> None:
        cold = self._cold(self.main)
        if cold:
            self._take_away(self.random.choice(cold))

    def _take_away(self, name: str) -> Entry:
        entry = self.main.files.pop(name)
        if not entry.artifact.is_settled:
            self.store.settle(entry.artifact)
        for artifact in self.waiting_files.pop(name, []):
            self.store.settle(artifact, entry.artifact)
        return entry

    def _rename(self) -> None:
        cold = self._cold(self.main)
        if cold:
            former = self.random.choice(cold)
            entry = self._take_away(former)
            name = self.text.file_name()
            self.main.files[name] = Entry(name, entry.artifact, entry.goal, former)
            self.renamed.append(name)

    def _forget_former_names(self) -> None:
        """Forgets the former names of renamed files, because only the manifest of the rename contains a former name."""
        for name in self.renamed:
            entry = self.main.files[name]
            self.main.files[name] = Entry(name, entry.artifact, entry.goal)
        self.renamed.clear()

    def _edit(self, line: Line) -> None:
        heat = self._draw(HEAT)
        names = {"hot": self.hot, "warm": self.warm}.get(heat) or self._cold(line) or self.hot
        weights = [1 / (rank + 1) for rank in range(len(names))] if heat == "hot" else None
        name = self.random.choices(names, weights)[0]
        entry = line.files.get(name)
        if not entry:
            return
        if line is self.main:
            self._put_on_main_line(name, self._new_version(name, entry))
            return
        newer = self._new_version(name, entry)
        if name in line.bases:
            if not entry.artifact.is_settled:
                self.store.settle(entry.artifact, newer.artifact)
        else:
            line.bases[name] = entry
        line.files[name] = newer

    def _put_on_main_line(self, name: str, entry: Entry) -> None:
        older = self.main.files[name].artifact
        for artifact in [*self.waiting_files.pop(name, []), older]:
            if not artifact.is_settled:
                self.store.settle(artifact, entry.artifact)
        self.main.files[name] = entry

    def _user(self) -> str:
        drawn = self.random.random()
        if drawn < 0.5:
            return self.random.choice(self.users[:3])
        if drawn < 0.61:
            self.users.append(f"person-{len(self.users) + 1}")
            return self.users[-1]
        return self.users[int(len(self.users) * self.random.random() ** 2)]

    def _structural(self, cards: list[bytes]) -> Artifact:
        cards.append(f"U {self._user()}\n".encode())
        cards.append(f"Z {hashlib.md5(b''.join(cards)).hexdigest()}\n".encode())
        artifact = self.store.add(cards)
        assert artifact, "two check-ins are the same"
        return artifact

    def _control(self) -> None:
        self.serial += 1
        target = self.main.head.name
        kind = self.random.random()
        if kind < 0.9:
            notes = f" {fossilize(self.text.comment())}" if kind < 0.5 else ""
            tag = f"+sym-v{self.serial} {target}{notes}"
        elif kind < 0.95:
            tag = f"+comment {target} {fossilize(self.text.comment())}"
        else:
            tag = f"+bgcolor {target} #{self.random.randrange(1 << 24):06x}"
        # The serial number in a tag distinguishes artifacts that would otherwise be identical.
        cards = [f"D {self._date()}\n".encode(), f"T {tag}\n".encode()]
        if not tag.startswith("+sym"):
            cards.insert(1, f"T +note-{self.serial} {target}\n".encode())
            cards[1:] = sorted(cards[1:])
        self.store.settle(self._structural(cards))

    def _cluster(self) -> None:
        cards = [f"M {name}\n".encode() for name in sorted(self.store.unclustered)]
        self.store.unclustered = []
        cards.append(f"Z {hashlib.md5(b''.join(cards)).hexdigest()}\n".encode())
        self.store.settle(self.store.add(cards))
