#!/usr/bin/python3
"""Runs the unit tests of a build folder, and counts their cases.

    tests/units.py BUILD [NAME…]
    tests/units.py --targets BUILD NAME…

Those called NAME, or all; or prints what to have built for them. Each program is one of meson's tests; its cases are
counted from doctest's last line. What fails is shown. The last line is "N passed, N failed"; exits with 1 if anything
failed, or if nothing ran.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

# Of a program that fails; a table compared row by row can be long.
LINES_SHOWN = 200

SUMMARY = re.compile(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def counts(test: dict) -> tuple[int, int]:
    """Cases passed and failed. A program that died, or says nothing of its cases, is a failure itself."""
    summaries = SUMMARY.findall(re.sub(r"\x1b\[[0-9;]*m", "", test.get("stdout", "")))
    passed, failed = map(int, summaries[-1]) if summaries else (0, 0)
    if test["result"] != "OK":
        return passed, max(failed, 1)
    return (passed, failed) if summaries else (1, 0)


def targets(build: Path, names: list[str]) -> list[str]:
    """What meson builds for the tests called NAMES: their programs, and the programs that these start."""
    def ask(what: str) -> list[dict]:
        asked = subprocess.run(["meson", "introspect", what, build], capture_output=True, text=True, check=True)
        return json.loads(asked.stdout)

    files = {each["id"]: each["filename"] for each in ask("--targets")}
    needed = {each["name"]: [file for target in each["depends"] for file in files[target]] for each in ask("--tests")}
    if unknown := [name for name in names if name not in needed]:
        sys.exit(f"no unit tests are called {', '.join(unknown)}: there are {', '.join(needed)}")
    return [os.path.relpath(file, build.resolve()) for name in names for file in needed[name]]


def main() -> int:
    if sys.argv[1] == "--targets":
        print(*targets(Path(sys.argv[2]), sys.argv[3:]), sep="\n")
        return 0
    build = Path(sys.argv[1])
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--num-processes", str(2 * os.cpu_count()),
                    *sys.argv[2:]], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False)
    tests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    passed = failed = 0
    for test in tests:
        good, bad = counts(test)
        passed += good
        failed += bad
        name = test["name"].split(" / ")[-1]
        print(f"{name + ':':<12} {good} passed, {bad} failed ({test['duration']:.1f} s)")
        if bad:
            lines = (test.get("stdout", "") + "\n" + test.get("stderr", "")).splitlines()
            print(*lines[:LINES_SHOWN], f"({test['result']}, {len(lines)} lines)", sep="\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
