"""The machine and the versions that a figure belongs to, and where processes are put."""
import datetime
import os
import pathlib
import re
import subprocess

CORES = sorted(os.sched_getaffinity(0))
ONE_CORE = str(CORES[-1])                           # the first core has the interrupts of many machines
ALL_CORES = ",".join(str(c) for c in CORES)


def _first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except FileNotFoundError:
        return "not installed"
    return (done.stdout.strip() or "unknown").split("\n")[0]


def _cpu_model():
    found = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else "unknown"


def facts():
    from . import servers
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": f"{len(CORES)} x {_cpu_model()}",
        "kernel": os.uname().release,
        "congestion control": pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip(),
        "scheduling": "real time, round robin" if os.sched_getscheduler(0) == os.SCHED_RR else "ordinary",
        "load before": " ".join(f"{x:.1f}" for x in os.getloadavg()),
        "featherlock": _first_line(servers.binary(), "version"),
        "nginx": _first_line("/usr/sbin/nginx", "-v"),
        "wrk": _first_line("wrk", "-v"),
        "openssl": _first_line("openssl", "version"),
    }
