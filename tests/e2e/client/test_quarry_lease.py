import json
import os
import re
import time
import urllib.request

import pytest

from support import repofile
from support.process import wait_until
from support.program import quarry, succeeds


def as_fossil_says(fossil, path):
    """Returns the four numbers that fossil prints, and whether the current and the next lease holder exist."""
    shown = dict(re.findall(r"^(\w+): +(\d+)", fossil("test-backoffice-lease", "-R", path), re.MULTILINE))
    states = re.findall(r"^id\w+: +\d+ +\((\w+)\)", fossil("test-backoffice-lease", "-R", path), re.MULTILINE)
    numbers = [shown[name] for name in ("idCurrent", "tmCurrent", "idNext", "tmNext")]
    return numbers, [state == "exists" for state in states]


def as_quarry_says(path):
    output = succeeds("lease", path)
    lines = dict(line.split(":", 1) for line in output.splitlines())
    return lines["lease"].split(), [", running on" in lines["current"], ", running on" in lines["next"]], output


def test_no_lease(small):
    done = quarry("lease", small)
    assert done.stdout == "lease:   none\ncurrent: none\nnext:    none\n"
    assert json.loads(quarry("lease", "--json", small).stdout) == {"current": None, "next": None}


@pytest.mark.parametrize("value", ["4194305 1795485741 0 0", "4194305 1795485741 4194306 9", "0 0 0 0", "7", "", "x y"])
def test_a_row_means_the_same_as_in_fossil(small, fossil, value):
    repofile.set_config(small, "backoffice", value)
    numbers, exist, _ = as_quarry_says(small)
    assert (numbers, exist) == as_fossil_says(fossil, small)


def test_processes_that_exist(small, fossil):
    repofile.set_config(small, "backoffice", f"{os.getpid()} {int(time.time()) + 59} 4194305 {int(time.time()) - 7}")
    numbers, exist, shown = as_quarry_says(small)
    assert exist == [True, False]
    assert (numbers, exist) == as_fossil_says(fossil, small)
    assert re.search(r"^current: process \d+, running on this machine; until [-0-9T:]+ \(5\d s from now\)$", shown, re.MULTILINE)
    assert re.search(r"^next:    process \d+, not running on this machine; until [-0-9T:]+ \(\d+ s ago\)$", shown, re.MULTILINE)


def test_json(small):
    repofile.set_config(small, "backoffice", f"{os.getpid()} 1795485741 4194305 9")
    assert json.loads(quarry("lease", "--json", small).stdout) == {
        "current": {"process": os.getpid(), "is_running": True, "until": "2026-11-24T02:02:21Z"},
        "next": {"process": 4194305, "is_running": False, "until": "1970-01-01T00:00:09Z"}}


def test_invalid_times(small):
    repofile.set_config(small, "backoffice", " ".join([str(2**63 - 1)] * 4))
    numbers, exist, _ = as_quarry_says(small)
    assert numbers == [str(2**63 - 1)] * 4
    assert exist == [False, False]


def test_the_lease_of_fossil(small, fossil, launch_fossil):
    server = launch_fossil(small)
    fossil("unset", "backoffice-disable", "-R", small)
    urllib.request.urlopen(f"http://127.0.0.1:{server.port}/index").read()
    row = "SELECT value FROM config WHERE name='backoffice'"
    wait_until(lambda: repofile.query(small, row), "fossil's lease")
    numbers, _, _ = as_quarry_says(small)
    assert numbers == repofile.value(small, row).split()
    assert numbers == as_fossil_says(fossil, small)[0]
