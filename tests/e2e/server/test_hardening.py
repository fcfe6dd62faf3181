"""The programs are built with the protections that Debian's packages have, and work under the restrictions of the unit
for systemd."""

import os
import platform
import re
import shutil
import subprocess
import sys

import pytest

from support import documents, fastcgi, places, repofile, wire
from support.courier import sections
from support.process import wait_until

PROGRAMS = ("quarry", "quarryd", "quarry-courier", "quarry-changes", "quarry-replica")
UNIT = places.TOP / "conf" / "systemd" / "quarryd.service"


def readelf(name: str) -> str:
    return subprocess.run(["readelf", "--wide", "--file-header", "--program-headers", "--dynamic", "--dyn-syms",
                           places.program(name)], capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_hardened(name):
    text = readelf(name)
    assert re.search(r"Type:\s+DYN", text) and re.search(r"FLAGS_1.*\bPIE\b", text), "loaded at a random address"
    assert re.search(r"FLAGS_1.*\bNOW\b", text) and "GNU_RELRO" in text, "no table of functions can be changed"
    assert " RWE " not in text and re.search(r"GNU_STACK.* RW ", text), "no memory is both written and executed"
    assert "__stack_chk_fail" in text, "overflows on the stack are found"
    if not places.is_sanitized():
        assert re.search(r"__\w+_chk@GLIBC", text.replace("__stack_chk_fail", "")), "lengths are checked"


def restricted(name: object, *arguments: object) -> list[str]:
    return [sys.executable, str(places.TOP / "tests" / "e2e" / "support" / "restricted.py"), str(UNIT), str(name),
            *map(str, arguments)]


under_restrictions = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None or platform.machine() != "x86_64" or os.geteuid() != 0
    or places.is_sanitized(),
    reason="needs root, the system calls that systemd allows, and no sanitizer, which uses others")


@under_restrictions
def test_the_restrictions_take_effect():
    """If the restrictions did not take effect, the tests below would prove nothing."""
    code = ("import ctypes, re; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0), "
            "re.search(r'CapBnd:\\s(\\w+)', open('/proc/self/status').read())[1])")
    under, free = (subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.split()
                   for words in (restricted(sys.executable, "-c", code), [sys.executable, "-c", code]))
    assert (under[0], free[0]) == ("-1", "0"), "ptrace() is refused"
    assert int(under[1], 16).bit_count() < int(free[1], 16).bit_count(), "capabilities are dropped"


@under_restrictions
@pytest.mark.skipif(not places.is_open_to_others(), reason="needs a build folder that other users can enter")
def test_the_server_works_under_the_restrictions_of_its_unit(open_folder, start, fossil):
    folder = open_folder / "one"
    folder.mkdir()
    repository = fossil.new(folder / "one.fossil")
    secret = repofile.add_user(repository, "hand", "written", "giox")
    fossil("hook", "add", "--command", f"id -un > {folder}/ran", "--type", "after-receive", "-R", repository)
    for each in (folder, repository):
        shutil.chown(each, "nobody")
    # The courier runs as root, because the user `nobody` cannot read the configuration in the test's folder.
    courier = sections(open_folder, {}, user="root")
    server = start({"user": "nobody", "backoffice": "yes", "backoffice.lease_time": "1s", "pages": "fossil",
                    "changes": "on", "process.priority": -1, "listen.mode": "0600"},
                   repository=repository, more=courier, command=restricted("/usr/bin/env"))
    assert server.ask(path="/timeline").startswith(b"Status: 200")
    page = documents.wiki_page("Page", "2026-01-02T00:00:00", "text")
    cards = wire.signed(wire.body(f"push {'0' * 40} {repofile.project_code(repository)}", wire.file_card(page)),
                        "hand", secret)
    held = fastcgi.hold(server.socket, "/xfer", len(cards))
    assert b"\nerror " not in held.finish(cards)
    held.close()
    wait_until(lambda: (folder / "ran").exists() and (folder / "ran").read_text() == "nobody\n", "the hook")
    server.reload()
    assert server.ask(path="/timeline").startswith(b"Status: 200")


@under_restrictions
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_gates_work_under_the_restrictions_of_its_unit():
    gate = ["/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
            str(places.build_directory() / "tests" / "unit" / "changes" / "run-gate"), "sh", "-c", "exit 0"]
    free, under = (subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
                   for words in (gate, restricted(*gate)))
    assert under.stdout == free.stdout, under.stderr
