"""Compares what two servers wrote to their audit logs about the same requests.

Lines that are put together over a window of time are compared by which operation, key and user they tell of, not by how
often; all others line by line, in any order, since requests on several connections may be written as they please."""
import collections
import re
import select
import time

from .normal import TEXTS

TIME = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ")
# Ours come once a request; the Java server also writes one whenever it makes wrapped keys ahead, as nobody asked.
GROUPED = re.compile(r"^(OK\[op=(GET_KEY_VERSION|GET_CURRENT_KEY|DECRYPT_EEK|GENERATE_EEK|REENCRYPT_EEK)|UNAUTHORIZED\[op=GENERATE_EEK), ")
COUNTS = re.compile(r", accessCount=\d+, interval=\d+ms\]")
LIBRARY = re.compile(r"Exception:'(java\.lang\.ClassCastException: |Unexpected |Unrecognized |Cannot deserialize |Cannot construct |No content |Illegal |Invalid |"
                     r"Numeric value|Duplicate|Leading|Non-standard|Unable to|class |Failed to parse|Incompatible|JSON|Can not|Current token).*'$")
IN_VAIN = re.compile(r"Exception:'(java\.io\.IOException: Exception while contacting value generator |org\.apache\.hadoop\.thirdparty\.com\.google\.common\.util\."
                    r"concurrent\.UncheckedExecutionException: java\.lang\.NullPointerException: No KeyVersion exists for key '.*|"
                    r"java\.io\.IOException: java\.util\.concurrent\.ExecutionException: java\.io\.IOException: java\.security\.InvalidKeyException: .*)'$")
SECRET = re.compile(r"(?<=[?&;])((?:delegation|token)=)[^&;' ]+", re.IGNORECASE)
CUT = "...(cut)"        # where ours leaves off a field of many kilobytes
CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


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


def _whole_lines(path):
    """Ours escapes what could end a line or move a terminal; what the Java server wrote raw is escaped here."""
    whole = None
    with open(path, encoding="utf-8", errors="replace", newline="\n") as log:
        for raw in log.read().split("\n"):
            escaped = CONTROLS.sub(lambda c: SHORT.get(c.group(0)) or f"\\u{ord(c.group(0)):04x}", raw)
            if TIME.match(raw):
                if whole is not None:
                    yield whole
                whole = TIME.sub("", escaped)
            elif whole is not None:
                whole += "\\n" + escaped
    if whole is not None:
        yield whole.removesuffix("\\n")


def lines(path, host_port):
    """How often each line stands in the log, less what is random."""
    found = collections.Counter()
    for line in _whole_lines(path):
        line = line.replace(host_port, "HOST")
        line = SECRET.sub(r"\1***", line)           # ours masks them: whoever reads a log must not get tokens
        line = LIBRARY.sub("Exception:'<words of the library>'", line)
        line = IN_VAIN.sub("Exception:'<nothing was generated>'", line)
        for pattern, instead in TEXTS:
            line = pattern.sub(instead, line)
        if GROUPED.match(line):
            found[COUNTS.sub(", …]", line)] = 1
        else:
            found[line] += 1
    return found


def differing(first, second):
    """(lines of the first that the second lacks, the other way round); a line that ours cut counts as the whole one."""
    only = [first - second, second - first]
    for line in [one for one in only[1] if CUT in one]:
        whole = re.compile(re.escape(line).replace(re.escape(CUT), ".*"))
        same = next((one for one in only[0] if whole.fullmatch(one)), None)
        if same is not None:
            count = min(only[0][same], only[1][line])
            only[0].subtract({same: count})
            only[1].subtract({line: count})
    return [+o for o in only]


def excuse(only, patterns):
    """Takes one line for each of the patterns out of the counter, if there is such a line."""
    for pattern in patterns:
        line = next((one for one in only if re.fullmatch(pattern, one)), None)
        if line is not None:
            only.subtract({line: 1})
            only += collections.Counter()           # drops what is at zero


def shown(only_first, only_second, limit):
    """Lines of one that the other lacks, as text."""
    out = [f"  {n} x only in {side}: {line}" for side, only in (("A", only_first), ("B", only_second)) for line, n in sorted(only.items())]
    return out[:limit] + [f"  and {len(out) - limit} more kinds"] * (len(out) > limit)
