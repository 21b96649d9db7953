"""A disk that takes nothing more: each change is refused and none is half made, what needs no writing goes on."""
import resource

import pytest

from wire import as_user, ask, create, new_token, with_token

NAMES = "/kms/v1/keys/names"
KEY = as_user("/kms/v1/key/k")


def limit_files(server, most):
    """A limit on the size of files fails writes as a full disk does."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


@pytest.fixture
def full(start):
    server = start(store="lmdb", audit_file=None)
    create(server, "k")
    server.token = new_token(server)
    limit_files(server, 1)
    return server


def lives(server):
    limit_files(server, resource.RLIM_INFINITY)
    assert ask(server, "POST", KEY, {}).json()["versionName"] == "k@1"
    assert ask(server, "GET", NAMES, headers=with_token(new_token(server))).json() == ["k"]


@pytest.mark.parametrize("method, target, body", [("POST", as_user("/kms/v1/keys"), {"name": "new"}), ("POST", KEY, {}), ("DELETE", KEY, None)])
def test_keys_do_not_change(full, method, target, body):
    answer = ask(full, method, target, body)
    assert (answer.status, answer.exception()[0]) == (500, "java.io.IOException") and "disk full" in answer.exception()[1]
    assert ask(full, "GET", KEY).json()["versions"] == 1
    assert ask(full, "GET", as_user("/kms/v1/key/new")).text == "{ }"
    lives(full)


@pytest.mark.parametrize("method, operation, user", [("GET", "GET", "alice"), ("PUT", "RENEW", "yarn"), ("PUT", "CANCEL", "alice")])
def test_tokens_do_not_change(full, method, operation, user):
    answer = ask(full, method, as_user(f"/kms/v1/?op={operation}DELEGATIONTOKEN&token={full.token}", user))
    assert (answer.status, answer.reason, answer.first("Connection")) == (500, "Server Error", "close")
    assert ("disk full" in answer.text) == (method == "GET")        # a PUT has no page
    assert ask(full, "GET", NAMES, headers=with_token(full.token)).json() == ["k"]
    lives(full)


def test_what_was_refused_is_not_there_after_a_restart(full, start):
    for n in range(20):
        assert ask(full, "POST", as_user("/kms/v1/keys"), {"name": f"n{n}", "description": "d" * 10000}).status == 500
    full.stop()
    again = start(store="lmdb")
    assert ask(again, "GET", as_user(NAMES)).json() == ["k"]
    assert ask(again, "GET", NAMES, headers=with_token(full.token)).status == 200
