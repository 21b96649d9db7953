"""The calls of the real KMSClientProvider, through its load balancer, against each server."""
import base64
import time

import pytest

from kit.java_client import Raised, provider

ACE = "org.apache.hadoop.security.AccessControlException"
ILLEGAL = "java.lang.IllegalArgumentException"


def b64(data):
    return base64.b64encode(data).decode()


def test_create_with_all_options(alice, key):
    before = int(time.time() * 1000) - 1000
    made = alice.createKey(name=key, bits=256, cipher="AES/CTR/NoPadding", description="für ключи", attributes={"team": "blue", "a": "1"})
    assert made["name"] == key and made["version"] == f"{key}@0" and len(base64.b64decode(made["material"])) == 32
    seen = alice.getMetadata(name=key)
    assert before <= seen.pop("created") <= time.time() * 1000 + 1000
    assert seen == {"cipher": "AES/CTR/NoPadding", "bits": 256, "description": "für ключи", "versions": 1,
                    "attributes": {"team": "blue", "a": "1", "key.acl.name": key}}


def test_create_with_material_gives_that_material(alice, key):
    alice.createKey(name=key, bits=128, material=b64(bytes(range(16))))
    assert alice.getCurrentKey(name=key) == {"name": key, "version": f"{key}@0", "material": b64(bytes(range(16)))}


def test_create_with_material_of_another_length_is_refused(alice, key):
    with pytest.raises(Raised) as refused:
        alice.createKey(name=key, bits=256, material=b64(bytes(16)))
    assert refused.value.java_class == "java.io.IOException"
    assert "Wrong key length. Required 256, but got 128" in refused.value.message
    assert alice.getMetadata(name=key) is None


def test_create_twice_is_refused_and_changes_nothing(alice, key):
    first = alice.createKey(name=key, bits=128)
    with pytest.raises(Raised) as refused:
        alice.createKey(name=key, bits=128)
    assert refused.value.java_class == "java.io.IOException" and f"Key {key} already exists in " in refused.value.message
    assert alice.getCurrentKey(name=key) == first


def test_create_with_an_upper_case_name_is_refused(alice):
    with pytest.raises(Raised) as refused:
        alice.createKey(name="UpperCase", bits=128)
    assert (refused.value.java_class, refused.value.message) == (ILLEGAL, "Uppercase key names are unsupported: UpperCase")


def test_generate_and_decrypt(alice, key):
    alice.createKey(name=key, bits=128)
    wrapped = alice.generate(name=key)
    assert (wrapped["key"], wrapped["version"], wrapped["inner"]) == (key, f"{key}@0", "EEK")
    assert len(base64.b64decode(wrapped["iv"])) == 16 and len(base64.b64decode(wrapped["material"])) == 16
    plain = alice.decrypt(**wrapped)
    assert plain == alice.decrypt(**wrapped) and plain != wrapped["material"] and len(base64.b64decode(plain)) == 16


@pytest.mark.parametrize("bits", (128, 192, 256))
def test_each_key_length_wraps_keys_of_its_length(alice, key, bits):
    name = f"{key}-{bits}"
    alice.createKey(name=name, bits=bits)
    assert len(base64.b64decode(alice.decrypt(**alice.generate(name=name)))) == bits // 8


def test_a_damaged_iv_gives_another_key(alice, key):
    alice.createKey(name=key, bits=128)
    wrapped = alice.generate(name=key)
    iv = base64.b64decode(wrapped["iv"])
    damaged = dict(wrapped, iv=b64(bytes([iv[0] ^ 1]) + iv[1:]))
    assert alice.decrypt(**damaged) != alice.decrypt(**wrapped)


def test_generated_keys_differ(alice, key):
    alice.createKey(name=key, bits=128)
    wrapped = [alice.generate(name=key) for _ in range(200)]
    assert len({w["iv"] for w in wrapped}) == len({alice.decrypt(**w) for w in wrapped}) == 200


def test_roll_makes_a_version_and_old_keys_still_decrypt(alice, key):
    alice.createKey(name=key, bits=128)
    old = alice.generate(name=key)
    plain = alice.decrypt(**old)
    rolled = alice.rollNewVersion(name=key)
    assert rolled["version"] == f"{key}@1"
    assert [v["version"] for v in alice.getKeyVersions(name=key)] == [f"{key}@0", f"{key}@1"]
    assert alice.getMetadata(name=key)["versions"] == 2 and alice.getCurrentKey(name=key) == rolled
    assert alice.decrypt(**old) == plain and alice.generate(name=key)["version"] == f"{key}@1"


def test_roll_with_material(alice, key):
    alice.createKey(name=key, bits=128)
    alice.rollNewVersion(name=key, material=b64(b"0123456789abcdef"))
    assert alice.getKeyVersion(version=f"{key}@1")["material"] == b64(b"0123456789abcdef")


def test_reencrypt_keeps_the_key_under_the_new_version(alice, key):
    alice.createKey(name=key, bits=128)
    old = alice.generate(name=key)
    assert alice.reencrypt(**old)["material"] == old["material"]
    alice.rollNewVersion(name=key)
    new = alice.reencrypt(**old)
    assert new["version"] == f"{key}@1" and new["iv"] == old["iv"] and new["material"] != old["material"]
    assert alice.decrypt(**new) == alice.decrypt(**old)


def test_reencrypt_in_a_batch_keeps_order_and_keys(alice, key):
    alice.createKey(name=key, bits=128)
    old = [alice.generate(name=key) for _ in range(50)]
    alice.rollNewVersion(name=key)
    mixed = old + [alice.generate(name=key)]
    new = alice.reencryptBatch(keys=mixed)
    assert [w["version"] for w in new] == [f"{key}@1"] * 51
    assert [alice.decrypt(**w) for w in new] == [alice.decrypt(**w) for w in mixed]
    assert new[-1]["material"] == mixed[-1]["material"]


def test_reencrypt_of_another_keys_key_is_refused(alice, key):
    alice.createKey(name=key, bits=128)
    alice.createKey(name=key + "-other", bits=128)
    wrapped = alice.generate(name=key)
    with pytest.raises(Raised) as refused:
        alice.decrypt(**dict(wrapped, key=key + "-other"))
    assert (refused.value.java_class, refused.value.message) == \
        (ILLEGAL, f"KeyVersion '{key}@0' does not belong to the key '{key}-other'")


def test_metadata_of_many_keys_in_their_order(alice, key):
    names = [f"{key}-{i}" for i in range(5)]
    for i, name in enumerate(names):
        alice.createKey(name=name, bits=128, description=f"number {i}")
    wanted = [names[3], "no-such-key", *names * 40]      # more than one URL's worth
    got = alice.getKeysMetadata(names=wanted)
    assert got[1] is None
    assert [m and m["description"] for m in got] == [f"number {names.index(n)}" if n in names else None for n in wanted]


def test_names(alice, key):
    alice.createKey(name=key, bits=128)
    assert key in alice.getKeys()


@pytest.mark.parametrize("name", ("a+b", "a/b", "p%41", "ünï-ключ", "q\"<&>", "dots.and-dashes_~"))
def test_odd_names(alice, key, name):
    alice.createKey(name=key + name, bits=128)
    assert alice.getMetadata(name=key + name)["versions"] == 1
    assert alice.getKeyVersion(version=f"{key}{name}@0")["name"] == key + name
    assert key + name in alice.getKeys() and alice.getKeysMetadata(names=[key + name])[0] is not None
    alice.deleteKey(name=key + name)
    assert alice.getMetadata(name=key + name) is None


def test_what_is_not_there(alice):
    assert alice.getMetadata(name="no-such-key") is None
    assert alice.getCurrentKey(name="no-such-key") is None
    assert alice.getKeyVersion(version="no-such-key@0") is None
    assert alice.getKeyVersions(name="no-such-key") is None
    alice.invalidateCache(name="no-such-key")
    for call, sentence in (("deleteKey", "Key no-such-key does not exist in "), ("rollNewVersion", "Can't find Metadata for key no-such-key"),
                           ("generate", "No KeyVersion exists for key 'no-such-key'")):
        with pytest.raises(Raised) as refused:
            getattr(alice, call)(name="no-such-key")
        assert refused.value.java_class == "java.io.IOException" and sentence in refused.value.message


def test_invalidate_and_warm_up(alice, key):
    alice.createKey(name=key, bits=128)
    alice.warmUp(name=key)
    alice.invalidateCache(name=key)
    assert alice.generate(name=key)["version"] == f"{key}@0"


def test_delete_takes_every_version_and_the_name_is_free_again(alice, key):
    alice.createKey(name=key, bits=128, material=b64(bytes(16)))
    alice.rollNewVersion(name=key)
    alice.deleteKey(name=key)
    assert alice.getMetadata(name=key) is None and alice.getKeyVersion(version=f"{key}@0") is None
    again = alice.createKey(name=key, bits=128)
    assert again["version"] == f"{key}@0" and again["material"] != b64(bytes(16)) and alice.getMetadata(name=key)["versions"] == 1


def test_a_proxied_user(driver, kms, key):
    bob = driver.open(provider(kms), "bob", real="svc")
    bob.createKey(name=key, bits=128)
    assert bob.getMetadata(name=key)["versions"] == 1
    bob.close()


def test_who_may_not_act_for_others_is_refused(driver, kms):
    bob = driver.open(provider(kms), "bob", real="alice")
    with pytest.raises(Raised) as refused:
        bob.getMetadata(name="any")
    assert "doAs=bob&user.name=alice, status: 403, message: Forbidden" in str(refused.value)
    bob.close()
