#!/usr/bin/python3
"""Counts the tests of a JUnit file, and prints "N passed, N failed, N skipped".

    tests/junit_count.py FILE
"""

import sys
import xml.etree.ElementTree


def main() -> int:
    passed = failed = skipped = 0
    for suite in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testsuite"):
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        left_out = int(suite.get("skipped", 0))
        failed += bad
        skipped += left_out
        passed += int(suite.get("tests", 0)) - bad - left_out
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
