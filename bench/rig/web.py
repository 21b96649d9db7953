"""Requests outside the measurement: keys, tokens, and the checks before the clock starts."""
import http.client
import json
import ssl

from .errors import CannotMeasure

KEY = "bench"
PATH = f"/kms/v1/key/{KEY}/_metadata"
TOKEN_HEADER = "X-Hadoop-Delegation-Token"


class Site:
    """A KMS at host:port."""

    def __init__(self, host, port, secure=False):
        self.host, self.port, self.secure = host, port, secure

    @property
    def url(self):
        return f"{'https' if self.secure else 'http'}://{self.host}:{self.port}"

    def ask(self, method, path, body=None, headers=None):
        """(status, headers, body)"""
        if self.secure:
            trusting = ssl.create_default_context()
            trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
            line = http.client.HTTPSConnection(self.host, self.port, timeout=20, context=trusting)
        else:
            line = http.client.HTTPConnection(self.host, self.port, timeout=20)
        line.request(method, path, body, headers or {})
        answer = line.getresponse()
        got = answer.status, answer.getheaders(), answer.read()
        line.close()
        return got

    def make_key(self):
        status, _, body = self.ask("POST", "/kms/v1/keys?user.name=bench", json.dumps({"name": KEY}),
                                   {"Content-Type": "application/json"})
        if status != 201:
            raise CannotMeasure(f"{self.url}: creating a key is answered with {status} {body[:200]!r}")

    def get_token(self):
        status, _, body = self.ask("GET", "/kms/v1/?op=GETDELEGATIONTOKEN&renewer=yarn&user.name=bench")
        if status != 200:
            raise CannotMeasure(f"{self.url}: asking for a token is answered with {status} {body[:200]!r}")
        return json.loads(body)["Token"]["urlString"]

    def verify(self, token=None):
        return self.ask("GET", PATH, headers={TOKEN_HEADER: token} if token else {})

    def check(self, token):
        """A real token is accepted, a forged one and none at all are refused; the body of the metadata."""
        middle = len(token) - 20
        forged = token[:middle] + ("B" if token[middle] == "A" else "A") + token[middle + 1:]
        for what, shown, expected in (("a real token", token, {200}), ("a forged token", forged, {401, 403}),
                                      ("no token at all", None, {401, 403})):
            status, _, body = self.verify(shown)
            if status not in expected:
                raise CannotMeasure(f"{self.url}: {what} is answered with {status} {body[:200]!r}")
        return self.verify(token)


def token_bytes(url_string):
    """(identifier, password) lengths of a token: two Writables with vints, both short enough for few bytes here."""
    import base64
    raw = base64.urlsafe_b64decode(url_string + "=" * (-len(url_string) % 4))

    def vint(at):
        first = raw[at] - 256 if raw[at] > 127 else raw[at]
        if first >= -112:
            return first, at + 1
        count = -112 - first
        return int.from_bytes(raw[at + 1:at + 1 + count], "big"), at + 1 + count
    identifier, at = vint(0)
    password, _ = vint(at + identifier)
    return identifier, password
