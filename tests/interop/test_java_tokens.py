"""Delegation tokens as the Java client gets, uses, renews and cancels them."""
import time

import pytest

from kit.java_client import Raised, provider

DAY = 86400000
INVALID = "org.apache.hadoop.security.token.SecretManager$InvalidToken"


@pytest.fixture
def token(alice):
    return alice.getToken(renewer="alice")


def test_a_token_names_its_kind_and_service(alice, kms, token):
    assert (token["count"], token["kind"], token["service"]) == (1, "kms-dt", provider(kms))


def test_a_token_is_enough_to_work(driver, kms, key, token):
    worker = driver.open(provider(kms), "whoever", token=token["token"])
    assert worker.createKey(name=key, bits=128)["version"] == f"{key}@0"
    assert worker.decrypt(**worker.generate(name=key)) is not None
    assert key in worker.getKeys()
    worker.deleteKey(name=key)
    worker.close()


def test_renewing_moves_the_expiry_a_day_ahead(alice, token):
    until = alice.renewToken(token=token["token"])
    assert abs(until - (time.time() * 1000 + DAY)) < 60000


def test_only_the_renewer_renews(driver, kms, token):
    bob = driver.open(provider(kms), "bob")
    with pytest.raises(Raised) as refused:
        bob.renewToken(token=token["token"])
    assert "bob tries to renew a token" in refused.value.message and "non-matching renewer alice" in refused.value.message
    bob.close()


def test_a_cancelled_token_works_no_more(driver, kms, alice, token):
    worker = driver.open(provider(kms), "whoever", token=token["token"])
    assert worker.getMetadata(name="any") is None
    alice.cancelToken(token=token["token"])
    with pytest.raises(Raised) as refused:
        worker.getMetadata(name="any")
    assert INVALID in refused.value.message and "can't be found in cache" in refused.value.message
    worker.close()


def test_a_cancelled_token_is_neither_renewed_nor_cancelled_again(alice, token):
    alice.cancelToken(token=token["token"])
    with pytest.raises(Raised) as refused:
        alice.renewToken(token=token["token"])
    assert "Renewal request for unknown token" in refused.value.message
    with pytest.raises(Raised):
        alice.cancelToken(token=token["token"])


def test_a_token_for_a_proxied_user(driver, kms, key):
    bob = driver.open(provider(kms), "bob", real="svc")
    token = bob.getToken(renewer="bob")
    worker = driver.open(provider(kms), "whoever", token=token["token"])
    worker.createKey(name=key, bits=128)
    assert worker.getMetadata(name=key)["versions"] == 1
    worker.close()
    bob.close()
