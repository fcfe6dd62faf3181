"""`quarry lease` reads the row by which fossil's background work takes turns as fossil does."""

import contextlib
import os
import re
import sqlite3
import time
import urllib.request

import pytest

from support.process import wait_until
from support.program import quarry


def set_lease(path, value):
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("REPLACE INTO config(name, value, mtime) VALUES('backoffice', ?, 0)", (value,))


def lease_in(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        row = database.execute("SELECT value FROM config WHERE name='backoffice'").fetchone()
    return row[0] if row else None


def as_fossil_says(fossil, path):
    """The four numbers, and whether each of the two processes exists."""
    told = dict(re.findall(r"^(\w+): +(\d+)", fossil("test-backoffice-lease", "-R", path), re.MULTILINE))
    states = re.findall(r"^id\w+: +\d+ +\((\w+)\)", fossil("test-backoffice-lease", "-R", path), re.MULTILINE)
    numbers = [told[name] for name in ("idCurrent", "tmCurrent", "idNext", "tmNext")]
    return numbers, [state == "exists" for state in states]


def as_quarry_says(path):
    done = quarry("lease", path)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines())
    return lines["lease"].split(), ["exists here" in lines["current"], "exists here" in lines["next"]], done.stdout


def test_a_repository_that_nobody_works_on(small):
    done = quarry("lease", small)
    assert done.stdout == "lease:   none\ncurrent: none\nnext:    none\n"


@pytest.mark.parametrize("value", ["4194305 1795485741 0 0", "4194305 1795485741 4194306 9", "0 0 0 0", "7", "", "x y"])
def test_a_row_means_what_it_means_to_fossil(small, fossil, value):
    set_lease(small, value)
    numbers, exist, _ = as_quarry_says(small)
    assert (numbers, exist) == as_fossil_says(fossil, small)


def test_processes_are_looked_for(small, fossil):
    set_lease(small, f"{os.getpid()} {int(time.time()) + 59} 4194305 {int(time.time()) - 7}")
    numbers, exist, shown = as_quarry_says(small)
    assert exist == [True, False]
    assert (numbers, exist) == as_fossil_says(fossil, small)
    assert re.search(r"^current: process \d+, which exists here; until [-0-9T:]+ \(5\d s from now\)$", shown, re.MULTILINE)
    assert re.search(r"^next:    process \d+, which does not exist here; until [-0-9T:]+ \(\d+ s ago\)$", shown, re.MULTILINE)


def test_numbers_that_are_no_times_are_shown(small):
    set_lease(small, " ".join([str(2**63 - 1)] * 4))
    numbers, exist, _ = as_quarry_says(small)
    assert numbers == [str(2**63 - 1)] * 4
    assert exist == [False, False]


def test_what_fossil_has_written(small, fossil, launch_fossil):
    server = launch_fossil(small)
    fossil("unset", "backoffice-disable", "-R", small)
    urllib.request.urlopen(f"http://127.0.0.1:{server.port}/index").read()
    wait_until(lambda: lease_in(small), "a lease of fossil's")
    numbers, _, _ = as_quarry_says(small)
    assert numbers == lease_in(small).split()
    assert numbers == as_fossil_says(fossil, small)[0]


def test_what_is_no_repository_is_said(tmp_path):
    done = quarry("lease", tmp_path / "absent.fossil")
    assert done.returncode == 1
    assert "absent.fossil" in done.stderr
