"""Verification of a delegation token, beside the cheapest answer that nginx can give, on one core.

Both servers and wrk share one core, so that waking another core is no part of the figure. nginx answers with the very
body that ours answers with; it looks at nothing, while ours routes, verifies the token, reads the key, checks the ACLs,
writes JSON and an audit record. What is compared is the server's CPU a request, round by round."""
from rig import load, servers, table
from rig.machine import ONE_CORE

TARGETS = {"plain": 1.15, "TLS 1.3": 1.0}
STORES = ("memory", "lmdb")


def _rounds(plan, doors, token):
    """doors: {name: (site, pid)}; {name: [Load]}, the order turning with every round."""
    got = {name: [] for name in doors}
    for site, pid in doors.values():
        load.wrk(site, pid, token, 1, ONE_CORE)     # warms both up
    for number in range(plan.rounds):
        order = list(doors) if number % 2 == 0 else list(reversed(doors))
        for name in order:
            table.progress(f"round {number + 1} of {plan.rounds}: {name}")
            got[name].append(load.wrk(*doors[name], token, plan.seconds, ONE_CORE))
    table.progress_done()
    return got


def _lines(door, got, ratios):
    for name, loads in got.items():
        yield (f"{door}, {name}", table.spread([x.server_us for x in loads]), table.spread([x.own_us for x in loads]),
               table.spread([x.per_second for x in loads]),
               table.spread(ratios[name]) if name in ratios else "1")


def _bytes_of(answer):
    _, headers, body = answer
    return len("HTTP/1.1 200 OK\r\n\r\n") + sum(len(n) + len(v) + 4 for n, v in headers) + len(body)


def _start_ours(plan, tls):
    ours = {}
    for store in STORES:
        ours[store] = servers.Featherlock(plan.folder / store, store, ONE_CORE, reactors=1, tls=tls)
    return ours


def measure(plan):
    tls = servers.certificate(plan.folder)
    running, result, lines = [], {"doors": {}}, []
    try:
        ours = _start_ours(plan, tls)
        running += ours.values()
        tokens = {}
        for store, server in ours.items():
            server.plain.make_key()
            tokens[store] = server.plain.get_token()
            answer = server.plain.check(tokens[store])
            if server.secure.verify(tokens[store])[0] != 200:
                raise load.CannotMeasure(f"{server.secure.url}: the token is refused")
        nginx = servers.Nginx(plan.folder / "nginx", answer[2].decode(), tls, ONE_CORE)
        running.append(nginx)
        result["body bytes"] = len(answer[2])
        result["answer bytes"] = {"featherlock": _bytes_of(answer), "nginx": _bytes_of(nginx.plain.ask("GET", "/"))}
        for door, target in TARGETS.items():
            result["doors"][door] = _door(plan, door, ours, nginx, tokens, lines)
        print(f"body {len(answer[2])} bytes; whole answers: ours {result['answer bytes']['featherlock']}, "
              f"nginx {result['answer bytes']['nginx']}; wrk -t1 -c{load.CONNECTIONS}, everything on core {ONE_CORE}")
        table.rows(("", "server us/request", "wrk us/request", "requests/s", "ratio to nginx"), lines)
        for door, target in TARGETS.items():
            part = result["doors"][door]
            part["verdict"] = {s: table.verdict(f"{door}, {s}: server CPU of nginx's", part["ratios"][s], target)
                               for s in STORES}
    finally:
        for server in running:
            server.discard()
    return result


def _door(plan, door, ours, nginx, tokens, lines):
    def site_of(server):
        return server.plain if door == "plain" else server.secure
    ratios, raw = {}, {}
    for store, server in ours.items():
        doors = {store: (site_of(server), server.pid), f"nginx beside {store}": (site_of(nginx), nginx.pid)}
        got = _rounds(plan, doors, tokens[store])
        beside = got[f"nginx beside {store}"]
        ratios[store] = [a.server_us / b.server_us for a, b in zip(got[store], beside)]
        raw.update({name: [x.as_dict() for x in loads] for name, loads in got.items()})
        lines += _lines(door, got, {store: ratios[store]})
    return {"ratios": ratios, "rounds": raw}
