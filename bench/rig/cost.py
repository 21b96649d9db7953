"""What processes cost: CPU seconds and memory, as the kernel counts them."""
import os
import pathlib
import subprocess
import time

from . import machine
from .errors import CannotMeasure

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of a whole process so far, in steps of 10 ms."""
    after_name = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / TICK


def memory_kib(pid):
    """{VmRSS, RssAnon, RssFile, VmHWM} of a process in KiB. RssFile has the pages of a mapped store."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    parts = (line.split() for line in lines)
    return {p[0][:-1]: int(p[1]) for p in parts if p[0] in ("VmRSS:", "RssAnon:", "RssFile:", "VmHWM:")}


def pinned(cores, argv):
    return ["taskset", "-c", cores, *map(str, argv)]


def run_to_end(argv, cores=machine.ALL_CORES):
    """(standard output, CPU seconds, wall seconds) of a program that must succeed."""
    began = time.monotonic()
    with subprocess.Popen(pinned(cores, argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as child:
        said, complained = child.communicate()
    wall = time.monotonic() - began
    if child.returncode != 0:
        raise CannotMeasure(f"{' '.join(map(str, argv))} ended with {child.returncode}: {(complained or said)[-2000:]}")
    return said, wall
