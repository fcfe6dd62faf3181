"""The completions of bash, zsh and fish (conf/completions/) contain every subcommand and option in --help."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import places
from support.process import PATIENCE

FOLDER = places.TOP / "conf" / "completions"

BASH = """
. "$0/quarry.bash"
while read -ra COMP_WORDS; do
  [ "${COMP_WORDS[-1]}" != . ] || COMP_WORDS[-1]=
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _quarry "${COMP_WORDS[0]}" "${COMP_WORDS[-1]}"
  echo "${COMPREPLY[*]}"
done
"""
ZSH = """
compadd() { shift; print -r -- $argv }
_files() { print }
functions[complete_words]="source ${(q)0}/_quarry"
while read -rA words; do
  [[ $words[-1] != . ]] || words[-1]=
  CURRENT=$#words PREFIX=$words[-1]
  complete_words
done
"""
FISH = """
source $argv[1]/quarry.fish
while read line
    echo (complete -C (string replace -r '\\.$' '' -- $line) | string match -v '*/' | string join ' ')
end
"""


def command(shell: str) -> list[object]:
    return {"bash": ["bash", "--norc", "-c", BASH, FOLDER], "zsh": ["zsh", "-fc", ZSH, FOLDER],
            "fish": ["fish", "--no-config", "-c", FISH, FOLDER]}[shell]


def complete(shell: str, lines: list[str], folder: Path) -> dict[str, set[str]]:
    """Returns the words that SHELL suggests for the last word of each of LINES. In LINES, a dot stands for an empty
    word."""
    path = f"{places.program('quarry').parent}:{os.environ['PATH']}"
    done = subprocess.run(command(shell), input="".join(line + "\n" for line in lines), capture_output=True, text=True,
                          cwd=folder, env={**os.environ, "PATH": path, "HOME": str(folder)}, timeout=PATIENCE, check=True)
    assert not done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(lines), said
    return {line: set(words.split()) for line, words in zip(lines, said, strict=True)}


def help_of(words: str) -> tuple[set[str], list[str]]:
    """Returns the options and the subcommands in the help of a command."""
    name, *rest = words.split()
    text = subprocess.run([places.program(name), *rest, "--help"], capture_output=True, text=True, timeout=PATIENCE,
                          check=True).stdout
    options = {each for found in re.findall(r"^  (-\S+)", text, re.MULTILINE) for each in found.split(",")}
    return options, re.findall(r"^  ([a-z][\w-]*)", text.partition("\nSubcommands:\n")[2], re.MULTILINE)


def collect(words: str, found: dict[str, tuple[set[str], list[str]]]) -> None:
    found[words] = help_of(words)
    for subcommand in found[words][1]:
        collect(f"{words} {subcommand}", found)


@pytest.fixture(scope="module")
def commands() -> dict[str, tuple[set[str], list[str]]]:
    found: dict[str, tuple[set[str], list[str]]] = {}
    collect("quarry", found)
    collect("quarryd", found)
    assert "quarry queue list" in found and "--serve" in found["quarryd"][0]
    return found


@pytest.fixture(params=["bash", "zsh", "fish"])
def suggest(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[str]], dict[str, set[str]]]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return lambda lines: complete(request.param, lines, tmp_path)


def test_every_option_is_completed(suggest, commands):
    said = suggest([f"{words} -" for words in commands])
    assert said == {f"{words} -": options for words, (options, _) in commands.items()}


def test_every_subcommand_is_completed(suggest, commands):
    parents = {words: set(subcommands) for words, (_, subcommands) in commands.items() if subcommands}
    assert suggest([f"{words} ." for words in parents]) == {f"{words} .": subcommands for words, subcommands in parents.items()}


def test_arguments_do_not_count_as_subcommands(suggest, commands):
    for line in ("quarry clone http://ann@localhost/queue verify.fossil", "quarry verify queue"):
        options, _ = commands[" ".join(line.split()[:2])]
        assert {each for each in suggest([f"{line} --"])[f"{line} --"] if each.startswith("--")} == {
            each for each in options if each.startswith("--")}
