"""One fixture that starts the program, one that has it ready with open ACLs."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from server import Server  # noqa: E402


@pytest.fixture
def start(tmp_path):
    """start(**flags): a ready server in the test's folder; ended with exit status 0 after the test. Its log is shown when
    the test fails."""
    started = []

    def starter(*args, wait=True, **kwargs):
        server = Server(tmp_path, *args, **kwargs)
        started.append(server)
        return server.ready() if wait else server

    yield starter
    for server in started:
        if server.process.poll() is None:
            server.stop()
        print("\n".join(server.log.rest()))


@pytest.fixture(scope="module")
def kms(tmp_path_factory):
    """A server with open ACLs for the tests of one file that don't disturb each other."""
    server = Server(tmp_path_factory.mktemp("kms")).ready()
    yield server
    server.stop()
    print("\n".join(server.log.rest()))
