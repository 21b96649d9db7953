"""Where our KMS answers otherwise than the Java KMS, on purpose.

Each rule is a narrow test of one disagreement: it must name the request, and accept only the difference it is about.
`python3 tests/interop/deliberate.py` writes the table in docs/compatibility.md; a test holds the two together."""
import dataclasses
import json
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
BEGIN, END = "<!-- begin: deliberate differences -->", "<!-- end: deliberate differences -->"


@dataclasses.dataclass(frozen=True)
class Rule:
    name: str
    when: str               # for the page: the request
    java: str               # what the Java KMS answers
    ours: str
    why: str
    allows: object          # function(Disagreement) -> bool; first is Java, second is ours
    audit: str = None       # a pattern of the one line that Java may then have in its audit log, and ours not


def _bare_lf(d):
    return d.request.kind == "malformed" and re.search(r"(?<!\r)\n", d.sent) is not None and d.second.get("status") == "400"


def _wadl(d):
    description = {"body", "content-type", "allow"}
    return d.request.method == "OPTIONS" and d.first["status"] == d.second["status"] == "200" and set(d.differing()) <= description \
        and d.first.get("content-type", "").startswith("application/vnd.sun.wadl+xml")


def _malformed(d, *tricks):
    return d.request.kind == "malformed" and d.request.trick in tricks and d.second.get("status") == "400"


def _two_hosts(d):
    return _malformed(d, "two-hosts")


def _chunked_in_http_1_0(d):
    return _malformed(d, "chunked-http-1.0")


def _broken_body(d):
    return d.request.kind == "malformed" and "EofException" in d.first.get("body", "") and d.second.get("status") in ("400", "closed")


def _connect(d):
    return _malformed(d, "authority-target") and d.sent.startswith("CONNECT ") and d.first.get("status") == "401"


def _asterisk(d):
    """Both refuse; the reason is the same, and so is what matters of the answer."""
    return _malformed(d, "star-get") and d.first.get("status") == "400" and d.first.get("reason") == d.second.get("reason")


def _early_continue(d):
    """The same refusal on both sides, but ours invited the body before it knew who asks."""
    return d.request.kind == "malformed" and d.request.trick == "expect-100-refused" and d.first.get("status") == d.second.get("status") == "401" \
        and set(d.differing()) <= {"interim", "answer 2 status"} and d.second.get("interim") == "1" and "interim" not in d.first


def _two_faults(d):
    return "header" in d.request.trick and d.first.get("status") == d.second.get("status") == "400" and d.differing() == ["reason", "body"] \
        and all(s["body"].startswith("<h1>Bad Message 400</h1>") for s in (d.first, d.second))


def _generate_in_vain(d):
    """Both refuse with the same class; the key is missing, or no AES takes its material."""
    return d.request.kind == "generate" and d.differing() == ["body"] and d.first["status"] == "500" \
        and _says(d.first, "java.io.IOException: Exception while contacting value generator ") \
        and any(_says(d.second, words) for words in (f"{UNCHECKED}: java.lang.NullPointerException: No KeyVersion exists for key '", INVALID_KEY))


INVALID_KEY = "java.io.IOException: java.util.concurrent.ExecutionException: java.io.IOException: java.security.InvalidKeyException: Invalid AES key length: "
UNCHECKED = "org.apache.hadoop.thirdparty.com.google.common.util.concurrent.UncheckedExecutionException"


def _says(side, beginning):
    """The body is an IOException whose message begins so."""
    try:
        error = json.loads(side["body"])["RemoteException"]
    except (KeyError, TypeError, ValueError):
        return False
    return error["javaClassName"] == "java.io.IOException" and error["message"].startswith(beginning)


# What the requests that are no HTTP would do, were they served.
SERVED = (r"OK\[op=GET_KEYS, user=alice\] |OK\[op=INVALIDATE_CACHE, key=nosuch, user=alice\] |"
          r"ERROR\[user=alice\] Method:'POST' Exception:'Can't find Metadata for key nosuch'")

RULES = (
    Rule("bare line feed", "a line of the head or of a chunk ends in LF without CR", "served", "400, connection closed",
         "two programs that disagree about where a head ends can be made to see different requests (request smuggling)", _bare_lf, SERVED),
    Rule("no WADL", "OPTIONS on a known path", "200 with a description of the resource in WADL", "200, nothing in the body",
         "clients probe with OPTIONS and look at the status and the cookie only", _wadl),
    Rule("two hosts", "two `Host` headers", "served", "400, connection closed",
         "RFC 9112 3.2 demands it; a proxy in front may have looked at the other one", _two_hosts, SERVED),
    Rule("chunked in HTTP/1.0", "`Transfer-Encoding` in a request of HTTP/1.0", "served", "400, connection closed",
         "RFC 9112 6.1: its framing is faulty, as a proxy in front would see another end of it (request smuggling)", _chunked_in_http_1_0, SERVED),
    Rule("broken body", "chunks with a bad size or end, or a body that ends early",
         "500 with `org.eclipse.jetty.io.EofException`, after the request has begun to run",
         "400 and close; nothing is answered when the client has gone in the middle of a body",
         "a request whose end is unclear is refused before anything runs (request smuggling)", _broken_body,
         r"ERROR\[user=alice\] Method:'POST' Exception:'(Early EOF|<words of the library>|.*EofException.*)'"),
    Rule("CONNECT", "`CONNECT host:port`", "401, or 501 for whoever is authenticated", "400, connection closed",
         "no server of keys is a proxy; a target that is no path is refused before anything is done", _connect,
         r"UNAUTHENTICATED RemoteHost:127\.0\.0\.1 Method:CONNECT URL:http://localhost ErrorMsg:'Authentication required'"),
    Rule("asterisk", "`*` as the target of another method than OPTIONS", "400 with a page", "400 `Bad Request` with a short text, connection closed",
         "it is refused before anybody is asked who they are", _asterisk),
    Rule("early 100", "`Expect: 100-continue` without authentication", "401 at once", "100, then 401 when the body has come",
         "bodies are read whole, within a limit of size and time, before anything looks at a request", _early_continue),
    Rule("two faults", "a path and a header that are both refused as no HTTP", "400 for the path", "400 for the header",
         "heads are checked from front to back, before the path is looked into", _two_faults),
    Rule("generate in vain", "`_eek?eek_op=generate` on a key that is not there, or whose material is no AES key, under a name that keys were generated for before",
         "500, `Exception while contacting value generator`",
         "500 of the same class, `… No KeyVersion exists for key 'k'` or `… Invalid AES key length`, as Java says at the first time",
         "Java's words depend on what else was asked since its start; ours name what is wrong", _generate_in_vain),
)


def explain(disagreement):
    """The name of the rule that allows it, or None."""
    for rule in RULES:
        if rule.allows(disagreement):
            return rule.name
    return None


def audit_lines(disagreement):
    """Patterns of the lines that only Java may have in its audit log because of it."""
    return [rule.audit for rule in RULES if rule.name == disagreement.deliberate and rule.audit]


# Not a rule for one answer: the comparison asks a second time (differential.py), and demands that then both answer alike.
MADE_AHEAD = Rule(
    "made ahead", "`_eek?eek_op=generate` soon after the key was deleted, made again, or rolled",
    "may hand out wrapped keys that it had made ahead under the deleted key, even when there is no such key any more",
    "wraps under the key as it is now", "what Java hands out there can never be decrypted: its queue is not emptied by a delete", None)

# Never drawn: which of the two is found again would be left to the order of what went before.
ONE_SPACE = Rule(
    "one space", "a key `k` is made while there is a key that is called `k@0`, as a version of it would be",
    "keeps both in one entry, so that deleting the one loses the other", "keeps them apart",
    "a key's material must not be lost because of another's name", None)

# It was asked twice, and either server may have served or refused what the other did not.
MADE_AHEAD_LINES = [r"(OK|UNAUTHORIZED)\[op=GENERATE_EEK, .*", r"ERROR\[.*\] Method:'(GET|HEAD)' Exception:'<nothing was generated>'"] * 2


def table():
    rows = ["| request | Java KMS | Featherlock | why |", "|---|---|---|---|"]
    return "\n".join(rows + [f"| {r.when} | {r.java} | {r.ours} | {r.why} |" for r in (*RULES, MADE_AHEAD, ONE_SPACE)])


def page_with_table(text):
    """The page with its table replaced by the one of these rules."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
