"""Servers and clients for the tests. `kms` is each server in turn: the Java KMS shows that a test is right, ours is tested."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from kit import settings                            # noqa: E402
from kit.featherlock import FeatherlockKms          # noqa: E402
from kit.java_client import Driver, provider        # noqa: E402
from kit.java_kms import JavaKms                    # noqa: E402

STORES = ("memory", "lmdb")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """The log of a server is shown with the test that failed on it."""
    report = (yield).get_result()
    if report.failed:
        for name in ("kms", "java_kms", "featherlock_kms"):
            server = getattr(item, "funcargs", {}).get(name)
            if server is not None:
                report.sections.append((f"log of {server.name}", server.log()))


def running(server):
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    d = Driver(tmp_path_factory.mktemp("driver"))
    yield d
    d.close()


@pytest.fixture(scope="session")
def java_kms(tmp_path_factory):
    yield from running(JavaKms(tmp_path_factory.mktemp("java"), settings.OPEN_ACLS, settings.PROXY_USERS))


@pytest.fixture(scope="session", params=STORES)
def featherlock_kms(request, tmp_path_factory):
    yield from running(FeatherlockKms(tmp_path_factory.mktemp("ours"), settings.OPEN_ACLS, settings.PROXY_USERS, store=request.param))


@pytest.fixture(scope="session", params=("java", *(f"featherlock-{s}" for s in STORES)))
def kms(request, tmp_path_factory):
    """One running server with everything allowed; shared by the tests, which use names of their own."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "java":
        server = JavaKms(folder, settings.OPEN_ACLS, settings.PROXY_USERS)
    else:
        server = FeatherlockKms(folder, settings.OPEN_ACLS, settings.PROXY_USERS, store=request.param.split("-")[1])
    yield from running(server)


@pytest.fixture
def alice(driver, kms):
    client = driver.open(provider(kms), "alice")
    yield client
    client.close()


@pytest.fixture
def key(request):
    """A key name of this test's own."""
    return request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")
