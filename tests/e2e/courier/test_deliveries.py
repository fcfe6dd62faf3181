"""The last deliveries of a destination, and redelivery."""

import json
from pathlib import Path

from support.courier import QUICK, Courier, Webhook, event, running
from support.program import fails, succeeds


def deliveries(courier: Courier, name: str = "chat") -> list[dict]:
    return json.loads(succeeds("courier", "deliveries", "--json", "--config", courier.config, name))


def redeliver(courier: Courier, number: int) -> str:
    return succeeds("courier", "redeliver", "--config", courier.config, "chat", number)


def test_deliveries_show_the_response(tmp_path: Path):
    answers = {1: 500, 2: 200, 3: 422, 4: 200}
    with Webhook(lambda number, body: answers[number]) as server:
        chat = {"type": "webhook", "url": server.url, **QUICK}
        with running(tmp_path / "c", {"chat": chat, "log": {"type": "file", "path": tmp_path / "log"}}) as courier:
            assert deliveries(courier) == []
            courier.hand_over([event(i) for i in range(3)])
            courier.wait_until_delivered("chat")
            last, refused, first = deliveries(courier)
            assert (first["id"], first["status"], first["attempts"], first["response"]) == (1, 200, 2, "thanks")
            assert first["type"] == "push" and first["error"] == "" and first["milliseconds"] >= 0 and first["time"] > "2026"
            assert (refused["id"], refused["status"], refused["attempts"]) == (2, 422, 1)
            assert "HTTP status 422" in refused["error"] and "\x1b" not in json.dumps(refused)
            assert last["id"] == 3
            table = succeeds("courier", "deliveries", "--config", courier.config, "chat").splitlines()
            assert len(table) == 4 and table[0].split()[:2] == ["ID", "EVENT"] and "thanks" in table[1]
            # Files get too many events.
            courier.wait_until_delivered("log")
            assert deliveries(courier, "log") == []
            assert "does not contain [destination other]" in fails("courier", "deliveries", "--config", courier.config, "other")


def test_only_the_last_deliveries_are_kept(tmp_path: Path):
    with Webhook() as server, running(tmp_path / "c", {"chat": {"type": "webhook", "url": server.url, **QUICK}}) as courier:
        courier.hand_over([event(i) for i in range(15)])
        courier.wait_until_delivered("chat")
        courier.stop()
        courier.start()
        courier.hand_over([event(i) for i in range(15, 30)])
        courier.wait_until_delivered("chat")
        assert [each["id"] for each in deliveries(courier)] == list(range(30, 10, -1))
        assert len(list((tmp_path / "c" / "spool" / "deliveries" / "chat").iterdir())) == 20


def test_an_event_is_delivered_again_while_the_courier_runs(tmp_path: Path):
    refuses = True
    with Webhook(lambda number, body: 422 if refuses else 200) as server:
        with running(tmp_path / "c", {"chat": {"type": "webhook", "url": server.url, **QUICK}}) as courier:
            sent = [event(i) for i in range(3)]
            courier.hand_over(sent)
            courier.wait_until_delivered("chat")
            assert "HTTP status 422" in fails("courier", "redeliver", "--config", courier.config, "chat", 2)
            refuses = False
            assert redeliver(courier, 2) == "delivered event 2 to chat again\n"
            assert server.taken == [sent[1]]
            redeliver(courier, 2)
            assert server.taken == [sent[1]] * 2, "also after it was delivered"
            assert {headers["X-Quarry-Delivery"] for _, headers, _ in server.requests[3:]} == {"2"}
            assert deliveries(courier)[0]["id"] == 2 and len(deliveries(courier)) == 3
            dead = courier.status()["chat"]["dead"]
            missing = fails("courier", "redeliver", "--config", courier.config, "chat", 99)
            assert missing == "quarry: the last deliveries of chat do not contain event 99\n"
            assert courier.status()["chat"]["dead"] == dead


def test_the_deliveries_of_a_removed_destination_are_removed(tmp_path: Path):
    with Webhook() as server, running(tmp_path / "c", {"chat": {"type": "webhook", "url": server.url, **QUICK}}) as courier:
        courier.hand_over([event(0)])
        courier.wait_until_delivered("chat")
        kept = tmp_path / "c" / "spool" / "deliveries" / "chat"
        courier.stop()
        assert len(list(kept.iterdir())) == 1
        courier.configure({})
        courier.start()
        assert not kept.exists()


def test_an_event_that_is_too_long_is_not_kept(tmp_path: Path):
    with Webhook() as server, running(tmp_path / "c", {"chat": {"type": "webhook", "url": server.url, **QUICK}}) as courier:
        courier.hand_over([event(0, part={"branches": ["x" * 1000] * 1000, "kinds": ["y" * 1000] * 1000})], batch=1)
        courier.wait_until_delivered("chat")
        assert len(server.taken) == 1 and deliveries(courier)[0]["status"] == 200
        assert "event 1 is too long to be kept" in fails("courier", "redeliver", "--config", courier.config, "chat", 1)
