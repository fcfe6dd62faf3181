"""Limits for one client: password guesses, concurrent sessions, artifacts in a request."""

import pytest

import proof
from support import fastcgi, repofile, wire
from support.process import wait_until

HOME, ELSEWHERE = "192.0.2.1", "192.0.2.2"
TOO_MANY = "too many failed logins: try again in "


class RemoteClient:
    """A client that sends its requests to the pool as a web server would. ADDRESS is the client address in these
    requests."""

    def __init__(self, server, repository, address: str = HOME, login: str = "writer", password: str = "pen"):
        self.server = server
        self.address = address
        self.login = login
        self.code = repofile.project_code(repository)
        self.secret = wire.shared_secret(self.code, login, password)

    def send(self, *cards: bytes | str):
        body = wire.signed(wire.body(*cards), self.login, self.secret)
        connection = fastcgi.connect(self.server.socket)
        connection.sendall(fastcgi.head("POST", "/", CONTENT_TYPE=wire.PLAIN, CONTENT_LENGTH=str(len(body)),
                                        REMOTE_ADDR=self.address)
                           + fastcgi.record(fastcgi.STDIN, body) + fastcgi.record(fastcgi.STDIN))
        return connection

    def ask(self, *cards: bytes | str) -> list[wire.Card]:
        with self.send(*cards) as connection:
            return wire.parse(fastcgi.read_page(connection).body)

    def page(self) -> bytes:
        return fastcgi.ask(self.server.socket, "/status", "full&json").body

    def error(self) -> str:
        """Pulls. Returns the error, or an empty string."""
        errors = [card.text() for card in self.ask(f"pull {wire.SERVER_CODE} {self.code}") if card.operator == "error"]
        return errors[0] if errors else ""


@pytest.fixture
def served(start, fresh):
    """Returns a function that starts a pool of four workers with LIMITS. This function returns another function, which
    creates clients of the pool."""
    repofile.add_user(fresh, "writer", "pen", "gio")
    repofile.add_user(fresh, "other", "ink", "gio")

    def make(**limits: object):
        server = start({"pm.max_children": 4, "pm.status_path": "/status", **{name.replace("__", "."): value for name, value in limits.items()}})
        return lambda **options: RemoteClient(server, fresh, **options)
    return make


def fail(visitor: RemoteClient, times: int) -> None:
    for _ in range(times):
        assert visitor.error() == "login failed"


def test_failed_logins_are_delayed_by_all_workers(served):
    client = served(sync__login_failures=3)
    wrong, right = client(password="wrong"), client()
    fail(wrong, 3)
    refused = wrong.error()
    assert refused.startswith(TOO_MANY)
    assert right.error().startswith(TOO_MANY), "also with the right password"
    wait_until(lambda: right.error() == "", "the end of the wait")
    fail(wrong, 3)
    assert wrong.error().startswith(TOO_MANY)


def test_logins_are_not_delayed_if_that_is_off(served):
    fail(served(sync__login_failures=0)(password="wrong"), 20)


@pytest.mark.parametrize(("limit", "home", "address"), [
    ("sync__max_concurrent", HOME, ELSEWHERE),
    ("sync__max_concurrent_per_address", HOME, HOME),
    ("sync__max_concurrent_per_address", "2001:db8::1", "2001:db8::2"),
])
def test_more_sessions_than_allowed_are_refused(served, fresh, limit, home, address):
    """While a session waits for the write lock, a second session is refused."""
    client = served(**{limit: 1, "repository__busy_timeout": "60s"})
    first = client(address=home)
    push = f"push {wire.SERVER_CODE} {first.code}"
    pull = f"pull {wire.SERVER_CODE} {first.code}"
    with repofile.database(fresh, write=True) as lock:
        lock.isolation_level = None
        lock.execute("BEGIN IMMEDIATE")
        waiting = first.send(push, wire.file_card(b"waits"))
        wait_until(lambda: b"\"push\"" in first.page(), "the first session")

        def refusal() -> list[str]:
            return [f"{card.operator} {card.text()}" for card in client(address=address).ask(pull)
                    if card.operator in ("message", "error")]
        wait_until(lambda: refusal() != [], "the refusal")
        message, error = refusal()
        assert message.startswith("message ") and message.endswith("try again in 5 seconds")
        assert error == message.replace("message", "error", 1)
        if limit.endswith("address"):
            assert client(address=ELSEWHERE).error() == ""
        lock.execute("ROLLBACK")
    with waiting:
        assert "error" not in [card.operator for card in wire.parse(fastcgi.read_page(waiting).body)]
    assert refusal() == []
    assert wire.sha3(b"waits") in repofile.artifacts(fresh)


def test_more_artifacts_than_allowed_change_nothing(served, fresh, fossil):
    client = served(sync__max_artifacts=2)()
    push = f"push {wire.SERVER_CODE} {client.code}"
    files = [wire.file_card(b"artifact %d" % number) for number in range(3)]
    with repofile.unchanged(fresh):
        card = client.ask(push, *files)[0]
        assert (card.operator, card.text()) == ("error", "more than 2 artifacts in one request")
    assert "error" not in [card.operator for card in client.ask(push, *files[:2])]
    proof.check(fresh, fossil)
