"""The comparison itself: what it must notice, and what it must not."""
import json
import time
from collections import Counter
from random import Random

import deliberate
import pytest
from differ import audit, bodies, malformed
from differ.generator import Generator, Request
from differ.memory import Memory, ref
from differ.normal import Normaliser
from differ.report import Disagreement, Report
from differ.tokens import COOKIE_TRICKS, TOKEN_TRICKS, Identifier, Token, cookie_trick, token_trick
from differ.wire import Answer

KNOWN = {"AAECAwQFBgcICQoLDA0ODw"}
COOKIE = "u=alice&p=alice&t=simple-dt&e=1796137360224&s=a3zhJ5FX/4xnNiLUUDr1X4vzsg2jBKDd1vF43cH6ork="


def asked(method="GET", kind="metadata", trick=""):
    return Request(kind, trick, method, "/kms/v1/keys", [], [])


def answer(body, status=200, reason="OK", headers=(), kind="application/json"):
    return Answer(status, reason, [("Content-Type", kind), *headers], (body if isinstance(body, str) else json.dumps(body)).encode())


class Side:
    """One server's answers, in order."""

    def __init__(self):
        self.memory, self.number = Memory("127.0.0.1", 1), 0

    def says(self, *answers):
        out = []
        for one in answers:
            self.number += 1
            out.append(Normaliser(asked(), self.number, self.memory, KNOWN).aspects(one))
        return out


def alike(first, second):
    return Side().says(*first) == Side().says(*second)


def version(material, name="k@0"):
    return answer({"material": material, "name": "k", "versionName": name})


def test_other_random_materials_are_alike():
    assert alike([version("A" * 22)], [version("B" * 22)])


def test_a_material_of_another_length_is_noticed():
    assert not alike([version("A" * 22)], [version("B" * 43)])


def test_a_version_that_changes_its_material_is_noticed():
    assert alike([version("A" * 22), version("A" * 22)], [version("B" * 22), version("B" * 22)])
    assert not alike([version("A" * 22), version("A" * 22)], [version("B" * 22), version("C" * 22)])


def test_a_material_that_the_request_chose_must_come_back():
    chosen = next(iter(KNOWN))
    assert alike([version(chosen)], [version(chosen)]) and not alike([version(chosen)], [version("B" * 22)])


@pytest.mark.parametrize("changed", (
    answer({"name": "k"}, status=201), answer({"name": "k"}, reason="Fine"), answer({"name": "k"}, kind="text/plain"),
    answer({"name": "k"}, headers=[("Set-Cookie", "hadoop.auth=; HttpOnly")]), answer({"name": "l"}), answer({"name": None}),
    answer({"name": "k", "more": 1}), answer({"name": "k"}, headers=[("WWW-Authenticate", "Negotiate")]), "no answer"))
def test_each_part_of_an_answer_counts(changed):
    assert not alike([answer({"name": "k"})], [changed])


def test_the_order_of_members_counts_but_not_that_of_attributes_and_names():
    assert not alike([answer({"a": 1, "b": 2})], [answer({"b": 2, "a": 1})])
    assert alike([answer({"attributes": {"a": "1", "b": "2"}})], [answer({"attributes": {"b": "2", "a": "1"}})])
    assert alike([answer(["a", "b"])], [answer(["b", "a"])])


def test_sentences_of_the_json_library_do_not_count_but_those_of_the_kms_do():
    def error(name, message):
        return answer({"RemoteException": {"message": message, "exception": name.rpartition(".")[2], "javaClassName": name}}, status=500)
    assert alike([error("com.fasterxml.jackson.core.JsonParseException", "x")], [error("com.fasterxml.jackson.core.JsonParseException", "y")])
    assert not alike([error("com.fasterxml.jackson.core.JsonParseException", "x")], [error("com.fasterxml.jackson.core.io.JsonEOFException", "x")])
    assert not alike([error("java.io.IOException", "x")], [error("java.io.IOException", "y")])
    assert alike([error("java.io.IOException", "Key k already exists in jceks://file@/x")], [error("java.io.IOException", "Key k already exists in lmdb:y")])


def made_token(**changes):
    now = int(time.time() * 1000)
    fields = dict(version=0, owner=b"alice", renewer=b"yarn", real=b"", issued=now, maximum=now + 604800000, number=7, master=2)
    return Token(Identifier(**{**fields, **changes}).encode(), b"p" * 20, b"kms-dt", b"").encode()


def test_tokens_are_compared_by_what_is_in_them():
    def got(**changes):
        return [answer({"Token": {"urlString": made_token(**changes)}})]
    assert alike(got(), got(number=8, master=3))
    for change in ({"owner": b"bob"}, {"renewer": b""}, {"real": b"svc"}, {"issued": 5}, {"maximum": 2 ** 40}, {"version": 1}):
        assert not alike(got(), got(**change)), change


def test_a_cookie_with_another_user_or_expiry_is_noticed():
    def cookie(text):
        return [answer({}, headers=[("Set-Cookie", f'hadoop.auth="{text}"; HttpOnly')])]
    soon = int(time.time() * 1000) + 36000000
    assert alike(cookie(f"u=a&p=a&t=simple-dt&e={soon}&s=AAAA="), cookie(f"u=a&p=a&t=simple-dt&e={soon + 5}&s=BBBB="))
    assert not alike(cookie(f"u=a&p=a&t=simple-dt&e={soon}&s=AAAA="), cookie(f"u=b&p=a&t=simple-dt&e={soon}&s=AAAA="))
    assert not alike(cookie(f"u=a&p=a&t=simple-dt&e={soon}&s=AAAA="), cookie(f"u=a&p=a&t=simple-dt&e={soon + 36000000}&s=AAAA="))
    assert not alike(cookie(f"u=a&p=a&t=simple-dt&e={soon}&s=AAAA="), cookie(f"u=a&p=a&t=simple-dt&e={soon}&s=AAAAAAAA="))


@pytest.mark.parametrize("trick", sorted(TOKEN_TRICKS))
def test_every_way_to_spoil_a_token_spoils_it(trick):
    token = made_token()
    assert (token_trick(token, trick, 3) == token) == (trick == "whole")


def test_every_way_to_spoil_a_cookie_spoils_it():
    results = [cookie_trick(COOKIE, trick) for trick in sorted(COOKIE_TRICKS)]
    assert len(set(results)) == len(results)


def test_each_server_gets_its_own_values():
    one, two = Memory("127.0.0.1", 1), Memory("127.0.0.1", 2)
    one.keep("iv", 4, "AAAA")
    two.keep("iv", 4, "BBBB")
    text = f'{{"iv":"{ref("iv", 4)}"}} {ref("host")}'
    assert (one.fill(text), two.fill(text)) == ('{"iv":"AAAA"} 127.0.0.1:1', '{"iv":"BBBB"} 127.0.0.1:2')


def test_the_same_seed_gives_the_same_requests():
    def some(seed):
        generator = Generator(seed)
        return [generator.next() for _ in range(300)]
    assert some(5) == some(5) != some(6)


def test_references_survive_every_form_of_json():
    random, value = Random(1), {"iv": ref("iv", 4, "whole"), "other": "ü"}
    assert all(ref("iv", 4, "whole") in bodies._text(random, value) for _ in range(50))


def test_the_malformed_ones_have_names_of_their_own():
    names = [piece.trick for piece in malformed.PIECES]
    assert len(set(names)) == len(names)


def disagreement(first, second, **request):
    return Disagreement(1, asked(**request), request.get("sent", "GET / HTTP/1.1\r\n\r\n"), first, second)


def test_kinds_do_not_depend_on_names_and_numbers():
    def of(name):
        return disagreement({"status": "500", "body": f"no key '{name}'"}, {"status": "404", "body": f"no key '{name}' 5"})
    assert of("a").signature() == of("b").signature()
    report = Report()
    for name in ("a", "b"):
        report.add(of(name))
    assert len(report.groups(report.unexplained())) == 1 and "2 x metadata" in report.summary(("A", "B"), 5)


def test_a_kind_names_the_members_that_differ():
    def of(key, cipher):
        return {"status": "200", "body": json.dumps([{"name": key, "cipher": cipher}, {}])}
    assert disagreement(of("a", ""), of("a", "AES")).signature() == disagreement(of("b", ""), of("b", "AES")).signature() \
        == "metadata  body: [].cipher  | AES"
    assert disagreement({"status": "500", "x": "1"}, {"status": "400", "x": "2"}).signature() == "metadata  status: 500 | 400  - | -"


def test_a_deliberate_difference_allows_nothing_beside_itself():
    wadl = {"status": "200", "content-type": "application/vnd.sun.wadl+xml", "body": "<description of the resource>", "allow": "GET"}
    ours = {"status": "200", "content-type": "text/plain;charset=utf-8", "body": "", "allow": "GET"}
    assert deliberate.explain(disagreement(wadl, ours, method="OPTIONS")) == "no WADL"
    assert deliberate.explain(disagreement(wadl, {**ours, "set-cookie": "x"}, method="OPTIONS")) is None
    assert deliberate.explain(disagreement(wadl, {**ours, "status": "500"}, method="OPTIONS")) is None
    assert deliberate.explain(disagreement(wadl, ours)) is None


def test_a_lost_key_is_no_deliberate_difference():
    def refused(message):
        return {"status": "500", "body": json.dumps({"RemoteException": {"message": message, "exception": "IOException",
                                                                        "javaClassName": "java.io.IOException"}})}
    java = refused("java.io.IOException: Exception while contacting value generator ")
    ours = refused(deliberate.UNCHECKED + ": java.lang.NullPointerException: No KeyVersion exists for key 'k' ")
    assert deliberate.explain(disagreement(java, ours, kind="generate")) == "generate in vain"
    assert deliberate.explain(disagreement(java, refused(deliberate.INVALID_KEY + "5 bytes"), kind="generate")) == "generate in vain"
    assert deliberate.explain(disagreement(java, refused("something else"), kind="generate")) is None
    assert deliberate.explain(disagreement({"status": "200", "body": "[]"}, ours, kind="generate")) is None
    assert deliberate.explain(disagreement(java, ours, kind="decrypt")) is None


def test_the_audit_log_is_compared_less_its_times_and_counts(tmp_path):
    def log(name, *lines):
        (tmp_path / name).write_text("".join(f"2026-12-01 05:12:12,{i:03} {line}\n" for i, line in enumerate(lines)))
        return audit.lines(tmp_path / name, "127.0.0.1:1")
    one = log("one", "OK[op=GENERATE_EEK, key=k, user=a, accessCount=1, interval=0ms] ", "UNAUTHORIZED[op=GET_KEYS, user=b] ",
              "OK[op=GENERATE_EEK, key=k, user=a, accessCount=9, interval=10005ms] ")
    two = log("two", "UNAUTHORIZED[op=GET_KEYS, user=b] ", "OK[op=GENERATE_EEK, key=k, user=a, accessCount=4, interval=0ms] ")
    three = log("three", "UNAUTHORIZED[op=GET_KEYS, user=c] ", "OK[op=GENERATE_EEK, key=k, user=a, accessCount=1, interval=0ms] ")
    assert one == two
    assert audit.shown(one - three, three - one, 9) == ["  1 x only in A: UNAUTHORIZED[op=GET_KEYS, user=b] ",
                                                        "  1 x only in B: UNAUTHORIZED[op=GET_KEYS, user=c] "]


def test_the_audit_log_is_compared_less_what_ours_escapes_masks_and_cuts(tmp_path):
    def log(name, text):
        (tmp_path / name).write_text(text)
        return audit.lines(tmp_path / name, "127.0.0.1:1")
    java = log("java", "2026-12-01 05:12:12,000 OK[op=CREATE_KEY, key=a\nb\0, user=x] Description:" + "y" * 9000 + "\n"
                       "2026-12-01 05:12:12,001 UNAUTHENTICATED URL:http://h/?op&token=HgAF ErrorMsg:'no'\n")
    ours = log("ours", "2026-12-01 05:12:12,000 OK[op=CREATE_KEY, key=a\\nb\\u0000, user=x] Description:" + "y" * 8000 + "...(cut)\n"
                       "2026-12-01 05:12:12,001 UNAUTHENTICATED URL:http://h/?op&token=*** ErrorMsg:'no'\n")
    assert [o.total() for o in audit.differing(java, ours)] == [0, 0]
    other = log("other", "2026-12-01 05:12:12,000 OK[op=CREATE_KEY, key=a\\nb\\u0000, user=z] Description:" + "y" * 8000 + "...(cut)\n")
    assert [o.total() for o in audit.differing(java, other)] == [2, 1]


def test_a_deliberate_difference_excuses_one_line_of_the_audit_log_and_no_other():
    found = disagreement({"status": "200"}, {"status": "400"}, kind="malformed", trick="two-hosts")
    found.deliberate = deliberate.explain(found)
    only = Counter({"OK[op=GET_KEYS, user=alice] ": 2, "OK[op=DELETE_KEY, key=k, user=alice] ": 1})
    audit.excuse(only, deliberate.audit_lines(found))
    assert only == Counter({"OK[op=GET_KEYS, user=alice] ": 1, "OK[op=DELETE_KEY, key=k, user=alice] ": 1})


def test_each_rule_of_odd_http_wants_its_own_request():
    bad, page = {"status": "400", "reason": "Bad Request", "body": "<h1>Bad Message 400</h1>x"}, {"status": "400", "reason": "Bad Request", "body": "page"}
    early = {"status": "401", "interim": "1", "answer 2 status": "closed"}
    for trick, java, ours, name in (("star-get", page, bad, "asterisk"), ("expect-100-refused", {"status": "401"}, early, "early 100")):
        assert deliberate.explain(disagreement(java, ours, kind="malformed", trick=trick)) == name
        assert deliberate.explain(disagreement(java, ours, kind="malformed", trick="pipelined")) is None
    assert deliberate.explain(disagreement({"status": "401"}, {**early, "set-cookie": "x"}, kind="malformed", trick="expect-100-refused")) is None
    other = {**bad, "reason": "Illegal character", "body": "<h1>Bad Message 400</h1>y"}
    assert deliberate.explain(disagreement(bad, other, trick=" header")) == "two faults"
    assert deliberate.explain(disagreement(bad, {**other, "status": "200"}, trick=" header")) is None
