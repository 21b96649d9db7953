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
