"""Generates names, comments and lines of program text from one random source."""

import random

SYLLABLES = ("al an ar ba be ca ce co da de di el en er fa fi ga ge ha he in is ka ke la le li lo ma me mi na ne no"
             " on or pa pe ra re ri ro sa se si so ta te ti to un ur va ve vi wa we xi ya ze").split()
VOCABULARY = 3000
LINES = 1 << 15
FOLDERS = ("", "", "", "adapters/", "examples/", "include/", "tests/", "docs/", "tools/build/")
ENDINGS = (".c", ".c", ".h", ".h", ".md", ".txt", ".sh")


class Text:
    def __init__(self, rng: random.Random):
        self.random = rng
        self.words = ["".join(rng.choices(SYLLABLES, k=rng.choice((1, 2, 2, 3, 3, 4)))) for _ in range(VOCABULARY)]
        self.pool = [self._line() for _ in range(LINES)]
        self.serial = 0

    def _line(self) -> bytes:
        indent = "    " * self.random.choice((0, 0, 1, 1, 1, 2, 2, 3))
        ending = self.random.choice(("", ";", ";", ");", " {", ","))
        return f"{indent}{' '.join(self.random.choices(self.words, k=self.random.randrange(1, 8)))}{ending}\n".encode()

    def lines(self, count: int) -> list[bytes]:
        return self.random.choices(self.pool, k=count)

    def file_name(self) -> str:
        self.serial += 1
        return (self.random.choice(FOLDERS) + self.random.choice(self.words) + f"_{self.serial}"
                + self.random.choice(ENDINGS))

    def comment(self) -> str:
        """Returns a comment of 123 letters on average. Half of the comments have fewer than 60 letters, and some have
        thousands."""
        letters = min(5000, int(self.random.lognormvariate(4.1, 1.15)) + 4)
        words = self.random.choices(self.words, k=letters // 7 + 2)
        text = " ".join(words)[:letters].rstrip()
        return text if len(words) < 14 else text.replace(" ", "\n\n", 9).replace("\n\n", " ", 8)

    def edited(self, lines: list[bytes], goal: int) -> list[bytes]:
        """Returns LINES with a few lines inserted, replaced or removed. If there are fewer than GOAL lines,
        more lines are inserted than removed."""
        lines = list(lines)
        for _ in range(self.random.choices((1, 2, 3, 5), (78, 15, 5, 2))[0]):
            count = min(150, int(self.random.paretovariate(1.2)))
            at = self.random.randrange(len(lines) + 1)
            grows = 0.55 if len(lines) < goal else 0.27
            drawn = self.random.random()
            removed = 0 if drawn < grows else min(count, len(lines) // 2)
            lines[at:at + removed] = [] if drawn > 0.85 else self.lines(count)
        return lines
