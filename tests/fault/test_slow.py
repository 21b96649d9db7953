"""slowhttptest in its three modes with 600 connections: heads that never end, bodies that never end, answers that are hardly
read. A normal client is served within 2 s throughout, and memory stays small. By default all three at once for a few seconds;
with FEATHERLOCK_ROUNDS each for a minute, too."""
import os
import resource
import subprocess
import time

import pytest
from server import DEADLINE, Server
from wire import as_user, ask, create

CONNECTIONS = 600
SECONDS = 60 if "FEATHERLOCK_ROUNDS" in os.environ else 4
MODES = {
    "heads": ("-H", "-i", "2"),
    "bodies": ("-B", "-i", "2", "-s", "65536", "-t", "POST", "-f", "application/json"),
    "answers": ("-X", "-n", "1", "-w", "10", "-y", "20", "-z", "5", "-k", "3"),
}
MOST_KIB = 64 << 10


@pytest.fixture
def server(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    server = Server(tmp_path, drain_timeout="1s").ready()
    yield server
    server.stop()
    print("\n".join(server.log.rest()))
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def attack(server, mode):
    target = as_user("/kms/v1/key/slow/_eek?eek_op=generate&num_keys=100" if mode == "answers" else "/kms/v1/keys")
    command = ["slowhttptest", "-c", str(CONNECTIONS), "-r", str(CONNECTIONS), "-l", str(SECONDS), "-p", "2",
               "-u", f"http://127.0.0.1:{server.port}{target}", *MODES[mode]]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def resident_kib(server):
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // 1024


@pytest.mark.parametrize("modes", [tuple(MODES)] + ([(m,) for m in MODES] if "FEATHERLOCK_ROUNDS" in os.environ else []),
                         ids=" and ".join)
def test_a_normal_client_is_served_throughout(server, modes):
    create(server, "slow")
    attackers = [attack(server, mode) for mode in modes]
    slowest = most_open = most_kib = asked = 0
    while any(a.poll() is None for a in attackers):
        before = time.monotonic()
        assert ask(server, "GET", as_user("/kms/v1/key/slow/_metadata")).status == 200
        slowest = max(slowest, time.monotonic() - before)
        most_kib = max(most_kib, resident_kib(server))
        most_open = max(most_open, len(os.listdir(f"/proc/{server.process.pid}/fd")))
        asked += 1
    for a in attackers:
        a.wait(DEADLINE)
    print(f"{asked} requests, the slowest {slowest * 1000:.0f} ms; {most_open} descriptors, {most_kib} KiB")
    assert most_open >= CONNECTIONS * len(modes), f"only {most_open} connections were open: that was no attack"
    assert slowest < 2, f"a normal client waited for {slowest:.1f} s"
    assert most_kib < MOST_KIB, f"{most_kib} KiB are resident"
