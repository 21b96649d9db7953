"""The limits that docs/compatibility.md tells of: just below, and just beyond."""
import base64

import pytest

from wire import as_user, ask, create

IO = "java.io.IOException"
KEYS = as_user("/kms/v1/keys")
TOKEN = "/kms/v1/?op=GETDELEGATIONTOKEN&renewer="


def test_attributes(kms):
    assert len(create(kms, "attributes", attributes={f"a{i}": "v" for i in range(999)})) == 3
    assert len(ask(kms, "GET", as_user("/kms/v1/key/attributes")).json()["attributes"]) == 1000       # and key.acl.name
    answer = ask(kms, "POST", KEYS, {"name": "more", "attributes": {f"a{i}": "v" for i in range(1000)}})
    assert (answer.status, answer.exception()[1]) == (400, "1000 attributes, where at most 999 are allowed")


def test_material(kms):
    most = 64 * 1024
    given = base64.b64encode(bytes(most)).decode()
    assert len(create(kms, "material", length=8 * most, material=given)["material"]) == (most * 8 + 5) // 6
    answer = ask(kms, "POST", KEYS, {"name": "more", "length": 8 * most + 8, "material": base64.b64encode(bytes(most + 1)).decode()})
    assert (answer.status, *answer.exception()) == (500, IO, "Material of 65537 bytes, where at most 65536 are allowed")
    answer = ask(kms, "POST", as_user("/kms/v1/key/material"), {"material": base64.b64encode(bytes(most + 1)).decode()})
    assert (answer.status, *answer.exception()) == (500, IO, "Material of 65537 bytes, where at most 65536 are allowed")


def test_description_in_the_store(start):
    server = start(store="lmdb")
    assert create(server, "long", description="d" * (15 << 20))["name"] == "long"
    answer = ask(server, "POST", KEYS, {"name": "longer", "description": "d" * (16 << 20)})
    assert (answer.status, answer.exception()[0]) == (500, IO) and "more than 16 MiB" in answer.exception()[1]
    assert ask(server, "GET", as_user("/kms/v1/keys/names")).json() == ["long"]


def test_names_in_a_token(kms):
    most = 32 * 1024 - 44 - len("alice")
    assert ask(kms, "GET", as_user(TOKEN + "r" * most)).status == 200
    answer = ask(kms, "GET", as_user(TOKEN + "r" * (most + 1)))
    assert (answer.status, answer.first("Set-Cookie")) == (403, "hadoop.auth=; HttpOnly")
    assert answer.reason.startswith("java.io.IOException: owner, renewer and real user of 32725 bytes, where at most 32724 are allowed")


@pytest.mark.parametrize("count, status", [(90, 200), (110, 431)])
def test_headers(kms, count, status):
    assert ask(kms, "GET", as_user("/kms/v1/keys/names"), headers=[f"X-{i}: v" for i in range(count)]).status == status
