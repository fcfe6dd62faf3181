"""Webhooks receive every event in order even if the receiver fails."""

from pathlib import Path

import pytest

from support.courier import QUICK, Webhook, event, is_signed, running
from support.process import wait_until
from support.program import succeeds


def webhook(server: Webhook, **words: object) -> dict[str, object]:
    return {"type": "webhook", "url": server.url} | QUICK | words


def ids(count: int) -> list[str]:
    return [event(i)["id"] for i in range(count)]


def test_events_arrive_once_in_order_and_over_one_connection(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("a key\n")
    with Webhook() as server, running(tmp_path / "c", {"chat": webhook(server, secret_file=secret, **{
            "header[]": ["Authorization: Bearer x", "X-Other: y; z"]})}) as courier:
        events = [event(i) for i in range(300)]
        courier.hand_over(events)
        courier.wait_until_delivered("chat")
        assert server.taken == events
        assert server.connections == 1
        for number, (_, headers, body) in enumerate(server.requests):
            assert is_signed(headers, body, "a key") and not is_signed(headers, body, "another")
            assert headers["Content-Type"] == "application/json" and headers["User-Agent"].startswith("Quarry/")
            assert headers["X-Quarry-Event"] == "push" and headers["X-Quarry-Delivery"] == str(number + 1)
            assert headers["Authorization"] == "Bearer x" and headers["X-Other"] == "y; z"
        assert "a key" not in courier.log()


@pytest.mark.parametrize("trouble", [500, 503, 401, 404, 302, "reset"])
def test_a_server_that_fails_sometimes_gets_all_events_in_order(tmp_path: Path, trouble: object):
    with Webhook(lambda number, body: trouble if number % 3 == 1 else 200) as server:
        with running(tmp_path / "c", {"chat": webhook(server)}) as courier:
            courier.hand_over([event(i) for i in range(12)])
            courier.wait_until_delivered("chat")
            assert server.ids() == ids(12)
            assert courier.status()["chat"]["dead"] == 0


def test_a_server_that_was_down_gets_all_events(tmp_path: Path):
    server = Webhook()
    with running(tmp_path / "c", {"chat": webhook(server)}) as courier:
        courier.hand_over([event(i) for i in range(50)])
        wait_until(lambda: courier.status()["chat"]["tries"] >= 3, "retries")
        with server:
            courier.wait_until_delivered("chat")
            assert server.ids() == ids(50)
            assert "X-Quarry-Signature" not in server.requests[0][1], "there is no secret"
        assert courier.log().count("will be retried") == 1 and "delivery works again after" in courier.log()


def test_retry_after_is_respected(tmp_path: Path):
    with Webhook(lambda number, body: (429, {"Retry-After": "1"}) if number == 1 else 200) as server:
        with running(tmp_path / "c", {"chat": webhook(server)}) as courier:
            courier.hand_over([event(0)])
            courier.wait_until_delivered("chat")
            first, second = (when for when, _, _ in server.requests)
            assert second - first > 0.95


def test_a_slow_server_times_out(tmp_path: Path):
    with Webhook(lambda number, body: "hang" if number == 1 else 200) as server:
        with running(tmp_path / "c", {"chat": webhook(server, timeout="300ms")}) as courier:
            courier.hand_over([event(0)])
            courier.wait_until_delivered("chat")
            assert len(server.requests) == 2


def test_a_rejected_request_is_a_dead_letter_that_can_be_replayed(tmp_path: Path):
    refuses = True
    with Webhook(lambda number, body: 422 if refuses and body["push"]["artifacts"] == 1 else 200) as server:
        with running(tmp_path / "c", {"chat": webhook(server)}) as courier:
            courier.hand_over([event(i) for i in range(3)])
            courier.wait_until_delivered("chat")
            assert server.ids() == [event(0)["id"], event(2)["id"]]
            assert courier.status()["chat"]["dead"] == 1
            assert "gave up on event 2: http://127.0.0.1" in courier.log() and "\x1b" not in courier.log()
            assert "/hook" not in courier.log(), "a URL's path may be a secret"
            courier.stop()
            refuses = False
            succeeds("spool", "replay", courier.folder / "spool", "--filename", "events", "--dead", "chat")
            courier.start()
            courier.wait_until_delivered("chat")
            assert server.ids()[2:] == [event(1)["id"]]


def test_a_replay_does_not_wait_for_a_destination_that_fails(tmp_path: Path):
    with Webhook(lambda number, body: 422 if number == 1 else 500) as server:
        with running(tmp_path / "c", {"chat": webhook(server) | {"retry.delay": "1h", "retry.max_delay": "1h"}}) as courier:
            courier.hand_over([event(0), event(1)])
            wait_until(lambda: courier.status()["chat"]["postponed"] == 1, "the failure")
            shown = succeeds("courier", "replay", "chat", "--config", courier.config, "--timeout", 1000)
            assert "dead letters of chat: 1; they will be returned after its waiting events" in shown and "HTTP status 500" in shown


def test_max_attempts(tmp_path: Path):
    with Webhook(lambda number, body: 500 if body["push"]["artifacts"] == 0 else 200) as server:
        with running(tmp_path / "c", {"chat": webhook(server, max_attempts=3)}) as courier:
            courier.hand_over([event(0), event(1)])
            courier.wait_until_delivered("chat")
            assert len(server.requests) == 4 and server.ids() == [event(1)["id"]]
            assert courier.status()["chat"]["dead"] == 1 and "after 3 attempts" in courier.log()


@pytest.mark.slow
def test_a_destination_that_is_down_delays_no_other(tmp_path: Path):
    with Webhook() as away, Webhook(lambda number, body: "hang") as slow, Webhook() as there:
        away.__exit__()
        destinations = {"away": webhook(away), "slow": webhook(slow, timeout="10m"), "there": webhook(there)}
        with running(tmp_path / "c", destinations) as courier:
            courier.hand_over([event(i) for i in range(200)])
            wait_until(lambda: len(there.taken) == 200, "all events")
            assert courier.status()["away"]["waiting"] == 200
            assert courier.status()["slow"]["waiting"] == 200
            courier.stop()
        away.__enter__()


def test_without_order_a_failed_event_delays_no_other(tmp_path: Path):
    fails = True
    with Webhook(lambda number, body: 500 if fails and body["push"]["artifacts"] == 0 else 200) as server:
        with running(tmp_path / "c", {"chat": webhook(server, in_order="no")}) as courier:
            courier.hand_over([event(i) for i in range(20)])
            wait_until(lambda: server.ids() == ids(20)[1:], "all others")
            fails = False
            courier.wait_until_delivered("chat")
            assert server.ids() == ids(20)[1:] + ids(1)


def elsewhere(server: Webhook, path: str, *locations: str) -> object:
    """Redirects requests for PATH to each of LOCATIONS in turn, and accepts requests for other paths."""
    return lambda number, body: (307, {"Location": locations[server.paths.count(path) % len(locations)]}) \
        if server.paths[-1] == path else 200


def test_redirects_are_followed_only_if_allowed(tmp_path: Path):
    with Webhook() as server:
        server.answer = elsewhere(server, "/hook", "/there?a=b", f"http://LOCALHOST:{server.port}/there?a=b")
        local = f"http://ann:pen@localhost:{server.port}/hook"
        with running(tmp_path / "c", {"yes": webhook(server, url=local, allow_redirects="yes")}) as courier:
            courier.hand_over([event(i) for i in range(2)])
            courier.wait_until_delivered("yes")
            assert server.ids() == ids(2) and server.paths == ["/hook", "/there?a=b"] * 2
            # The redirected requests also have the login, because they go to the same server.
            assert all(headers["Authorization"].startswith("Basic ") for _, headers, _ in server.requests)
        with running(tmp_path / "d", {"no": webhook(server)}) as courier:
            courier.hand_over([event(2)])
            wait_until(lambda: "HTTP status 307" in courier.log(), "a failure")
            assert server.ids() == ids(2)


@pytest.mark.parametrize("kind", ["port", "host", "scheme", "login", "nonsense", "circle"])
def test_redirects_to_another_origin_are_not_followed(tmp_path: Path, kind: str):
    secret = tmp_path / "secret"
    secret.write_text("a key\n")
    with Webhook() as target, Webhook() as server:
        there = {"port": target.url, "host": f"http://localhost:{server.port}/there", "scheme": f"https://127.0.0.1:{server.port}/x",
                 "login": f"http://127.0.0.1:{server.port}@localhost:{target.port}/private", "nonsense": "mailto:ann@example.org",
                 "circle": "/hook"}[kind]
        server.answer = elsewhere(server, "/hook", there)
        words = {"allow_redirects": "yes", "secret_file": secret, "header[]": ["Authorization: Bearer x", "X-Token: y"]}
        with running(tmp_path / "c", {"chat": webhook(server, **words)}) as courier:
            courier.hand_over([event(0)])
            said = "HTTP status 307" if kind == "circle" else "which has another origin"
            wait_until(lambda: said in courier.log(), "a failure")
            assert not target.requests and set(server.paths) == {"/hook"}
            assert kind != "circle" or len(server.paths) >= 4
            assert courier.status()["chat"]["waiting"] == 1 and "private" not in courier.log()
            # After the operator has set the URL to the new location, the event is delivered.
            courier.stop()
            courier.configure({"chat": webhook(target, **words)})
            courier.start()
            courier.wait_until_delivered("chat")
            assert target.ids() == ids(1)


def test_proxy_variables_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with Webhook() as server, running(tmp_path / "c", {"chat": webhook(server)}) as courier:
        courier.hand_over([event(0)])
        courier.wait_until_delivered("chat")
        assert server.ids() == ids(1)


def test_a_password_with_a_slash_is_not_shown(tmp_path: Path):
    """The slash in the password is not encoded, so libcurl rejects the URL."""
    url = "http://ann:p/w@127.0.0.1:9/x"
    with running(tmp_path / "c", {"hook": {"type": "webhook", "url": url, **QUICK}}) as courier:
        courier.hand_over([event(1)])
        wait_until(lambda: courier.status()["hook"]["last_error"], "an error")
        assert courier.status()["hook"]["last_error"].startswith("http://127.0.0.1:9: ")


def test_events_wait_for_a_missing_secret(tmp_path: Path):
    with Webhook() as server:
        with running(tmp_path / "c", {"chat": webhook(server, secret_file=tmp_path / "none"), "other": webhook(server)}) \
                as courier:
            courier.hand_over([event(0)])
            courier.wait_until_delivered("other")
            assert courier.status()["chat"]["waiting"] == 1
            assert f"cannot open {tmp_path}/none" in courier.log()


@pytest.mark.parametrize("after", [1, 37, 150])
def test_a_killed_courier_loses_nothing(tmp_path: Path, after: int):
    with Webhook() as server:
        with running(tmp_path / "c", {"chat": webhook(server)}) as courier:
            for round_ in range(3):
                courier.hand_over([event(i) for i in range(round_ * 100, round_ * 100 + 100)], batch=7)
                wait_until(lambda: len(server.taken) >= min(after, round_ * 100 + 90), "some deliveries")
                courier.kill()
                courier.start()
            courier.wait_until_delivered("chat")
        got = server.ids()
        assert list(dict.fromkeys(got)) == ids(300), "each, in order of its first arrival"
        assert len(got) <= 300 + 3 * 64


def test_a_stopped_courier_repeats_nothing(tmp_path: Path):
    with Webhook() as server:
        with running(tmp_path / "c", {"chat": webhook(server)}) as courier:
            for round_ in range(3):
                courier.hand_over([event(i) for i in range(round_ * 100, round_ * 100 + 100)])
                wait_until(lambda: len(server.taken) > round_ * 100 + 20, "some deliveries")
                courier.stop()
                courier.start()
            courier.wait_until_delivered("chat")
            courier.stop()
            assert server.ids() == ids(300)
