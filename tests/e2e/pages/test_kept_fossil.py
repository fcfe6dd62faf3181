"""The fossil that makes pages is executed once, and forks for each."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from support import places
from support.browser import Browser
from support.process import children, free_port, group, name, wait_until

# A program that no library can be loaded into, as some build their fossil.
STATIC = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
  char request[65536];
  if (count > 1 && strcmp(words[1], "version") == 0) {
    puts("This is fossil version 9.9 [0123456789] 2026-01-01 00:00:00 UTC");
  } else if (read(0, request, sizeof request) > 0) {
    printf("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nstatic");
  }
  return 0;
}
"""


@pytest.fixture
def serve(start):
    """Pages of a program, none of them kept."""
    def begin(program="fossil", **pool):
        port = free_port()
        server = start({"pages": "fossil", "pages.program": program, "pages.cache_ttl": "0s", **pool},
                       http={"listen": f"127.0.0.1:{port}"})
        return server, Browser(port)
    return begin


def of_relay(server, is_starter):
    [relay] = server.children("pages www")
    return [pid for pid in children(relay) if (name(pid) == "page starter") == is_starter]


def starter(server):
    # What it forks has its name for a moment.
    wait_until(lambda: len(of_relay(server, True)) == 1, "one that starts the others")
    [pid] = of_relay(server, True)
    return pid


def program_of(pid):
    return os.readlink(f"/proc/{pid}/exe")


def test_what_is_kept_makes_every_page(serve):
    server, visitor = serve(**{"pages.spare_children": 2})
    assert visitor.get("/timeline").status == 200
    kept = starter(server)
    assert program_of(kept) == os.path.realpath(shutil.which("fossil"))
    pages = [visitor.get(f"/timeline?n={n}") for n in range(1, 9)]
    assert {page.status for page in pages} == {200}
    # What is random in a page is so in each, though all of them begin alike.
    nonces = {re.search(r"'nonce-([0-9a-f]+)'", page.headers["content-security-policy"]).group(1) for page in pages}
    assert len(nonces) == len(pages)
    wait_until(lambda: len(of_relay(server, False)) == 2, "those that wait")
    assert starter(server) == kept
    for pid in of_relay(server, False):
        assert name(pid) == "fossil" and group(pid) != []
        loaded = Path(f"/proc/{pid}/maps").read_text()
        assert str(places.log_guard()) in loaded
        # Not the way by which pages are ordered.
        opened = [os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()]
        assert not any("socket" in each for each in opened), opened


def test_a_program_that_is_replaced_is_forgotten(serve, tmp_path):
    program = tmp_path / "fossil"
    shutil.copy(shutil.which("fossil"), program)
    server, visitor = serve(program, **{"pages.spare_children": 1})
    assert "fossil" in visitor.get("/timeline").text
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\nprintf 'HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nnew'\n")
    other.chmod(0o755)
    os.replace(other, program)
    assert visitor.get("/timeline").text == "new"
    assert "deleted" not in program_of(starter(server))


def test_a_program_that_takes_no_library_is_executed_for_each(serve, tmp_path):
    source = tmp_path / "program.c"
    source.write_text(STATIC)
    program = tmp_path / "fossil"
    subprocess.run(["cc", "-static", "-o", program, source], check=True)
    server, visitor = serve(program, **{"pages.spare_children": 1})
    assert [visitor.get("/timeline").text for _ in range(3)] == ["static"] * 3
    told = "is executed for each page"
    assert told in server.log()
    assert program_of(starter(server)) != str(program)
    # Once, however often another one that starts them is needed.
    os.kill(starter(server), signal.SIGKILL)
    wait_until(lambda: of_relay(server, True) == [], "its end")
    assert [visitor.get("/timeline").text for _ in range(3)] == ["static"] * 3
    assert server.log().count(told) == 1
