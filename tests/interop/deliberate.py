"""Where our KMS answers otherwise than the Java KMS, on purpose.

Each rule is a narrow test of one disagreement: it must name the request, and accept only the difference it is about.
`python3 tests/interop/deliberate.py` writes the table in docs/compatibility.md; a test holds the two together."""
import dataclasses
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


def _bare_lf(d):
    return d.request.kind == "malformed" and re.search(r"(?<!\r)\n", d.sent) is not None and d.second.get("status") == "400"


def _wadl(d):
    description = {"body", "content-type", "allow"}
    return d.request.method == "OPTIONS" and d.first["status"] == d.second["status"] == "200" and set(d.differing()) <= description \
        and d.first.get("content-type", "").startswith("application/vnd.sun.wadl+xml")


RULES = (
    Rule("bare line feed", "a line of the head or of a chunk ends in LF without CR", "served", "400, connection closed",
         "two programs that disagree about where a head ends can be made to see different requests (request smuggling)", _bare_lf),
    Rule("no WADL", "OPTIONS on a known path", "200 with a description of the resource in WADL", "200, nothing in the body",
         "clients probe with OPTIONS and look at the status and the cookie only", _wadl),
)


def explain(disagreement):
    """The name of the rule that allows it, or None."""
    for rule in RULES:
        if rule.allows(disagreement):
            return rule.name
    return None


def table():
    rows = ["| request | Java KMS | Featherlock | why |", "|---|---|---|---|"]
    return "\n".join(rows + [f"| {r.when} | {r.java} | {r.ours} | {r.why} |" for r in RULES])


def page_with_table(text):
    """The page with its table replaced by the one of these rules."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
