"""Disagreements, by kind: thousands of requests become a handful of things to look at."""
import collections
import dataclasses
import json
import re


@dataclasses.dataclass
class Disagreement:
    number: int
    request: object             # generator.Request
    sent: str                   # as the first server got it
    first: dict                 # aspect -> value
    second: dict
    deliberate: str = None      # the name of the rule that allows it
    passing: bool = False       # both agreed when asked again

    def differing(self):
        return [a for a in dict.fromkeys([*self.first, *self.second]) if self.first.get(a) != self.second.get(a)]

    def signature(self):
        """Equal for disagreements of one kind: the endpoint and what differs, less names and numbers. Where the statuses
        differ everything else does too, so only what the bodies say counts."""
        statuses = self.first.get("status"), self.second.get("status")
        if statuses[0] != statuses[1]:
            said = [_short(s.get("body") or s.get("reason")) for s in (self.first, self.second)]
            return f"{self.request.kind}  status: {statuses[0]} | {statuses[1]}  {said[0]} | {said[1]}"
        return f"{self.request.kind}  " + "  ".join(_pair(a, self.first.get(a), self.second.get(a)) for a in self.differing())

    def as_dict(self):
        return {"number": self.number, "kind": self.request.kind, "trick": self.request.trick.strip(), "request": self.sent,
                "first": self.first, "second": self.second, "deliberate": self.deliberate, "passing": self.passing, "signature": self.signature()}


def _pair(aspect, first, second):
    """An aspect's two values; of JSON only the members that differ."""
    try:
        found = list(dict.fromkeys(_members(json.loads(first), json.loads(second), "")))
    except (ValueError, TypeError):
        found = []
    return f"{aspect}: " + (", ".join(found[:3]) if found else f"{_short(first)} | {_short(second)}")


def _members(first, second, place):
    if isinstance(first, dict) and isinstance(second, dict) and list(first) == list(second):
        if "javaClassName" in first:
            return [] if first == second else [f"{_short(json.dumps(first))} | {_short(json.dumps(second))}"]
        return [m for name in first for m in _members(first[name], second[name], f"{place}.{name}")]
    if isinstance(first, list) and isinstance(second, list):
        if all(isinstance(v, str) for v in first + second):
            return ["names only in A"] * (set(first) > set(second)) or ["names"] * (first != second)
        if len(first) == len(second):
            return [m for a, b in zip(first, second) for m in _members(a, b, f"{place}[]")]
        return [f"{place} {len(first)} elements | {len(second)}"]
    return [] if first == second else [f"{place} {_short(str(first))} | {_short(str(second))}"]


def _short(value):
    if value is None:
        return "-"
    error = re.search(r'"message": (null|"(?:[^"\\]|\\.)*").*"javaClassName": "([^"]*)"', value)
    if error:
        value = f"{error.group(2).rpartition('.')[2]} {error.group(1)}"
    value = re.sub(r"<title>(.*?)</title>.*", r"page \1", value, flags=re.S)
    value = re.sub(r"'[^']*'", "'…'", value)
    value = re.sub(r"\b[uprm][a-z]*=(?:b'[^']*'|[^&, ]+)", lambda m: m.group(0).split("=")[0] + "=…", value)
    value = re.sub(r"\d+", "N", value)
    return value if len(value) <= 90 else value[:90] + "…"


def shown(text, limit=1500):
    """Request bytes in printable form, cut in the middle when long."""
    text = text.encode("unicode_escape").decode().replace("\\r\\n", "\\r\\n\n      ").replace("\\\\", "\\")
    return text if len(text) <= limit else f"{text[:limit // 2]} …({len(text)} characters)… {text[-limit // 2:]}"


class Report:
    def __init__(self):
        self.all = []
        self.requests = 0
        self.statuses = collections.Counter()
        self.kinds = collections.Counter()
        self.answers = collections.Counter()        # what was reached, by endpoint

    def count(self, request, aspects):
        self.requests += 1
        self.statuses[aspects["status"]] += 1
        self.kinds[request.kind] += 1
        self.answers[f"{request.kind}: {aspects['status']} {_short(aspects.get('body'))}"] += 1

    def add(self, disagreement):
        self.all.append(disagreement)

    def unexplained(self):
        return [d for d in self.all if not d.deliberate and not d.passing]

    def passing(self):
        return [d for d in self.all if d.passing]

    def groups(self, which):
        groups = collections.defaultdict(list)
        for d in which:
            groups[d.signature()].append(d)
        return sorted(groups.items(), key=lambda g: -len(g[1]))

    def summary(self, names, show):
        allowed = collections.Counter(d.deliberate for d in self.all if d.deliberate)
        out = [f"{self.requests} requests; {self.requests - len(self.all)} answered alike, {allowed.total()} deliberately otherwise, "
               f"{len(self.passing())} alike when asked again, {len(self.unexplained())} in disagreement",
               "  answers of the first: " + ", ".join(f"{n} x {s}" for s, n in sorted(self.statuses.items()))]
        out += [f"  deliberate: {name} ({n})" for name, n in allowed.most_common()]
        out += [f"  alike when asked again: request {d.number}, {d.signature()}" for d in self.passing()]
        groups = self.groups(self.unexplained())
        for at, (signature, members) in enumerate(groups, 1):
            out += ["", f"[{at}/{len(groups)}] {len(members)} x {signature}"]
            tricks = collections.Counter(d.request.trick.strip() or "plain" for d in members)
            out.append("    tricks: " + ", ".join(f"{t} ({n})" for t, n in tricks.most_common(6)))
            if at <= show:
                out += self._example(min(members, key=lambda d: (len(d.sent), d.number)), names)
        return "\n".join(out)

    def _example(self, d, names):
        out = [f"    request {d.number}:", f"      {shown(d.sent)}"]
        for aspect in d.differing():
            out += [f"    {aspect}:"] + [f"      {name:12} {side.get(aspect, '(none)')[:1200]}"
                                         for name, side in zip(names, (d.first, d.second))]
        same = [a for a in d.first if a not in d.differing() and a in ("status", "body")]
        return out + [f"    same {a}: {d.first[a][:300]}" for a in same]

    def write_json(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"requests": self.requests, "statuses": self.statuses, "kinds": self.kinds, "answers": self.answers,
                       "disagreements": [d.as_dict() for d in self.all]}, f, ensure_ascii=False, indent=1)
