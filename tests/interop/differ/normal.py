"""Turns an answer into what two right servers must have in common.

Random values are not thrown away but named by the place where the server first said them, so a material that changes
between two reads, or a re-encryption that is not deterministic, shows as another name."""
import json
import re
import time

from .tokens import Identifier, Token, unbase64

# Headers whose presence or value a client could notice. Framing, Date and hints about the connection's future are left out.
HEADERS = ("Location", "WWW-Authenticate", "Set-Cookie", "Allow", "Cache-Control", "Pragma", "X-Content-Type-Options",
           "X-XSS-Protection", "X-Frame-Options", "Server", "Strict-Transport-Security")
RANDOM_FIELDS = ("material", "iv")
DAY = 86400000
NEAR = 300000           # two machines' clocks, a slow run

TEXTS = (
    (re.compile(r"\b(issueDate|maxDate|sequenceNumber|masterKeyId|keyId)=-?\d+"), r"\1=N"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}[+-]\d{4}"), "<time>"),
    (re.compile(r"(already exists in|does not exist in) .*"), r"\1 <store>"),
    (re.compile(r"in keystore .* to a KeyMetadata"), "in keystore <store> to a KeyMetadata"),
    (re.compile(r"\be=\d{6,}"), "e=<time>"),
    (re.compile(r"&s=[A-Za-z0-9+/]*=*"), lambda found: f"&s=<{len(found.group(0)) - 3} characters>"),
    (re.compile(r"\b(delegation|token)=[\w%+/=-]{20,}"), r"\1=<token>"),
)


def text_of(text, memory):
    text = text.replace(memory.host_port, "HOST")
    for pattern, instead in TEXTS:
        text = pattern.sub(instead, text)
    return text


def near(value, wanted):
    return abs(value - wanted) <= NEAR


def now():
    return int(time.time() * 1000)


class Normaliser:
    """For one request and one server; `known` are materials that the requests themselves chose."""

    def __init__(self, request, number, memory, known):
        self.request, self.number, self.memory, self.known = request, number, memory, known

    def aspects(self, answer):
        """Name -> what is compared."""
        if isinstance(answer, str):
            return {"status": answer}
        found = {
            "status": str(answer.status),
            "reason": text_of(answer.reason, self.memory),
            "content-type": self._content_type(answer),
            "body": self._body(answer),
        }
        if answer.interim:
            found["interim"] = str(answer.interim)
        for name in HEADERS:
            values = [self._header(name, v) for v in answer.all(name)]
            if values:
                found[name.lower()] = " + ".join(values)
        if answer.first("Expires"):
            found["expires"] = "<now>"
        return found

    def _content_type(self, answer):
        value = answer.first("Content-Type")
        return "none" if value is None else re.sub(r"\s+", "", value.lower())

    def _header(self, name, value):
        if name == "Allow":
            return ",".join(sorted(re.split(r"\s*,\s*", value)))
        if name == "Set-Cookie":
            value = re.sub(r"(?<=[&\"])e=(\d+)", self._cookie_expiry, value)
        return text_of(value, self.memory)

    def _cookie_expiry(self, found):
        ahead = int(found.group(1)) - now()
        return "e=<now+10h>" if near(ahead, 36000000) else f"e=<now+{ahead // 60000}min>"

    # ---- bodies

    def _body(self, answer):
        kind = self._content_type(answer)
        text = answer.body.decode("utf-8", "replace")
        if kind.startswith("application/json"):
            return self._json(text)
        if kind.startswith("text/html"):
            return self._page(text)
        if kind == "application/vnd.sun.wadl+xml":
            return "<description of the resource>"      # in an order that changes from start to start
        return text_of(text, self.memory)

    def _page(self, text):
        """The container's page less its looks: which servlet, and where it was thrown."""
        text = re.sub(r"<tr><th>(SERVLET|CAUSED BY):.*?</tr>\n?", "", text, flags=re.S)
        text = re.sub(r"<h3>Caused by:</h3><pre>.*?</pre>", "", text, flags=re.S)
        text = re.sub(r"<meta[^>]*>", "", text)
        return text_of(re.sub(r"\s+", " ", text).strip(), self.memory)

    def _json(self, text):
        try:
            value = json.loads(text)
        except ValueError:
            return "not JSON: " + text_of(text, self.memory)
        if isinstance(value, dict) and "servlet" in value:
            del value["servlet"]
        return json.dumps(self._value(value, ""), ensure_ascii=False)

    def _value(self, value, place, field=None):
        if isinstance(value, dict):
            return self._object(value, place, field)
        if isinstance(value, list):
            items = [self._value(v, f"{place}[{i}]") for i, v in enumerate(value)]
            return sorted(items) if all(isinstance(v, str) for v in items) else items
        if field in RANDOM_FIELDS and isinstance(value, str):
            return self._random(value, place)
        if field == "created" and isinstance(value, int):
            return "<now>" if now() - DAY < value <= now() + NEAR else value
        if field == "long" and isinstance(value, int):
            return "<now+1d>" if near(value, now() + DAY) else "<now+7d>" if near(value, now() + 7 * DAY) else value
        if field == "urlString" and isinstance(value, str):
            return self._token(value)
        return text_of(value, self.memory) if isinstance(value, str) else value

    def _object(self, value, place, field):
        if "javaClassName" in value:
            value = dict(value, message=self._message(value))
        names = sorted(value) if field == "attributes" else value
        inside = {n: self._value(value[n], f"{place}.{n}", n if field != "attributes" else None) for n in names}
        return inside

    def _message(self, error):
        """Sentences of the JSON library and of the JVM's class casts are theirs; only the class counts."""
        message, name = error.get("message"), error.get("javaClassName") or ""
        if name.startswith("com.fasterxml.") or name == "java.lang.ClassCastException":
            return "<words of the library>"
        if isinstance(message, str):
            message = re.sub(r"ClassCastException: class .*", "ClassCastException: <words>", message)
        return message

    def _random(self, value, place):
        size = len(unbase64(value))
        if value in self.known:
            return value
        return f"<{size} bytes>" if size < 8 else f"<{size} bytes, {self.memory.named(value, f'#{self.number}{place}')}>"

    def _token(self, text):
        try:
            token = Token.decode(text)
            i = Identifier.decode(token.identifier)
        except (ValueError, IndexError) as e:
            return f"undecodable token: {text} ({e})"
        again = "minimal" if i.encode() == token.identifier and token.encode() == text else "not encoded minimally"
        issued = "<now>" if near(i.issued, now()) else i.issued
        return (f"token v{i.version} owner={i.owner!r} renewer={i.renewer!r} real={i.real!r} issued={issued} life={i.maximum - i.issued}"
                f" password={len(token.password)} kind={token.kind!r} service={token.service!r} {again}")
