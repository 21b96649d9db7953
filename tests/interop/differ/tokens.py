"""Delegation tokens and cookies taken apart, spoilt and put together again."""
import base64
import dataclasses
import re


def vlong(value):
    """Hadoop's variable-length integer."""
    if -112 <= value <= 127:
        return bytes([value & 0xFF])
    first, value = (-112, value) if value >= 0 else (-120, ~value)
    body = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([(first - len(body)) & 0xFF]) + body


def block(data):
    return vlong(len(data)) + data


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise ValueError("token ends early")
        self.at += count
        return self.data[self.at - count:self.at]

    def vlong(self):
        first = self.take(1)[0]
        first = first - 256 if first > 127 else first
        if first >= -112:
            return first
        negative = first < -120
        value = int.from_bytes(self.take((-120 if negative else -112) - first), "big")
        return ~value if negative else value

    def block(self):
        return self.take(self.vlong())


def unbase64(text):
    clean = re.sub(r"[^A-Za-z0-9+/]", "", text.replace("-", "+").replace("_", "/"))
    return base64.b64decode(clean + "=" * (-len(clean) % 4))


def tobase64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclasses.dataclass
class Identifier:
    version: int
    owner: bytes
    renewer: bytes
    real: bytes
    issued: int
    maximum: int
    number: int
    master: int

    @classmethod
    def decode(cls, data):
        r = Reader(data)
        return cls(r.take(1)[0], r.block(), r.block(), r.block(), r.vlong(), r.vlong(), r.vlong(), r.vlong())

    def encode(self):
        return (bytes([self.version]) + block(self.owner) + block(self.renewer) + block(self.real)
                + vlong(self.issued) + vlong(self.maximum) + vlong(self.number) + vlong(self.master))


@dataclasses.dataclass
class Token:
    identifier: bytes
    password: bytes
    kind: bytes
    service: bytes

    @classmethod
    def decode(cls, text):
        r = Reader(unbase64(text))
        return cls(r.block(), r.block(), r.block(), r.block())

    def encode(self):
        return tobase64(block(self.identifier) + block(self.password) + block(self.kind) + block(self.service))


def _flip(data, at):
    if not data:
        return data
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1:]


def _with_identifier(token, **changes):
    identifier = Identifier.decode(token.identifier)
    return dataclasses.replace(token, identifier=dataclasses.replace(identifier, **changes).encode()).encode()


def _replaced(token, **changes):
    return dataclasses.replace(token, **changes).encode()


def _raw(token):
    return unbase64(token.encode())


# What may be done to a whole token before it is presented; `n` is a number drawn by the generator.
TOKEN_TRICKS = {
    "whole": lambda t, n: t.encode(),
    "standard-base64": lambda t, n: base64.b64encode(_raw(t)).decode(),
    "padded": lambda t, n: t.encode() + "=" * (-len(t.encode()) % 4),
    "other-kind": lambda t, n: _replaced(t, kind=b"HDFS_DELEGATION_TOKEN"),
    "no-kind": lambda t, n: _replaced(t, kind=b""),
    "other-service": lambda t, n: _replaced(t, service=b"10.0.0.1:9600"),
    "bytes-after": lambda t, n: tobase64(_raw(t) + b"tail"),
    "identifier-bytes-after": lambda t, n: _replaced(t, identifier=t.identifier + b"x"),
    "password-flipped": lambda t, n: _replaced(t, password=_flip(t.password, n)),
    "password-short": lambda t, n: _replaced(t, password=t.password[:-1]),
    "password-long": lambda t, n: _replaced(t, password=t.password + b"x"),
    "password-empty": lambda t, n: _replaced(t, password=b""),
    "owner-flipped": lambda t, n: _replaced(t, identifier=_flip(t.identifier, 2)),
    "owner-replaced": lambda t, n: _with_identifier(t, owner=b"admin"),
    "owner-empty": lambda t, n: _with_identifier(t, owner=b""),
    "owner-bad-utf8": lambda t, n: _with_identifier(t, owner=b"\xff\xfe"),
    "owner-principal": lambda t, n: _with_identifier(t, owner=b"alice@EXAMPLE.COM"),
    "renewer-replaced": lambda t, n: _with_identifier(t, renewer=b"alice"),
    "renewer-empty": lambda t, n: _with_identifier(t, renewer=b""),
    "real-user-added": lambda t, n: _with_identifier(t, real=b"svc"),
    "number-other": lambda t, n: _with_identifier(t, number=1000000 + n),
    "number-negative": lambda t, n: _with_identifier(t, number=-1),
    "number-too-large": lambda t, n: _with_identifier(t, number=1 << 40),
    "master-key-other": lambda t, n: _with_identifier(t, master=4711),
    "issued-later": lambda t, n: _with_identifier(t, issued=Identifier.decode(t.identifier).issued + 1),
    "maximum-past": lambda t, n: _with_identifier(t, maximum=1000),
    "version-5": lambda t, n: _with_identifier(t, version=5),
    "identifier-empty": lambda t, n: _replaced(t, identifier=b""),
    "identifier-cut": lambda t, n: _replaced(t, identifier=t.identifier[:n % len(t.identifier)]),
    "cut": lambda t, n: tobase64(_raw(t)[:n % len(_raw(t))]),
    "length-negative": lambda t, n: tobase64(b"\xff" + _raw(t)[1:]),
    "length-wide": lambda t, n: tobase64(b"\x8b\x01\x00\x00\x00\x00" + _raw(t)[1:]),
    "length-past-end": lambda t, n: tobase64(b"\x8d\x01\x00\x00" + _raw(t)[1:]),
}
HARMLESS = ("whole", "standard-base64", "padded", "other-kind", "no-kind", "other-service", "bytes-after",
            "identifier-bytes-after")


def token_trick(text, trick, n):
    return TOKEN_TRICKS[trick](Token.decode(text), n)


def _signature_flipped(value):
    """Another first letter, and not the same in the other case: Jetty remembers the Cookie headers of a connection and
    takes one that differs from an earlier one only in case for that."""
    head, _, sign = value.rpartition("&s=")
    return f"{head}&s={'A' if sign[0] not in 'Aa' else 'B'}{sign[1:]}"


# The value of a cookie as the server set it, without its quotes.
COOKIE_TRICKS = {
    "quoted": lambda v: f'"{v}"',
    "bare": lambda v: v,
    "signature-flipped": lambda v: f'"{_signature_flipped(v)}"',
    "signature-short": lambda v: f'"{v[:-4]}"',
    "no-signature": lambda v: f'"{v.rpartition("&s=")[0]}"',
    "other-user": lambda v: '"' + re.sub(r"^u=[^&]*&p=[^&]*", "u=admin&p=admin", v) + '"',
    "other-type": lambda v: '"' + v.replace("t=simple-dt", "t=kerberos-dt") + '"',
    "no-user": lambda v: '"' + re.sub(r"^u=[^&]*&", "", v) + '"',
    "past": lambda v: '"' + re.sub(r"e=\d+", "e=1000", v) + '"',
    "empty": lambda v: "",
    "empty-quoted": lambda v: '""',
    "junk": lambda v: '"some junk"',
}
HARMLESS_COOKIES = ("quoted", "bare")


def cookie_trick(value, trick):
    return COOKIE_TRICKS[trick](value)


# The base64 text of an IV or of wrapped key bytes.
BYTES_TRICKS = {
    "whole": lambda b, n: tobase64(b),
    "standard": lambda b, n: base64.b64encode(b).decode(),
    "flipped": lambda b, n: tobase64(_flip(b, n)),
    "short": lambda b, n: tobase64(b[:n % max(1, len(b))]),
    "long": lambda b, n: tobase64(b + b"xyz"),
    "empty": lambda b, n: "",
    "junk-between": lambda b, n: tobase64(b)[:5] + "!* " + tobase64(b)[5:],
    "not-base64": lambda b, n: "%%%%",
}


def bytes_trick(text, trick, n):
    return BYTES_TRICKS[trick](unbase64(text), n)
