# SPDX-License-Identifier: Apache-2.0
"""Figures, budgets, and how they are shown."""
import dataclasses
import os
import platform
import subprocess
import time
from typing import Optional

SCALES = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "us")),
    "B": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1, "B/s")),
    "/s": ((1, "/s"),),
}


def quantile(values, q):
    """By linear interpolation between the two nearest ranks."""
    values = sorted(values)
    at = (len(values) - 1) * q
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


@dataclasses.dataclass
class Figure:
    """One measured thing. `value` is the median where there were many samples."""
    name: str
    value: float
    unit: str
    p95: Optional[float] = None
    samples: int = 1

    @classmethod
    def of_times(cls, name, nanoseconds):
        seconds = [value / 1e9 for value in nanoseconds]
        return cls(name, quantile(seconds, 0.5), "s", quantile(seconds, 0.95), len(seconds))

    @classmethod
    def of_rates(cls, name, amount, nanoseconds):
        """Bytes per second; the p95 is the slow end."""
        rates = [amount / (value / 1e9) for value in nanoseconds]
        return cls(name, quantile(rates, 0.5), "B/s", quantile(rates, 0.05), len(rates))


@dataclasses.dataclass
class Budget:
    """A limit on a value, or with `relative` on its ratio to the reference."""
    limit: float
    at_least: bool = False
    relative: bool = True
    unit: str = ""
    tail: bool = False  # the p95 has to keep it too

    def holds(self, value):
        return value >= self.limit if self.at_least else value <= self.limit

    def text(self):
        sign = "≥" if self.at_least else "≤"
        limit = ratio_text(self.limit) if self.relative else amount(self.limit, self.unit)
        return f"{sign} {limit}"


@dataclasses.dataclass
class Line:
    """One line of the table."""
    row: int
    what: str
    figure: Optional[Figure] = None
    reference: Optional[Figure] = None
    budget: Optional[Budget] = None
    note: str = ""  # why there is no figure, or what else belongs to it
    failed: bool = False  # could not be measured
    missed: bool = False  # whatever the figure says

    @property
    def ratio(self):
        return self.figure.value / self.reference.value if self.figure and self.reference else None

    @property
    def verdict(self):
        if self.failed:
            return "failed"
        if not self.budget:
            return ""
        if not self.figure:
            return "not measured"
        if self.missed:
            return "missed"
        if self.budget.relative:
            if self.ratio is None:
                return "no reference"
            return "met" if self.budget.holds(self.ratio) else "missed"
        worst = [self.figure.value]
        if self.budget.tail and self.figure.p95 is not None:
            worst.append(self.figure.p95)
        return "met" if all(self.budget.holds(value) for value in worst) else "missed"

    def as_dict(self):
        return {"row": self.row, "what": self.what, "figure": as_dict(self.figure),
                "reference": as_dict(self.reference), "ratio": self.ratio,
                "budget": self.budget.text() if self.budget else None,
                "verdict": self.verdict or None, "note": self.note or None}


def as_dict(figure):
    return dataclasses.asdict(figure) if figure else None


def amount(value, unit):
    """A number of three digits with the unit that suits it."""
    for scale, name in SCALES[unit]:
        if abs(value) >= scale * 0.9995:  # 0.9996 ms is 1 ms, not 1000 us
            break
    value = round(value / scale, 3)
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} {name}" if not name.startswith("/") else f"{value:.{digits}f}{name}"


def ratio_text(value):
    if value is None:
        return ""
    if value < 0.5:
        inverse = 1 / value
        return f"1/{inverse:.0f}" if inverse >= 10 else f"1/{inverse:.1f}"
    return f"{value:.2f}x" if value < 10 else f"{value:.0f}x"


def table(lines, color=False):
    """The lines as aligned text."""
    rows = [("", "what", "p50", "p95", "n", "reference", "", "ratio", "budget", "verdict")]
    last = None
    for line in lines:
        figure, reference = line.figure, line.reference
        rows.append((
            str(line.row) if line.row != last else "", line.what,
            amount(figure.value, figure.unit) if figure else "-",
            amount(figure.p95, figure.unit) if figure and figure.p95 is not None else "",
            str(figure.samples) if figure else "",
            reference.name if reference else "",
            amount(reference.value, reference.unit) if reference else "",
            ratio_text(line.ratio), line.budget.text() if line.budget else "",
            line.verdict + (f" ({line.note})" if line.note else "")))
        last = line.row
    right = {0, 2, 3, 4, 6, 7, 8}
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    text = []
    for number, row in enumerate(rows):
        cells = [cell.rjust(width) if i in right else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        if color and number:
            cells[-1] = paint(cells[-1])
        text.append("  ".join(cells).rstrip())
        if number == 0:
            text.append("  ".join("-" * width for width in widths[:-1]) + "  -------")
    return "\n".join(text)


def paint(cell):
    for word, code in (("met", 32), ("missed", 31), ("failed", 31)):
        if cell.startswith(word):
            return f"\033[{code}m{cell}\033[0m"
    return cell


def summary(lines):
    verdicts = [line.verdict for line in lines if line.budget or line.failed]
    counts = {word: verdicts.count(word) for word in dict.fromkeys(verdicts)}
    words = ", ".join(f"{count} {word}" for word, count in counts.items())
    return words or "none was measured"


def machine():
    """What a reader needs to know to compare two runs; nothing that names the machine."""
    with open("/proc/meminfo") as handle:
        memory = next(int(line.split()[1]) for line in handle if line.startswith("MemTotal:"))
    return {"kernel": platform.release().partition("-")[0], "architecture": platform.machine(),
            "cpus": len(os.sched_getaffinity(0)), "memory_bytes": memory * 1024,
            "load_before": os.getloadavg()[0], "root": os.geteuid() == 0}


def revision(root):
    run = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return run.stdout.strip() or None


def document(lines, extra):
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **extra,
            "lines": [line.as_dict() for line in lines]}
