"""What each of Hadoop's meters counts, as `/jmx` shows it: the same table for the Java KMS and for ours."""
import http.client
import json
import threading
import time

import pytest

V1, AS = "/kms/v1", "user.name=alice"
EEK = '{"name": "%s", "iv": "AAAAAAAAAAAAAAAAAAAAAA", "material": "AAAAAAAAAAAAAAAAAAAAAA"}'
BATCH = '[{"versionName": "%s@0", "iv": "AAAAAAAAAAAAAAAAAAAAAA", "encryptedKeyVersion": {"versionName": "EEK", "material": "AA"}}]'
RENEW, CANCEL = "op=RENEWDELEGATIONTOKEN", "op=CANCELDELEGATIONTOKEN"

# method, target, body, status, what counts
CALLS = (
    ("POST", f"{V1}/keys?{AS}", '{"name": "metered"}', 201, {"admin": 1}),
    ("POST", f"{V1}/keys?{AS}", '{"name": "metered"}', 500, {"admin": 1, "invalid": 1}),
    ("POST", f"{V1}/keys?{AS}", "{}", 400, {"admin": 1, "invalid": 1}),
    ("POST", f"{V1}/keys?{AS}", "{", 500, {"invalid": 1}),
    ("POST", f"{V1}/key/metered?{AS}", "{}", 200, {"admin": 1}),
    ("POST", f"{V1}/key/none?{AS}", "{}", 500, {"admin": 1, "invalid": 1}),
    ("POST", f"{V1}/key/metered?{AS}", "[", 500, {"invalid": 1}),
    ("POST", f"{V1}/key/metered/_invalidatecache?{AS}", None, 200, {"admin": 1}),
    ("GET", f"{V1}/key/metered/_metadata?{AS}", None, 200, {"admin": 1}),
    ("HEAD", f"{V1}/key/metered/_metadata?{AS}", None, 200, {"admin": 1}),
    ("GET", f"{V1}/key/none?{AS}", None, 200, {"admin": 1}),
    ("GET", f"{V1}/keys/metadata?key=metered&key=none&{AS}", None, 200, {"admin": 1}),
    ("GET", f"{V1}/keys/names?{AS}", None, 200, {"admin": 1}),
    ("GET", f"{V1}/key/metered/_currentversion?{AS}", None, 200, {"key": 1}),
    ("GET", f"{V1}/key/metered/_versions?{AS}", None, 200, {"key": 1}),
    ("GET", f"{V1}/keyversion/metered@0?{AS}", None, 200, {"key": 1}),
    ("GET", f"{V1}/keyversion/metered@9?{AS}", None, 200, {"key": 1}),
    ("GET", f"{V1}/key/metered/_eek?eek_op=generate&{AS}", None, 200, {"generate_eek": 1}),
    ("GET", f"{V1}/key/none/_eek?eek_op=generate&{AS}", None, 500, {"invalid": 1}),
    ("GET", f"{V1}/key/metered/_eek?eek_op=other&{AS}", None, 400, {"invalid": 1}),
    ("POST", f"{V1}/keyversion/metered@0/_eek?eek_op=decrypt&{AS}", EEK % "metered", 200, {"decrypt_eek": 1}),
    ("POST", f"{V1}/keyversion/metered@7/_eek?eek_op=decrypt&{AS}", EEK % "metered", 400, {"decrypt_eek": 1, "invalid": 1}),
    ("POST", f"{V1}/keyversion/metered@0/_eek?eek_op=decrypt&{AS}", "{}", 400, {"invalid": 1}),
    ("POST", f"{V1}/keyversion/metered@0/_eek?eek_op=reencrypt&{AS}", EEK % "metered", 200, {"reencrypt_eek": 1}),
    ("POST", f"{V1}/key/metered/_reencryptbatch?{AS}", BATCH % "metered", 200, {"reencrypt_eek_batch": 1}),
    ("POST", f"{V1}/key/metered/_reencryptbatch?{AS}", "[]", 200, {"reencrypt_eek_batch": 1}),
    ("OPTIONS", f"{V1}/keys?{AS}", None, 200, {}),
    ("OPTIONS", f"{V1}/keys", None, 401, {"unauthenticated": 1}),
    ("GET", f"{V1}/keys/names", None, 401, {"unauthenticated": 1}),
    ("GET", f"{V1}/nothing?{AS}", None, 500, {"invalid": 1}),
    ("DELETE", f"{V1}/keys/names?{AS}", None, 500, {"invalid": 1}),
    ("GET", f"/nothing?{AS}", None, 404, {"invalid": 1}),
    ("GET", "/static/nothing.css", None, 404, {}),
    ("GET", f"{V1}/key/%zz?{AS}", None, 400, {}),
    ("GET", f"{V1}/keys/names?user.name=", None, 500, {}),
    ("GET", f"{V1}/keys/names?doAs=&{AS}", None, 500, {}),
    ("GET", f"{V1}/keys/names?doAs=bob&{AS}", None, 403, {"invalid": 1}),
    ("GET", f"{V1}/keys/names?delegation=garbage", None, 403, {"invalid": 1}),
    ("GET", f"{V1}/?op=GETDELEGATIONTOKEN&renewer=alice&{AS}", None, 200, {}),
    ("GET", f"{V1}/?op=GETDELEGATIONTOKEN", None, 403, {"invalid": 1}),
    ("PUT", f"{V1}/?{RENEW}&{AS}", None, 400, {"invalid": 1}),
    ("PUT", f"{V1}/?{RENEW}&token=AAAA&{AS}", None, 403, {"invalid": 1}),
    ("PUT", f"{V1}/?{CANCEL}&token=AAAA", None, 404, {"invalid": 1}),
    ("DELETE", f"{V1}/key/metered?{AS}", None, 200, {"admin": 1}),
    ("DELETE", f"{V1}/key/metered?{AS}", None, 500, {"admin": 1, "invalid": 1}),
)


def ask(server, method, target, body=None):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
    connection.request(method, target, body, {"Content-Type": "application/json"} if body is not None else {})
    answer = connection.getresponse()
    status, text = answer.status, answer.read()
    connection.close()
    return status, text


def meters(server):
    prefix = "metrics:name=hadoop.kms."
    beans = json.loads(ask(server, "GET", f"/jmx?{AS}")[1])["beans"]
    return {b["name"].removeprefix(prefix).removesuffix(".calls.meter"): b["Count"] for b in beans if b["name"].startswith(prefix)}


def counted(server, call):
    before = meters(server)
    status = call()
    after = meters(server)
    return status, {m: n - before[m] for m, n in after.items() if n != before[m]}


def test_looking_counts_as_an_answer_without_a_status(kms):
    assert counted(kms, lambda: 0)[1] == {"invalid": 1}


def test_every_call_counts_where_javas_does(kms):
    for method, target, body, status, expected in CALLS:
        got, counts = counted(kms, lambda m=method, t=target, b=body: ask(kms, m, t, b)[0])
        counts["invalid"] = counts.get("invalid", 0) - 1        # the first look
        assert (got, {m: n for m, n in counts.items() if n}) == (status, expected), (method, target, body)


def test_the_token_managers_bean_counts_what_is_stored(kms):
    def bean():
        beans = json.loads(ask(kms, "GET", f"/jmx?{AS}")[1])["beans"]
        return next(b for b in beans if b["name"] == "Hadoop:service=KMS,name=DelegationTokenSecretManagerMetrics")

    before, end = bean(), time.monotonic() + 60
    token = json.loads(ask(kms, "GET", f"{V1}/?op=GETDELEGATIONTOKEN&renewer=alice&{AS}")[1])["Token"]["urlString"]
    for operation, caller in ((RENEW, f"&{AS}"), (CANCEL, "")):
        assert ask(kms, "PUT", f"{V1}/?{operation}&token={token}{caller}")[0] == 200
    while (after := bean())["RemoveTokenNumOps"] == before["RemoveTokenNumOps"]:      # Java's shows what was ten seconds ago
        assert time.monotonic() < end
        threading.Event().wait(0.2)
    assert {k for k in after if not k.startswith(("name", "modelerType", "tag."))} == {
        "TokenFailure", *(f"{what}Token{form}" for what in ("Store", "Update", "Remove") for form in ("NumOps", "AvgTime"))}
    assert after["modelerType"] == "DelegationTokenSecretManagerMetrics" and after["tag.Context"] == "token" and after["tag.Hostname"]
    for what in ("Store", "Update", "Remove"):
        more = after[f"{what}TokenNumOps"] - before[f"{what}TokenNumOps"]
        assert more == 1 or (more > 1 and kms.name == "java")      # whose look before may not show the test before
        assert 0 <= after[f"{what}TokenAvgTime"] < 60000


@pytest.mark.parametrize("pattern, names", [
    ("metrics:name=hadoop.kms.key.calls.meter", {"metrics:name=hadoop.kms.key.calls.meter"}),
    ("metrics:*", 9), ("metrics:name=hadoop.kms.*_eek.calls.meter", 3), ("nothing:*", 0),
    ("Hadoop:service=KMS,name=DelegationToken*", {"Hadoop:service=KMS,name=DelegationTokenSecretManagerMetrics"})])
def test_a_watcher_may_ask_for_some_beans(kms, pattern, names):
    status, text = ask(kms, "GET", f"/jmx?{AS}&qry={pattern}")
    found = {b["name"] for b in json.loads(text)["beans"]}
    assert status == 200 and (found if isinstance(names, set) else len(found)) == names
