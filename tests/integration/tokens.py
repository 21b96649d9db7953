"""Delegation tokens as bytes, to take apart and spoil."""
import base64


def unbase64(text):
    return base64.urlsafe_b64decode(text.replace("+", "-").replace("/", "_") + "=" * (-len(text) % 4))


def tobase64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def put_number(n):
    """Hadoop's variable-length integer, of numbers that are not negative."""
    if n <= 127:
        return bytes([n])
    raw = n.to_bytes((n.bit_length() + 7) // 8, "big")
    return bytes([0x100 - 112 - len(raw)]) + raw


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        piece = self.data[self.at:self.at + count]
        if len(piece) < count:
            raise ValueError("too short")
        self.at += count
        return piece

    def number(self):
        first = self.take(1)[0]
        if first <= 127:
            return first
        if first < 0x88 or first >= 0x90:
            raise ValueError("negative or too long")
        return int.from_bytes(self.take(0x90 - first), "big")

    def text(self):
        return self.take(self.number())


FIELDS = ("version", "owner", "renewer", "real", "issued", "maximum", "sequence", "key_id", "ident_rest", "password", "kind",
          "service", "rest")


def decode(text):
    """A dict of FIELDS, or ValueError."""
    outer = Reader(unbase64(text))
    inner = Reader(outer.text())
    t = {"version": inner.take(1), "owner": inner.text(), "renewer": inner.text(), "real": inner.text(), "issued": inner.number(),
         "maximum": inner.number(), "sequence": inner.number(), "key_id": inner.number()}
    t["ident_rest"] = inner.data[inner.at:]
    return {**t, "password": outer.text(), "kind": outer.text(), "service": outer.text(), "rest": outer.data[outer.at:]}


def encode(t):
    def text(piece):
        return put_number(len(piece)) + piece

    inner = t["version"] + text(t["owner"]) + text(t["renewer"]) + text(t["real"]) + b"".join(
        put_number(t[f]) for f in ("issued", "maximum", "sequence", "key_id")) + t["ident_rest"]
    return tobase64(text(inner) + text(t["password"]) + text(t["kind"]) + text(t["service"]) + t["rest"])


def changed(token, **fields):
    return encode({**decode(token), **fields})


def bad_password(token):
    password = decode(token)["password"]
    return changed(token, password=password[:-1] + bytes([password[-1] ^ 1]))


def translated(text, theirs, ours):
    """`text`, which somebody made of the token `theirs` by spoiling it, spoilt in the same way of `ours`."""
    try:
        base, spoilt, own = decode(theirs), decode(text), decode(ours)
    except ValueError:
        return text
    made = {f: own[f] if spoilt[f] == base[f] else spoilt[f] for f in FIELDS}
    if spoilt["password"] != base["password"]:
        pairs = zip(spoilt["password"], base["password"], own["password"])
        made["password"] = bytes(o ^ s ^ b for s, b, o in pairs)
    return encode(made)
