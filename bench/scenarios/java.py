"""The Java KMS beside ours: both on the whole machine, which they share with the load.

The JVM runs with its defaults (its own choice of collector, all compilers) and 1 GiB of heap, not with the settings
for a quick start that the interop tests give it. Both keep their keys in a store and write an audit log."""
import os
import time

from kit import jars
from kit.java_kms import JavaKms

from rig import cost, load, servers, table
from rig.web import Site

RATE, MEMORY = 10, 20
JVM = "-XX:-UseSerialGC -XX:+UseG1GC -XX:TieredStopAtLevel=4 -Xmx1g"


class Java:
    name = "java"

    def __init__(self, folder):
        before = os.environ.get("_JAVA_OPTIONS")
        os.environ["_JAVA_OPTIONS"] = JVM           # wins over the command line
        began = time.monotonic()
        try:
            self._kms = JavaKms(folder, servers.ACLS)
        finally:
            if before is None:
                del os.environ["_JAVA_OPTIONS"]
            else:
                os.environ["_JAVA_OPTIONS"] = before
        self.start_seconds = time.monotonic() - began
        self.plain, self.pid = Site(self._kms.host, self._kms.port), self._kms.child.pid

    def discard(self):
        self._kms.crash()


def _starts(plan, makers):
    """{name: [seconds]}, each in a new folder."""
    got = {name: [] for name in makers}
    for number in range(min(plan.rounds, 5)):
        for name in makers if number % 2 == 0 else reversed(makers):
            table.progress(f"start {number + 1}: {name}")
            server = makers[name](plan.folder / f"start-{name}{number}")
            got[name].append(server.start_seconds)
            server.discard()
    return got


def _rounds(plan, running):
    got = {name: [] for name in running}
    for number in range(plan.rounds):
        for name in running if number % 2 == 0 else reversed(running):
            table.progress(f"round {number + 1} of {plan.rounds}: {name}")
            server = running[name]
            run = load.bench_kms(server.plain, server.pid, plan.seconds)[0]
            if run["errors"]:
                raise load.CannotMeasure(f"{name}: {run['errors']} errors")
            got[name].append(run)
    return got


def _warm(running, quick):
    """A JIT needs some ten thousand requests before it is done."""
    for name, server in running.items():
        server.plain.make_key()
        server.plain.check(server.plain.get_token())
        table.progress(f"warming up {name}")
        load.bench_kms(server.plain, server.pid, 2 if quick else 15)


def measure(plan):
    makers = {"java": Java, "featherlock": servers.Featherlock}
    try:
        jars.fetch()
        starts = _starts(plan, makers)
        running = {}
        try:
            for name, make in makers.items():
                running[name] = make(plan.folder / name)
            idle = {n: cost.memory_kib(s.pid) for n, s in running.items()}
            _warm(running, plan.quick)
            got = _rounds(plan, running)
            loaded = {n: cost.memory_kib(s.pid) for n, s in running.items()}
        finally:
            for server in running.values():
                server.discard()
    except jars.PeerMissing as e:
        raise load.CannotMeasure(str(e)) from None
    table.progress_done()
    result = {"jvm": JVM, "starts": starts, "idle": idle, "loaded": loaded, "rounds": got}
    _print(result)
    return result


def _row(what, values):
    java, ours = values["java"], values["featherlock"]
    return (what, table.spread(java), table.spread(ours),
            table.spread([j / o for j, o in zip(java, ours)]))


def _print(result):
    got = result["rounds"]

    def each(pick):
        return {n: [pick(r) for r in runs] for n, runs in got.items()}
    memory = {what: {n: [m["VmRSS"] / 1024] for n, m in result[what].items()} for what in ("idle", "loaded")}
    rate = each(lambda r: r["per_second"])
    table.rows(("", "java", "featherlock", "java / featherlock"), [
        _row("requests/s", rate), _row("server CPU us/request", each(lambda r: r["server_cpu_us_per_request"])),
        _row("p50 us", each(lambda r: r["verify"]["latency_ns"]["p50"] / 1000)),
        _row("p99 us", each(lambda r: r["verify"]["latency_ns"]["p99"] / 1000)),
        _row("start ms", {n: [1000 * s for s in v] for n, v in result["starts"].items()}),
        _row("resident idle MiB", memory["idle"]), _row("resident loaded MiB", memory["loaded"])])
    pairs = list(zip(rate["java"], rate["featherlock"]))
    result["verdicts"] = {
        "rate": table.verdict("Java's rate of ours", [j / o for j, o in pairs], 1 / RATE),
        "memory": table.verdict("our memory of Java's, loaded",
                                [memory["loaded"]["featherlock"][0] / memory["loaded"]["java"][0]], 1 / MEMORY)}
