"""A wrong command line results in exit status 2 and a message of one line with the error and a suggestion."""

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
    ("quarry", ["cloen", "a", "b"], 'quarry: unknown command "cloen": did you mean clone? (quarry --help)'),
    ("quarry", ["pull", "x"], 'quarry: unknown command "pull": did you mean quarry sync REPO --pull? (quarry --help)'),
    ("quarry", ["spool", "fed", "x"], 'quarry spool: unknown command "fed": did you mean feed? (quarry spool --help)'),
    ("quarry", ["--verison"], "quarry: unknown option --verison: did you mean --version? (quarry --help)"),
    ("quarry", ["sync", "x", "--puhs"], "quarry sync: unknown option --puhs: did you mean --push? (quarry sync --help)"),
    ("quarry", ["sync", "x", "--wholly"], "quarry sync: unknown option --wholly (quarry sync --help)"),
    ("quarry", ["--all", "sync", "x"],
     'quarry sync: --all must come after the command and before "--" (quarry sync --help)'),
    ("quarry", ["verify", "x", "--", "--quiet"],
     'quarry verify: --quiet must come after the command and before "--" (quarry verify --help)'),
    ("quarry", ["verify", "a", "b"], 'quarry verify: unexpected argument "b" (quarry verify --help)'),
    ("quarry", ["init", ""], "quarry init: FILE: must not be empty (quarry init --help)"),
    ("quarry", ["init", "x", "--user", ""], "quarry init: --user: must not be empty (quarry init --help)"),
    ("quarry", ["user", "list", ""], "quarry user list: REPO: must not be empty (quarry user list --help)"),
    ("quarry", ["user", "add", "x", ""], "quarry user add: LOGIN: must not be empty (quarry user add --help)"),
    ("quarry", ["verify"], "quarry verify: FILE is required (quarry verify --help)"),
    ("quarryd", ["--server"], "quarryd: unknown option --server: did you mean --serve? (quarryd --help)"),
    ("quarryd", ["--server=/x"], "quarryd: unknown option --server: did you mean --serve? (quarryd --help)"),
    ("quarryd", ["--conf", "x"], "quarryd: unknown option --conf: did you mean --config? (quarryd --help)"),
    ("quarryd", ["start"], 'quarryd: unexpected argument "start" (quarryd --help)'),
])
def test_wrong_command_lines(program, arguments, line):
    assert complaint(program, *arguments) == line


@pytest.mark.parametrize("arguments, beginning", [
    (["foo"], 'quarry: unknown command "foo": the commands are init, clone, sync, '),
    ([], "quarry: a command is required: init, clone, sync, "),
])
def test_without_a_valid_command_all_are_listed(arguments, beginning):
    assert complaint("quarry", *arguments).startswith(beginning)


def test_push_only_and_pull_only_exclude_each_other(tmp_path):
    line = complaint("quarry", "sync", "--push", "--pull", str(tmp_path / "absent.fossil"))
    assert line == "quarry sync: --push and --pull are mutually exclusive; without either, sync sends and receives"


def test_arguments_are_shown_without_passwords_and_on_one_line():
    line = complaint("quarry", "verify", "a", "http://ann:secret@h/x")
    assert line == 'quarry verify: unexpected argument "http://h/x" (quarry verify --help)'
    assert '"\\x1b[2J\\x0ax"' in complaint("quarry", "\x1b[2J\nx")
