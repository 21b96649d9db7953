"""What changes while the server runs: ACLs, the certificate, the audit file; and groups that must be looked up."""
import signal
import ssl
import subprocess

import pytest

from server import OPEN_ACLS
from wire import Connection, as_user, ask, create, new_token, with_token

NAMES = as_user("/kms/v1/keys/names", "eve")


def replace(path, text):
    """As an editor does it: the file is whole at every moment."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.replace(path)


def test_acls_change_while_it_runs(start):
    server = start()
    assert ask(server, "GET", NAMES).status == 200
    replace(server.acls, OPEN_ACLS.replace("</configuration>", "<property><name>hadoop.kms.blacklist.GET_KEYS</name><value>eve</value></property></configuration>"))
    assert server.log.wait_for("ACLs taken from")
    assert ask(server, "GET", NAMES).exception()[1] == "User:eve not allowed to do 'GET_KEYS'"


def test_broken_acls_change_nothing(start):
    server = start()
    replace(server.acls, "<configuration><prop")
    server.signal(signal.SIGHUP)
    assert server.log.wait_for("the ACLs before it stay in force")
    assert ask(server, "GET", NAMES).status == 200
    replace(server.acls, OPEN_ACLS)
    assert server.log.wait_for("ACLs taken from")


def test_the_audit_file_is_reopened_on_sighup(start):
    server = start(audit_window="20ms")
    ask(server, "GET", NAMES)
    server.wait_for_audit("user=eve")
    moved = server.audit.with_name("audit.old")
    server.audit.rename(moved)
    server.signal(signal.SIGHUP)
    assert server.log.wait_for("SIGHUP")
    ask(server, "GET", as_user("/kms/v1/keys/names", "later"))
    server.stop()
    assert "OK[op=GET_KEYS, user=eve] " in moved.read_text()
    assert "OK[op=GET_KEYS, user=later] " in server.audit_lines()


def statuses(server, count):
    """Of that many requests on one connection."""
    one = f"GET {NAMES} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    with Connection(server.port) as c:
        for _ in range(count // 100):
            c.send(one * 100)
            for _ in range(100):
                yield c.receive()


def test_an_audit_log_that_takes_nothing_refuses_answers(start):
    server = start(audit_file="/dev/full", reactors=1)
    assert ask(server, "GET", NAMES).status == 200      # it has memory for a while
    assert server.log.wait_for("the audit log can't be written: .*; requests are refused when its memory is full")
    answer = next(a for a in statuses(server, 100000) if a.status != 200)
    assert (answer.status, *answer.exception()) == (503, "java.io.IOException", "The audit log takes no more records; the answer is withheld")
    assert answer.reason == "The audit log takes no more records; the answer is withheld"
    answer = ask(server, "POST", as_user("/kms/v1/keys"), {"name": "k"})
    assert (answer.status, *answer.exception()) == (503, "java.io.IOException", "The audit log takes no more records; nothing was changed")
    assert "featherlock_keys 0\n" in ask(server, "GET", "/metrics").text      # a client will try another server
    assert ask(server, "GET", "/health").status == 200      # what leaves no record is answered


def test_an_audit_log_may_drop_instead(start):
    server = start(audit_file="/dev/full", reactors=1, audit_full="drop")
    assert {a.status for a in statuses(server, 40000)} == {200}
    dropped = [line for line in ask(server, "GET", "/metrics").text.splitlines() if line.startswith("featherlock_audit_dropped_total ")]
    assert int(dropped[0].split()[1]) > 0


GROUPS = """<configuration>
<property><name>hadoop.kms.acl.GET_KEYS</name><value> root</value></property>
<property><name>hadoop.kms.acl.GET_METADATA</name><value>eve root</value></property>
<property><name>default.key.acl.MANAGEMENT</name><value>*</value></property>
<property><name>default.key.acl.READ</name><value> root</value></property>
</configuration>"""


def test_groups_are_looked_up_and_kept(start):
    server = start(acls=GROUPS, reactors=1)
    create(server, "k")
    for _ in range(3):
        assert ask(server, "GET", as_user("/kms/v1/keys/names", "root")).json() == ["k"]
        assert ask(server, "GET", NAMES).status == 403
        assert ask(server, "GET", as_user("/kms/v1/key/k", "root")).status == 200
        answer = ask(server, "GET", as_user("/kms/v1/key/k", "eve"))
        assert answer.exception()[1] == "User [eve] is not authorized to perform [READ] on key with ACL name [k]!!"
    token = new_token(server, "root")
    assert ask(server, "GET", "/kms/v1/key/k", headers=with_token(token)).status == 200
    metrics = ask(server, "GET", "/metrics").text
    assert "featherlock_kms_group_lookups_total 2" in metrics     # one for each user, then from memory
    server.stop()
    assert server.audit_lines().count("OK[op=GET_METADATA, key=k, user=root] ") == 4


def test_pipelined_requests_wait_for_groups_in_order(start):
    server = start(acls=GROUPS)
    with Connection(server.port) as c:
        for user in ("root", "eve", "nobody", "root"):
            c.send(f"GET {as_user('/kms/v1/keys/names', user)} HTTP/1.1\r\nHost: h\r\n\r\n")
        assert [c.receive().status for _ in range(4)] == [200, 403, 403, 200]


# ---- HTTPS

def certificate(folder, name):
    """A self-signed one by the openssl command; returns (certificate, key)."""
    pem, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(pem)],
                   check=True, capture_output=True)
    return pem, key


def https(start, tmp_path, **flags):
    pem, key = certificate(tmp_path, "first")
    return start(https_bind="127.0.0.1:0", http_certificate_file=pem, http_private_key_file=key, **flags), pem, key


def trusting(pem):
    return ssl.create_default_context(cafile=str(pem))


def test_https_serves_what_http_serves(start, tmp_path):
    server, pem, _ = https(start, tmp_path)
    create(server, "k")
    token = new_token(server)
    with Connection(server.ports["https"], tls=trusting(pem)) as c:
        assert c.socket.version() == "TLSv1.3"
        assert c.ask("GET", "/kms/v1/key/k", headers=with_token(token)).json()["name"] == "k"
        big = c.ask("POST", as_user("/kms/v1/keys"), '{"name":"viatls"}', ("Content-Type: application/json",))
        assert big.first("Location") == f"https://localhost:{server.ports['https']}/kms/v1/keys/v1/key/viatls"
        assert len(c.ask("GET", as_user("/kms/v1/key/k/_eek?eek_op=generate&num_keys=3000")).json()) == 3000


def test_cookies_are_for_the_kind_of_connection_that_they_came_over(start, tmp_path):
    server, pem, _ = https(start, tmp_path)
    with Connection(server.ports["https"], tls=trusting(pem)) as c:
        assert c.ask("GET", NAMES).first("Set-Cookie").endswith('"; Secure; HttpOnly')
        assert c.ask("GET", "/kms/v1/keys/names").first("Set-Cookie") == "hadoop.auth=; Secure; HttpOnly"
    with Connection(server.port) as c:
        assert c.ask("GET", NAMES).first("Set-Cookie").endswith('"; HttpOnly')
        assert c.ask("GET", "/kms/v1/keys/names").first("Set-Cookie") == "hadoop.auth=; HttpOnly"


def test_what_the_acl_file_says_in_vain_is_logged_at_start_and_at_reload(start):
    def acls(name):
        return f"<configuration><property><name>{name}</name><value>*</value></property></configuration>"
    server = start(acls=acls("hadoop.kms.acl.CRAETE"))
    assert server.log.wait_for(r"WARN kms .*kms-acls\.xml: hadoop\.kms\.acl\.CRAETE: no ACL has this name; ignored")
    server.acls.write_text(acls("key.acl.k.FOO"))
    server.signal(signal.SIGHUP)
    assert server.log.wait_for(r"WARN kms .*kms-acls\.xml: key\.acl\.k\.FOO: unknown operation")


def test_https_alone(start, tmp_path):
    server, pem, _ = https(start, tmp_path, http_bind="")
    assert list(server.ports) == ["https"]
    with Connection(server.ports["https"], tls=trusting(pem)) as c:
        assert c.ask("GET", NAMES).first("Set-Cookie").endswith("; Secure; HttpOnly")


@pytest.mark.parametrize("flag, version, works", [("TLSv1.2", ssl.TLSVersion.TLSv1_2, True), ("TLSv1.3", ssl.TLSVersion.TLSv1_2, False),
                                                  ("TLSv1.3", ssl.TLSVersion.TLSv1_3, True)])
def test_the_oldest_protocol_is_a_setting(start, tmp_path, flag, version, works):
    server, pem, _ = https(start, tmp_path, http_tls_min_protocol=flag)
    context = trusting(pem)
    context.maximum_version = version
    if works:
        with Connection(server.ports["https"], tls=context) as c:
            assert c.ask("GET", "/health").status == 200
    else:
        with pytest.raises(ssl.SSLError):
            Connection(server.ports["https"], tls=context)


def test_clients_must_show_a_certificate_when_authorities_are_given(start, tmp_path):
    client, client_key = certificate(tmp_path, "client")
    server, pem, _ = https(start, tmp_path, http_ca_certificate_file=client)
    context = trusting(pem)
    context.load_cert_chain(client, client_key)
    with Connection(server.ports["https"], tls=context) as c:
        assert c.ask("GET", "/health").status == 200
    with pytest.raises((ssl.SSLError, EOFError, ConnectionError)):
        with Connection(server.ports["https"], tls=trusting(pem)) as c:
            c.ask("GET", "/health")


def test_a_new_certificate_is_taken_and_a_broken_one_is_not(start, tmp_path):
    server, pem, key = https(start, tmp_path)
    old = trusting(pem)
    second, second_key = certificate(tmp_path, "second")
    pem.write_text("no certificate")
    assert server.log.wait_for("the certificate before it stays in use")
    with Connection(server.ports["https"], tls=old) as c:
        assert c.ask("GET", "/health").status == 200
        second_key.replace(key)
        second.replace(pem)
        server.signal(signal.SIGHUP)
        assert server.log.wait_for("certificate taken from")
        assert c.ask("GET", "/health").status == 200    # the connection lives on
    with Connection(server.ports["https"], tls=trusting(pem)) as c:
        assert dict(x[0] for x in c.socket.getpeercert()["subject"])["commonName"] == "second"
    with pytest.raises(ssl.SSLError):
        Connection(server.ports["https"], tls=old)


EITHER = """<configuration>
<property><name>hadoop.kms.acl.ROLLOVER</name><value>roller</value></property>
<property><name>hadoop.kms.acl.DELETE</name><value>deleter</value></property>
<property><name>default.key.acl.MANAGEMENT</name><value>*</value></property>
</configuration>"""


def test_whoever_may_roll_or_delete_may_invalidate(start):
    server = start(acls=EITHER)
    for user, status in (("roller", 200), ("deleter", 200), ("eve", 403)):
        assert ask(server, "POST", as_user("/kms/v1/key/k/_invalidatecache", user)).status == status
