"""What one server has said: its tokens, cookies and wrapped keys, by label. Both servers have the same labels,
each with its own values, so one request can be written for both."""
import re
import urllib.parse

from . import tokens

REFERENCE = re.compile(r"⟦([a-z]+)(?::([^:⟧]*))?(?::([^:⟧]*))?(?::(\d+))?⟧")


def ref(kind, label="", trick="", n=None):
    """The place in a request where a server's own value goes."""
    parts = [kind, str(label), trick] + ([str(n)] if n is not None else [])
    return "⟦" + ":".join(parts).rstrip(":") + "⟧"


class Memory:
    def __init__(self, host, port):
        self.host_port = f"{host}:{port}"
        self.values = {}
        self.names = {}             # a random value -> where it was first seen

    def keep(self, kind, label, value):
        self.values[kind, str(label)] = value

    def forget(self, kind, label):
        self.values.pop((kind, str(label)), None)

    def fill(self, text):
        return REFERENCE.sub(self._value, text)

    def _value(self, found):
        kind, label, trick, n = found.groups()
        if kind == "host":
            return self.host_port
        value = self.values["token" if kind == "parameter" else kind, label]
        if kind == "token" and trick:
            return tokens.token_trick(value, trick, int(n or 0))
        if kind == "parameter":             # a token in a query
            return urllib.parse.quote(tokens.token_trick(value, trick, int(n or 0)), safe="=")
        if kind == "cookie" and trick:
            return tokens.cookie_trick(value, trick)
        if kind in ("iv", "eek") and trick:
            return tokens.bytes_trick(value, trick, int(n or 0))
        return value

    def named(self, value, place):
        """The first place of a random value: equal names mean that both servers repeated themselves alike."""
        return self.names.setdefault(value, place)
