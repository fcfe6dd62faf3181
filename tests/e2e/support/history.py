"""Generates a history as a git fast-import stream with branches, merges, renames, deletions, tags and modes.

The same seed produces the same bytes. `fossil import --git` imports thousands of these check-ins in a few seconds.
Creating them with `fossil commit` takes minutes.
"""

import random
from dataclasses import dataclass, field

PEOPLE = ["anna", "björn", "chen.li", "d o'neil", "eve"]
WORDS = ("artifact branch card delta event file gimme hash igot journal key leaf manifest nonce orphan phantom queue "
         "rebuild source timeline unsent version worker").split()
FIRST_SECOND = 1262304000  # 2010-01-01


@dataclass
class Line:
    """A branch: its last check-in and its files. FILES maps each path to (mode, content)."""

    mark: int
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)


class History:
    """Generates check-ins one after another. `take(count)` returns the stream of the next COUNT check-ins."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: dict[str, Line] = {}
        self.mark = 0
        self.check_ins = 0
        self.out: list[bytes] = []
        self.serial = 0

    def take(self, count: int) -> bytes:
        self.out = []
        for _ in range(count):
            self._check_in()
        return b"".join(self.out)

    def _data(self, content: bytes) -> None:
        self.out.append(b"data %d\n%s\n" % (len(content), content))

    def _begin(self, branch: str, parents: list[int], comment: str) -> int:
        self.mark += 1
        self.check_ins += 1
        person = self.random.choice(PEOPLE)
        when = FIRST_SECOND + self.check_ins * 3600 + self.random.randrange(3000)
        self.out.append(f"commit refs/heads/{branch}\nmark :{self.mark}\ncommitter {person} <{person}> {when} +0000\n"
                        .encode())
        self._data(comment.encode())
        for word, parent in zip(["from"] + ["merge"] * len(parents), parents):
            self.out.append(b"%s :%d\n" % (word.encode(), parent))
        return self.mark

    def _put(self, line: Line, path: str, mode: str, content: bytes) -> None:
        line.files[path] = (mode, content)
        self.out.append(f"M {mode} inline {quoted(path)}\n".encode())
        self._data(content)

    def _delete(self, line: Line, path: str) -> None:
        del line.files[path]
        self.out.append(f"D {quoted(path)}\n".encode())

    def _check_in(self) -> None:
        if not self.lines:
            self._root()
            return
        branch = "master" if self.random.random() < 0.6 else self.random.choice(list(self.lines))
        chance = self.random.random()
        if chance < 0.03 and len(self.lines) < 40:
            self._new_branch(branch)
        elif chance < 0.10 and len(self.lines) > 1:
            self._merge(branch)
        else:
            line = self.lines[branch]
            line.mark = self._begin(branch, [line.mark], self._comment())
            self._change(line)
        if self.random.random() < 0.02:
            self._tag(branch)

    def _root(self) -> None:
        line = Line(0)
        line.mark = self._begin("master", [], "first")
        for index in range(60):
            self._put(line, self._new_path(), "100644", self._text(20 + index))
        self.lines["master"] = line

    def _new_branch(self, parent: str) -> None:
        self.serial += 1
        name = f"work-{self.serial}"
        line = Line(self.lines[parent].mark, dict(self.lines[parent].files))
        line.mark = self._begin(name, [line.mark], f"begin {name}")
        self._change(line)
        self.lines[name] = line

    def _merge(self, branch: str) -> None:
        line = self.lines[branch]
        other = self.lines[self.random.choice([name for name in self.lines if name != branch])]
        line.mark = self._begin(branch, [line.mark, other.mark], "merge " + self._comment())
        different = sorted(path for path in other.files if line.files.get(path) != other.files[path])
        for path in different[:5]:
            self._put(line, path, *other.files[path])

    def _change(self, line: Line) -> None:
        chance = self.random.random()
        paths = sorted(line.files)
        if chance < 0.08:
            self._put(line, self._new_path(), self.random.choice(["100644", "100755"]), self._text(30))
        elif chance < 0.13 and len(paths) > 30:
            self._delete(line, self.random.choice(paths))
        elif chance < 0.20:
            # fossil's import converts a rename into the removal of one file and the addition of another.
            path = self.random.choice(paths)
            mode, content = line.files[path]
            self._delete(line, path)
            self._put(line, self._new_path(), mode, content)
        elif chance < 0.22:
            path = self.random.choice(paths)
            mode, content = line.files[path]
            if mode != "120000":
                self._put(line, path, "100755" if mode == "100644" else "100644", content)
        elif chance < 0.23:
            self._put(line, self._new_path(), "120000", self.random.choice(paths).encode())
        for path in self.random.sample(sorted(line.files), 2):
            mode, content = line.files[path]
            if mode != "120000":
                self._put(line, path, mode, self._edited(content))

    def _tag(self, branch: str) -> None:
        self.serial += 1
        self.out.append(f"tag release-{self.serial}\nfrom :{self.lines[branch].mark}\ntagger anna <anna> "
                        f"{FIRST_SECOND + self.check_ins * 3600 + 3300} +0000\n".encode())
        self._data(b"released")

    def _comment(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randrange(3, 12)))

    def _text(self, lines: int) -> bytes:
        return "".join(f"{self._comment()}\n" for _ in range(lines)).encode()

    def _edited(self, content: bytes) -> bytes:
        lines = content.split(b"\n")
        lines[self.random.randrange(len(lines))] = self._comment().encode()
        return b"\n".join(lines)

    def _new_path(self) -> str:
        self.serial += 1
        folder = self.random.choice(["", "src/", "src/deep/er/", "docs and more/", "münze/"])
        return f"{folder}{self.random.choice(WORDS)}-{self.serial}.txt"


def quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path
