import pytest

from support import repofile


@pytest.fixture
def clones(launch, fresh, fossil, tmp_path):
    """Returns the server, and two clones of a user with the right to write unversioned files."""
    repofile.add_user(fresh, "keeper", "word", "gioy")
    server = launch(fresh)
    one, other = tmp_path / "one.fossil", tmp_path / "other.fossil"
    for path in (one, other):
        fossil.clone(server.url_for("keeper", "word"), path)
    return server, one, other


def listed(fossil, path):
    return sorted(line.split()[-1] for line in fossil("uv", "ls", "-R", path).splitlines())


def add(fossil, tmp_path, repository, name, content):
    path = tmp_path / "content"
    path.write_bytes(content)
    fossil("uv", "add", path, "--as", name, "-R", repository)


def live(path):
    return dict(repofile.query(path, "SELECT name, hash FROM unversioned WHERE hash IS NOT NULL"))


def later(path):
    """Sets a later time for the unversioned files in PATH. In a sync, these files replace older files."""
    repofile.execute(path, "UPDATE unversioned SET mtime=mtime+1000")
    repofile.execute(path, "DELETE FROM config WHERE name='uv-hash'")


def test_files_are_synced_both_ways_and_deleted_everywhere(clones, fresh, fossil, tmp_path):
    _, one, other = clones
    add(fossil, tmp_path, one, "text.txt", b"some text\n" * 1000)
    add(fossil, tmp_path, one, "folder/random.bin", bytes(range(256)) * 8)
    add(fossil, tmp_path, one, "small", b"s")
    fossil("uv", "sync", "-R", one)
    assert live(fresh) == live(one)
    add(fossil, tmp_path, other, "theirs", b"theirs")
    fossil("uv", "sync", "-R", other)
    fossil("uv", "sync", "-R", one)
    assert live(one) == live(other) == live(fresh)
    assert listed(fossil, one) == ["folder/random.bin", "small", "text.txt", "theirs"]
    assert fossil("uv", "cat", "text.txt", "-R", other) == "some text\n" * 1000
    assert fossil("uv", "cat", "text.txt", "-R", fresh) == "some text\n" * 1000

    fossil("uv", "rm", "text.txt", "-R", other)
    later(other)
    fossil("uv", "sync", "-R", other)
    fossil("uv", "sync", "-R", one)
    assert listed(fossil, one) == ["folder/random.bin", "small", "theirs"]
    assert live(one) == live(other) == live(fresh)
    assert repofile.value(fresh, "SELECT count(*) FROM unversioned WHERE hash IS NULL") == 1
    assert fossil("uv", "sync", "-v", "-R", one).count("uvigot") == 0, "no differences: no catalogue"


def test_new_content_replaces_old_and_revert_restores_the_servers_content(clones, fresh, fossil, tmp_path):
    _, one, other = clones
    add(fossil, tmp_path, one, "a", b"first")
    fossil("uv", "sync", "-R", one)
    fossil("uv", "sync", "-R", other)
    add(fossil, tmp_path, other, "a", b"second")
    later(other)
    fossil("uv", "sync", "-R", other)
    assert fossil("uv", "cat", "a", "-R", fresh) == "second"
    add(fossil, tmp_path, one, "a", b"mine")
    fossil("uv", "revert", "-R", one)
    assert fossil("uv", "cat", "a", "-R", one) == "second"
    assert live(one) == live(fresh)
