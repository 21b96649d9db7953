"""What the load generator itself costs: `featherlock bench kms` beside wrk on the same server and core.

wrk's figure is its whole process; ours is that of the measured interval, in which it also chooses operations, verifies
each answer's status and keeps a histogram of latencies."""
from rig import load, servers, table
from rig.machine import ONE_CORE

TARGET = 0.8


def _rounds(plan, site, pid, token):
    def ours():
        return load.as_load(load.bench_kms(site, pid, plan.seconds, ONE_CORE, warmup=0.5)[0])

    def theirs():
        return load.wrk(site, pid, token, plan.seconds, ONE_CORE)
    got = {"featherlock bench": [], "wrk": []}
    makers = {"featherlock bench": ours, "wrk": theirs}
    for number in range(plan.rounds):
        for name in makers if number % 2 == 0 else reversed(makers):
            table.progress(f"round {number + 1} of {plan.rounds}: {name}")
            got[name].append(makers[name]())
    table.progress_done()
    return got


def measure(plan):
    result, lines = {}, []
    server = servers.Featherlock(plan.folder / "ours", "memory", ONE_CORE, 1, servers.certificate(plan.folder), audit=False)
    try:
        server.plain.make_key()
        token = server.plain.get_token()
        server.plain.check(token)
        for door, site in (("plain", server.plain), ("TLS 1.3", server.secure)):
            got = _rounds(plan, site, server.pid, token)
            ratios = [a.own_us / b.own_us for a, b in zip(got["featherlock bench"], got["wrk"])]
            result[door] = {"ratios": ratios, "rounds": {n: [x.as_dict() for x in l] for n, l in got.items()}}
            lines += [(f"{door}, {n}", table.spread([x.own_us for x in l]), table.spread([x.server_us for x in l]),
                       table.spread([x.per_second for x in l])) for n, l in got.items()]
        table.rows(("", "own us/request", "server us/request", "requests/s"), lines)
        for door, part in result.items():
            part["verdict"] = table.verdict(f"{door}: CPU of wrk's", part["ratios"], TARGET)
    finally:
        server.discard()
    return result
