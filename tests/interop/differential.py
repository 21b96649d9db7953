#!/usr/bin/python3
"""Sends the same random requests to two KMS and compares every answer.

usage: differential.py [--count N] [--seed N] [--json FILE] [--audit FILE_A FILE_B] URL_A URL_B

URL_A is the Java KMS, the measure; URL_B is the one under test. Both want fresh stores, the ACLs and the proxy users of
kit/settings.py. Exit status 0: nothing but deliberate differences (deliberate.py); 1: disagreements, printed by kind."""
import argparse
import json
import sys
import time
import urllib.parse

import deliberate
from differ import audit, bodies, facts, report
from differ.generator import Generator
from differ.memory import Memory
from differ.normal import Normaliser
from differ.wire import Broken, Line

AFTER = 5          # seconds for a server to close a connection whose other half is closed


class Server:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or not parts.port:
            raise SystemExit(f"differential.py: '{url}' is no http://HOST:PORT address")
        self.line = Line(parts.hostname, parts.port)
        self.memory = Memory(parts.hostname, parts.port)
        self.address = (parts.hostname, parts.port)

    def bytes_of(self, request):
        """(head, body) of an ordinary request with this server's own values in it."""
        unfit = "surrogatepass" if request.encoding.startswith("utf") else "replace"
        body = None if request.body is None else self.memory.fill(request.body).encode(request.encoding, unfit)
        lines = [f"{request.method} {self.memory.fill(request.target())} {request.version}"]
        lines += [f"{n}: {self.memory.fill(v)}" for n, v in request.headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines + ["", ""]).encode("utf-8", "surrogatepass"), body or b""

    def send(self, request):
        head, body = self.bytes_of(request)
        self.line.send(head + body)
        return (head + body).decode("utf-8", "replace")

    def receive(self, request):
        try:
            answer = self.line.answer(request.method)
        except Broken as e:
            self.line.close()
            return str(e)
        if request.version != "HTTP/1.1":
            self.line.close()
        return answer

    def malformed(self, piece):
        """All that comes back for a request that may not be one, as one text per answer."""
        line = Line(*self.address)
        line.send(self.memory.fill(piece.text).encode())
        if not piece.whole:
            line.end_of_request()
        answers = []
        try:
            while line.sock is not None and len(answers) < 2:
                answers.append(line.answer(piece.method, AFTER, piece.rest.encode()))
                if answers[-1].to_end:
                    answers.append("closed")        # an end that other framings tell only afterwards
                if not piece.trick.startswith("pipelined"):
                    line.end_of_request()
        except Broken as e:
            answers.append(str(e))
        line.close()
        return answers


class Comparison:
    def __init__(self, urls, seed):
        self.servers = [Server(u) for u in urls]
        self.generator = Generator(seed)
        self.report = report.Report()
        self.known = {m for group in bodies.MATERIALS.values() for m in group}
        self.number = 0
        self.changed = set()            # keys deleted or rolled for which Java may still hold wrapped keys made ahead

    def step(self):
        self.number += 1
        request = self.generator.next()
        if request.raw is not None:
            sent, sides, answers = self._malformed(request)
        else:
            sent = [s.send(request) for s in self.servers][0]
            answers = [s.receive(request) for s in self.servers]
            sides = [self._normaliser(request, s).aspects(a) for s, a in zip(self.servers, answers)]
        self.report.count(request, sides[0])
        if sides[0] != sides[1]:
            found = report.Disagreement(self.number, request, sent, *sides)
            found.deliberate = deliberate.explain(found)
            found.passing = found.deliberate is None and self._passes(request)
            self.report.add(found)
            self._level(request, found)
            request.keep = () if request.kind == "generate" else request.keep
        if answers:
            self._follow_changes(request, answers[0])
            learned = facts.learn(request, answers, [s.memory for s in self.servers])
            self.generator.learn(request, answers[0], learned)

    def _passes(self, request):
        """Whether both agree when asked again. The Java server makes wrapped keys ahead and keeps them over a delete of
        their key; such a one is gone once it is handed out (deliberate.MADE_AHEAD)."""
        if request.kind != "generate" or request.about not in self.changed:
            return False
        for server in self.servers:
            server.send(request)
        again = [self._normaliser(request, s).aspects(s.receive(request)) for s in self.servers]
        return again[0] == again[1] or deliberate.explain(report.Disagreement(self.number, request, "", *again)) is not None

    def _follow_changes(self, request, answer):
        if isinstance(answer, str) or answer.status != 200:
            return
        if request.kind in ("delete", "roll"):
            self.changed.add(request.about)         # for good: the Java server fills its queue behind our back

    def mark_audit(self):
        """Asks for a key whose name stands in the last line of the audit log, and gives that name."""
        request = self.generator.marker("end-of-comparison")
        for server in self.servers:
            server.send(request)
        for server in self.servers:
            server.receive(request)
        return "end-of-comparison"

    def _normaliser(self, request, server):
        return Normaliser(request, self.number, server.memory, self.known)

    def _malformed(self, request):
        both = [s.malformed(request.raw) for s in self.servers]
        sides = []
        for server, answers in zip(self.servers, both):
            normal = self._normaliser(request, server)
            side = {}
            for at, answer in enumerate(answers):
                prefix = f"answer {at + 1} " if at else ""
                side.update({prefix + k: v for k, v in normal.aspects(answer).items()})
            sides.append(side)
        return self.servers[0].memory.fill(request.raw.text), sides, None

    def _level(self, request, found):
        """After one server changed a key and the other did not: the key goes from both, so that one disagreement does
        not make a hundred."""
        if found.deliberate or found.passing:
            return
        held = [set(self._ask(server, self.generator.names_as_alice())) for server in self.servers]
        uneven = held[0] ^ held[1]
        if request.key is not None and found.first.get("status") != found.second.get("status"):
            uneven.add(request.key)
        for name in sorted(uneven):
            for server in self.servers:
                self._ask(server, self.generator.removal(name))

    @staticmethod
    def _ask(server, request):
        """The JSON a server answers to a request of the comparison's own."""
        server.send(request)
        answer = server.receive(request)
        try:
            return json.loads(answer.body)
        except (AttributeError, ValueError):
            return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="writes every disagreement there")
    parser.add_argument("--show", type=int, default=40, metavar="N", help="examples for the N most frequent kinds (default 40)")
    parser.add_argument("--audit", nargs=2, metavar="FILE", help="the servers' audit logs, compared as well")
    parser.add_argument("urls", nargs=2, metavar="URL")
    args = parser.parse_args()
    started = last = time.monotonic()
    comparison = Comparison(args.urls, args.seed)
    for done in range(1, args.count + 1):
        comparison.step()
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print(f"differential: {done} of {args.count}, {len(comparison.report.unexplained())} disagreements", file=sys.stderr, flush=True)
    if args.json:
        comparison.report.write_json(args.json)
    print(f"seed {args.seed}, {time.monotonic() - started:.0f} s: " + comparison.report.summary(("A", "B"), args.show))
    alike = not comparison.report.unexplained()
    if args.audit:
        alike &= audits_agree(comparison, args.audit)
    return 0 if alike else 1


def audits_agree(comparison, files):
    """Each server gets one more request, and its log is read when the line about that has come. Then the logs must say
    the same, but for the lines that a deliberate difference explains (deliberate.py: Rule.audit)."""
    last = comparison.mark_audit()
    logs = []
    for path, server in zip(files, comparison.servers):
        audit.wait_for(path, last)
        logs.append(audit.lines(path, server.memory.host_port))
    only = audit.differing(*logs)
    before = [o.total() for o in only]
    audit.excuse(only[0], [p for d in comparison.report.all for p in deliberate.audit_lines(d)])
    for side in only:
        audit.excuse(side, deliberate.MADE_AHEAD_LINES * len(comparison.report.passing()))
    print(f"audit logs: {logs[0].total()} and {logs[1].total()} lines, {before[0]} only in A, {before[1]} only in B; "
          f"{only[0].total()} and {only[1].total()} of them in disagreement")
    for line in audit.shown(*only, limit=60):
        print(line)
    return not only[0] and not only[1]


if __name__ == "__main__":
    sys.exit(main())
