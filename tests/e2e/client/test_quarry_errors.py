"""`quarry` commands reject files that are not repositories, and wrong arguments."""

import pytest

from support.program import quarry

COMMANDS = ["verify", "rebuild", "compact", "lease"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("content, reason", [(None, "no such file"), (b"hello", "not a database"), (b"", "not a fossil")])
def test_a_file_that_is_not_a_repository(tmp_path, command, content, reason):
    path = tmp_path / "none.fossil"
    if content is not None:
        path.write_bytes(content)
    done = quarry(command, path)
    assert done.returncode == 1
    assert reason in done.stderr.lower() and str(path) in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (path.read_bytes() if path.exists() else None) == content
