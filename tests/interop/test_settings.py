"""What only shows with settings of its own: lists of who may do what, in the forms that surprise."""
import json
import pathlib
import urllib.error
import urllib.request

import deliberate
import pytest

from kit import settings
from kit.featherlock import FeatherlockKms
from kit.java_kms import JavaKms, site_xml

OPEN = {f"default.key.acl.{op}": "*" for op in ("MANAGEMENT", "READ", "GENERATE_EEK", "DECRYPT_EEK")}


@pytest.fixture(params=(JavaKms, FeatherlockKms), ids=lambda kind: kind.name)
def start(request, tmp_path):
    """Starts a server with these ACLs."""
    servers = []

    def begin(**acls):
        path = pathlib.Path(tmp_path) / "acls.xml"
        path.write_text(site_xml({**OPEN, **{name.replace("__", "."): value for name, value in acls.items()}}))
        servers.append(request.param(tmp_path / "kms", path, settings.PROXY_USERS))
        return servers[-1]
    yield begin
    for server in servers:
        server.stop()


def ask(server, path, body=None):
    request = urllib.request.Request(server.url + path, None if body is None else json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        e.read()
        return e.code


def test_a_blacklist_of_everybody_blocks_everybody(start):
    server = start(hadoop__kms__blacklist__GET_KEYS="*")
    assert ask(server, "/keys/names?user.name=alice") == 403
    assert ask(server, "/keys/metadata?user.name=alice") == 200


def test_blanks_around_the_star_do_not_matter(start):
    server = start(hadoop__kms__acl__GET_KEYS=" * ")
    assert ask(server, "/keys/names?user.name=alice") == 200


def test_a_tilde_names_the_user_who_acts_for_another(start):
    server = start(hadoop__kms__acl__GET_KEYS="~svc", hadoop__kms__blacklist__GET_METADATA="~svc")
    assert ask(server, "/keys/names?user.name=alice") == 403
    assert ask(server, "/keys/names?user.name=svc") == 403
    assert ask(server, "/keys/names?user.name=svc&doAs=alice") == 200
    assert ask(server, "/keys/metadata?user.name=svc&doAs=alice") == 403


def test_a_list_of_groups_only(start):
    server = start(hadoop__kms__acl__GET_KEYS=" root")
    assert ask(server, "/keys/names?user.name=root") == 200
    assert ask(server, "/keys/names?user.name=alice") == 403


def test_without_a_default_every_key_is_closed(start):
    server = start(default__key__acl__READ="")
    assert ask(server, "/keys?user.name=alice", {"name": "k"}) == 201
    assert ask(server, "/key/k/_metadata?user.name=alice") == 403


def test_the_page_tells_the_deliberate_differences():
    text = deliberate.PAGE.read_text()
    assert deliberate.page_with_table(text) == text, "python3 tests/interop/deliberate.py writes the table anew"
