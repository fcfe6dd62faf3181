"""REMOTE_USER is trusted if both the pool and the repository allow it."""

import pytest

from support import fastcgi, repofile, wire
from support.fastcgi import STDIN, record


def ask(server, path, body: bytes, remote_user: str) -> wire.Answer:
    parameters = {"CONTENT_TYPE": wire.PLAIN, "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": remote_user}
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(fastcgi.head("POST", path, **parameters) + record(STDIN, body) + record(STDIN))
        raw = fastcgi.read_reply(connection).partition(b"\r\n\r\n")[2]
    return wire.Answer(200, {}, raw, cards=wire.parse(raw))


@pytest.mark.parametrize("pool_trusts", [True, False])
@pytest.mark.parametrize("repository_trusts", [True, False])
def test_remote_user(start, fresh, pool_trusts, repository_trusts):
    repofile.set_config(fresh, "remote_user_ok", int(repository_trusts))
    server = start({"trust_remote_user": "yes" if pool_trusts else "no"})
    push = wire.body(f"push {wire.SERVER_CODE} {repofile.project_code(fresh)}", wire.file_card(b"by the web server's word"))
    answer = ask(server, "/", push, "writer")
    stored = wire.sha3(b"by the web server's word") in repofile.artifacts(fresh)
    assert stored == (pool_trusts and repository_trusts)
    assert bool(answer.errors()) != stored
    if stored:
        assert repofile.value(fresh, "SELECT login FROM rcvfrom JOIN user USING(uid) ORDER BY rcvid DESC") == "writer"
        # A login card of the same user does not need a valid signature.
        unsigned = wire.signed(wire.body("pragma x"), "writer", "whatever")
        assert not ask(server, "/", unsigned, "writer").errors()
        assert ask(server, "/", unsigned, "nobody-of-that-name").errors() == ["login failed"]
