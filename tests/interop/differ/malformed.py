"""Requests that are not, or hardly, HTTP. Each goes over a connection of its own."""
import dataclasses

from .memory import ref

# A token and a cookie that some other server made.
FOREIGN_TOKEN = "HQAFYWxpY2UEeWFybgCKAYvP5WgAigGL8_HsAAECFI7d9ViuaJ-PDMjxti2cOegIDWoaBmttcy1kdAA"
FOREIGN_COOKIE = "u=alice&p=alice&t=simple-dt&e=1700036000000&s=FtjQoJNZxcGivR6pfNwIr/PuRF6o20QxfT8mOw+Rm9k="

HOST = "Host: " + ref("host") + "\r\n"
GOOD = "/kms/v1/keys/names?user.name=alice"
MAKE = "POST /kms/v1/key/nosuch/_invalidatecache?user.name=alice HTTP/1.1\r\n" + HOST
# The key is one that no create draws: some of these are served by one server alone.
ROLL = "POST /kms/v1/key/nosuch?user.name=alice HTTP/1.1\r\n" + HOST + "Content-Type: application/json\r\n"

REFUSED = "POST /kms/v1/key/nosuch HTTP/1.1\r\n" + HOST + "Content-Type: application/json\r\n"


@dataclasses.dataclass
class Piece:
    trick: str
    text: str
    method: str = "GET"
    whole: bool = True          # a whole request, so an answer is waited for before our side is closed
    rest: str = ""              # sent when the server has said 100


def _get(line, headers=HOST):
    return f"{line}\r\n{headers}\r\n"


def _fixed():
    p = Piece
    return [
        p("no-host", _get(f"GET {GOOD} HTTP/1.1", "")),
        p("two-hosts", _get(f"GET {GOOD} HTTP/1.1", HOST + "Host: other\r\n")),
        p("host-empty", _get(f"GET {GOOD} HTTP/1.1", "Host:\r\n")),
        p("host-odd", _get(f"GET {GOOD} HTTP/1.1", "Host: a b\r\n")),
        p("host-other", _get(f"GET {GOOD} HTTP/1.1", "Host: kms.example.com:9999\r\n")),
        p("http-1.0-no-host", _get(f"GET {GOOD} HTTP/1.0", "")),
        p("http-1.0-keep-alive", _get(f"GET {GOOD} HTTP/1.0", HOST + "Connection: keep-alive\r\n")),
        p("http-2.0", _get(f"GET {GOOD} HTTP/2.0")),
        p("http-1.2", _get(f"GET {GOOD} HTTP/1.2")),
        p("http-0.9", f"GET {GOOD}\r\n", whole=False),
        p("version-lower", _get(f"GET {GOOD} http/1.1")),
        p("version-junk", _get(f"GET {GOOD} HTTQ/1.1")),
        p("two-blanks", _get(f"GET  {GOOD}  HTTP/1.1")),
        p("tab-in-line", _get(f"GET\t{GOOD}\tHTTP/1.1")),
        p("leading-blank", _get(f" GET {GOOD} HTTP/1.1")),
        p("leading-crlf", "\r\n\r\n" + _get(f"GET {GOOD} HTTP/1.1")),
        p("bare-lf", f"GET {GOOD} HTTP/1.1\n{HOST}\n".replace("\r\n", "\n")),
        p("bare-lf-in-headers", f"GET {GOOD} HTTP/1.1\r\nX: y\n{HOST}\r\n"),
        p("bare-cr", f"GET {GOOD} HTTP/1.1\r\nX: y\rZ: 1\r\n{HOST}\r\n"),
        p("nul-in-header", f"GET {GOOD} HTTP/1.1\r\nX: y\0z\r\n{HOST}\r\n"),
        p("nul-in-target", _get(f"GET {GOOD}\0 HTTP/1.1")),
        p("control-in-name", f"GET {GOOD} HTTP/1.1\r\nX\x01: y\r\n{HOST}\r\n"),
        p("blank-before-colon", f"GET {GOOD} HTTP/1.1\r\nX : y\r\n{HOST}\r\n"),
        p("no-colon", f"GET {GOOD} HTTP/1.1\r\nnocolon\r\n{HOST}\r\n"),
        p("empty-name", f"GET {GOOD} HTTP/1.1\r\n: y\r\n{HOST}\r\n"),
        p("folded", f"GET {GOOD} HTTP/1.1\r\nX: y\r\n folded\r\n{HOST}\r\n"),
        p("high-bytes-in-header", f"GET {GOOD} HTTP/1.1\r\nX: ÿé\r\n{HOST}\r\n"),
        p("long-header", f"GET {GOOD} HTTP/1.1\r\nX: {'y' * 100000}\r\n{HOST}\r\n"),
        p("many-headers", f"GET {GOOD} HTTP/1.1\r\n" + "".join(f"X{i}: y\r\n" for i in range(90)) + HOST + "\r\n"),
        p("long-target", _get(f"GET {GOOD}&x={'y' * 100000} HTTP/1.1")),
        p("target-20k", _get(f"GET {GOOD}&x={'y' * 20000} HTTP/1.1")),
        p("absolute-target", _get("GET http://elsewhere:1" + GOOD + " HTTP/1.1")),
        p("authority-target", _get("CONNECT localhost:80 HTTP/1.1"), method="CONNECT"),
        p("star-target", _get("OPTIONS * HTTP/1.1"), method="OPTIONS"),
        p("star-get", _get("GET * HTTP/1.1")),
        p("no-slash", _get("GET kms/v1/keys/names?user.name=alice HTTP/1.1")),
        p("bad-percent", _get("GET /kms/v1/key/%zz?user.name=alice HTTP/1.1")),
        p("lone-percent", _get("GET /kms/v1/key/a%?user.name=alice HTTP/1.1")),
        p("percent-nul", _get("GET /kms/v1/key/%00?user.name=alice HTTP/1.1")),
        p("percent-bad-utf8", _get("GET /kms/v1/key/%ff/_metadata?user.name=alice HTTP/1.1")),
        p("raw-utf8-path", _get("GET /kms/v1/key/ünï/_metadata?user.name=alice HTTP/1.1")),
        p("raw-odd-path", _get("GET /kms/v1/key/a\"<>{}|^`/_metadata?user.name=alice HTTP/1.1")),
        p("dot-dot", _get("GET /../../etc/passwd?user.name=alice HTTP/1.1")),
        p("empty-line-only", "\r\n", whole=False),
        p("nothing", "", whole=False),
        p("half-line", "GET /kms", whole=False),
        p("half-head", f"GET {GOOD} HTTP/1.1\r\nHost: x\r\nX: ", whole=False),
        p("tls-hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", whole=False),
        p("binary", "\x00\x01\x02\x03\r\n\r\n", whole=False),
        p("method-junk", _get(f"G@T {GOOD} HTTP/1.1")),
        p("method-long", _get(f"{'M' * 60} {GOOD} HTTP/1.1")),
        p("trace", _get(f"TRACE {GOOD} HTTP/1.1"), method="TRACE"),
        p("length-missing", MAKE + "\r\n", method="POST"),
        p("length-zero", MAKE + "Content-Length: 0\r\n\r\n", method="POST"),
        p("length-twice-same", MAKE + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", method="POST"),
        p("length-twice-other", MAKE + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", method="POST"),
        p("length-list", MAKE + "Content-Length: 2, 2\r\n\r\n{}", method="POST"),
        p("length-negative", MAKE + "Content-Length: -1\r\n\r\n{}", method="POST"),
        p("length-plus", MAKE + "Content-Length: +2\r\n\r\n{}", method="POST"),
        p("length-hex", MAKE + "Content-Length: 0x2\r\n\r\n{}", method="POST"),
        p("length-word", MAKE + "Content-Length: two\r\n\r\n{}", method="POST"),
        p("length-empty", MAKE + "Content-Length:\r\n\r\n{}", method="POST"),
        p("length-huge", MAKE + "Content-Length: 99999999999999999999\r\n\r\n{}", method="POST"),
        p("length-and-chunked", MAKE + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", method="POST"),
        p("chunked-and-length", MAKE + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", method="POST"),
        p("chunked", ROLL + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", method="POST"),
        p("chunked-trailer", ROLL + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n", method="POST"),
        p("chunked-extension", ROLL + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunked-upper", ROLL + "Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunked-not-last", ROLL + "Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunked-twice", ROLL + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("encoding-identity", ROLL + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}", method="POST"),
        p("encoding-unknown", ROLL + "Transfer-Encoding: foo\r\n\r\n{}", method="POST"),
        p("chunk-size-junk", ROLL + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunk-size-huge", ROLL + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunk-size-0x", ROLL + "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunk-bare-lf", ROLL + "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n", method="POST"),
        p("chunk-too-long", ROLL + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("expect-100", ROLL + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", method="POST", rest="{}"),
        p("expect-100-refused", REFUSED + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", method="POST", rest="{}"),
        p("expect-100-upper", ROLL + "Content-Length: 2\r\nExpect: 100-CONTINUE\r\n\r\n", method="POST", rest="{}"),
        p("expect-100-http-1.0", ROLL.replace("1.1", "1.0") + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n{}", method="POST"),
        p("body-short", ROLL + "Content-Length: 10\r\n\r\n{}", method="POST", whole=False),
        p("body-none", ROLL + "Content-Length: 10\r\n\r\n", method="POST", whole=False),
        p("body-unread", MAKE + "Content-Length: 5\r\n\r\nhello", method="POST"),
        p("pipelined-after-unread", REFUSED + "Content-Length: 5\r\n\r\nhello" + _get(f"GET {GOOD} HTTP/1.1"), method="POST"),
        p("chunk-cut", ROLL + "Transfer-Encoding: chunked\r\n\r\n5\r\n{}", method="POST", whole=False),
        p("chunk-none", ROLL + "Transfer-Encoding: chunked\r\n\r\n", method="POST", whole=False),
        p("chunks-without-end", ROLL + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", method="POST", whole=False),
        p("chunk-size-space", ROLL + "Transfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunk-size-empty", ROLL + "Transfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunk-size-negative", ROLL + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("chunked-http-1.0", ROLL.replace("1.1", "1.0") + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("length-zero-first", MAKE + "Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}", method="POST"),
        p("length-blank-after-name", MAKE + "Content-Length : 2\r\n\r\n{}", method="POST"),
        p("length-leading-zero", MAKE + "Content-Length: 002\r\n\r\n{}", method="POST"),
        p("encoding-chunked-tab", ROLL + "Transfer-Encoding:\tchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("encoding-xchunked", ROLL + "Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", method="POST"),
        p("expect-other", _get(f"GET {GOOD} HTTP/1.1", HOST + "Expect: bananas\r\n")),
        p("body-on-get", f"GET {GOOD} HTTP/1.1\r\n{HOST}Content-Length: 2\r\n\r\n{{}}"),
        p("pipelined", _get(f"GET {GOOD} HTTP/1.1") + _get("GET /kms/v1/key/missing/_metadata?user.name=alice HTTP/1.1")),
        p("pipelined-error-first", _get("GET /kms/v1/nosuch?user.name=alice HTTP/1.1") + _get(f"GET {GOOD} HTTP/1.1")),
        p("pipelined-refused-first", _get("GET /kms/v1/keys/names HTTP/1.1") + _get(f"GET {GOOD} HTTP/1.1")),
        p("pipelined-junk-after", _get(f"GET {GOOD} HTTP/1.1") + "junk\r\n\r\n"),
        p("connection-close", _get(f"GET {GOOD} HTTP/1.1", HOST + "Connection: close\r\n")),
        p("connection-close-pipelined", _get(f"GET {GOOD} HTTP/1.1", HOST + "Connection: close\r\n") + _get(f"GET {GOOD} HTTP/1.1")),
        p("upgrade-h2c", _get(f"GET {GOOD} HTTP/1.1", HOST + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n")),
        p("http2-preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", whole=False),
    ]


PIECES = _fixed()


def draw(random, token_labels):
    if token_labels and random.random() < 0.1:
        token = ref("token", random.choice(token_labels), "whole")
        return Piece("token-header-twice", _get("GET /kms/v1/keys/names HTTP/1.1",
                                                f"{HOST}X-Hadoop-Delegation-Token: {token}\r\nX-Hadoop-Delegation-Token: junk\r\n"))
    return random.choice(PIECES)
