"""kill -9 at random moments under load that creates, rolls, deletes, renews and cancels: afterwards every acknowledged change
is there, and nothing is half there. FEATHERLOCK_ROUNDS=200 is the long form."""
import http.client
import json
import os
import random
import threading
import urllib.parse

import pytest
from server import Server, run

ROUNDS = int(os.environ.get("FEATHERLOCK_ROUNDS", "12"))
WORKERS = 8


class Client:
    """One keep-alive connection. None: no answer came, so the outcome is unknown."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(self, method, path, body=None, **headers):
        text = None if body is None else json.dumps(body)
        if text is not None:
            headers["Content-Type"] = "application/json"
        try:
            self.connection.request(method, "/kms/v1" + path, text, headers)
            answer = self.connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return None
        return answer.status, json.loads(content) if content else None


class Ledger:
    """What was acknowledged. A change whose answer never came may or may not be there, and is in `open`."""

    def __init__(self):
        self.keys = {}       # name -> [material of each version]
        self.gone = set()    # names of deleted keys
        self.tokens = {}     # url string -> expiry as renewed last, or 0
        self.cancelled = set()
        self.open = set()    # names and tokens whose last change has an unknown outcome


class Worker(threading.Thread):
    """Changes keys and tokens of its own until the server is gone."""

    def __init__(self, port, label, ledger, seed):
        super().__init__(daemon=True)
        self.client, self.label, self.ledger, self.random = Client(port), label, ledger, random.Random(seed)
        self.count = 0

    def run(self):
        acts = [self.create, self.create, self.roll, self.delete, self.token, self.token, self.token, self.renew, self.cancel]
        while self.random.choice(acts)():
            pass

    def mine(self, of):
        own = [name for name in of if name not in self.ledger.open and (self.label in name or name in self.tokens())]
        return self.random.choice(own) if own else None

    def tokens(self):
        return getattr(self, "own_tokens", set())

    def create(self):
        self.count += 1
        name = f"{self.label}-{self.count}"
        answer = self.client.ask("POST", "/keys?user.name=alice", {"name": name})
        if answer is None:
            self.ledger.open.add(name)
            return False
        assert answer[0] == 201, answer
        self.ledger.keys[name] = [answer[1]["material"]]
        return True

    def roll(self):
        name = self.mine(self.ledger.keys)
        if name is None:
            return True
        answer = self.client.ask("POST", f"/key/{name}?user.name=alice", {})
        if answer is None:
            self.ledger.open.add(name)
            return False
        assert answer[0] == 200, answer
        self.ledger.keys[name].append(answer[1]["material"])
        return True

    def delete(self):
        name = self.mine(self.ledger.keys)
        if name is None or self.random.random() < 0.7:
            return True
        answer = self.client.ask("DELETE", f"/key/{name}?user.name=alice")
        if answer is None:
            self.ledger.open.add(name)
            return False
        assert answer[0] == 200, answer
        del self.ledger.keys[name]
        self.ledger.gone.add(name)
        return True

    def token(self):
        answer = self.client.ask("GET", "/?op=GETDELEGATIONTOKEN&renewer=alice&user.name=alice")
        if answer is None:
            return False
        assert answer[0] == 200, answer
        text = answer[1]["Token"]["urlString"]
        self.own_tokens = self.tokens() | {text}
        self.ledger.tokens[text] = 0
        return True

    def renew(self):
        text = self.mine(self.tokens() - self.ledger.cancelled)
        if text is None:
            return True
        answer = self.client.ask("PUT", f"/?op=RENEWDELEGATIONTOKEN&user.name=alice&token={urllib.parse.quote(text)}")
        if answer is None:
            return False
        assert answer[0] == 200, answer
        self.ledger.tokens[text] = answer[1]["long"]
        return True

    def cancel(self):
        text = self.mine(self.tokens() - self.ledger.cancelled)
        if text is None:
            return True
        answer = self.client.ask("PUT", f"/?op=CANCELDELEGATIONTOKEN&token={urllib.parse.quote(text)}")
        if answer is None:
            self.ledger.open.add(text)
            return False
        assert answer[0] == 200, answer
        self.ledger.tokens.pop(text)
        self.ledger.cancelled.add(text)
        return True


def check_keys(client, ledger):
    status, names = client.ask("GET", "/keys/names?user.name=alice")
    assert status == 200
    assert not ledger.gone & set(names), "a deleted key is back"
    missing = set(ledger.keys) - set(names) - ledger.open
    assert not missing, f"acknowledged keys are gone: {sorted(missing)[:5]}"
    for name in ledger.open - set(names):
        ledger.keys.pop(name, None)  # its deletion went through, or its creation didn't
    for name in names:
        versions = client.ask("GET", f"/key/{name}/_versions?user.name=alice")[1]
        meta = client.ask("GET", f"/key/{name}/_metadata?user.name=alice")[1]
        assert meta["name"] == name and meta["versions"] == len(versions) > 0, f"{name} is half there: {meta} {versions}"
        assert [v["versionName"] for v in versions] == [f"{name}@{i}" for i in range(len(versions))]
        known = ledger.keys.get(name)
        if known is not None:
            assert [v["material"] for v in versions][:len(known)] == known, f"{name} has other material"
            assert name in ledger.open or len(versions) == len(known), f"{name} has a version that nobody made"
            ledger.keys[name] = [v["material"] for v in versions]
        else:
            ledger.keys[name] = [v["material"] for v in versions]


def check_tokens(client, ledger, sample):
    for text in ledger.open & set(ledger.tokens):  # a cancellation without an answer: either is right, once
        if client.ask("GET", "/keys/names", None, **{"X-Hadoop-Delegation-Token": text})[0] == 403:
            del ledger.tokens[text]
    for text in sample & set(ledger.tokens) - ledger.open:
        answer = client.ask("GET", "/keys/names", None, **{"X-Hadoop-Delegation-Token": text})
        assert answer[0] == 200, f"an acknowledged token is refused: {answer}"
    for text in sample & ledger.cancelled:
        answer = client.ask("GET", "/keys/names", None, **{"X-Hadoop-Delegation-Token": text})
        assert answer[0] == 403, f"a cancelled token is accepted: {answer}"


def number_of(text):
    """The sequence number, through the program's own decoder."""
    return json.loads(run("token", "decode", text, "--json")[1])["sequenceNumber"]


@pytest.mark.parametrize("seed", [int(os.environ.get("FEATHERLOCK_SEED", "1"))])
def test_what_was_acknowledged_survives_kill_9(tmp_path, seed):
    chance, ledger = random.Random(seed), Ledger()
    acknowledged = 0
    for turn in range(ROUNDS):
        server = Server(tmp_path, store="lmdb").ready()
        client = Client(server.port)
        check_keys(client, ledger)
        everything = sorted(set(ledger.tokens) | ledger.cancelled)
        check_tokens(client, ledger, set(everything[-300:]) | set(chance.sample(everything, min(200, len(everything)))))
        for name in [n for n in ledger.keys if len(ledger.keys) > 60]:  # keep the listing short: delete the oldest
            if client.ask("DELETE", f"/key/{name}?user.name=alice")[0] == 200:
                ledger.keys.pop(name)
                ledger.gone.add(name)
            if len(ledger.keys) <= 30:
                break
        ledger.open.clear()
        before = len(ledger.keys) + len(ledger.gone) + len(ledger.tokens) + len(ledger.cancelled)
        workers = [Worker(server.port, f"r{turn}w{i}", ledger, seed * 100000 + turn * 100 + i) for i in range(WORKERS)]
        for worker in workers:
            worker.start()
        threading.Event().wait(chance.uniform(0.02, 0.5))  # the random moment is the point
        server.kill()
        for worker in workers:
            worker.join(30)
            assert not worker.is_alive(), "a worker still waits for a killed server"
        acknowledged += len(ledger.keys) + len(ledger.gone) + len(ledger.tokens) + len(ledger.cancelled) - before
    last = sorted(set(ledger.tokens) | ledger.cancelled)[-200:]
    assert len({number_of(text) for text in last}) == len(last), "a number was used twice"
    server = Server(tmp_path, store="lmdb").ready()
    client = Client(server.port)
    check_keys(client, ledger)
    check_tokens(client, ledger, set(ledger.tokens) | ledger.cancelled)
    server.stop()
    assert acknowledged > ROUNDS, "the load made next to nothing: the campaign showed nothing"
    print(f"{ROUNDS} kills, {acknowledged} acknowledged changes")
