"""The two load generators: wrk, and our own."""
import dataclasses
import json
import re
import resource

from . import cost, machine, servers, web
from .errors import CannotMeasure

CONNECTIONS = 32


@dataclasses.dataclass
class Load:
    """What one run of a load generator did, and what it cost."""
    requests: int
    per_second: float
    server_us: float                                # CPU of the server a request
    own_us: float                                   # CPU of the load generator a request

    def as_dict(self):
        return dataclasses.asdict(self)


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wrk(site, pid, token, seconds, cores, connections=CONNECTIONS):
    own, server = children_cpu(), cost.cpu_seconds(pid)
    said, wall = cost.run_to_end(["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-H",
                                  f"{web.TOKEN_HEADER}: {token}", site.url + web.PATH], cores)
    server, own = cost.cpu_seconds(pid) - server, children_cpu() - own
    done = re.search(r"(\d+) requests in", said)
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)", said)
    if not done or int(done.group(1)) == 0 or wrong:
        raise CannotMeasure(f"wrk at {site.url}: {said[-500:]}")
    n = int(done.group(1))
    return Load(n, n / wall, server * 1e6 / n, own * 1e6 / n)


def bench_kms(site, pid, seconds, cores=machine.ALL_CORES, mix="100:0", repeat=1, warmup=1.0, tokens=100,
              connections=CONNECTIONS, threads=1):
    """The runs of `featherlock bench kms`, as its JSON has them."""
    said, _ = cost.run_to_end(
        [servers.binary(), "bench", "kms", f"--url={site.url}/kms", f"--mix={mix}", f"--repeat={repeat}",
         f"--warmup={round(warmup * 1000)}ms", f"--duration={round(seconds * 1000)}ms",
         f"--concurrency={connections}", f"--threads={threads}", f"--tokens={tokens}", f"--key={web.KEY}",
         "--user=bench", f"--server_pid={pid}", "--insecure", "--json"], cores)
    return json.loads(said)["runs"]


def as_load(run):
    return Load(run["verify"]["good"] + run["create"]["good"], run["per_second"], run["server_cpu_us_per_request"],
                run["own_cpu_us_per_request"])
