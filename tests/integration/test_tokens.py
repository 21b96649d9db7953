"""The life of delegation tokens, cookies beside them, and acting for others."""
import base64
import hmac
import threading
import time

import pytest

import tokens
from wire import as_user, ask, create, new_token, with_token

AUTHENTICATION = "org.apache.hadoop.security.authentication.client.AuthenticationException"
AUTHORIZATION = "org.apache.hadoop.security.authorize.AuthorizationException"
INVALID = "org.apache.hadoop.security.token.SecretManager$InvalidToken: "
NAMES = "/kms/v1/keys/names"


def op(name, token=None, user=None):
    target = f"/kms/v1/?op={name}DELEGATIONTOKEN" + (f"&token={token}" if token is not None else "")
    return as_user(target, user) if user else target


def use(server, token):
    return ask(server, "GET", NAMES, headers=with_token(token))


def cookie_of(server, user="alice"):
    value = ask(server, "OPTIONS", as_user("/kms/v1/", user)).first("Set-Cookie").split(";")[0]
    return (f"Cookie: {value}",)


def until(moment):
    threading.Event().wait(max(0.0, moment - time.time()))


def test_a_token_says_who_it_is_for(kms):
    t = tokens.decode(new_token(kms, "alice", "&renewer=yarn/rm@EXAMPLE.COM&service=kms://http@h:9600/kms"))
    assert (t["owner"], t["renewer"], t["real"], t["kind"]) == (b"alice", b"yarn", b"", b"kms-dt")
    assert t["service"] == b"kms://http@h:9600/kms" and len(t["password"]) == 20
    assert t["maximum"] - t["issued"] == 7 * 86400000
    assert tokens.decode(new_token(kms, "alice@EXAMPLE.COM", ""))["renewer"] == b"alice"


@pytest.mark.parametrize("algorithm, size", [("HmacSHA256", 32), ("HmacSHA384", 48), ("HmacSHA512", 64)])
def test_other_algorithms_make_longer_passwords(start, algorithm, size):
    server = start(token_algorithm=algorithm, token_key_bits=256)
    token = new_token(server)
    assert len(tokens.decode(token)["password"]) == size
    assert use(server, token).status == 200
    assert use(server, tokens.bad_password(token)).status == 403


def test_every_part_of_a_token_counts(kms):
    token = new_token(kms)
    t = tokens.decode(token)
    assert use(kms, token).status == 200
    for field, value in (("owner", b"mallory"), ("renewer", b"alice"), ("real", b"root"), ("issued", t["issued"] + 1),
                         ("maximum", t["maximum"] + 1), ("sequence", t["sequence"] + 1000), ("key_id", 99)):
        answer = use(kms, tokens.changed(token, **{field: value}))
        real = value.decode() if field == "real" else ""
        assert answer.status == 403 and answer.exception() == (AUTHENTICATION, f"{INVALID}Token for real user: {real}, can't be found in cache")
    answer = use(kms, tokens.bad_password(token))
    who = (f"kms-dt owner=alice, renewer=yarn, realUser=, issueDate={t['issued']}, maxDate={t['maximum']}, "
           f"sequenceNumber={t['sequence']}, masterKeyId={t['key_id']}")
    assert answer.exception() == (AUTHENTICATION, f"{INVALID}token ({who}) is invalid, password doesn't match")
    assert answer.first("Set-Cookie") is None and answer.first("WWW-Authenticate") is None


def test_a_long_name_is_told_whole(kms):
    owner = "o" * 300
    token = new_token(kms, owner)
    assert f"owner={owner}, renewer=yarn" in use(kms, tokens.bad_password(token)).exception()[1]
    answer = ask(kms, "PUT", op("RENEW", token, "mallory"))
    assert answer.status == 403 and answer.reason.endswith("with non-matching renewer yarn") and owner in answer.reason


def test_header_before_query_and_cookie_before_both(kms):
    good, bad = new_token(kms), "garbage"
    assert ask(kms, "GET", f"{NAMES}?delegation={bad}", headers=with_token(good)).status == 200
    assert ask(kms, "GET", f"{NAMES}?delegation={good}", headers=with_token(bad)).status == 403
    assert ask(kms, "GET", as_user(NAMES), headers=with_token(bad)).status == 403
    assert ask(kms, "GET", NAMES, headers=(*cookie_of(kms), *with_token(bad))).status == 200


def test_renewing_moves_the_end_and_never_beyond_the_last(start):
    server = start(token_renew_interval="1s", token_max_lifetime="2s")
    token = new_token(server)
    t = tokens.decode(token)
    until(t["issued"] / 1000 + 1.002)
    answer = use(server, token)
    assert answer.status == 403 and " has expired, current time: " in answer.exception()[1]
    assert ask(server, "PUT", op("CANCEL", token)).status == 404        # nobody's word counts for an expired token
    assert ask(server, "PUT", op("RENEW", token, "yarn")).json() == {"long": t["maximum"]}
    assert use(server, token).status == 200
    until(t["maximum"] / 1000 + 0.002)
    answer = ask(server, "PUT", op("RENEW", token, "yarn"))
    assert answer.status == 403 and answer.reason.startswith(
        "org.apache.hadoop.security.token.SecretManager$InvalidToken: yarn tried to renew an expired token (kms-dt owner=alice")
    assert ask(server, "PUT", op("CANCEL", token), headers=cookie_of(server)).status == 200     # its owner may


def test_tokens_outlive_their_master_key(start):
    server = start(token_update_interval="200ms", token_renew_interval="10s", token_max_lifetime="10s")
    token = new_token(server)
    old = tokens.decode(token)["key_id"]
    while tokens.decode(new := new_token(server))["key_id"] < old + 2:
        until(time.time() + 0.02)
    assert use(server, token).status == use(server, new).status == 200
    assert "long" in ask(server, "PUT", op("RENEW", token, "yarn")).json()


def test_who_may_cancel(kms):
    for headers, user in (((), None), (cookie_of(kms, "alice"), None), (cookie_of(kms, "yarn"), None), ((), "mallory")):
        token = new_token(kms)
        assert use(kms, token).status == 200
        answer = ask(kms, "PUT", op("CANCEL", token, user), headers=headers)     # user.name is not looked at: the token speaks
        assert (answer.status, answer.body, answer.first("Content-Type")) == (200, b"", "text/plain;charset=utf-8")
        assert use(kms, token).status == 403
        answer = ask(kms, "PUT", op("CANCEL", token, user), headers=headers)
        assert (answer.status, answer.reason) == (404, "Invalid delegation token, cannot cancel")
    token = new_token(kms)
    assert ask(kms, "PUT", op("CANCEL", token), headers=cookie_of(kms, "mallory")).status == 404
    assert ask(kms, "PUT", op("CANCEL", tokens.bad_password(token))).status == 404
    assert use(kms, token).status == 200


@pytest.mark.parametrize("text, thrown", [("_wAAAA", "java.lang.NegativeArraySizeException: -1")])
def test_a_token_that_java_chokes_on_is_a_server_error(kms, text, thrown):
    for name in ("RENEW", "CANCEL"):
        answer = ask(kms, "PUT", op(name, text, "yarn"))
        assert (answer.status, answer.reason, answer.first("Connection"), answer.body) == (500, "Server Error", "close", b"")
    assert use(kms, text).exception() == (AUTHENTICATION, thrown)


def test_cookies_slide_and_end(start):
    server = start(auth_token_max_inactive="1h", cookie_path="/kms", cookie_domain="example.com")
    first = ask(server, "GET", as_user(NAMES)).first("Set-Cookie")
    assert "&i=" not in first and first.endswith('"; Path=/kms; Domain=example.com; HttpOnly')
    second = ask(server, "GET", NAMES, headers=(f"Cookie: {first.split(';')[0]}",)).first("Set-Cookie")
    assert "&i=" in second and second.split("&e=")[1].split("&")[0] == first.split("&e=")[1].split("&")[0]
    assert ask(server, "GET", NAMES).first("Set-Cookie") == "hadoop.auth=; Path=/kms; Domain=example.com; HttpOnly"


def test_cookies_of_one_secret_file_are_good_everywhere(start, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("shared by all servers\n")
    one, two = start(signature_secret_file=secret), start(signature_secret_file=secret)
    assert ask(two, "GET", NAMES, headers=cookie_of(one)).status == 200
    other = start()
    answer = ask(other, "GET", NAMES, headers=cookie_of(one))
    assert (answer.status, answer.reason) == (401, "org.apache.hadoop.security.authentication.util.SignerException: Invalid signature")


@pytest.mark.parametrize("text, reason", [
    ("u=alice&p=alice&t=kerberos-dt&e={0}", "Invalid AuthenticationToken type"),
    ("u=alice&p=alice&t=simple&e={0}", "Invalid AuthenticationToken type"),
    ("u=alice&p=alice&e={0}", "Invalid token string, missing attributes"),
    ("u=alice&t=simple-dt&e={0}", "Invalid token string, missing attributes"),
    ("u=alice&p=alice&t=simple-dt", "Invalid token string, missing attributes"),
    ("u=alice&p=alice&t=simple-dt&e=1700000000000", "AuthenticationToken expired"),
    ("u=alice&p=alice&t=simple-dt&i=1700000000000&e={0}", "AuthenticationToken expired"),
    ("u=alice&p=alice&t=simple-dt&e={0}", None),
    ("e={0}&t=simple-dt&p=alice@EXAMPLE.COM&u=alice", None),
])
def test_a_cookie_that_is_signed_well_may_be_wrong_otherwise(start, tmp_path, text, reason):
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(32)))
    server = start(signature_secret_file=secret)
    text = text.format(int(time.time() * 1000) + 60000)
    signature = base64.b64encode(hmac.digest(bytes(range(32)), text.encode(), "sha256")).decode()
    answer = ask(server, "GET", NAMES, headers=(f'Cookie: hadoop.auth="{text}&s={signature}"',))
    if reason is None:
        assert answer.status == 200 and answer.first("Set-Cookie") is None
        return
    assert (answer.status, answer.reason, answer.first("Set-Cookie")) == (401, reason, "hadoop.auth=; HttpOnly")
    assert answer.first("WWW-Authenticate") == "PseudoAuth" and reason in answer.text
    server.wait_for_audit(f"UNAUTHENTICATED RemoteHost:127.0.0.1 Method:GET URL:http://localhost:{server.port}{NAMES} ErrorMsg:'{reason}'\n")


def test_acting_for_others(start):
    server = start(proxyuser=["hive:users=*;hosts=127.0.0.1", "grouped:groups=root;hosts=*"])
    create(server, "k")
    assert ask(server, "GET", as_user(f"{NAMES}?doAs=bob", "hive")).status == 200
    assert ask(server, "GET", as_user(f"{NAMES}?doAs=root", "grouped")).status == 200
    answer = ask(server, "GET", as_user(f"{NAMES}?doAs=nobody", "grouped"))
    assert (answer.status, *answer.exception()) == (403, AUTHORIZATION, "User: grouped is not allowed to impersonate nobody")
    token = new_token(server, "hive", "&doAs=bob&renewer=yarn")
    t = tokens.decode(token)
    assert (t["owner"], t["real"]) == (b"bob", b"hive")
    assert ask(server, "GET", f"{NAMES}?doAs=eve", headers=with_token(token)).status == 200     # ignored with a token
    server.stop()
    lines = server.audit_lines()
    assert "OK[op=GET_KEYS, user=bob] " in lines and "OK[op=GET_KEYS, user=root] " in lines


ACLS_BEHIND = """<configuration>
<property><name>hadoop.kms.acl.GET_KEYS</name><value>alice,~svc</value></property>
<property><name>hadoop.kms.blacklist.GET_KEYS</name><value>~hive</value></property>
</configuration>"""


def test_lists_may_name_the_real_user_behind_a_call(start):
    server = start(acls=ACLS_BEHIND, proxyuser=["svc:users=*;hosts=*", "hive:users=*;hosts=*"])
    for real, user, status in (("svc", "bob", 200), ("hive", "bob", 403), ("svc", "alice", 200), ("hive", "alice", 403)):
        assert ask(server, "GET", as_user(f"{NAMES}?doAs={user}", real)).status == status
        token = new_token(server, real, f"&doAs={user}")
        assert use(server, token).status == status
    assert ask(server, "GET", as_user(NAMES, "svc")).status == 403
    assert ask(server, "GET", as_user(NAMES, "alice")).status == 200


def test_names_beyond_ascii_stand_in_reasons_as_latin_1(kms):
    token = new_token(kms, "%C3%BCn%C3%AF", "&renewer=%D0%BA")
    answer = ask(kms, "PUT", op("RENEW", token, "mallory"))
    assert "owner=ünï, renewer=?," in answer.reason


def test_a_parameter_without_a_value_is_absent(kms):
    for name in ("RENEW", "CANCEL"):
        answer = ask(kms, "PUT", f"/kms/v1/?op={name}DELEGATIONTOKEN&user.name=yarn&token")
        assert (answer.status, answer.reason) == (400, f"Operation [{name}DELEGATIONTOKEN] requires the parameter [token]")


def test_token_operations_ask_for_simple_authentication(kms):
    for target, method in ((op("GET"), "GET"), (op("RENEW", "x"), "PUT")):
        answer = ask(kms, method, target)
        assert (answer.status, answer.reason, answer.first("WWW-Authenticate")) == (403, "Forbidden", "PseudoAuth")
        assert answer.first("Set-Cookie") is None and answer.body == b""
