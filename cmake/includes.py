"""Checks that a room includes only its own headers and the faces of rooms below it (src/<room>/<room>.h; for base every header).

tls/ and tests may see io/transport.h: it is the one inner header that io offers to those who make transports.
"""
import pathlib
import re
import sys

BELOW = {
    "base": set(),
    "io": {"base"},
    "tls": {"base", "io"},
    "http": {"base", "io", "tls"},
    "store": {"base", "io"},
    "key": {"base", "io", "store"},
    "token": {"base", "io", "store"},
    "auth": {"base", "io"},
    "kms": {"base", "io", "tls", "http", "store", "key", "token", "auth"},
    "bench": {"base", "io", "tls", "http", "token"},
    "cli": {"base", "io", "tls", "http", "store", "key", "token", "auth", "kms", "bench"},
}
OFFERED = {("tls", "io/transport.h")}


def faults(source):
    room = source.parts[1]
    for number, line in enumerate(source.read_text().splitlines(), 1):
        found = re.match(r'#include "([a-z_]+)/([a-z0-9_]+\.h)"', line)
        if not found or found[1] in (room, "featherlock"):
            continue
        other, header = found[1], found[2]
        inside = other != "base" and header != f"{other}.h" and (room, f"{other}/{header}") not in OFFERED
        if other not in BELOW[room] or inside:
            yield f"{source}:{number}: {room}/ may not include {other}/{header}"


def main():
    bad = [f for s in sorted(pathlib.Path("src").glob("*/*.[ch]")) for f in faults(s)]
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
