"""What attackers and broken clients send: a defined end for each, nothing executed that nobody asked for, no memory kept."""
import json
import os
import re
import resource
import select
import socket
import struct
import threading
import time

import pytest

from server import DEADLINE
from wire import Connection, as_user, ask, create

SANITIZED = bool(os.environ.get("FEATHERLOCK_SANITIZED"))
KEYS = as_user("/kms/v1/keys")
HEALTH = b"GET /health HTTP/1.1\r\nHost: h\r\n\r\n"


def wait_until(claim, what):
    end = time.monotonic() + DEADLINE
    while not claim():
        assert time.monotonic() < end, what
        threading.Event().wait(0.005)


def resident_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def post(target, body, more=""):
    body = body if isinstance(body, bytes) else body.encode()
    return (f"POST {target} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n{more}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def reset(connection):
    """Ends it as a crashed peer does: nothing that was under way is read or sent any more."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.fixture(scope="module", autouse=True)
def many_descriptors():
    """For the connections of these tests; servers that they start inherit it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


# ---- where one program sees one request and another sees two

CREATE = f"POST {KEYS} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
BODY = '{"name":"smuggled"}'
CHUNKED = CREATE + "Transfer-Encoding: chunked\r\n\r\n"
LENGTH = f"Content-Length: {len(BODY)}\r\n"
NO_LENGTH = "Invalid Content-Length Value"
CODING = "Bad Transfer-Encoding, chunked not last"
BOTH = "Transfer-Encoding and Content-Length"


@pytest.mark.parametrize("raw, status, reason", [
    (f"{CREATE}{LENGTH}Content-Length: 4\r\n\r\n{BODY}", 400, "Multiple Content-Lengths"),
    (f"{CREATE}{LENGTH}{LENGTH}\r\n{BODY}", 400, "Multiple Content-Lengths"),
    (f"{CREATE}Content-Length: 19, 19\r\n\r\n{BODY}", 400, NO_LENGTH),
    (f"{CREATE}Content-Length: +19\r\n\r\n{BODY}", 400, NO_LENGTH),
    (f"{CREATE}Content-Length: -19\r\n\r\n{BODY}", 400, NO_LENGTH),
    (f"{CREATE}Content-Length: 0x13\r\n\r\n{BODY}", 400, NO_LENGTH),
    (f"{CREATE}Content-Length: 1 9\r\n\r\n{BODY}", 400, NO_LENGTH),
    (f"{CREATE}Content-Length: {2 ** 64 + 19}\r\n\r\n{BODY}", 400, "Bad Request"),
    (f"{CREATE}Content-Length: {2 ** 63 - 1}\r\n\r\n{BODY}", 413, "Payload Too Large"),
    (f"{CREATE}{LENGTH}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, BOTH),
    (f"{CREATE}Transfer-Encoding: chunked\r\n{LENGTH}\r\n0\r\n\r\n", 400, BOTH),
    (f"{CREATE}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400, CODING),
    (f"{CREATE}Transfer-Encoding: identity\r\n\r\n{BODY}", 400, CODING),
    (f"{CREATE}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400, CODING),
    (f"{CREATE}Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", 400, CODING),
    (f"{CREATE}Transfer-Encoding:\r\n\r\n{BODY}", 400, CODING),
    (f"{CREATE}Transfer-Encoding: chunked\xa0\r\n\r\n0\r\n\r\n", 400, CODING),
    (f"{CREATE}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, CODING),
    (f"{CREATE}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", 400, "Illegal character CNTL=0xb"),
    (f"{CREATE}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400, "Illegal character SPACE=' '"),
    (f"{CREATE}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400, "Header Folding"),
    ("GET /health HTTP/1.1\nHost: h\n\n", 400, "Illegal character LF=\\n"),
    ("GET /health HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400, "Illegal character LF=\\n"),
    ("GET /health HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", 400, "Bad EOL"),
    ("GET /health HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 400, "Illegal character CNTL=0x0"),
    ("GET /he\0alth HTTP/1.1\r\nHost: h\r\n\r\n", 400, "Illegal character CNTL=0x0"),
    ("GET /health HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400, "Header Folding"),
    ("GET /health HTTP/1.1\r\n Host: h\r\n\r\n", 400, "Header Folding"),
    ("GET /health HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400, "Multiple Hosts"),
    ("GET /health HTTP/1.1\r\n\r\n", 400, "No Host"),
    ("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "Bad Request"),
    ("GET user@h/health HTTP/1.1\r\nHost: h\r\n\r\n", 400, "Bad Request"),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 426, "Upgrade Required"),
    ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + 64 * "a", 400, "Illegal character CNTL=0x16"),
    (f"{CHUNKED}-1\r\n", 400, "Illegal character TCHAR='-'"),
    (f"{CHUNKED}0x13\r\n{BODY}\r\n0\r\n\r\n", 400, "Illegal character ALPHA='x'"),
    (f"{CHUNKED}ffffffffffffffff\r\n", 413, "Payload Too Large"),
    (f"{CHUNKED}10000000000000013\r\n{BODY}\r\n0\r\n\r\n", 400, "Chunk size of more than 16 digits"),
    (f"{CHUNKED} 13\r\n{BODY}\r\n0\r\n\r\n", 400, "Illegal character SPACE=' '"),
    (f"{CHUNKED}13\n{BODY}\n0\n\n", 400, "Illegal character LF=\\n"),
    (f"{CHUNKED}13;a\n{BODY}\r\n0\r\n\r\n", 400, "Illegal character LF=\\n"),
    (f"{CHUNKED}12\r\n{BODY}\r\n0\r\n\r\n", 400, "Illegal character VCHAR='}'"),
    (f"{CHUNKED}13\r\n{BODY}\r\n0\r\nX: y\r\n z\r\n\r\n", 400, "Illegal character SPACE=' '"),
    (f"{CHUNKED}13;{'e' * 9000}\r\n", 400, "Chunk extensions or trailers too large"),
    (f"{CHUNKED}13\r\n{BODY}\r\n0\r\nX: {'t' * 9000}\r\n\r\n", 400, "Chunk extensions or trailers too large"),
    (f"GET /health HTTP/1.1\r\nHost: h\r\nX: {'h' * 100000}\r\n\r\n", 431, "Request Header Fields Too Large"),
    ("GET /health HTTP/1.1\r\nHost: h\r\n" + 200 * "X: y\r\n" + "\r\n", 431, "Request Header Fields Too Large"),
    (f"GET /kms/v1/key/{'n' * (1 << 20)} HTTP/1.1\r\nHost: h\r\n\r\n", 414, "URI Too Long"),
    ("M" * 100000, 414, "URI Too Long"),
    (f"{CREATE}Expect: the-unexpected\r\n{LENGTH}\r\n{BODY}", 417, "Expectation Failed"),
])
def test_what_is_not_clearly_one_request_is_refused_and_nothing_behind_it_is_read(kms, raw, status, reason):
    with Connection(kms.port) as c:
        c.send(raw.encode("iso-8859-1") + HEALTH)
        answer = c.receive()
        assert (answer.status, answer.reason, answer.first("Connection")) == (status, reason, "close")
        assert answer.text == f"<h1>Bad Message {status}</h1><pre>reason: {reason}</pre>"
        assert c.ended() and c.buffer == b"", "something behind a refused request was answered"
    assert "smuggled" not in ask(kms, "GET", as_user("/kms/v1/keys/names")).json()


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
@pytest.mark.parametrize("framing", ["Content-Length: {0}\r\n\r\n{1}", "Transfer-Encoding: chunked\r\n\r\n{0:x}\r\n{1}\r\n0\r\n\r\n"])
def test_a_body_is_a_body_whatever_the_method(kms, method, framing):
    inner = "GET /inner HTTP/1.1\r\nHost: smuggled\r\n\r\n"
    with Connection(kms.port) as c:
        c.send(f"{method} /health HTTP/1.1\r\nHost: h\r\n" + framing.format(len(inner), inner))
        c.send(HEALTH)
        c.receive(method)
        assert c.receive().json()["status"] == "serving"
        c.socket.shutdown(socket.SHUT_WR)
        assert c.ended() and c.buffer == b""


# ---- Expect

def test_100_continue_is_said_once_and_only_to_those_who_wait(kms):
    with Connection(kms.port) as c:
        c.send(f"{CREATE}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert c._line() == "HTTP/1.1 100 Continue" and c._line() == ""
        c.send("{}" + CREATE + "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n{}")       # this one didn't wait
        assert [c.receive().status for _ in range(2)] == [400, 400]
        c.send(f"{CREATE}Expect: 100-continue\r\nContent-Length: 0\r\n\r\n")                # nothing to wait for
        assert c.receive().status == 500
        c.send(f"{CREATE}Expect: 100-continue\r\nContent-Length: {1 << 30}\r\n\r\n")
        assert c.receive().status == 413 and c.ended()


# ---- JSON

@pytest.mark.parametrize("body", [
    b"", b"{", b"}", b"[", b"]", b'"', b"{]", b"nul", b"{'name':'a'}", b'{"name"}', b'{"name":}', b'{"name":"a",}', b'{,}',
    b'{"name":"a"', b'{"name":"a\n"}', b'{"name":"\\x"}', b'{"name":"\\u12"}', b'{"name":"\xc3"}', b'{"name":"\xed\xa0\x80"}',
    b'{"name":"\xf8\x88\x80\x80\x80"}', b'{"name":\x00}', b'{"length":01}', b'{"length":1.}', b'{"length":-}', b'{"length":1e}',
    b'{"length":NaN}', b'{"a":' * 1001 + b"1" + b"}" * 1001, b"[" * 100000, b"\xff\xfe\x00", b"\xfe\xff\xd8\x00", b"// comment\n{}",
    b'{"length":' + b"9" * 100000 + b"}", b"\x1f\x8b\x08\x00" + b"\0" * 20, b"true", b"[]", b"1", b'"text"',
])
def test_what_is_no_object_is_refused_and_the_connection_lives(kms, body):
    with Connection(kms.port) as c:
        c.send(post(KEYS, body) + HEALTH)
        answer = c.receive()
        assert answer.status in (400, 500)
        java_class, message = answer.exception()
        assert java_class.startswith(("com.fasterxml.jackson.", "java.")) and (message or java_class.endswith("NullPointerException"))
        assert c.receive().json()["status"] == "serving"


# ---- many, much, and unread

def count_answers(connection, wanted):
    seen, tail = 0, b""
    while seen < wanted:
        piece = connection.socket.recv(1 << 20)
        assert piece, f"the connection ended after {seen} answers"
        seen, tail = seen + (tail + piece).count(b"HTTP/1.1 200 OK\r\n"), piece[-16:]
    return seen


def test_ten_thousand_pipelined_requests_are_all_answered(kms):
    with Connection(kms.port) as c:
        sender = threading.Thread(target=lambda: c.send(HEALTH * 10000))
        sender.start()
        assert count_answers(c, 10000) == 10000
        sender.join()


def test_who_reads_no_answers_is_not_read_from(kms):
    """And others are served meanwhile."""
    with Connection(kms.port) as c:
        c.socket.setblocking(False)
        sent = 0
        while select.select([], [c.socket], [], 0.3)[1]:        # 0.3 s without room: the server has stopped reading
            sent += c.socket.send(HEALTH * 1000)
            assert sent < 100 << 20, "100 MiB of requests were taken from a client that reads no answer"
        assert ask(kms, "GET", "/health").status == 200
        c.socket.settimeout(DEADLINE)
        assert count_answers(c, sent // len(HEALTH)) >= sent // len(HEALTH)


def test_a_slow_client_holds_up_nobody(kms):
    with Connection(kms.port) as slow:
        for byte in post(as_user("/kms/v1/key/none"), "{}"):
            slow.send(bytes([byte]))
            assert ask(kms, "GET", "/health").status == 200
        assert slow.receive().status == 500     # no such key


def answered(connections):
    return [c for c in connections if select.select([c.socket], [], [], 0)[0]]


def test_bodies_of_strangers_do_not_fill_the_memory(start):
    server = start(body_limit="1MiB")       # so all bodies together have 64 MiB
    connections = [Connection(server.port) for _ in range(80)]
    for c in connections:
        c.send(b"POST /kms/v1/keys HTTP/1.1\r\nHost: h\r\nContent-Length: 1048576\r\n\r\n" + b"x" * 1048575)
    wait_until(lambda: len(answered(connections)) == 16, "80 MiB are waiting, where 64 MiB are allowed")
    for c in answered(connections):
        answer = c.receive()
        assert (answer.status, answer.reason) == (503, "Request bodies hold too much memory")
    assert create(server, "small")["name"] == "small"      # small bodies pass
    for c in connections:
        c.close()
    wait_until(lambda: descriptors(server) < 40, "connections of peers that left are still open")
    create(server, "big", description="d" * 100000)


def test_answers_that_nobody_reads_do_not_fill_the_memory(start):
    server = start()
    create(server, "much")
    request = "GET " + as_user("/kms/v1/key/much/_eek?eek_op=generate&num_keys=100000") + " HTTP/1.1\r\nHost: h\r\n\r\n"
    connections = [Connection(server.port) for _ in range(24)]         # 18 MB each, where all together have 256 MiB
    for c in connections:
        c.send(request)
    wait_until(lambda: len(answered(connections)) == len(connections), "an answer didn't come")
    assert SANITIZED or resident_kib(server) < 448 << 10
    statuses = [c._line() for c in connections]
    assert set(statuses) == {"HTTP/1.1 200 OK", "HTTP/1.1 503 Answers that nobody reads hold too much memory"}
    for c in connections:
        c.close()
    wait_until(lambda: descriptors(server) < 40, "connections of peers that left are still open")
    with Connection(server.port) as c:
        c.send(request)
        assert len(c.receive().json()) == 100000


# ---- those who leave

def test_clients_that_vanish_while_parked_leave_whole_keys(kms):
    for i in range(200):
        c = Connection(kms.port)
        c.send(post(KEYS, json.dumps({"name": f"vanish{i}"})))
        reset(c)
    for i in range(200):
        c = Connection(kms.port)
        c.send(f"GET /kms/v1/keys/names?user.name=zed&doAs=nobody{i} HTTP/1.1\r\nHost: h\r\n\r\n")    # a look-up of groups
        reset(c)
    assert ask(kms, "GET", "/health").status == 200
    wait_until(lambda: descriptors(kms) < 40, "connections of peers that left are still open")
    for name in ask(kms, "GET", as_user("/kms/v1/keys/names")).json():
        meta = ask(kms, "GET", as_user(f"/kms/v1/key/{name}/_metadata")).json()
        assert len(ask(kms, "GET", as_user(f"/kms/v1/key/{name}/_versions")).json()) == meta["versions"] >= 1


def storm(server):
    """One round of everything that costs memory while it lasts."""
    idle = [Connection(server.port) for _ in range(1000)]
    for i, c in enumerate(idle):
        c.send(b"" if i % 2 else b"GET /health HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 5000)
    assert ask(server, "GET", "/health").status == 200
    for c in idle:
        c.close()
    for i in range(300):
        c = Connection(server.port)
        c.send((b"", b"GET /hea", HEALTH, b"\xff" * 3000)[i % 4])
        reset(c)
    many = b"[1" + b",1" * 2_000_000 + b"]"
    for target in ("/kms/v1/keys", "/kms/v1/key/there/_reencryptbatch"):
        for body in (many, b'{"a":' * 1000, os.urandom(1 << 20), b'{"name":"' + b"x" * (1 << 20) + b'"}'):
            with Connection(server.port) as c:
                c.send(post(as_user(target), body))
                assert c.receive().status in (400, 500, 503)
    with Connection(server.port) as c:
        c.send("GET " + as_user("/kms/v1/key/there/_eek?eek_op=generate&num_keys=20000") + " HTTP/1.1\r\nHost: h\r\n\r\n")
        assert len(c.receive().json()) == 20000
        c.ask("GET", as_user("/kms/v1/key/there"))      # a scratch buffer that grew is given back by the next answer
    wait_until(lambda: descriptors(server) < 40, "connections of peers that left are still open")


def test_memory_comes_back(start):
    server = start(reactors=1)
    create(server, "there")
    storm(server)
    after_one = resident_kib(server)
    for _ in range(3):
        storm(server)
    assert SANITIZED or after_one < 24 << 10, f"{after_one} KiB are resident after large requests"
    assert SANITIZED or resident_kib(server) < after_one + (2 << 10), f"memory grew from {after_one} to {resident_kib(server)} KiB"
