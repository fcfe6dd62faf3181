"""`quarry` commands reject files that are not repositories, and wrong arguments."""

import pytest

from support.program import fails

COMMANDS = ["verify", "rebuild", "compact", "lease"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("content, reason", [(None, "no such file"), (b"hello", "not a database"), (b"", "not a fossil")])
def test_a_file_that_is_not_a_repository(tmp_path, command, content, reason):
    path = tmp_path / "none.fossil"
    if content is not None:
        path.write_bytes(content)
    error = fails(command, path)
    assert reason in error.lower() and str(path) in error and error.count("\n") == 1, error
    assert (path.read_bytes() if path.exists() else None) == content
