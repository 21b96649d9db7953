"""Writes the random requests. Everything is drawn from one seeded generator and from what the first server
answered, so the same seed against the same kind of server gives the same sequence."""
import dataclasses
import random
import re
import urllib.parse

from . import bodies, malformed
from .memory import ref
from .tokens import COOKIE_TRICKS, HARMLESS, HARMLESS_COOKIES, TOKEN_TRICKS

NAMES = ("k0", "k1", "k2", "k3", "guarded", "readonly", "group.only", "nobody", "odd", "a b", "sl/ash",
         "ünï-ключ", "per%41cent", "plus+", "dots-._~", "quo\"te<&>")
ODD_NAMES = ("", "missing", "k0@0", "k1@9", "_eek", "_metadata", ".", "..", "x" * 300, "semi;colon", "@", "k0@", "@0",
             "k0@x", "keys", "nul\0", "new\nline", "UPPER", "sl//ash", "back\\slash", "\U0001f511")
# No name differs from one of NAMES in case alone: the Java server's store ignores case but its cache does not, so that a key read
# as K0 and deleted as k0 is there again after the next write.
VERSION_OF_A_KEY = re.compile(r"k\d@\d$")
USERS = ("alice",) * 20 + ("admin",) * 4 + ("bob", "carol", "dave", "erin", "mallory", "hdfs", "root", "svc", "hive")
ODD_USERS = ("", "a&b", "al ice", "ünï", "alice@EXAMPLE.COM", "x" * 200, "alice/host", "a=b", "'", "%", "alice@")
PROXIES = ("svc", "svc", "hive", "oozie", "grouped", "nohosts", "alice")
CONTENT_TYPES = ("text/plain", "application/json;charset=utf-8", "application/json; charset=ISO-8859-1", "APPLICATION/JSON",
                 "application/xml", "garbage", "", "application/json/x", "application/*", "*/*", "text/json",
                 "application/vnd.x+json", "application/x-www-form-urlencoded", "application/json, text/plain",
                 "multipart/form-data; boundary=x", " application/json ")
ACCEPTS = ("application/json", "*/*", "application/*", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
           "application/json;q=0.5, text/html", "")
LIVE_LABELS = 12


@dataclasses.dataclass
class Request:
    kind: str                           # which endpoint
    trick: str                          # what is odd about it
    method: str
    path: str
    query: list                         # (already encoded name, value or None)
    headers: list
    body: str = None                    # text with references; None is no body at all
    keep: tuple = ()                    # what to remember of the answer: ("token", label) and so on
    key: str = None                     # the key it changes, for setting both servers right after a disagreement
    about: str = None                   # the key it is about
    raw: object = None                  # a malformed.Piece: sent as it is, on a connection of its own
    version: str = "HTTP/1.1"
    encoding: str = "utf-8"

    def target(self):
        pairs = [n if v is None else f"{n}={v}" for n, v in self.query]
        return self.path + ("?" + "&".join(pairs) if pairs else "")


def quoted(text, safe=""):
    return urllib.parse.quote(text, safe=safe)


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.live = {}                  # key name -> number of versions, as the first server tells it
        self.tokens, self.cancelled, self.cookies, self.eeks = [], [], [], []
        self.labels = 0

    # ---- small draws

    def chance(self, share):
        return self.random.random() < share

    def pick(self, things):
        return self.random.choice(things)

    def label(self):
        self.labels += 1
        return self.labels

    def name(self):
        """A key name, most often of a key that is there."""
        if self.live and self.chance(0.75):
            return self.pick(sorted(self.live))
        return self.pick(NAMES) if self.chance(0.75) else self.pick(ODD_NAMES)

    def version_name(self):
        name = self.name()
        draw = self.random.random()
        if draw < 0.75:
            return f"{name}@{self.random.randrange(max(1, self.live.get(name, 1)))}"
        return self.pick((f"{name}@{self.live.get(name, 0) + 3}", f"{name}@-1", f"{name}@00", f"{name}@x", f"{name}@", name,
                          f"{name}@99999999999"))

    def path_of(self, name):
        """A name as part of a path, encoded in one of the ways that mean the same, or nearly."""
        draw = self.random.random()
        if draw < 0.7:
            return quoted(name)
        if draw < 0.85:
            return quoted(name, safe="/@+;.")
        if draw < 0.9:
            return urllib.parse.quote_plus(name)
        if draw < 0.94:
            return quoted(name) + ";x=y"
        if draw < 0.97:
            return quoted(quoted(name))
        return "".join(f"%{byte:02x}" for byte in name.encode())

    # ---- who asks

    def identify(self, request):
        """Adds the credentials; mostly good ones, so that the request gets past the door."""
        draw = self.random.random()
        if draw < 0.62:
            self._user(request, self.pick(USERS))
        elif draw < 0.72 and self.cookies:
            self._cookie(request, self.pick(HARMLESS_COOKIES))
        elif draw < 0.80 and self.tokens:
            self._token(request, self.pick(HARMLESS))
        elif draw < 0.87:
            self._user(request, self.pick(PROXIES))
            self._do_as(request)
        elif draw < 0.90:
            self._user(request, self.pick(ODD_USERS))
            request.trick += " user:odd"
        elif draw < 0.92:
            request.trick += " user:none"
        elif draw < 0.95 and (self.tokens or self.cancelled):
            self._token(request, self.pick(sorted(TOKEN_TRICKS)))
            if self.chance(0.5):
                self._user(request, "alice")
        elif draw < 0.98 and self.cookies:
            self._cookie(request, self.pick(sorted(COOKIE_TRICKS)))
            if self.chance(0.5):
                self._user(request, "alice")
        else:
            self._mixed(request)

    def _user(self, request, user):
        name = "user.name"
        if self.chance(0.01):
            name = self.pick(("USER.NAME", "user%2Ename", "user.name%20"))
            request.trick += " user:name-spelt"
        request.query.insert(self.random.randrange(len(request.query) + 1), (name, quoted(user)))

    def _do_as(self, request):
        who = self.pick(("alice", "bob", "carol", "root", "mallory", "svc"))
        if self.chance(0.1):
            who = self.pick(("", "a b", "ünï", "alice@EXAMPLE.COM"))
        request.query.append((self.pick(("doAs", "doAs", "doas", "DOAS")), quoted(who)))
        request.trick += " doAs"

    def _cookie(self, request, trick):
        request.headers.append(("Cookie", "hadoop.auth=" + ref("cookie", self.pick(self.cookies), trick)))
        request.trick += f" cookie:{trick}"

    def _token(self, request, trick):
        label = self.pick(self.tokens + self.cancelled)
        gone = "-cancelled" if label in self.cancelled else ""
        n = self.random.randrange(200)
        if self.chance(0.5):
            request.headers.append(("X-Hadoop-Delegation-Token", ref("token", label, trick, n)))
        else:
            request.query.append(("delegation", ref("parameter", label, trick, n)))
        request.trick += f" token:{trick}{gone}"

    def _mixed(self, request):
        """Several credentials at once, of which one must win; and some from elsewhere."""
        if self.cookies and self.chance(0.5):
            self._cookie(request, self.pick(sorted(COOKIE_TRICKS)))
        if self.tokens and self.chance(0.6):
            self._token(request, self.pick(sorted(TOKEN_TRICKS)))
        draw = self.random.random()
        if draw < 0.3:
            request.headers.append(("X-Hadoop-Delegation-Token", self.pick((malformed.FOREIGN_TOKEN, "garbage", "", "AAAA", "/w"))))
            request.trick += " token:foreign"
        elif draw < 0.5:
            request.query.append(("delegation", self.pick((malformed.FOREIGN_TOKEN, "garbage", ""))))
            request.trick += " token:foreign"
        elif draw < 0.7:
            request.headers.append(("Cookie", self.pick((f'hadoop.auth="{malformed.FOREIGN_COOKIE}"', "other=1", "hadoop.auth",
                                                         "=", "$Version=1; hadoop.auth=x; $Path=/"))))
            request.trick += " cookie:foreign"
        elif draw < 0.8:
            request.headers.append(("Authorization", self.pick(("Negotiate YII=", "Basic YTpi", "Bearer x"))))
            request.trick += " authorization"
        for _ in range(self.random.randrange(3)):
            self._user(request, self.pick(USERS))
        if self.chance(0.3):
            self._do_as(request)
        request.trick += " mixed"

    # ---- the endpoints

    def next(self):
        kinds = ((self.create, 11), (self.delete, 6), (self.roll, 6), (self.invalidate, 3), (self.metadata_batch, 6),
                 (self.names, 3), (self.metadata, 9), (self.current, 5), (self.key_version, 6), (self.versions, 5),
                 (self.generate, 10), (self.decrypt, 10), (self.reencrypt, 6), (self.reencrypt_batch, 6), (self.options, 4),
                 (self.token_get, 5), (self.token_renew, 5), (self.token_cancel, 3), (self.strange_path, 3),
                 (self.malformed, 4))
        make = self.random.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        request = make()
        if request.raw is None:
            if not request.kind.startswith("token."):
                self.identify(request)
            self.disturb(request)
        return request

    def _request(self, kind, method, path, query=(), body=None, **more):
        headers = [("Host", ref("host"))]
        if body is not None:
            headers.append(("Content-Type", "application/json"))
        return Request(kind, "", method, path, list(query), headers, body, **more)

    def create(self):
        name = self.pick(NAMES) if self.chance(0.93) else self.pick(ODD_NAMES)
        if VERSION_OF_A_KEY.match(name):
            name = "other" + name               # deliberate.ONE_SPACE
        body, trick = bodies.create(self.random, name)
        request = self._request("create", "POST", "/kms/v1/keys", body=body, key=name)
        request.trick += trick
        return request

    def _key_request(self, kind, method, suffix="", query=(), body=None, changes=False):
        name = self.name()
        return self._request(kind, method, f"/kms/v1/key/{self.path_of(name)}{suffix}", query, body,
                             key=name if changes else None, about=name)

    def delete(self):
        return self._key_request("delete", "DELETE", changes=True)

    def roll(self):
        body, trick = bodies.roll(self.random)
        request = self._key_request("roll", "POST", body=body, changes=True)
        request.trick += trick
        return request

    def invalidate(self):
        body = self.pick((None, None, "", "{}", "junk"))
        return self._key_request("invalidate", "POST", "/_invalidatecache", body=body)

    def metadata_batch(self):
        count = self.pick((0, 1, 2, 3, 8))
        query = [("key", urllib.parse.quote_plus(self.name())) for _ in range(count)]
        if self.chance(0.1):
            query.append(self.pick((("key", None), ("key", ""), ("KEY", "k0"), ("keys", "k0"))))
        return self._request("metadata-batch", "GET", "/kms/v1/keys/metadata", query)

    def names(self):
        return self._request("names", "GET", "/kms/v1/keys/names")

    def metadata(self):
        return self._key_request("metadata", "GET", self.pick(("/_metadata", "/_metadata", "")))

    def current(self):
        return self._key_request("current", "GET", "/_currentversion")

    def key_version(self):
        return self._request("key-version", "GET", f"/kms/v1/keyversion/{self.path_of(self.version_name())}")

    def versions(self):
        return self._key_request("versions", "GET", "/_versions")

    def generate(self):
        query = [("eek_op", "generate")]
        trick = ""
        if self.chance(0.6):
            query.append(("num_keys", self.pick(("1", "2", "3", "10"))))
        if self.chance(0.15):
            query = self.pick((
                [], [("eek_op", "")], [("eek_op", None)], [("eek_op", "decrypt")], [("eek_op", "GENERATE")], [("EEK_OP", "generate")],
                [("eek%5Fop", "generate")], [("eek_op", "generate"), ("eek_op", "x")], [("eek_op", "x"), ("eek_op", "generate")]))
            trick += " eek_op"
        elif self.chance(0.2):
            query = [("eek_op", "generate"), ("num_keys", self.pick((
                "0", "-1", "%2B2", "+2", "", "x", "1.5", "2147483648", "-2147483649", "%202", "0x2", "1e1", "60", "%D9%A3", "007")))]
            trick += f" num_keys={query[1][1]}"
        request = self._key_request("generate", "GET", "/_eek", query)
        request.keep = ("eek", self.label())
        request.trick += trick
        return request

    def _eek(self):
        return self.pick(self.eeks) if self.eeks else None

    def _one_eek(self, kind, op):
        eek = self._eek()
        fields, version, trick = bodies.wrapped(self.random, eek, self.version_name, self.name)
        query = [("eek_op", op)]
        if self.chance(0.08):
            query = self.pick(([], [("eek_op", "")], [("eek_op", "generate")], [("eek_op", op.upper())], [("eek_op", op), ("eek_op", op)],
                               [("eek_op", "x")], [("eek_op", op), ("num_keys", "x")]))
            trick += " eek_op"
        body, more = bodies.spoil(self.random, fields)
        request = self._request(kind, "POST", f"/kms/v1/keyversion/{self.path_of(version)}/_eek", query, body)
        request.trick += trick + more
        return request

    def decrypt(self):
        return self._one_eek("decrypt", "decrypt")

    def reencrypt(self):
        return self._one_eek("reencrypt", "reencrypt")

    def reencrypt_batch(self):
        same = self._eek()
        name = same[1] if same and self.chance(0.85) else self.name()
        of_key = [e for e in self.eeks if e[1] == name] or self.eeks
        body, trick = bodies.batch(self.random, of_key, self.version_name)
        request = self._request("reencrypt-batch", "POST", f"/kms/v1/key/{self.path_of(name)}/_reencryptbatch", body=body)
        request.trick += trick
        return request

    def options(self):
        other = self.pick((self.metadata, self.names, self.create, self.generate, self.key_version, self.delete, self.strange_path,
                           self.token_get, self.token_renew))()
        request = self._request("options", "OPTIONS", other.path, other.query)
        request.keep = ("cookie", self.label())
        return request

    # ---- delegation tokens

    def _token_path(self):
        return self.pick(("/kms/v1/",) * 8 + ("/kms/v1/keys/names", "/kms", "/anything", "/kms/v1/key/k0"))

    def _op(self, name, method):
        """The operation's spelling and method, now and then another."""
        draw = self.random.random()
        if draw < 0.85:
            return method, ("op", name)
        if draw < 0.9:
            return method, ("op", self.pick((name.lower(), name.capitalize())))
        if draw < 0.96:
            return self.pick(("GET", "PUT", "POST", "DELETE", "HEAD")), ("op", name)
        return method, self.pick((("OP", name), ("op", ""), ("op", "NOSUCHOPERATION"), ("op", name + "%20"), ("op", None)))

    def token_get(self):
        method, op = self._op("GETDELEGATIONTOKEN", "GET")
        query = [op]
        if self.chance(0.8):
            query.append(("renewer", quoted(self.pick(("alice",) * 8 + ("yarn", "bob", "", "ünï", "a b", "yarn@EXAMPLE.COM", "x" * 200)))))
        if self.chance(0.15):
            query.append(("service", quoted(self.pick(("", "127.0.0.1:9600", "kms://http@h:9600/kms", "ü")))))
        request = self._request("token.get", method, self._token_path(), query, keep=("token", self.label()))
        self._token_caller(request)
        return request

    def _token_caller(self, request):
        draw = self.random.random()
        if draw < 0.75:
            self._user(request, self.pick(USERS))
        elif draw < 0.8:
            self._user(request, self.pick(PROXIES))
            self._do_as(request)
        else:
            self.identify(request)

    def _presented(self):
        """A token as a parameter, its trick, and its label when it is presented whole."""
        known = self.tokens + self.cancelled
        draw = self.random.random()
        if not known or draw < 0.06:
            return self.pick((("token", malformed.FOREIGN_TOKEN), ("token", "garbage"), ("token", ""), ("TOKEN", "x"), ("token", None))), \
                " token:foreign", None
        label = self.pick(known)
        trick = "whole" if draw < 0.5 else self.pick(sorted(TOKEN_TRICKS))
        gone = "-cancelled" if label in self.cancelled else ""
        return ("token", ref("parameter", label, trick, self.random.randrange(200))), f" token:{trick}{gone}", label

    def token_renew(self):
        method, op = self._op("RENEWDELEGATIONTOKEN", "PUT")
        pair, trick, _ = self._presented()
        request = self._request("token.renew", method, self._token_path(), [op] + ([pair] if self.chance(0.97) else []))
        request.trick += trick
        self._token_caller(request)
        return request

    def token_cancel(self):
        method, op = self._op("CANCELDELEGATIONTOKEN", "PUT")
        pair, trick, label = self._presented()
        request = self._request("token.cancel", method, self._token_path(), [op, pair])
        request.trick += trick
        if label is not None:
            request.keep = ("cancelled", label)
        if self.chance(0.5) and self.cookies:
            self._cookie(request, self.pick(HARMLESS_COOKIES))
        elif self.chance(0.4):
            self._token_caller(request)
        return request

    # ---- what no client sends

    def strange_path(self):
        paths = ("/", "/kms", "/kms/", "/kms/v1", "/kms/v1/", "/kms/v2/keys/names", "/foo", "/kmsx", "/kms/v1/key", "/kms/v1/key/",
                 "/kms/v1/keys", "/kms/v1/keys/", "/kms/v1/keysx", "/kms/v1/key//_metadata", "/kms/v1/keyversion/", "/kms/v1/keyversion",
                 "/kms/v1/keys/names/", "/kms/v1/keys/names/x", "/kms/v1/keys/metadata/", "//kms/v1/keys/names", "/kms//v1/keys/names",
                 "/kms/v1//keys/names", "/kms/v1/./keys/names", "/kms/v1/x/../keys/names", "/KMS/v1/keys/names", "/kms/V1/keys/names",
                 "/kms/v1/keys/names;a=b", "/kms/v1/key/k0/_nosuch", "/kms/v1/key/k0/_eek/", "/kms/v1/key/k0/_metadata/",
                 "/kms/v1/key/k0/_versions/x", "/kms/v1/key/_eek", "/kms/v1/key/k0/_metadata/_versions", "/kms/v1/key/%6b0/_metadata",
                 "/kms/v1/key/k0%2F_metadata", "/kms/v1/%6beys/names", "/kms/v1/key/k0/%5Fmetadata", "/kms/v1/keyversion/k0@0/_eek",
                 "/kms/v1/keyversion/k0@0/x", "/kms/v1/key/k0/_reencryptbatch", "/kms/v1/key/k0/_invalidatecache", "/static/nosuch",
                 "/kms/v1/keys/names#frag", "/index.html")
        method = self.pick(("GET", "GET", "GET", "POST", "PUT", "DELETE", "HEAD"))
        return self._request("path", method, self.pick(paths), body="{}" if method == "POST" and self.chance(0.7) else None)

    def malformed(self):
        piece = malformed.draw(self.random, self.tokens)
        return Request("malformed", piece.trick, piece.method, "", [], [], raw=piece)

    def disturb(self, request):
        """Now and then something else is odd as well."""
        if request.method == "GET" and self.chance(0.04):
            request.method = "HEAD"
            request.trick += " head"
            request.keep = ()
        if self.chance(0.04):
            request.method = self.pick(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "FOO", "get"))
            request.trick += " method"
            request.keep = ()
        if request.body is not None and self.chance(0.06):
            request.headers = [h for h in request.headers if h[0] != "Content-Type"]
            if self.chance(0.8):
                request.headers.append(("Content-Type", self.pick(CONTENT_TYPES)))
            request.trick += " content-type"
        if self.chance(0.05):
            request.headers.append(("Accept", self.pick(ACCEPTS)))
            request.trick += " accept"
        if self.chance(0.03):
            self._odd_query(request)
        if self.chance(0.02):
            request.headers.append(self.pick((("X-Junk", "y" * 3000), ("Connection", "close"), ("Connection", "keep-alive"), ("X-É", "é"),
                                              ("Content-Type", "application/json"), ("Accept-Encoding", "gzip"), ("Range", "bytes=0-3"),
                                              ("If-Modified-Since", "Tue, 01 Dec 2026 00:00:00 GMT"), ("Origin", "http://evil"),
                                              ("X-Http-Method-Override", "DELETE"), ("X-Forwarded-For", "10.1.2.3"), ("Empty", ""))))
            request.trick += " header"
        if self.chance(0.01):
            request.version = "HTTP/1.0"
            request.trick += " http/1.0"
        if request.body is not None and self.chance(0.01):
            request.encoding = self.pick(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"))
            request.trick += f" {request.encoding}"

    def _odd_query(self, request):
        draw = self.random.randrange(5)
        if draw == 0 and request.query:
            request.query.append(self.pick(request.query))
            request.trick += " query:repeated"
        elif draw == 1 and request.query:
            request.query.pop(self.random.randrange(len(request.query)))
            request.trick += " query:missing"
        else:
            request.query.insert(self.random.randrange(len(request.query) + 1), self.pick((
                ("", None), ("x", "%ff"), ("x", "%zz"), ("x", "%"), ("=", "="), ("x", "a;b"), ("x", "é"), ("x", "%00"), ("x", "y" * 2000),
                ("x[]", "{}"), ("x", "%u0041"))))
            request.trick += " query:odd"

    def removal(self, name):
        """The request that removes a key."""
        self.live.pop(name, None)
        return self._request("delete", "DELETE", f"/kms/v1/key/{quoted(name)}", [("user.name", "admin")])

    def names_as_alice(self):
        return self._request("names", "GET", "/kms/v1/keys/names", [("user.name", "alice")])

    def marker(self, name):
        """A request that the audit log names."""
        return self._request("metadata", "GET", f"/kms/v1/key/{name}/_metadata", [("user.name", "admin")])

    # ---- what the first server answered

    def learn(self, request, answer, facts):
        """Follows the state of the servers; `facts` is what the comparison took out of both answers."""
        if answer is None:
            return
        for name, count in facts.get("keys", {}).items():
            if count:
                self.live[name] = count
            else:
                self.live.pop(name, None)
        for what, where in (("token", self.tokens), ("cookie", self.cookies), ("eek", self.eeks)):
            for entry in facts.get(what, ()):
                where.append(entry)
                del where[:-LIVE_LABELS]
        for label in facts.get("cancelled", ()):
            if label in self.tokens:
                self.tokens.remove(label)
                self.cancelled.append(label)
                del self.cancelled[:-LIVE_LABELS // 2]
