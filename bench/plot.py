# SPDX-License-Identifier: Apache-2.0
"""The results as a bar chart: plain SVG, logarithmic, readable on light and dark pages."""
import math
from xml.sax.saxutils import escape

from report import amount

WIDTH = 860
LEFT, RIGHT = 250, 90
BAR, GAP = 16, 6
STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
  .title { font-size: 18px; font-weight: 600 }
  .group { font-weight: 600 }
  .small { font-size: 11px; fill: #656d76 }
  .name, .end { text-anchor: end }
  .tick { text-anchor: middle }
  .ours { fill: #0f766e }
  .theirs { fill: #b6bec7 }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .tail { stroke: #24292f; stroke-opacity: .55; stroke-width: 1.5 }
  .budget { stroke: #c2410c; stroke-width: 2 }
  .page { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .page { fill: #0d1117 }
    .ours { fill: #2dd4bf } .theirs { fill: #4b545f } .grid { stroke: #2b323b }
    .tail { stroke: #e6edf3 } .budget { stroke: #fb923c }
  }
"""


class Bar:
    def __init__(self, figure, ours=False, limit=None):
        self.figure, self.ours, self.limit = figure, ours, limit


class Group:
    def __init__(self, title, hint, bars):
        self.title, self.hint = title, hint
        self.bars = [bar for bar in bars if bar.figure and bar.figure.value > 0]


def decades(bars):
    values = [value for bar in bars
              for value in (bar.figure.value, bar.figure.p95, bar.limit) if value]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    if min(values) < 10 ** low * 1.5:
        low -= 1  # a bar needs some length to be seen
    return low, max(high, low + 1)


def draw(groups, title, footer):
    """The SVG text. Groups of one unit share their scale, so that they can be compared."""
    groups = [group for group in groups if group.bars]
    spans = {}
    for group in groups:
        unit = group.bars[0].figure.unit
        spans.setdefault(unit, []).extend(group.bars)
    spans = {unit: decades(bars) for unit, bars in spans.items()}

    body, y = [f'<text class="title" x="24" y="36">{escape(title)}</text>'], 58
    body.append(legend(24, y))
    y += 34
    for group in groups:
        part, y = draw_group(group, spans[group.bars[0].figure.unit], y)
        body += part
    body.append(f'<text class="small" x="24" y="{y + 4}">{escape(footer)}</text>')
    height = y + 24
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}">\n'
            f"<style>{STYLE}</style>\n"
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>\n'
            + "\n".join(body) + "\n</svg>\n")


def legend(x, y):
    return (f'<rect class="ours" x="{x}" y="{y - 10}" width="12" height="12" rx="2"/>'
            f'<text class="small" x="{x + 18}" y="{y}">holdfast</text>'
            f'<rect class="theirs" x="{x + 86}" y="{y - 10}" width="12" height="12" rx="2"/>'
            f'<text class="small" x="{x + 104}" y="{y}">reference</text>'
            f'<line class="budget" x1="{x + 176}" x2="{x + 176}" y1="{y - 11}" y2="{y + 3}"/>'
            f'<text class="small" x="{x + 184}" y="{y}">budget</text>'
            f'<line class="tail" x1="{x + 244}" x2="{x + 262}" y1="{y - 4}" y2="{y - 4}"/>'
            f'<text class="small" x="{x + 268}" y="{y}">median to 95th percentile</text>'
            f'<text class="small end" x="{WIDTH - 24}" y="{y}">logarithmic scale</text>')


def draw_group(group, span, y):
    low, high = span
    width = WIDTH - LEFT - RIGHT

    def place(value):
        return LEFT + width * min(max((math.log10(value) - low) / (high - low), 0.004), 1)

    part = [f'<text class="group" x="24" y="{y}">{escape(group.title)}</text>',
            f'<text class="small end" x="{WIDTH - 24}" y="{y}">{escape(group.hint)}</text>']
    top = y + 12
    bottom = top + len(group.bars) * (BAR + GAP)
    unit = group.bars[0].figure.unit
    for power in range(low, high + 1):
        x = place(10.0 ** power)
        part.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>')
        part.append(f'<text class="small tick" x="{x:.1f}" y="{bottom + 13}">'
                    f"{escape(axis_label(power, unit))}</text>")
    for bar in group.bars:
        part += draw_bar(bar, top + GAP / 2, place)
        top += BAR + GAP
    return part, bottom + 46


def axis_label(power, unit):
    # Memory is counted in powers of two but drawn in decades: plain KB and MB are honest there.
    if unit == "B":
        for exponent, name in ((9, "GB"), (6, "MB"), (3, "kB"), (0, "B")):
            if power >= exponent:
                return f"{10 ** (power - exponent)} {name}"
    return amount(10.0 ** power, unit)


def draw_bar(bar, top, place):
    figure = bar.figure
    end, middle = place(figure.value), top + BAR / 2
    text_at = end
    part = [f'<text class="name" x="{LEFT - 10}" y="{middle + 4:.1f}">{escape(figure.name)}</text>',
            f'<rect class="{"ours" if bar.ours else "theirs"}" x="{LEFT}" y="{top:.1f}" '
            f'width="{end - LEFT:.1f}" height="{BAR}" rx="2"/>']
    if figure.p95 and figure.p95 != figure.value:
        tail = place(figure.p95)
        text_at = max(text_at, tail)
        part.append(f'<line class="tail" x1="{end:.1f}" x2="{tail:.1f}" y1="{middle:.1f}" '
                    f'y2="{middle:.1f}"/>')
    if bar.limit:
        x = place(bar.limit)
        if -4 < x - text_at < 64:  # the number would stand on the mark
            text_at = x
        part.append(f'<line class="budget" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 2:.1f}" '
                    f'y2="{top + BAR + 2:.1f}"/>')
    part.append(f'<text class="small" x="{text_at + 6:.1f}" y="{middle + 4:.1f}">'
                f"{escape(amount(figure.value, figure.unit))}</text>")
    return part
