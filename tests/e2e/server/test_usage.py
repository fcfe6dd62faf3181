"""Command lines that are wrong: one line that says what, and what may have been meant; exit code 2."""

import subprocess

import pytest

from support.program import run


def complaint(program: str, *arguments: str) -> str:
    done = run(program, *arguments, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and not done.stdout
    *warnings, line = done.stderr.splitlines()
    assert all("warning: a password" in each for each in warnings)
    return line


@pytest.mark.parametrize("program, arguments, line", [
    ("quarry", ["cloen", "a", "b"], 'quarry: there is no command "cloen": did you mean clone? (quarry --help)'),
    ("quarry", ["pull", "x"], 'quarry: there is no command "pull": did you mean quarry sync REPO --pull? (quarry --help)'),
    ("quarry", ["spool", "fed", "x"], 'quarry spool: there is no command "fed": did you mean feed? (quarry spool --help)'),
    ("quarry", ["--verison"], "quarry: there is no option --verison: did you mean --version? (quarry --help)"),
    ("quarry", ["sync", "x", "--puhs"], "quarry sync: there is no option --puhs: did you mean --push? (quarry sync --help)"),
    ("quarry", ["sync", "x", "--wholly"], "quarry sync: there is no option --wholly (quarry sync --help)"),
    ("quarry", ["--all", "sync", "x"],
     "quarry sync: --all belongs behind the command, and before any -- (quarry sync --help)"),
    ("quarry", ["verify", "x", "--", "--quiet"],
     "quarry verify: --quiet belongs behind the command, and before any -- (quarry verify --help)"),
    ("quarry", ["verify", "a", "b"], 'quarry verify: one word too many: "b" (quarry verify --help)'),
    ("quarry", ["verify"], "quarry verify: FILE is required (quarry verify --help)"),
    ("quarryd", ["--server"], "quarryd: there is no option --server: did you mean --serve? (quarryd --help)"),
    ("quarryd", ["--server=/x"], "quarryd: there is no option --server: did you mean --serve? (quarryd --help)"),
    ("quarryd", ["--conf", "x"], "quarryd: there is no option --conf: did you mean --config? (quarryd --help)"),
    ("quarryd", ["start"], 'quarryd: one word too many: "start" (quarryd --help)'),
])
def test_what_is_not_understood_is_named(program, arguments, line):
    assert complaint(program, *arguments) == line


@pytest.mark.parametrize("arguments, beginning", [
    (["foo"], 'quarry: there is no command "foo": the commands are init, clone, sync, '),
    ([], "quarry: a command is wanted: init, clone, sync, "),
])
def test_without_a_command_that_exists_all_are_told(arguments, beginning):
    assert complaint("quarry", *arguments).startswith(beginning)


def test_push_only_and_pull_only_exclude_each_other(tmp_path):
    line = complaint("quarry", "sync", "--push", "--pull", str(tmp_path / "absent.fossil"))
    assert line == "quarry sync: --push and --pull exclude each other; without either, sync sends and receives"


def test_what_is_not_understood_is_shown_without_a_password_and_on_one_line():
    line = complaint("quarry", "verify", "a", "http://ann:secret@h/x")
    assert line == 'quarry verify: one word too many: "http://h/x" (quarry verify --help)'
    assert '"\\x1b[2J\\x0ax"' in complaint("quarry", "\x1b[2J\nx")
