"""How long verifications take while tokens are made: mixes of both on LMDB, closed loop.

A creation is answered when its commit is on the disk; verifications must not wait for that. The bound is the p99 at
100:0 times 1.5, plus one turn of the loop. A turn here is the median latency at 100:0: with every connection waiting,
each request is answered once a turn."""
from rig import load, servers, table
from rig.machine import ALL_CORES, CORES

MIXES = ("100:0", "99:1", "95:5", "90:10")
FACTOR = 1.5


def _us(run, op, point):
    return run[op]["latency_ns"][point] / 1000


def _by_mix(runs):
    return {mix: [r for r in runs if r["verify_percent"] == int(mix.split(":")[0])] for mix in MIXES}


def _place(plan, name, server_cores, load_cores):
    server = servers.Featherlock(plan.folder / name.replace(" ", "-"), "lmdb", server_cores, reactors=1)
    try:
        server.plain.make_key()
        server.plain.check(server.plain.get_token())
        runs = load.bench_kms(server.plain, server.pid, plan.seconds, load_cores, ",".join(MIXES), plan.rounds)
    finally:
        server.discard()
    return _by_mix(runs)


def _lines(name, by_mix):
    for mix, runs in by_mix.items():
        creating = mix != "100:0"
        yield (f"{name}, {mix}", *(table.spread([_us(r, "verify", p) for r in runs]) for p in ("p50", "p99", "p999")),
               table.spread([_us(r, "create", "p99") for r in runs]) if creating else "-",
               table.spread([r["per_second"] for r in runs]),
               table.spread([r["create"]["per_second"] for r in runs]) if creating else "-")


def measure(plan):
    """Twice: everything on one core, which is free of the price of waking the other one, and on the whole machine."""
    result, lines = {}, []
    for name, cores in (("one core", str(CORES[-1])), ("all cores", ALL_CORES)):
        table.progress(f"{name}: {plan.rounds} rounds")
        by_mix = _place(plan, name, cores, cores)
        table.progress_done()
        lines += _lines(name, by_mix)
        pairs = list(zip(by_mix["90:10"], by_mix["100:0"]))
        result[name] = {
            "runs": by_mix,
            "ratios": [_us(a, "verify", "p99") / _us(b, "verify", "p99") for a, b in pairs],
            "of bound": [_us(a, "verify", "p99") / (FACTOR * _us(b, "verify", "p99") + _us(b, "verify", "p50"))
                         for a, b in pairs],
        }
    table.rows(("us", "verify p50", "verify p99", "verify p99.9", "create p99", "requests/s", "creations/s"), lines)
    for name, part in result.items():
        print(f"{name}: verify p99 at 90:10 of that at 100:0: {table.spread(part['ratios'])}")
        part["verdict"] = table.verdict(f"{name}: of the bound ({FACTOR} times, plus a turn)", part["of bound"], 1.0)
    return result
