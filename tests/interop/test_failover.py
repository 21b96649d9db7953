"""Two servers behind one provider URI, of which one is dead from the start or dies on the way."""
import contextlib
import shutil

import pytest

from kit import settings
from kit.featherlock import FeatherlockKms
from kit.java_client import provider
from kit.java_kms import JavaKms

KINDS = {"java": JavaKms, "featherlock": FeatherlockKms}
# A client that has lost one host must not wait for it long.
QUICK = {"hadoop.security.kms.client.failover.sleep.base.millis": 10, "hadoop.security.kms.client.failover.sleep.max.millis": 50}


@pytest.fixture(params=sorted(KINDS))
def pair(request, driver, tmp_path):
    """Two servers on one port of two addresses, each with its own copy of one key."""
    kind = KINDS[request.param]
    with contextlib.ExitStack() as stack:
        first = kind(tmp_path / "one", settings.OPEN_ACLS)
        maker = driver.open(provider(first))
        maker.createKey(name="shared", bits=128)
        maker.close()
        first.stop()
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        servers = [kind(tmp_path / "one", settings.OPEN_ACLS)]
        stack.callback(servers[0].crash)
        servers.append(kind(tmp_path / "two", settings.OPEN_ACLS, host="127.0.0.2", port=servers[0].port))
        stack.callback(servers[1].crash)
        yield servers


@pytest.mark.parametrize("dead", (0, 1))
def test_a_dead_host_is_passed_over(driver, pair, dead):
    pair[dead].crash()
    client = driver.open(provider(*pair), conf=QUICK)
    for _ in range(4):                                      # the balancer goes round: each host is tried
        assert client.getMetadata(name="shared")["versions"] == 1
    assert client.decrypt(**client.generate(name="shared")) is not None
    client.close()


@pytest.mark.parametrize("dies", (0, 1))
def test_a_host_that_dies_on_the_way_is_not_missed(driver, pair, dies):
    client = driver.open(provider(*pair), conf=QUICK)
    wrapped = client.generate(name="shared")
    plain = {client.decrypt(**wrapped) for _ in range(4)}
    assert len(plain) == 1, "both hosts have the key"
    pair[dies].crash()
    for _ in range(4):
        assert {client.decrypt(**wrapped)} == plain
    assert client.reencrypt(**wrapped) == wrapped
    client.createKey(name="later", bits=128)
    assert client.getMetadata(name="later")["versions"] == 1
    client.close()


def test_a_host_that_comes_back_is_used_again(driver, pair, tmp_path):
    client = driver.open(provider(*pair), conf=QUICK)
    port = pair[1].port
    pair[1].stop()
    assert client.getMetadata(name="shared")["versions"] == 1
    back = type(pair[1])(tmp_path / "two", settings.OPEN_ACLS, host="127.0.0.2", port=port)
    try:
        pair[0].crash()
        for _ in range(4):
            assert client.getMetadata(name="shared")["versions"] == 1
    finally:
        back.crash()
    client.close()
