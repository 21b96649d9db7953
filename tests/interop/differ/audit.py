"""Compares what two servers wrote to their audit logs about the same requests.

Lines that are put together over a window of time are compared by which operation, key and user they tell of, not by how
often; all others line by line, in any order, since requests on several connections may be written as they please."""
import collections
import re
import select
import time

from .normal import TEXTS

TIME = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ")
GROUPED = re.compile(r"^OK\[op=(GET_KEY_VERSION|GET_CURRENT_KEY|DECRYPT_EEK|GENERATE_EEK|REENCRYPT_EEK), ")
COUNTS = re.compile(r", accessCount=\d+, interval=\d+ms\]")
LIBRARY = re.compile(r"Exception:'(java\.lang\.ClassCastException: |Unexpected |Unrecognized |Cannot deserialize |No content |Illegal |Invalid |Numeric value|Duplicate|"
                     r"Leading|Non-standard|Unable to|class |Failed to parse|Incompatible|JSON|Can not|Current token).*'$")


def wait_for(path, mark, seconds=10):
    """Until the log has a line with `mark`; a server may write a little behind its answers."""
    until = time.monotonic() + seconds
    with open(path, encoding="utf-8", errors="replace") as log:
        seen = log.read()
        while mark not in seen:
            if time.monotonic() > until:
                raise SystemExit(f"differential.py: no line about '{mark}' in {path}")
            select.select([], [], [], 0.02)
            seen += log.read()


def lines(path, host_port):
    """How often each line stands in the log, less what is random."""
    found = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as log:
        for raw in log.read().split("\n"):
            line = TIME.sub("", raw)
            if line == raw:
                continue                        # the rest of a sentence with line feeds in it
            line = line.replace(host_port, "HOST")
            line = LIBRARY.sub("Exception:'<words of the library>'", line)
            for pattern, instead in TEXTS:
                line = pattern.sub(instead, line)
            if GROUPED.match(line):
                found[COUNTS.sub(", …]", line)] = 1
            else:
                found[line] += 1
    return found


def shown(only_first, only_second, limit):
    """Lines of one that the other lacks, as text."""
    out = [f"  {n} x only in {side}: {line}" for side, only in (("A", only_first), ("B", only_second)) for line, n in sorted(only.items())]
    return out[:limit] + [f"  and {len(out) - limit} more kinds"] * (len(out) > limit)
