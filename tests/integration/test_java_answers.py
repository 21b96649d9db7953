"""Answers in which only a comparison with the running Java KMS 3.4.3 found a difference, one test each."""
import pytest

from wire import as_user, ask, create

IAE, IO = "java.lang.IllegalArgumentException", "java.io.IOException"
UNDECLARED = "java.lang.reflect.UndeclaredThrowableException"
KEY_SIZE = "java.security.InvalidParameterException"
WEB = "javax.ws.rs.WebApplicationException"
KEYS = as_user("/kms/v1/keys")
IV, DATA = "AAAAAAAAAAAAAAAAAAAAAA", "AAECAwQFBgcICQoLDA0ODw"


def refused(answer, status, java_class, message):
    assert (answer.status, *answer.exception()) == (status, java_class, message)


# ---- bytes of a client in sentences

def test_a_nul_cuts_no_sentence(kms):
    create(kms, "nul\0tail")
    refused(ask(kms, "POST", KEYS, {"name": "nul\0tail"}), 500, IO, "Key nul\0tail already exists in memory:///")


def test_a_nul_ends_no_audit_line(kms):
    create(kms, "audited\0tail", description="a\0b")
    kms.wait_for_audit("OK[op=CREATE_KEY, key=audited\\u0000tail, user=alice] UserProvidedMaterial:false Description:a\\u0000b")


# ---- re-encryption

def test_reencrypting_to_the_same_version_looks_at_the_iv(kms):
    create(kms, "current")
    answer = ask(kms, "POST", as_user("/kms/v1/keyversion/current@0/_eek?eek_op=reencrypt"), {"name": "current", "iv": "AA", "material": "AA"})
    refused(answer, 500, IO, "java.security.InvalidAlgorithmParameterException: Wrong IV length: must be 16 bytes long")


def test_a_batch_passes_on_what_is_current_unseen(kms):
    create(kms, "passed")
    element = {"versionName": "passed@0", "iv": "AA", "encryptedKeyVersion": {"versionName": "EEK", "material": "AA"}}
    answer = ask(kms, "POST", as_user("/kms/v1/key/passed/_reencryptbatch"), [element])
    assert answer.status == 200
    assert answer.json() == [{**element, "encryptedKeyVersion": {"material": "AA", "name": None, "versionName": "EEK"}}]


@pytest.mark.parametrize("inner, missing", [({"material": "AA"}, "versionName"), ({"versionName": "EEK"}, "material"),
                                            ({"versionName": None, "material": "AA"}, "versionName")])
def test_a_batch_wants_every_member_before_it_looks_for_the_key(kms, inner, missing):
    element = {"versionName": "nosuch@0", "iv": "AA", "encryptedKeyVersion": inner}
    answer = ask(kms, "POST", as_user("/kms/v1/key/nosuch/_reencryptbatch"), [element])
    refused(answer, 400, IAE, f"Parameter '{missing}' cannot be null")


# ---- key generators

@pytest.mark.parametrize("cipher, bits, status, java_class, message", [
    ("DES", 128, 400, KEY_SIZE, "Wrong keysize: must be equal to 56"),
    ("DES", 56, 500, IO, "Wrong key length. Required 56, but got 64"),
    ("Blowfish", 33, 400, KEY_SIZE, "Keysize must be multiple of 8, and can only range from 32 to 448 (inclusive)"),
    ("HmacSHA256", 39, 400, KEY_SIZE, "Key length must be at least 40 bits"),
    ("HmacSHA256", 100, 500, IO, "Wrong key length. Required 100, but got 104"),
    ("HmacMD5", -8, 400, IAE, "Empty key"),
    ("HmacMD5", 2 ** 31 - 1, 500, "java.lang.NegativeArraySizeException", "-268435455"),
    ("", 128, 500, UNDECLARED, None),
    ("Rijndael", 128, 500, UNDECLARED, None),
])
def test_a_length_that_no_generator_makes(kms, cipher, bits, status, java_class, message):
    refused(ask(kms, "POST", KEYS, {"name": "ungenerated", "cipher": cipher, "length": bits}), status, java_class, message)


@pytest.mark.parametrize("cipher, bits", [("HmacSHA256", 512), ("hmacsha512/224", 128), ("Blowfish", 448), ("RC4", 40), ("ChaCha20", 256)])
def test_a_generator_beside_aes(kms, cipher, bits):
    name = f"of-{cipher.lower().replace('/', '-')}"
    assert len(create(kms, name, cipher=cipher, length=bits)["material"]) == (bits // 8 * 8 + 5) // 6
    assert ask(kms, "GET", as_user(f"/kms/v1/key/{name}/_metadata")).json()["cipher"] == cipher


def test_an_existing_name_comes_before_a_wrong_length_but_after_the_generator(kms):
    create(kms, "there")
    refused(ask(kms, "POST", KEYS, {"name": "there", "cipher": "DES", "length": 56}), 500, IO, "Key there already exists in memory:///")
    refused(ask(kms, "POST", KEYS, {"name": "there", "cipher": "DES"}), 400, KEY_SIZE, "Wrong keysize: must be equal to 56")


# ---- types

READER = "com.sun.jersey.api.MessageException: A message body reader for Java class java.util.{}, and Java type {}, and MIME media type {} was not found."


@pytest.mark.parametrize("path, media, message", [
    ("/kms/v1/keys", "text/json", None),
    ("/kms/v1/keys", "application/*", READER.format("Map", "interface java.util.Map", "application/*")),
    ("/kms/v1/keyversion/k@0/_eek?eek_op=decrypt", "text/plain", READER.format("Map", "interface java.util.Map", "text/plain")),
    ("/kms/v1/key/k/_reencryptbatch", "text/plain", None),
    ("/kms/v1/key/k/_reencryptbatch", "*/*", READER.format("List", "java.util.List<java.util.Map>", "*/*")),
])
def test_a_type_without_a_reader(kms, path, media, message):
    refused(ask(kms, "POST", as_user(path), "{}", (f"Content-Type: {media}",)), 500, WEB, message)


@pytest.mark.parametrize("media", ["garbage", "", "*", "application/json/x", "application / json", "application/json; charset",
                                   'application/json; charset="utf-8', "application/json, text/plain", "text/plain; a=b c"])
@pytest.mark.parametrize("method, path", [("POST", "/kms/v1/keys"), ("GET", "/kms/v1/keys/names"), ("POST", "/kms/v1/key/k/_invalidatecache"),
                                          ("PATCH", "/kms/v1/key/k"), ("OPTIONS", "/kms/v1/keys/names"), ("GET", "/kms/nosuch")])
def test_a_type_that_is_none_is_refused_everywhere(kms, method, path, media):
    answer = ask(kms, method, as_user(path), "{}" if method == "POST" else None, (f"Content-Type: {media}",))
    assert (answer.status, answer.reason) == (400, "Bad Request")


@pytest.mark.parametrize("media", ["application/json;", "APPLICATION/JSON", ' application/json ; charset="utf-8";;a=b'])
def test_other_spellings_of_json(kms, media):
    assert ask(kms, "POST", as_user("/kms/v1/key/nosuch"), "{}", (f"Content-Type: {media}",)).exception()[0] == IO


# ---- Accept

@pytest.mark.parametrize("accept, media", [
    (None, "text/html;charset=iso-8859-1"), ("", None), ("garbage", None), ("application/*", None), ("TEXT/PLAIN", None), ("text/html;level=1", None),
    ("*/*", "text/html;charset=iso-8859-1"), ("*/*, application/json", "application/json"), ("text/*, text/plain", "text/plain;charset=iso-8859-1"),
    ("application/json;q=0.5, text/html", "text/html;charset=iso-8859-1"), ("application/json;q=0, text/html", "text/html;charset=iso-8859-1"),
    ("text/html;q=0.5, application/json", "application/json"), ("text/json", "text/json"),
    ("text/plain; q=0.9, application/json; q=0.9", "text/plain;charset=iso-8859-1"),
    ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "text/html;charset=iso-8859-1"),
])
def test_the_error_page_follows_accept(kms, accept, media):
    answer = ask(kms, "GET", "/kms/v1/keys/names", None, () if accept is None else (f"Accept: {accept}",))
    assert (answer.status, answer.first("Content-Type")) == (401, media)
    assert bool(answer.body) == (media is not None)


@pytest.mark.parametrize("accept, status", [("application/json", 204), ("text/html", 204), ("*/*", 200), ("application/xml;q=0.1", 200), ("", 200)])
def test_options_for_whoever_takes_no_wadl(kms, accept, status):
    answer = ask(kms, "OPTIONS", as_user("/kms/v1/keys/names"), None, (f"Accept: {accept}",))
    assert (answer.status, answer.first("Allow")) == (status, "OPTIONS,HEAD,GET")
    assert answer.first("Set-Cookie").startswith('hadoop.auth="u=alice')


# ---- paths

@pytest.mark.parametrize("method, path, status, reason", [
    ("GET", "/", 302, "Found"), ("POST", "/", 302, "Found"),
    ("PUT", "/", 405, "HTTP method PUT is not supported by this URL"), ("DELETE", "/x", 405, "Http method DELETE is not supported by this URL"),
    ("TRACE", "/x", 405, "Method Not Allowed"), ("POST", "/jmx", 405, "HTTP method POST is not supported by this URL"),
    ("PATCH", "/x", 501, "Method PATCH is not defined in RFC 2068 and is not supported by the Servlet API "),
])
def test_methods_outside_of_the_kms(kms, method, path, status, reason):
    answer = ask(kms, method, as_user(path))
    assert (answer.status, answer.reason) == (status, reason)


@pytest.mark.parametrize("method, status", [("GET", 404), ("HEAD", 404), ("POST", 404), ("PUT", 405), ("TRACE", 405), ("FOO", 501), ("OPTIONS", 200)])
def test_static_files_need_no_authentication_and_set_no_cookie(kms, method, status):
    answer = ask(kms, method, "/static/nosuch?op=GETDELEGATIONTOKEN&user.name=alice")
    assert (answer.status, answer.first("Set-Cookie"), answer.first("Pragma")) == (status, None, None)


@pytest.mark.parametrize("path", ["/static/../kms/v1/keys/names", "/static/%2e%2e/kms/v1/keys/names", "/staticx", "//static/x"])
def test_what_leads_out_of_the_static_files_is_authenticated(kms, path):
    assert ask(kms, "GET", path).status == 401


@pytest.mark.parametrize("path, host, status", [
    ('/kms/v1/key/a"<>b', None, 200), ("/kms/v1/key/a{b}", None, 400), ("/kms/v1/key/a|b", None, 400), ("/kms/v1/key/a[b]", None, 400),
    ("/kms/v1/key/a", "a b", 400), ("/kms/v1/key/a", "a%b", 400), ("/kms/v1/key/a", "a%41", 200), ("/kms/v1/key/a", "[::1]:9600", 200),
])
def test_what_makes_no_uri(kms, path, host, status):
    answer = ask(kms, "GET", as_user(path), host=host)
    assert answer.status == status and answer.first("Set-Cookie").startswith('hadoop.auth="u=alice')


# ---- names of users

@pytest.mark.parametrize("user, status", [("alice/host", 200), ("alice@X", 200), ("alice/h@X", 200), ("alice/", 403), ("/alice", 403), ("alice/b/c", 403)])
def test_only_a_whole_principal_is_shortened(start, user, status):
    acls = "<configuration><property><name>hadoop.kms.acl.GET_KEYS</name><value>alice</value></property></configuration>"
    assert ask(start(acls=acls), "GET", as_user("/kms/v1/keys/names", user)).status == status


# ---- the audit log

def test_no_token_stands_in_the_audit_log(kms):
    ask(kms, "GET", "/kms/v1/keys/names?x=1&token=SECRETTOKEN")
    ask(kms, "GET", as_user("/kms/v1/nosuch?to%6ben=SECRETTOKEN"))
    kms.wait_for_audit("/kms/v1/keys/names?x=1&token=*** ErrorMsg:'Authentication required'")
    kms.wait_for_audit("/kms/v1/nosuch?to%6ben=***")
    assert "SECRETTOKEN" not in kms.audit.read_text()


def test_the_bare_path_has_a_slash_only_for_the_resources(kms):
    ask(kms, "PUT", "/kms?x=1")
    kms.wait_for_audit("/kms?x=1 ErrorMsg:'Authentication required'")
    assert ask(kms, "PUT", as_user("/kms?x=1")).exception()[1].endswith("/kms/?x=1&user.name=alice")


def test_a_url_in_a_refusal_is_a_uri(kms):
    answer = ask(kms, "GET", as_user("/kms/v1/no\"such%2f?x=%zz%41ü|"), host="h")
    assert answer.exception() == ("com.sun.jersey.api.NotFoundException", "null for uri: http://h/kms/v1/no%22such%2f?x=%25zz%41%C3%BC%7C&user.name=alice")


@pytest.mark.parametrize("path, prefix", [("_metadata", ""), ("_eek?eek_op=generate", "java.io.IOException: ")])
def test_a_version_where_a_key_belongs(kms, path, prefix):
    ask(kms, "POST", KEYS, {"name": "cast"})
    refused(ask(kms, "GET", as_user(f"/kms/v1/key/cast@0/{path}")), 500, IO,
            f"{prefix}Can't cast key for cast@0 in keystore memory:/// to a KeyMetadata. Key may have been added using  keytool or some other non-Hadoop method.")


@pytest.mark.parametrize("version, status", [("HTTP/1.0", 400), ("HTTP/1.1", 405)])
def test_a_method_that_is_not_allowed_in_http_1_0(kms, version, status):
    answer = ask(kms, "PUT", as_user("/index.html"), version=version)
    assert (answer.status, answer.reason) == (status, "HTTP method PUT is not supported by this URL")
    assert ask(kms, "PUT", "/static/x", version=version).status == status
