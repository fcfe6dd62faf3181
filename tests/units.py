#!/usr/bin/python3
"""Runs the unit tests of a build folder and counts their cases.

    tests/units.py [--long] BUILD [NAME...]
    tests/units.py --targets BUILD NAME...

Each NAME selects the program tests/unit/**/test-NAME (default: all programs). With --long, only the cases of doctest's
suite "long" run. Without --long, all other cases run. With --targets, no tests run, and the script prints the ninja
targets of the selected programs. The script prints the output of programs that fail. The last line of the output is
"N passed, N failed". The exit status is 1 if a test failed, or if no test ran.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

# Maximum number of printed lines of a failed program's output.
LINES_SHOWN = 200
# Timeout of a program in seconds. The timeout is long enough for slow machines and for sanitizers.
SECONDS = 1800
# These programs take longest, so they are started first.
LONG = ("replica", "repository", "spool-schedules", "changes-daemons", "spool-stream", "spool", "changes-landing", "backoffice")

SUMMARY = re.compile(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def programs(build: Path, names: list[str]) -> dict[str, str]:
    """Returns the unit tests of the build folder as a map of names to ninja targets."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    found = {name: target for target, name in re.findall(r"^(tests/unit/\S*/test-([\w-]+)):", listed.stdout, re.M)}
    if unknown := [name for name in names if name not in found]:
        sys.exit(f"unknown unit tests: {', '.join(unknown)}; known: {', '.join(found)}")
    return {name: target for name, target in found.items() if not names or name in names}


def run(program: Path, option: str) -> tuple[int, int, float, str]:
    """Runs a program. Returns the numbers of passed and failed cases, the time in seconds, and the output. A crash
    counts as a failure."""
    begin = time.monotonic()
    try:
        done = subprocess.run([program, option], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              timeout=SECONDS, check=False)
        output, is_good = done.stdout.decode(errors="replace"), done.returncode == 0
        output += "" if is_good else f"\n(exit code {done.returncode})"
    except (OSError, subprocess.TimeoutExpired) as error:
        output, is_good = str(error), False
    summaries = SUMMARY.findall(re.sub(r"\x1b\[[0-9;]*m", "", output))
    passed, failed = map(int, summaries[-1]) if summaries else (0, 1)
    return passed, failed if is_good else max(failed, 1), time.monotonic() - begin, output


def main() -> int:
    if sys.argv[1] == "--targets":
        build, names = Path(sys.argv[2]), sys.argv[3:]
        helpers = ["tests/unit/master/small-master"] if "master" in names else []
        print(*programs(build, names).values(), *helpers, sep="\n")
        return 0
    is_long = sys.argv[1] == "--long"
    option = "--test-suite=long" if is_long else "--test-suite-exclude=long"
    build, *names = sys.argv[1 + is_long:]
    build = Path(build).resolve()
    chosen = programs(build, names)
    chosen = {name: chosen[name] for name in sorted(chosen, key=lambda name: name not in LONG)}
    passed = failed = 0
    with ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        running = {pool.submit(run, build / target, option): name for name, target in chosen.items()}
        for done in as_completed(running):
            good, bad, seconds, output = done.result()
            passed += good
            failed += bad
            print(f"{running[done] + ':':<20} {good} passed, {bad} failed ({seconds:.1f} s)", flush=True)
            if bad:
                lines = output.splitlines()
                print(*lines[-LINES_SHOWN:], f"({len(lines)} lines)", sep="\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
