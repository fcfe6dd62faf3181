"""A reload with in-flight requests: workers of several generations, their status, figures and output."""

import os
import re
import shutil
import signal
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from support import daemon, fastcgi, places, process
from support.process import wait_until
from test_children import say
from test_control import document, row, status, watched  # noqa: F401  (a fixture)

REQUEST = b"pragma client-version 22100 20230226 192424\n"
TOTALS = ("accepted conn", "requests", "refusals", "clones", "pulls")


def figures(server) -> dict:
    return document(server.control, "--full")["pools"][0]


def rows(server) -> dict[int, dict]:
    return {each["pid"]: each for each in figures(server)["processes"]}


def hold(server) -> tuple[int, fastcgi.Held]:
    """Occupies a worker with an incomplete request. Returns the worker's process ID and the request."""
    before = {pid for pid, each in rows(server).items() if each["state"] == "Running"}
    held = fastcgi.hold(server.socket, size=len(REQUEST))
    running = set()

    def is_there() -> bool:
        running.update(pid for pid, each in rows(server).items() if each["state"] == "Running")
        return bool(running - before)
    wait_until(is_there, "a worker that has the request")
    return (running - before).pop(), held


def change(server, **words: object) -> None:
    """Changes directives of the pool. Two underscores in a name stand for a dot."""
    text = server.config.read_text()
    for name, value in words.items():
        name = name.replace("__", ".")
        text, count = re.subn(rf"^{re.escape(name)} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        assert count == 1, name
    server.config.write_text(text)


def reload(server, previous: int = -1) -> int:
    """Reloads, and waits until PREVIOUS children of previous generations are left (-1: any number). Returns the current
    generation."""
    generation = document(server.control)["generation"] + 1
    server.main.send(signal.SIGUSR2)

    def is_done() -> bool:
        whole = document(server.control)
        return whole["generation"] == generation and (previous < 0 or len(whole["previous generation"]) == previous)
    wait_until(is_done, f"generation {generation} with {previous} children of earlier ones")
    return generation


def boards_of(pid: int) -> set[str]:
    """Returns the inodes of the scoreboards that PID has mapped."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "quarry-scoreboard" in line]
    return {words[4] for words in lines}


def test_a_finishing_worker_is_shown_with_the_new_ones(watched):  # noqa: F811
    server = watched({"pm.max_children": 2, "pm.status_path": "/status"})
    old, held = hold(server)
    before = rows(server)[old]
    assert before["generation"] == 1
    reload(server, previous=1)
    wait_until(lambda: figures(server)["total processes"] == 3, "the old worker and two new ones")
    page = figures(server)
    by_pid = {each["pid"]: each for each in page["processes"]}
    assert sorted(each["generation"] for each in by_pid.values()) == [1, 2, 2]
    child = by_pid[old]
    assert (child["state"], child["request method"], child["request uri"]) == ("Running", "POST", "/xfer")
    assert child["request duration"] > before["request duration"] and child["start time"] == before["start time"]
    assert (page["children"], page["children of earlier generations"], page["max children"]) == (2, 1, 2)
    assert page["active processes"] == 1 and page["idle processes"] == 2 and page["processes executing"] == 1
    assert rows(server)[old]["request duration"] > child["request duration"], "it is not a picture of it"
    assert b"200 OK" in held.finish(REQUEST)
    wait_until(lambda: old not in rows(server), "the end of the old worker")
    after = figures(server)
    assert after["requests"] == page["requests"] + 1 == 1, "what it did last is counted"
    assert (after["children"], after["children of earlier generations"], after["total processes"]) == (2, 0, 2)


def test_every_format_shows_both_generations(watched):  # noqa: F811
    server = watched({"pm.max_children": 1, "pm.status_path": "/status"})
    old, held = hold(server)
    reload(server, previous=1)
    wait_until(lambda: len(server.children()) == 2, "the new worker")
    new, = set(server.children()) - {old}

    def page(query: str) -> str:
        return fastcgi.ask(server.socket, "/status", query).text
    both = {str(old): "1", str(new): "2"}
    blocks = page("full").split("*" * 24)[1:]
    assert {re.search(r"^pid: +(\d+)$", block, re.M)[1]: re.search(r"^generation: +(\d+)$", block, re.M)[1]
            for block in blocks} == both
    tree = ElementTree.fromstring(page("xml&full"))
    assert {each.findtext("pid"): each.findtext("generation") for each in tree.iter("process")} == both
    cells = [re.findall(r"<td>(.*?)</td>", line) for line in page("html&full").splitlines()]
    assert {line[0]: line[-1] for line in cells if len(line) > 2} == both
    assert re.search(r"^phpfpm_total_processes 2$", page("openmetrics"), re.M)
    text = status("--socket", server.control, "--full").stdout
    assert (row(text, str(old))["GEN"], row(text, str(old))["STATE"], row(text, str(old))["URI"]) == ("1", "Running", "/xfer")
    assert row(text, str(new))["GEN"] == "2"
    www = row(text, "www")
    assert (www["CHILDREN"], www["ACTIVE"]) == ("1/1", "1") and "1 of earlier generations" in www["NOTE"]
    held.close()


def test_three_generations_at_once(watched):  # noqa: F811
    server = watched({"pm.max_children": 2})
    held = []
    for generation in (1, 2, 3):
        held.append(hold(server))
        assert rows(server)[held[-1][0]]["generation"] == generation
        reload(server, previous=generation)
    wait_until(lambda: figures(server)["total processes"] == 5, "three old workers and two new ones")
    shown = rows(server)
    assert [(shown[pid]["generation"], shown[pid]["state"]) for pid, _ in held] == [(n, "Running") for n in (1, 2, 3)]
    for pid, request in held:
        assert b"200 OK" in request.finish(REQUEST)
        wait_until(lambda pid=pid: pid not in rows(server), "its end")
    assert figures(server)["requests"] == 3


def test_counters_never_decrease_over_reloads_under_load(watched):  # noqa: F811
    server = watched({"pm.max_children": 3, "pm.status_path": "/status"})
    is_over = threading.Event()
    failed = []

    def ask_all_the_time() -> None:
        while not is_over.is_set():
            if b"A Fossil repository" not in fastcgi.get(server.socket):
                failed.append(1)
    crowd = [threading.Thread(target=ask_all_the_time) for _ in range(2)]
    for each in crowd:
        each.start()
    looks = []
    try:
        for _ in range(3):
            generation = document(server.control)["generation"]
            server.main.send(signal.SIGUSR2)

            def is_done(generation=generation) -> bool:
                looks.append(figures(server))
                return looks[-1]["generation"] > generation and looks[-1]["children of earlier generations"] == 0
            wait_until(is_done, "the reload")
    finally:
        is_over.set()
        for each in crowd:
            each.join()
    assert not failed and looks[-1]["requests"] > looks[0]["requests"]
    assert {look["generation"] for look in looks} >= {2, 3, 4}
    assert len({look["start time"] for look in looks}) == 1
    for name in TOTALS:
        values = [look[name] for look in looks]
        assert values == sorted(values), name


@pytest.mark.parametrize("children", [1, 5])
def test_reload_with_another_max_children(watched, children):  # noqa: F811
    server = watched({"pm.max_children": 3})
    old, held = hold(server)
    change(server, pm__max_children=children)
    reload(server, previous=1)
    wait_until(lambda: figures(server)["total processes"] == children + 1, "all of both generations")
    page = figures(server)
    assert page["max children"] == page["children"] == children
    assert {each["pid"]: each["generation"] for each in page["processes"]} == {
        pid: 1 if pid == old else 2 for pid in server.children()}
    assert b"200 OK" in held.finish(REQUEST)
    wait_until(lambda: len(rows(server)) == children, "the end of the old worker")
    assert len(server.children()) == children


def test_a_pool_that_outgrows_its_scoreboard_keeps_its_counters(watched):  # noqa: F811
    server = watched({"pm.max_children": 1})
    for _ in range(5):
        assert b"A Fossil repository" in fastcgi.get(server.socket)
    wait_until(lambda: figures(server)["requests"] == 5, "five requests")
    old, held = hold(server)
    change(server, pm="ondemand", pm__max_children=500)
    reload(server, previous=1)
    page = figures(server)
    assert (page["max children"], page["children of earlier generations"], page["processes"]) == (500, 1, [])
    assert (page["requests"], page["accepted conn"]) == (5, 6)
    assert b"A Fossil repository" in fastcgi.get(server.socket)
    reload(server, previous=1)
    assert figures(server)["accepted conn"] == 7 and old not in rows(server)
    assert b"200 OK" in held.finish(REQUEST)
    wait_until(lambda: document(server.control)["previous generation"] == [], "the end of the old worker")
    assert figures(server)["accepted conn"] == 7


def test_both_generations_share_a_scoreboard_and_see_no_other(watched):  # noqa: F811
    other = {"listen": "127.0.0.1:0", "repositories": "/tmp", "pm": "static", "pm.max_children": 1, **daemon.user()}
    server = watched(more=daemon.section("other", other))
    old, held = hold(server)
    board = boards_of(old)
    assert len(board) == 1
    reload(server, previous=1)
    wait_until(lambda: len(server.children()) == 2 and server.children("pool other"), "the new workers")
    for pid in server.children():
        assert boards_of(pid) == board
        links = [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()]
        assert len([link for link in links if "quarry-scoreboard" in link]) == 1
    assert boards_of(server.children("pool other")[0]).isdisjoint(board)
    held.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_pool_with_another_user_gets_another_scoreboard(open_folder, watched, fresh):  # noqa: F811
    server = watched(repository=shutil.copy(fresh, open_folder / "fresh.fossil"))
    old, held = hold(server)
    change(server, user="nobody")
    reload(server, previous=1)
    wait_until(lambda: len(server.children()) == 2, "the new worker")
    new, = set(server.children()) - {old}
    assert len(boards_of(new)) == 1 and boards_of(new) != boards_of(old)
    page = figures(server)
    assert page["accepted conn"] == 1 and page["children of earlier generations"] == 1
    assert [each["pid"] for each in page["processes"]] == [new]
    held.close()


def test_reloads_leak_no_descriptors(watched):  # noqa: F811
    server = watched({"pm.max_children": 2, "catch_workers_output": "yes"})

    def descriptors() -> list[str]:
        folder = Path(f"/proc/{server.main.pid}/fd")
        return sorted(re.sub(r"\d+", "", os.readlink(each)) for each in folder.iterdir())
    reload(server, previous=0)
    before = descriptors()
    for children in (2, 1, 500, 2):
        change(server, pm__max_children=children, pm="ondemand" if children == 500 else "static")
        reload(server, previous=0)
    wait_until(lambda: len(descriptors()) <= len(before), f"no more than {before}")


def test_output_of_an_old_worker_is_logged(watched):  # noqa: F811
    server = watched({"catch_workers_output": "yes"})
    old, held = hold(server)
    say(old, 1, b"begun before ")
    say(old, 2, "hälf".encode()[:2])
    reload(server, previous=1)
    say(old, 1, b"and ended after\n")
    server.wait_for_log(f"warning: [pool www] child {old} said into stdout: \"begun before and ended after\"\n")
    change(server, catch_workers_output="no")
    reload(server, previous=1)
    say(old, 2, "hälf".encode()[2:] + b"\nlast")
    server.wait_for_log(f"warning: [pool www] child {old} said into stderr: \"hälf\"\n")
    os.kill(old, signal.SIGKILL)
    server.wait_for_log(f"[pool www] child {old} said into stderr: \"last\", pipe is closed\n")
    held.close()


def test_an_old_worker_may_print_more_than_a_pipe_holds(watched):  # noqa: F811
    server = watched({"catch_workers_output": "yes", "decorate_workers_output": "no"})
    old, held = hold(server)
    reload(server, previous=1)
    for _ in range(5):
        say(old, 1, (b"x" * 700 + b"\n") * 100)
    assert b"200 OK" in held.finish(REQUEST)
    wait_until(lambda: not process.exists(old), "its end")


def test_a_program_that_disappears_before_it_is_executed_prevents_a_reload(watched, tmp_path, monkeypatch):  # noqa: F811
    """The program is removed after the check. The old program keeps running without changes."""
    real, program = places.program("quarryd"), tmp_path / "quarryd"
    shutil.copy(real, program)
    monkeypatch.setattr(places, "program", lambda name: program if name == "quarryd" else real.parent / name)
    server = watched({"catch_workers_output": "yes", "pm.max_children": 2})
    old, held = hold(server)
    program.unlink()
    places.executable(program, '#!/bin/sh\nrm "$0"\n')
    server.main.send(signal.SIGUSR2)
    server.wait_for_log("not reloaded: cannot execute")
    flags = [re.search(r"^flags:\s+(\d+)", each.read_text(), re.M)[1]
             for each in Path(f"/proc/{server.main.pid}/fdinfo").iterdir() if int(each.name) > 2]
    assert flags and all(int(each, 8) & os.O_CLOEXEC for each in flags), "a child would inherit it"
    say(old, 1, b"still here\n")
    server.wait_for_log(f"child {old} said into stdout: \"still here\"\n")
    shutil.copy(real, tmp_path / "again")
    os.replace(tmp_path / "again", program)
    reload(server, previous=1)
    assert rows(server)[old]["generation"] == 1
    assert b"200 OK" in held.finish(REQUEST)
