"""The end of tokens: two servers whose tokens live for seconds tell the same story."""
import concurrent.futures
import json
import re
import time

import pytest
from differ.wire import Line

from kit import settings
from kit.featherlock import FeatherlockKms
from kit.java_kms import JavaKms

RENEWED, LIFE = 2, 5            # seconds: what a renewal is worth, and the end of all renewing
PATIENCE = 30
# Ours keeps expired tokens for a while, since they may still be renewed; the Java server does not.
FLAGS = ("--token_renew_interval=2s", "--token_max_lifetime=5s", "--token_removal_grace=0s")
SITE = {"hadoop.kms.authentication.delegation-token.renew-interval.sec": RENEWED,
        "hadoop.kms.authentication.delegation-token.max-lifetime.sec": LIFE}


@pytest.fixture(params=(3600, 1), ids=("kept", "removed"))
def pair(request, tmp_path):
    """Both servers; one time long before expired tokens are removed, one time soon after."""
    servers = [JavaKms(tmp_path / "java", settings.OPEN_ACLS,
                       settings={**SITE, "hadoop.kms.authentication.delegation-token.removal-scan-interval.sec": request.param})]
    try:
        servers.append(FeatherlockKms(tmp_path / "ours", settings.OPEN_ACLS,
                                      flags=(*FLAGS, f"--token_removal_scan_interval={request.param}s")))
        yield servers, request.param
    finally:
        for server in servers:
            server.stop()


class Teller:
    """Asks one server, and keeps what it says less its numbers."""

    def __init__(self, server):
        self.line, self.told = Line(server.host, server.port), []

    def ask(self, method, target, *headers):
        lines = [f"{method} {target} HTTP/1.1", "Host: kms", *headers, "", ""]
        self.line.send("\r\n".join(lines).encode())
        return self.line.answer(method)

    def note(self, what, answer):
        said = answer.body.decode() if answer.status != 200 else ""
        said = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}[+-]\d{4}", "<time>", said + answer.reason)
        self.told.append((what, answer.status, re.sub(r"(issueDate|maxDate|sequenceNumber|masterKeyId|currentTime|date)(=|: )\d+", r"\1\2N",
                                                      re.sub(r"\s+", " ", said))))

    def until(self, status, what, *request):
        """Asks again until the answer has that status; the clock decides when."""
        end = time.monotonic() + PATIENCE
        while (answer := self.ask(*request)).status != status:
            assert time.monotonic() < end, f"{what}: still {answer.status} after {PATIENCE} s"
        self.note(what, answer)


def story(server, scanned):
    t = Teller(server)
    made = t.ask("GET", "/kms/v1/?op=GETDELEGATIONTOKEN&renewer=alice&user.name=alice")
    token = json.loads(made.body)["Token"]["urlString"]
    use = ("GET", "/kms/v1/keys/names", f"X-Hadoop-Delegation-Token: {token}")
    renew = ("PUT", f"/kms/v1/?op=RENEWDELEGATIONTOKEN&token={token}&user.name=alice")
    cancel = ("PUT", f"/kms/v1/?op=CANCELDELEGATIONTOKEN&token={token}&user.name=alice")
    t.note("made", made)
    t.note("used", t.ask(*use))
    t.until(403, "used when it has expired", *use)
    if scanned == 1:
        t.told.pop()                # it may be removed before it is seen to be expired
        end = time.monotonic() + PATIENCE
        while b"can't be found in cache" not in (answer := t.ask(*use)).body:
            assert time.monotonic() < end, "an expired token is still there"
        t.note("used when it is removed", answer)
        t.note("renewed when it is removed", t.ask(*renew))
    else:
        t.note("renewed when it has expired", t.ask(*renew))
        t.note("used again", t.ask(*use))
        t.until(403, "renewed beyond its life", *renew)
        t.note("used beyond its life", t.ask(*use))
    t.note("cancelled", t.ask(*cancel))
    t.note("cancelled again", t.ask(*cancel))
    t.line.close()
    return t.told


def test_tokens_end_alike(pair):
    servers, scanned = pair
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        java, ours = pool.map(lambda s: story(s, scanned), servers)
    assert ours == java
    told = {what: (status, words) for what, status, words in java}
    if scanned == 1:
        assert "can't be found in cache" in told["used when it is removed"][1]
        assert told["renewed when it is removed"][0] == 403 and told["cancelled"][0] == 404
    else:
        assert "InvalidToken: Token has expired, " in told["used when it has expired"][1]
        assert told["renewed when it has expired"][0] == told["used again"][0] == 200
        assert "tried to renew an expired token" in told["renewed beyond its life"][1]
        assert (told["used beyond its life"][0], told["cancelled"][0]) == (403, 404)
