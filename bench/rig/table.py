"""Figures as people read them: a median and the range it lies in."""
import statistics


def title(text):
    print(f"\n== {text}", flush=True)


def facts(pairs):
    for name, value in pairs.items():
        print(f"{name + ':':<20} {value}")


def digits(x):
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.1f}" if abs(x) >= 100 else f"{x:.2f}"


def spread(values):
    """'median [least - most]'"""
    return f"{digits(statistics.median(values))} [{digits(min(values))} - {digits(max(values))}]"


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def rows(heads, lines):
    widths = [max(len(str(line[i])) for line in [heads, *lines]) for i in range(len(heads))]
    for line in [heads, *lines]:
        print("  ".join(str(cell).ljust(w) if i == 0 else str(cell).rjust(w)
                        for i, (cell, w) in enumerate(zip(line, widths))), flush=True)


def verdict(what, values, target, unit=""):
    """A line that says whether the median meets its target."""
    median = statistics.median(values)
    word = "met" if median <= target else "NOT MET"
    print(f"{what}: {spread(values)}{unit}, target at most {digits(target)}{unit}: {word}", flush=True)
    return {**summary(values), "target": target, "met": median <= target}


def progress(text):
    import sys
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def progress_done():
    progress("")
