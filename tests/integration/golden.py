"""Replays exchanges that were captured from the Java KMS: the same requests, and answers equal to the byte but for what
is random or belongs to the machine.

What Java made up (materials, IVs, times, cookies, tokens) is translated: the first time a captured value is met in an
answer, ours at the same place is taken for it; afterwards it must be that, and in requests it stands for it."""
import json
import pathlib
import re

from tokens import decode, translated
from wire import Connection

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "kms"
MADE_UP = re.compile(r'("(?:material|iv)" : )"([\w-]{4,})"|("created" : |"long":)(\d+)|("urlString":)"([\w-]+)"')
COOKIE = re.compile(r'(hadoop\.auth=")([^"]+)(")')
TEXTS = (
    (re.compile(r"\b(issueDate|maxDate|sequenceNumber|masterKeyId|keyId)=-?\d+"), r"\1=N"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}[+-]\d{4}"), "<time>"),
    (re.compile(r"(already exists in|does not exist in) [^\"]*"), r"\1 <store>"),
    (re.compile(r"in keystore \S+ to a KeyMetadata"), "in keystore <store> to a KeyMetadata"),
    (re.compile(r"<tr><th>SERVLET:.*</tr>"), "<servlet>"),
    (re.compile(r"(ClassCastException: class \S+ cannot be cast to class [\w.]+).*?(?=\",?\n)"), r"\1"),
    (re.compile(r"e=\d+&s=[A-Za-z0-9+/]+=*"), "e=<time>&s=<signature>"),
)
HEADER_TEXTS = ((re.compile(r"^(Date|Expires): .* GMT$"), r"\1: <now>"),)
FRAMING = ("Transfer-Encoding:", "Content-Length:", "Connection:")
WADL = re.compile(r"^\(WADL description")


def load(name):
    return json.loads((DATA / name).read_text())


class Replay:
    def __init__(self, server, exchanges):
        self.server = server
        self.ours = {}      # captured value -> ours
        self.token_pairs = []
        found = re.search(r"localhost:\d+", json.dumps(exchanges))
        self.their_host = found.group(0) if found else "nowhere"
        self.our_host = f"localhost:{server.port}"

    # ---- captured to ours

    def request_text(self, text):
        """A request's target, header or body in our server's terms."""
        def one_token(found):
            word = found.group(0)
            if word in self.ours:
                return self.ours[word]
            for theirs, own in reversed(self.token_pairs):
                if self._akin(word, theirs):
                    return translated(word, theirs, own)
            return word

        text = COOKIE.sub(lambda m: m.group(1) + self._cookie(m.group(2)) + m.group(3), text)
        text = re.sub(r"(?<=hadoop\.auth=)u=[^\";]+", lambda m: self._cookie(m.group(0)), text)
        text = re.sub(r"[A-Za-z0-9_+/-]{20,}={0,2}", lambda m: self.ours.get(self._url_safe(m.group(0))) or one_token(m), text)
        return text

    @staticmethod
    def _url_safe(text):
        return text.replace("+", "-").replace("/", "_").rstrip("=")

    @staticmethod
    def _akin(word, theirs):
        """Made of that token: the same issue date, which no two captured tokens share, stands in it."""
        try:
            return decode(word)["issued"] == decode(theirs)["issued"]
        except ValueError:
            return False

    def _cookie(self, value):
        if value in self.ours:
            return self.ours[value]
        for theirs, own in self.ours.items():   # a spoilt signature
            if theirs.startswith("u=") and value.startswith(theirs.split("&s=")[0]):
                return own[:-4] + "AAA="
        return value

    def answer_text(self, theirs, ours):
        """The captured text in our terms; learns from ours what is met for the first time."""
        found_ours = list(MADE_UP.finditer(ours))
        place = iter(found_ours)

        def swap(found):
            value = found.group(2) or found.group(4) or found.group(6)
            own = next(place, None)
            own_value = own and (own.group(2) or own.group(4) or own.group(6))
            if value not in self.ours and own_value is not None and len(own_value) == len(value):
                self.ours[value] = own_value
                if found.group(6):
                    self.token_pairs.append((value, own_value))
            return found.group(0).replace(value, self.ours.get(value, value))

        return MADE_UP.sub(swap, theirs)

    def learn_cookie(self, theirs, ours):
        a, b = COOKIE.search("\n".join(theirs)), COOKIE.search("\n".join(ours))
        if a and b:
            self.ours[a.group(2)] = b.group(2)

    # ---- one exchange

    def send(self, e):
        headers = [self.request_text(h) for h in e["headers"]]
        host, version = {"create-host": ("kms01:9600", "HTTP/1.1"), "create-nohost10": ("", "HTTP/1.0")}.get(
            e["label"], (self.our_host, "HTTP/1.1"))
        body = e["body"] if e["body"] is None else self.request_text(e["body"])
        with Connection(self.server.port) as c:
            return c.ask(e["method"], self.request_text(e["target"]), body, headers, host, version)

    def plain(self, text):
        for pattern, instead in TEXTS:
            text = pattern.sub(instead, text)
        return text.replace(self.their_host, "HOST").replace(self.our_host, "HOST").replace(f"127.0.0.1:{self.server.port}", "HOST")

    def headers(self, lines):
        kept = [self.plain(h) for h in lines if not h.startswith(FRAMING)]
        for pattern, instead in HEADER_TEXTS:
            kept = [pattern.sub(instead, h) for h in kept]
        return kept

    def compare(self, e):
        """Sends it; returns (captured, ours) in comparable form."""
        answer = self.send(e)
        body = answer.body.decode("utf-8", "replace")
        self.learn_cookie(e["response_headers"], answer.headers)
        their_body = self.answer_text(e["response_body"] or "", body)
        theirs = {"status": self.plain(self.request_text(e["status_line"])[len("HTTP/1.1 "):]),
                  "headers": self.headers(e["response_headers"]), "body": self.plain(their_body)}
        ours = {"status": self.plain(f"{answer.status} {answer.reason}"), "headers": self.headers(answer.headers), "body": self.plain(body)}
        if WADL.match(e["response_body"] or ""):    # ours describes nothing: the probe needs 200, the cookie and Allow
            theirs["body"] = ""
            theirs["headers"] = ["Content-Type: text/plain;charset=utf-8" if h.startswith("Content-Type: ") else h
                                 for h in theirs["headers"] if not h.startswith(("Last-Modified:", "Vary:"))]
        if re.match(r'^\[ "', theirs["body"]) and re.match(r'^\[ "', ours["body"]):   # names: in no particular order
            for side in (theirs, ours):
                side["body"] = sorted(json.loads(side["body"]))
        return theirs, ours
