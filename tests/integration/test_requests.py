"""Rows of the error tables that the captured exchanges lack, and requests that no client sends."""
import json

import pytest

from wire import JSON, Connection, as_user, ask, create

IAE, IO, NPE = "java.lang.IllegalArgumentException", "java.io.IOException", "java.lang.NullPointerException"
CAST = "java.lang.ClassCastException"
WEB = "javax.ws.rs.WebApplicationException"
KEYS = as_user("/kms/v1/keys")
IV, DATA = "AAAAAAAAAAAAAAAAAAAAAA", "AAECAwQFBgcICQoLDA0ODw"


def refused(answer, status, java_class, message):
    assert (answer.status, *answer.exception()) == (status, java_class, message)
    assert answer.first("Content-Type") == "application/json"


# ---- create

@pytest.mark.parametrize("fields, status, java_class, message", [
    ({"length": None}, 500, NPE, 'Cannot invoke "java.lang.Integer.intValue()" because the return value of '
                                 '"java.util.Map.get(Object)" is null'),
    ({"length": True}, 500, CAST, "class java.lang.Boolean cannot be cast to class java.lang.Integer (java.lang.Boolean and "
                                  "java.lang.Integer are in module java.base of loader 'bootstrap')"),
    ({"length": 10 ** 30}, 500, CAST, "class java.math.BigInteger cannot be cast to class java.lang.Integer (java.math.BigInteger "
                                      "and java.lang.Integer are in module java.base of loader 'bootstrap')"),
    ({"description": {"a": 1}}, 500, CAST, "class java.util.LinkedHashMap cannot be cast to class java.lang.String "
                                           "(java.util.LinkedHashMap and java.lang.String are in module java.base of loader 'bootstrap')"),
    ({"attributes": {"key.acl.name": ""}}, 400, IAE, "Multiple entries with same key: key.acl.name=odd and key.acl.name="),
    ({"attributes": {"key.acl.name": 5}}, 500, CAST, "class java.lang.Integer cannot be cast to class java.lang.String "
                                                     "(java.lang.Integer and java.lang.String are in module java.base of loader 'bootstrap')"),
    ({"attributes": {"x": ["y"]}}, 500, IO, "Can't set metadata key odd"),
    ({"length": 64, "material": DATA}, 500, IO, "Wrong key length. Required 64, but got 128"),
    ({"cipher": "nosuch/CTR"}, 500, "java.lang.reflect.UndeclaredThrowableException", None),
    ({"cipher": "DES/CTR"}, 400, "java.security.InvalidParameterException", "Wrong keysize: must be equal to 56"),
    ({"cipher": "DES", "length": 56}, 500, IO, "Wrong key length. Required 56, but got 64"),
    ({"cipher": "HmacSHA256", "length": 39}, 400, "java.security.InvalidParameterException", "Key length must be at least 40 bits"),
    ({"cipher": "HmacSHA256", "length": 129}, 500, IO, "Wrong key length. Required 129, but got 136"),
    ({"cipher": "HmacSHA256", "length": 2147483647}, 500, "java.lang.NegativeArraySizeException", "-268435456"),
    ({"name": "ÜNÏ"}, 400, IAE, "Uppercase key names are unsupported: ÜNÏ"),
    ({"name": "x" * 65537}, 400, IAE, "Key name of 65537 bytes, where 1 to 65536 are allowed"),
    ({"name": "x" * (1 << 20)}, 400, IAE, "Key name of 1048576 bytes, where 1 to 65536 are allowed"),
    ({"attributes": {f"a{i}": "" for i in range(1001)}}, 400, IAE, "1001 attributes, where at most 999 are allowed"),
])
def test_a_create_that_is_refused_makes_nothing(kms, fields, status, java_class, message):
    answer = ask(kms, "POST", KEYS, {"name": "odd", **fields})
    refused(answer, status, java_class, message)
    assert ask(kms, "GET", as_user("/kms/v1/key/odd")).text == "{ }"


def test_a_name_that_is_a_version_exists_already(kms):
    create(kms, "taken")
    answer = ask(kms, "POST", KEYS, {"name": "taken@0"})
    refused(answer, 500, IO, "Key taken@0 already exists in memory:///")


@pytest.mark.parametrize("name", ["slash/in/it", "per%41cent", "plus+", "two words", "ünï-ключ", "quo\"te<&>", "nul\0in", "x" * 401, "\U0001f511"])
def test_any_name_can_be_made_read_and_deleted(kms, name):
    from urllib.parse import quote

    made = create(kms, name)
    path = f"/kms/v1/key/{quote(name, safe='')}"
    assert made["name"] == name and made["versionName"] == name + "@0"
    if "\0" in name:        # the container takes no %00
        assert ask(kms, "GET", as_user(path)).status == 400
        return
    assert ask(kms, "GET", as_user(path + "/_metadata")).json()["name"] == name
    assert ask(kms, "GET", as_user(f"/kms/v1/keyversion/{quote(name + '@0', safe='')}")).json() == made
    assert name in ask(kms, "GET", as_user("/kms/v1/keys/names")).json()
    assert ask(kms, "DELETE", as_user(path)).status == 200
    assert ask(kms, "GET", as_user(path)).text == "{ }"


def test_all_lengths_and_a_roll_keep_every_version(kms):
    for bits in (128, 192, 256):
        name = f"bits{bits}"
        first = create(kms, name, length=bits)
        second = ask(kms, "POST", as_user(f"/kms/v1/key/{name}"), {}).json()
        assert len(first["material"]) == len(second["material"]) == (bits // 8 * 4 + 2) // 3
        assert ask(kms, "GET", as_user(f"/kms/v1/key/{name}/_versions")).json() == [first, second]
        assert ask(kms, "GET", as_user(f"/kms/v1/key/{name}/_currentversion")).json() == second
        assert ask(kms, "GET", as_user(f"/kms/v1/key/{name}")).json()["versions"] == 2


def test_rolling_a_key_that_is_not_there(kms):
    path = as_user("/kms/v1/key/nowhere")
    refused(ask(kms, "POST", path, {}), 500, IO, "Can't find Metadata for key nowhere")
    refused(ask(kms, "POST", path, {"material": DATA}), 500, IO, "Key nowhere not found")


def test_upper_case_finds_and_rolls_the_key(kms):
    create(kms, "cased")
    assert ask(kms, "GET", as_user("/kms/v1/keyversion/CASED@0")).json()["name"] == "CASED"
    assert ask(kms, "POST", as_user("/kms/v1/key/CASED"), {}).json()["versionName"] == "CASED@1"
    assert ask(kms, "GET", as_user("/kms/v1/key/cased/_currentversion")).json()["versionName"] == "cased@1"
    assert ask(kms, "DELETE", as_user("/kms/v1/key/CASED")).status == 200
    assert ask(kms, "GET", as_user("/kms/v1/key/cased")).text == "{ }"


def test_other_ciphers_than_aes_are_kept_as_given(kms):
    create(kms, "mac", cipher="HmacSHA512", length=512)
    refused(ask(kms, "GET", as_user("/kms/v1/key/mac/_eek?eek_op=generate")), 500, IO,
            "java.io.IOException: java.util.concurrent.ExecutionException: java.io.IOException: "
            "java.security.InvalidKeyException: Invalid AES key length: 64 bytes")
    assert ask(kms, "POST", as_user("/kms/v1/key/mac"), {}).json()["versionName"] == "mac@1"
    create(kms, "given", cipher="", material=DATA)
    assert ask(kms, "GET", as_user("/kms/v1/key/given")).json()["cipher"] == ""
    refused(ask(kms, "POST", as_user("/kms/v1/key/given"), {}), 500, "java.lang.reflect.UndeclaredThrowableException", None)


# ---- encrypted keys

def test_an_eek_is_decrypted_under_its_version_and_reencrypted_under_the_last(kms):
    create(kms, "wrap")
    eek = ask(kms, "GET", as_user("/kms/v1/key/wrap/_eek?eek_op=generate")).json()[0]
    body = {"name": "wrap", "iv": eek["iv"], "material": eek["encryptedKeyVersion"]["material"]}
    dek = ask(kms, "POST", as_user("/kms/v1/keyversion/wrap@0/_eek?eek_op=decrypt"), body).json()
    ask(kms, "POST", as_user("/kms/v1/key/wrap"), {})
    again = ask(kms, "POST", as_user("/kms/v1/keyversion/wrap@0/_eek?eek_op=reencrypt"), body).json()
    assert again["versionName"] == "wrap@1" and again["iv"] == eek["iv"]
    moved = {"name": "wrap", "iv": again["iv"], "material": again["encryptedKeyVersion"]["material"]}
    assert ask(kms, "POST", as_user("/kms/v1/keyversion/wrap@1/_eek?eek_op=decrypt"), moved).json() == dek
    assert ask(kms, "POST", as_user("/kms/v1/keyversion/wrap@0/_eek?eek_op=decrypt"), body).json() == dek


def test_more_elements_than_hadoop_recommends_are_answered_in_order(kms):
    create(kms, "many")
    one = {"versionName": "many@0", "encryptedKeyVersion": {"versionName": "EEK", "material": DATA}}
    many = [{**one, "iv": f"{i:016}".encode().hex()[:22]} for i in range(10001)]
    ask(kms, "POST", as_user("/kms/v1/key/many"), {})
    answer = ask(kms, "POST", as_user("/kms/v1/key/many/_reencryptbatch"), many).json()
    assert len(answer) == 10001 and all(e["versionName"] == "many@1" for e in answer)
    back = ask(kms, "POST", as_user("/kms/v1/keyversion/many@0/_eek?eek_op=reencrypt"),
               {"name": "many", "iv": many[5000]["iv"], "material": DATA}).json()
    assert answer[5000]["encryptedKeyVersion"] == back["encryptedKeyVersion"]


def test_generate_has_a_limit_and_works_up_to_it(kms):
    create(kms, "gen")
    assert len(ask(kms, "GET", as_user("/kms/v1/key/gen/_eek?eek_op=generate&num_keys=5000")).json()) == 5000
    refused(ask(kms, "GET", as_user("/kms/v1/key/gen/_eek?eek_op=generate&num_keys=100001")), 400, IAE,
            "num_keys is 100001, where at most 100000 are allowed")


def test_without_key_authorisation_versions_are_not_checked_against_names(start):
    server = start(acls="<configuration/>", key_authorization="false")
    create(server, "free")
    path = "/kms/v1/keyversion/{}/_eek?eek_op={}"
    body = {"iv": IV, "material": DATA}
    refused(ask(server, "POST", as_user(path.format("free@7", "decrypt")), body), 500, NPE, "KeyVersion name 'free@7' does not exist")
    answer = ask(server, "POST", as_user(path.format("free@0", "decrypt")), {"name": "another", **body})
    assert answer.status == 200 and answer.json()["name"] == "free"
    assert ask(server, "GET", as_user("/kms/v1/key/free")).json()["attributes"] == {}


# ---- content types and bodies

NO_READER = ("com.sun.jersey.api.MessageException: A message body reader for Java class java.util.Map, and Java type interface "
             "java.util.Map, and MIME media type {} was not found.")


@pytest.mark.parametrize("kind, create_says, decrypt_says", [
    ("text/plain", None, NO_READER.format("text/plain")),
    ("text/json", None, NO_READER.format("text/json")),
    ("*/*", NO_READER.format("*/*"), NO_READER.format("*/*")),
    ("application/*", NO_READER.format("application/*"), NO_READER.format("application/*")),
])
def test_another_content_type_is_refused(kms, kind, create_says, decrypt_says):
    header = (f"Content-Type: {kind}",)
    refused(ask(kms, "POST", KEYS, '{"name":"typed"}', header), 500, WEB, create_says)
    refused(ask(kms, "POST", as_user("/kms/v1/keyversion/k@0/_eek?eek_op=decrypt"), "{}", header), 500, WEB, decrypt_says)


@pytest.mark.parametrize("kind", ["garbage", "", "application/json/x", "a b/c"])
def test_a_content_type_that_is_none_is_refused_everywhere(kms, kind):
    for method, path in (("POST", "/kms/v1/keys"), ("GET", "/kms/v1/keys/names"), ("POST", "/kms/v1/key/k/_metadata")):
        answer = ask(kms, method, as_user(path), None, (f"Content-Type: {kind}",))
        assert (answer.status, answer.reason, answer.first("Content-Type")) == (400, "Bad Request", "text/html;charset=iso-8859-1")


def test_a_body_in_utf_16_is_understood(kms):
    answer = ask(kms, "POST", KEYS, json.dumps({"name": "wide-ü"}, ensure_ascii=False).encode("utf-16"), JSON)
    assert answer.status == 201 and answer.json()["name"] == "wide-ü"


@pytest.mark.parametrize("body, java_class", [
    (b'{"name":"\xff"}', "com.fasterxml.jackson.core.JsonParseException"),
    (b"\x00", "com.fasterxml.jackson.core.JsonParseException"),
    (b'{"x":' * 2000, "com.fasterxml.jackson.core.JsonParseException"),
    (b"[" * 100000, "com.fasterxml.jackson.databind.exc.MismatchedInputException"),
    (b"{" + b'"a":1,' * 1000, "com.fasterxml.jackson.core.JsonParseException"),
    (b"{" + b'"a":1,' * 1000 + b'"a":', "com.fasterxml.jackson.core.io.JsonEOFException"),
])
def test_a_body_that_is_no_json_is_refused_by_its_class(kms, body, java_class):
    answer = ask(kms, "POST", KEYS, body, JSON)
    assert (answer.status, answer.exception()[0]) == (500, java_class)


# ---- methods, paths, connections

def test_every_method_a_path_lacks_is_a_500_with_json(kms):
    for method in ("GET", "PUT", "DELETE", "PATCH", "TRACE", "FOO", "get"):
        refused(ask(kms, method, KEYS), 500, WEB, None)


def test_options_tells_the_methods_and_sets_the_cookie(kms):
    for path, allow in (("/kms/v1/keys", "OPTIONS,POST"), ("/kms/v1/key/none", "OPTIONS,HEAD,DELETE,POST,GET"), ("/kms/v1/", "OPTIONS"),
                        ("/kms/v1/key/k/_eek", "OPTIONS,HEAD,GET"), ("/", "GET,HEAD,POST,OPTIONS")):
        answer = ask(kms, "OPTIONS", as_user(path))
        assert (answer.status, answer.first("Allow"), answer.body) == (200, allow, b"")
        assert answer.first("Set-Cookie").startswith('hadoop.auth="u=alice&p=alice&t=simple-dt&e=')


def test_head_answers_as_get_without_a_body(kms):
    create(kms, "headed")
    get, head = (ask(kms, m, as_user("/kms/v1/key/headed")) for m in ("GET", "HEAD"))
    assert head.status == 200 and head.first("Content-Length") == str(len(get.body))


def test_requests_of_one_connection_are_answered_in_order(kms):
    create(kms, "piped")
    with Connection(kms.port) as c:
        target = as_user("/kms/v1/key/piped")
        one = f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n"
        roll = f"POST {target} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
        c.send(one + roll + one + roll + one)       # a change parks, and what stands behind it must wait
        answers = [c.receive().json() for _ in range(5)]
    assert [a.get("versions", a.get("versionName")) for a in answers] == [1, "piped@1", 2, "piped@2", 3]


def test_a_client_that_leaves_does_not_undo_its_change(kms):
    create(kms, "left")
    with Connection(kms.port) as c:
        c.send(f"POST {as_user('/kms/v1/key/left')} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}")
        c.receive()
    assert ask(kms, "GET", as_user("/kms/v1/key/left")).json()["versions"] == 2


def test_a_bad_escape_closes_the_connection(kms):
    with Connection(kms.port) as c:
        answer = c.ask("GET", as_user("/kms/v1/key/k%zz"))
        assert (answer.status, answer.text) == (400, "<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>")
        assert answer.first("Connection") == "close" and c.ended()


@pytest.mark.parametrize("path, reason", [("/../../etc/passwd", "Bad Request"), ("/kms/v1/key/..;x=y", "Ambiguous path parameters")])
def test_dots_that_climb_out_close_the_connection(kms, path, reason):
    with Connection(kms.port) as c:
        answer = c.ask("GET", as_user(path))
        assert (answer.status, answer.reason, answer.text) == (400, reason, f"<h1>Bad Message 400</h1><pre>reason: {reason}</pre>")
        assert c.ended()


@pytest.mark.parametrize("digits, count", [("%D9%A3", 3), ("007", 7), ("%EF%BC%92", 2)])
def test_num_keys_may_be_in_any_script(kms, digits, count):
    create(kms, f"script{count}")
    assert len(ask(kms, "GET", as_user(f"/kms/v1/key/script{count}/_eek?eek_op=generate&num_keys={digits}")).json()) == count


# ---- the container's pages

@pytest.mark.parametrize("accept, kind, start", [
    ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "text/html;charset=iso-8859-1", "<html>"),
    ("application/json", "application/json", '{\n"servlet":"webservices-driver",\n"message":"Authentication required",\n'
                                             '"url":"/kms/v1/keys/names",\n"status":"401"\n}'),
    ("text/plain", "text/plain;charset=iso-8859-1", "HTTP ERROR 401 Authentication required\nURI: /kms/v1/keys/names\nSTATUS: 401\n"),
    ("application/json;q=0.5, text/html", "text/html;charset=iso-8859-1", "<html>"),
    ("image/png", None, ""),
    ("", None, ""),
])
def test_a_page_follows_accept(kms, accept, kind, start):
    answer = ask(kms, "GET", "/kms/v1/keys/names", headers=(f"Accept: {accept}",))
    assert answer.status == 401 and answer.first("Content-Type") == kind
    assert answer.text.startswith(start) and (start or not answer.body)


def test_a_message_is_quoted_by_the_filter_and_by_the_container(kms):
    answer = ask(kms, "GET", "/kms/v1/keys/names", headers=('Cookie: hadoop.auth="a&b<c"',))
    assert answer.reason.endswith("Invalid signed text: a&b<c")
    assert "<td>org.apache.hadoop.security.authentication.util.SignerException: Invalid signed text: a&amp;amp;b&amp;lt;c</td>" in answer.text


@pytest.mark.parametrize("name", ["alice@", "@", "a@b@c", "/h@R", "a/@R", "a/b/c@R"])
def test_a_malformed_principal_is_thrown_at(kms, name):
    said = f"java.lang.IllegalArgumentException: Malformed Kerberos name: {name}"
    answer = ask(kms, "GET", as_user("/kms/v1/keys/names", name))
    assert (answer.status, answer.reason, answer.first("Connection")) == (500, "Server Error", "close") and said in answer.text
    assert answer.first("Set-Cookie")
    for target in (f"/kms/v1/?op=GETDELEGATIONTOKEN&user.name={name}", f"/kms/v1/?op=GETDELEGATIONTOKEN&user.name=alice&renewer={name}"):
        answer = ask(kms, "GET", target)
        assert (answer.status, answer.reason) == (500, "Server Error") and said in answer.text


def test_outside_of_kms_there_is_nothing(kms):
    answer = ask(kms, "GET", "/static/nothing")
    assert answer.status == 404 and answer.first("Pragma") is None and answer.first("X-Content-Type-Options") == "nosniff"
    assert ask(kms, "PUT", "/static/nothing").reason == "Method Not Allowed"
    assert ask(kms, "GET", as_user("/nothing")).reason == "Not Found"
    answer = ask(kms, "PUT", as_user("/nothing"))
    assert (answer.status, answer.reason) == (405, "HTTP method PUT is not supported by this URL")
    answer = ask(kms, "GET", as_user("/"))
    assert (answer.status, answer.first("Location")) == (302, f"http://localhost:{kms.port}/index.html?user.name=alice")


def test_acls_for_keys_are_needed(start):
    server = start(acls="<configuration/>")
    answer = ask(server, "POST", KEYS, {"name": "k"})
    refused(answer, 403, "org.apache.hadoop.security.authorize.AuthorizationException", "User [alice] is not authorized to create key !!")


def test_a_question_mark_with_nothing_behind_it_is_not_shown(kms):
    cookie = ask(kms, "OPTIONS", as_user("/kms/v1/")).first("Set-Cookie").split(";")[0]
    for query, shown in (("?", ""), ("", ""), ("?x", "?x")):
        answer = ask(kms, "GET", f"/kms/v1/nosuch{query}", headers=(f"Cookie: {cookie}",))
        refused(answer, 500, "com.sun.jersey.api.NotFoundException", f"null for uri: http://localhost:{kms.port}/kms/v1/nosuch{shown}")


def test_a_cookie_beyond_ascii_is_none(kms):
    cookie = ask(kms, "OPTIONS", as_user("/kms/v1/", "%C3%BC")).first("Set-Cookie").split(";")[0]
    answer = ask(kms, "GET", "/kms/v1/keys/names", headers=(f"Cookie: {cookie}",))
    assert (answer.status, answer.reason) == (401, "Authentication required")
