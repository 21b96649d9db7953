"""What the Java KMS 3.4.3 answered, asked of ours: status, reason, headers in order, body, byte for byte."""
import re
import threading
import time

from golden import Replay, load
from tokens import decode
from wire import create

RENEW, LIFE = 1.0, 3.0

# Answered otherwise on purpose; docs/compatibility.md has the reasons.
ACCEPT_IS_IGNORED = {"create-acc-text", "create-acc-xml", "create-acc-garbage"}
STALE = {"gen-upperkey"}     # Java's cache under the other spelling still holds the version before a roll
ELSEWHERE = {"/WEB-INF/web.xml?user.name=alice",        # a folder of the Java container
             "/kms/application.wadl?user.name=alice", "*?user.name=alice"}
# Java's token manager on ZooKeeper finds a token by its number alone, whatever else the identifier says.
DIES_OF_IT = {"use-biglen"}  # a length of 2^31-1 costs the Java server an OutOfMemoryError
FOUND_BY_NUMBER = {"use-alteredowner", "use-badutf", "use-identtrail"}


def replay(server, exchanges, skip=(), before=None):
    r, wrong = Replay(server, exchanges), []
    if before:
        before.replay = r
    for number, e in enumerate(exchanges):
        if e["label"] in skip or e["target"] in ELSEWHERE:
            continue
        if before:
            before(e)
        theirs, ours = r.compare(e)
        if theirs != ours:
            what = [f"{k}\n    Java  {theirs[k]!r}\n    ours  {ours[k]!r}" for k in theirs if theirs[k] != ours[k]]
            wrong.append(f"#{number} {e['label']}: {e['method']} {e['target'][:200]} {str(e['body'])[:200]}\n  " + "\n  ".join(what))
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)


def test_keys(start):
    exchanges = load("http-keys.json")["exchanges"]
    server = start()
    create(server, "k1", description="d", attributes={"a": "b"})
    replay(server, exchanges, ACCEPT_IS_IGNORED | STALE)


def test_tokens(start):
    exchanges = load("http-tokens.json")["exchanges"]
    server = start()
    for e in load("http-keys.json")["exchanges"]:       # the keys that the list of names shows
        if e["status_line"].endswith("201 Created") and e["label"] not in ("create-at", "create-unknown-field", "create-attr-null"):
            create(server, e["response_body"].split('"name" : "')[1].split('",\n')[0].replace('\\"', '"'))
    create(server, "k1")
    replay(server, exchanges, FOUND_BY_NUMBER | DIES_OF_IT)


class Clock:
    """Holds an exchange back until what the captured run had waited for has happened to the last token."""

    WAITS = {"use-expired": RENEW, "renew-capped": LIFE - RENEW, "use-max": LIFE}

    def __init__(self):
        self.replay = None

    def __call__(self, e):
        if e["label"] in self.WAITS:
            issued = decode(self.replay.token_pairs[-1][1])["issued"] / 1000
            threading.Event().wait(max(0.0, issued + self.WAITS[e["label"]] + 0.002 - time.time()))


def without_times(line):
    """An audit line after its date, less what is the machine's: the window's length, the port, numbers and dates of tokens."""
    return re.sub(r"interval=\d+ms", "interval=Nms", re.sub(r"//localhost:\d+", "//localhost", line))


def test_acls(start):
    golden = load("http-acls.json")
    server = start(acls=golden["configuration"]["kms_acls"], token_renew_interval=f"{RENEW:g}s", token_max_lifetime=f"{LIFE:g}s",
                   proxyuser=["oozie:users=bob;hosts=10.9.8.7", "hive:users=*;hosts=127.0.0.1", "nohosts:users=*",
                              "grp:groups=root;hosts=*"], audit_window="1d", reactors=1)    # one, so that the lines keep their order
    replay(server, golden["exchanges"], before=Clock())
    server.stop()
    theirs = [without_times(line[24:]) for line in load("audit.json")["lines"][1:]]
    ours = [without_times(line) for line in server.audit_lines()]
    summaries = [line for line in theirs if "interval=Nms" in line]
    assert [line for line in ours if "interval=Nms" not in line] == [line for line in theirs if "interval=Nms" not in line]
    assert sorted(line for line in ours if "interval=Nms" in line) == sorted(summaries)
