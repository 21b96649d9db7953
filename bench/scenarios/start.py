"""How long a start takes, and how much memory a server holds: empty, and with many tokens.

Tokens are made through the server itself. Memory beyond a token's own bytes (identifier and password) is taken from
RssAnon, the memory that is the process's alone; RssFile beside it has the mapped pages of the store, which are the
kernel's page cache."""
import os
import statistics

from rig import cost, load, servers, table, web

MANY = (100_000, 1_000_000)
QUICK = (5_000,)
START_EMPTY_S, START_MANY_S, EMPTY_MIB, OVERHEAD = 0.1, 1.0, 20, 200
CREATORS = {"lmdb": 512, "memory": 32}             # commits are shared; without commits few connections do


def _start(folder, store="lmdb"):
    return servers.Featherlock(folder, store, reactors=1)


def _empty(plan):
    """New stores each time: the header, the passphrase and its scrypt are part of it."""
    seconds, memory = [], []
    for number in range(plan.rounds):
        server = _start(plan.folder / f"empty{number}")
        seconds.append(server.start_seconds)
        memory.append(cost.memory_kib(server.pid))
        server.stop()
    return seconds, memory


def _again(plan, folder):
    seconds, memory = [], []
    os.sync()                                       # else the start's own commit waits for what the filling wrote
    for _ in range(plan.rounds):
        server = _start(folder)
        seconds.append(server.start_seconds)
        memory.append(cost.memory_kib(server.pid))
        server.stop()
    return seconds, memory


def _fill(server, wanted, creators):
    """Makes tokens until there are at least so many; how many there are."""
    made, rate = 0, 100_000.0
    while made < wanted:
        seconds = min(60.0, max(0.2, (wanted - made) / rate))
        table.progress(f"{made:,} of {wanted:,} tokens")
        run = load.bench_kms(server.plain, server.pid, seconds, mix="0:100", warmup=0, tokens=1, 
                             connections=creators)[0]
        if run["errors"]:
            raise load.CannotMeasure(f"{run['errors']} creations failed: {run}")
        made += run["create"]["good"] + run["late"] + 1
        rate = max(1000.0, run["create"]["per_second"])
    table.progress_done()
    return made


def _many(plan, wanted, base, store):
    folder = plan.folder / f"{store}{wanted}"
    server = _start(folder, store)
    try:
        own = sum(web.token_bytes(server.plain.get_token()))
        made = _fill(server, wanted, CREATORS[store]) + 1
        after = cost.memory_kib(server.pid)
        server.stop()
    except BaseException:
        server.discard()
        raise
    part = {"store": store, "tokens": made, "own bytes": own, "after creating": after}
    if store == "lmdb":
        part["start seconds"], part["after start"] = _again(plan, folder)
    ends = part.get("after start", [after])
    part["bytes a token"] = [(m["RssAnon"] - base) * 1024 / made - own for m in ends]
    return part


def measure(plan):
    seconds, memory = _empty(plan)
    base = statistics.median(m["RssAnon"] for m in memory)
    result = {"empty": {"start seconds": seconds, "memory": memory}, "many": []}
    for wanted in QUICK if plan.quick else MANY:
        for store in ("lmdb", "memory"):
            result["many"].append(_many(plan, wanted, base, store))
    _print(result)
    return result


def _mib(memory, what):
    return table.spread([m[what] / 1024 for m in memory])


def _print(result):
    empty = result["empty"]
    lines = [("empty, lmdb", table.spread([1000 * s for s in empty["start seconds"]]), _mib(empty["memory"], "VmRSS"),
              _mib(empty["memory"], "RssAnon"), _mib(empty["memory"], "RssFile"), "-", "-")]
    for part in result["many"]:
        ends = part.get("after start", [part["after creating"]])
        started = table.spread([1000 * s for s in part["start seconds"]]) if "start seconds" in part else "-"
        lines.append((f"{part['tokens']:,} tokens, {part['store']}", started, _mib(ends, "VmRSS"), _mib(ends, "RssAnon"),
                      _mib(ends, "RssFile"), part["own bytes"], table.spread(part["bytes a token"])))
    table.rows(("MiB", "start ms", "resident", "of it anonymous", "of it files", "own bytes", "bytes a token beyond"), lines)
    verdicts = result["verdicts"] = {
        "start, empty": table.verdict("start, empty", empty["start seconds"], START_EMPTY_S, " s"),
        "memory, empty": table.verdict("memory, empty", [m["VmRSS"] / 1024 for m in empty["memory"]], EMPTY_MIB, " MiB")}
    for part in result["many"]:
        name = f"{part['tokens']:,} tokens, {part['store']}"
        if "start seconds" in part and part["tokens"] < 500_000:
            verdicts[f"start, {name}"] = table.verdict(f"start, {name}", part["start seconds"], START_MANY_S, " s")
        verdicts[f"memory, {name}"] = table.verdict(f"beyond a token's own bytes, {name}", part["bytes a token"], OVERHEAD, " B")
