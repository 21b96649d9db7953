"""Pages for monitoring."""
import json
import re

from wire import as_user, ask, create, new_token, with_token


def meters(server):
    beans = json.loads(ask(server, "GET", as_user("/jmx")).body)["beans"]
    return {b["name"].removeprefix("metrics:name=hadoop.kms."): b for b in beans}


def test_health_and_metrics_need_no_authentication(start):
    server = start()
    answer = ask(server, "GET", "/health")
    assert (answer.status, answer.json()["status"]) == (200, "serving") and answer.first("Set-Cookie") is None
    text = ask(server, "GET", "/metrics").text
    names = re.findall(r"^(featherlock_\w+)(?:{[^}]*})? -?\d+$", text, re.M)
    assert len(names) == sum(not line.startswith("#") for line in text.splitlines())
    assert {"featherlock_keys", "featherlock_tokens_live", "featherlock_http_requests_total"} <= set(names)
    for name in set(names):
        assert text.count(f"# TYPE {name} ") == 1


def test_metrics_count_what_happens(start):
    server = start(store="lmdb")
    create(server, "k")
    token = new_token(server)
    ask(server, "GET", "/kms/v1/key/k", headers=with_token(token))
    ask(server, "GET", "/kms/v1/key/k", headers=with_token("garbage"))
    text = ask(server, "GET", "/metrics").text
    for line in ("featherlock_keys 1", "featherlock_tokens_live 1", "featherlock_tokens_created_total 1",
                 'featherlock_kms_token_verifications_total{result="accepted"} 1',
                 'featherlock_kms_token_verifications_total{result="refused"} 1',
                 'featherlock_kms_token_operations_total{op="create"} 1', "featherlock_audit_records_total 2"):
        assert line + "\n" in text, line


def test_jmx_needs_authentication_and_has_hadoops_meters(start):
    server = start()
    assert ask(server, "GET", "/jmx").status == 401
    create(server, "k")
    for target, count in (("/kms/v1/key/k/_currentversion", 2), ("/kms/v1/key/k/_eek?eek_op=generate", 3), ("/kms/v1/keys/names", 1)):
        for _ in range(count):
            assert ask(server, "GET", as_user(target)).status == 200
    found = meters(server)
    assert found["key.calls.meter"]["Count"] == 2 and found["generate_eek.calls.meter"]["Count"] == 3
    assert found["admin.calls.meter"]["Count"] == 2 and found["unauthenticated.calls.meter"]["Count"] == 1
    one = found["admin.calls.meter"]
    assert one["modelerType"] == "com.codahale.metrics.JmxReporter$JmxMeter" and one["RateUnit"] == "events/second"
    assert one["MeanRate"] > 0 and {"OneMinuteRate", "FiveMinuteRate", "FifteenMinuteRate"} <= set(one)
    assert set(k for k in found if k.endswith("meter")) == {f"{m}.calls.meter" for m in (
        "admin", "key", "invalid", "unauthorized", "unauthenticated", "generate_eek", "decrypt_eek", "reencrypt_eek", "reencrypt_eek_batch")}
    assert meters(server)["invalid.calls.meter"]["Count"] == 1     # the look before: Java's filter counts it so
    assert ask(server, "GET", as_user("/kms/jmx")).status == 200
    assert meters(server)["invalid.calls.meter"]["Count"] == 3


def test_a_call_that_waits_for_groups_counts_once(start):
    server = start(acls="""<configuration>
        <property><name>hadoop.kms.acl.GET_KEYS</name><value> nogroup</value></property>
        <property><name>hadoop.kms.acl.GET</name><value> root</value></property></configuration>""", proxyuser=["grouped:groups=root;hosts=*"])
    token = new_token(server, "eve")
    assert ask(server, "GET", "/kms/v1/keys/names", headers=with_token(token)).status == 403
    assert ask(server, "GET", as_user("/kms/v1/keyversion/none@0", "root")).status == 200
    assert ask(server, "GET", as_user("/kms/v1/key/none/_versions?doAs=root", "grouped")).status == 200
    found = meters(server)
    assert {m: found[f"{m}.calls.meter"]["Count"] for m in ("admin", "key", "unauthorized", "invalid")} == {
        "admin": 1, "key": 2, "unauthorized": 1, "invalid": 1}
    metrics = ask(server, "GET", "/metrics").text
    assert 'featherlock_kms_token_verifications_total{result="accepted"} 1\n' in metrics
    assert "featherlock_kms_group_lookups_total 2\n" in metrics
