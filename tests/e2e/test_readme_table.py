"""Checks that the tests in the table of PHP-FPM's tests (tests/e2e/README.md) and the files in the source map
(src/README.md) exist."""

import re
from pathlib import Path

from support.places import TOP

HERE = Path(__file__).parent


def rows() -> list[tuple[list[str], str, str]]:
    """Returns the rows of the table: names of PHP-FPM's tests, the behavior, and our tests."""
    _, _, text = (HERE / "README.md").read_text().partition("| PHP-FPM's test |")
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")]
    assert all(len(row) == 3 for row in cells)
    return [(re.findall(r"`([^`]+)`", names), about, here) for names, about, here in cells]


def test_every_name_is_listed_once():
    names = [name for row, _, _ in rows() for name in row]
    assert len(names) >= 177 and len(names) == len(set(names))


def test_every_behaviour_has_a_test_or_a_reason():
    for names, about, here in rows():
        assert about and ("::" in here or re.match(r"does not apply\b.*: \w", here)), names


def test_tests_that_are_named_exist():
    for names, _, here in rows():
        for file, test in re.findall(r"`((?:test_|unit/)[\w/]+\.\w+)::([^`]+)`", here):
            path = TOP / "tests" / file if file.startswith("unit/") else next(HERE.rglob(file))
            source = path.read_text()
            if file.endswith(".py"):
                assert re.search(rf"^def {test}\(", source, re.MULTILINE), f"{names}: {file}::{test}"
            else:
                sentences = re.findall(r'TEST_CASE\(\s*"([^"]*)', source)
                assert any(test in sentence for sentence in sentences), f"{names}: {file}::{test}"
        assert here.count("::") == len(re.findall(r"`[^`]+::[^`]+`", here)), f"{names}: {here}"


def test_files_that_the_source_map_names_exist():
    folders = (TOP / "src", TOP / "include" / "quarry", TOP)
    names = re.findall(r"`([\w/.-]+/[\w.-]*)`", (TOP / "src" / "README.md").read_text())
    assert len(names) > 80
    assert not [name for name in names if not any((folder / name).exists() for folder in folders)]
