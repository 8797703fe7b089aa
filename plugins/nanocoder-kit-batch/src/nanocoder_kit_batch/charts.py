"""Charts as inline SVG: nothing is loaded, and the colours are those of the page's style sheet."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen
from nanocoder import one_line
from nanocoder_kit_ui.html import text_html

from nanocoder_kit_batch.tally import quantile

WIDTH: Final = 560
ROW: Final = 26
LABEL: Final = 190
VALUE: Final = 110
BINS: Final = 24
HEIGHT: Final = 150
AXIS: Final = 22
EDGE: Final = 16
HEAD: Final = 44
LABEL_CHARS: Final = 25


@frozen
class Interval:
    """A share with the ends of its confidence interval, each from 0 to 1."""

    label: str
    share: float
    low: float
    high: float
    note: str = ""


def bars(title: str, rows: Mapping[str, float], show: Callable[[float], str] = str) -> str:
    """Return a chart with one bar for each row, the longest with the full width."""
    if not rows:
        return _figure(title, _text(0, 18, "none"), ROW)
    most = max(rows.values()) or 1.0
    width_of_bars = WIDTH - LABEL - VALUE
    lines = []
    for index, (label, value) in enumerate(rows.items()):
        y, width = index * ROW, max(1.0, width_of_bars * value / most)
        lines.append(_text(LABEL - 8, y + 17, short(label), "end"))
        lines.append(f'<rect class="bar" x="{LABEL}" y="{y + 4}" width="{width:.1f}" height="18"/>')
        lines.append(_text(LABEL + width + 6, y + 17, show(value)))
    return _figure(title, "".join(lines), len(rows) * ROW)


def intervals(title: str, rows: Sequence[Interval]) -> str:
    """Return a chart with a point and its confidence interval for each row, from 0 to 100 %."""
    width_of_bars = WIDTH - LABEL - VALUE
    lines = [
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{len(rows) * ROW}"/>'
        + _text(x, len(rows) * ROW + 16, f"{part:.0%}", "middle")
        for part in (0, 0.25, 0.5, 0.75, 1)
        for x in [LABEL + width_of_bars * part]
    ]
    for index, row in enumerate(rows):
        y = index * ROW + 13
        low, mid, high = (LABEL + width_of_bars * part for part in (row.low, row.share, row.high))
        lines.append(_text(LABEL - 12, y + 4, short(row.label), "end"))
        lines.append(f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>')
        lines.append(f'<circle class="bar" cx="{mid:.1f}" cy="{y}" r="5"/>')
        note = row.note or f"{row.share:.1%}"
        lines.append(_text(LABEL + width_of_bars + 14, y + 4, note))
    return _figure(title, "".join(lines), len(rows) * ROW + AXIS)


def short(label: str) -> str:
    """Return a label shortened in the middle to LABEL_CHARS; ends of names differ most."""
    line = one_line(label, len(label) + 1)
    if len(line) <= LABEL_CHARS:
        return line
    end = LABEL_CHARS * 2 // 3
    return f"{line[: LABEL_CHARS - end - 1]}…{line[-end:]}"


def histogram(title: str, values: Sequence[float], show: Callable[[float], str]) -> str:
    """Return the distribution of *values*: counts in equal bins up to the 99th percentile."""
    if not values or not any(values):
        each = f"{show(0.0)} each" if values else "unknown"
        return _figure(title, _text(0, 18, each), ROW)
    top = quantile(values, 0.99) or max(values)
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int(BINS * value / top)) if top > 0 else 0] += 1
    most, step = max(counts), WIDTH / BINS
    lines = []
    for index, count in enumerate(counts):
        height = math.ceil(HEIGHT * count / most)
        box = f'x="{index * step + 1:.1f}" y="{HEIGHT - height}" width="{step - 2:.1f}"'
        lines.append(f'<rect class="bar" {box} height="{height}"/>')
    marks = [(0.0, "start"), (top / 2, "middle"), (top, "end")]
    for value, anchor in marks:
        lines.append(_text(WIDTH * value / top, HEIGHT + 16, show(value), anchor))
    middle = f"half below {show(quantile(values, 0.5))}, nine of ten below"
    caption = f"{title}: {middle} {show(quantile(values, 0.9))}"
    return _figure(caption, "".join(lines), HEIGHT + AXIS)


def standalone(chart: str, style: str) -> str:
    """Return a chart as a file of its own, with its caption and the *style* of the page."""
    caption = chart[chart.index("<figcaption>") + 12 : chart.index("</figcaption>")]
    body = chart[chart.index('role="img"') : chart.index("</svg>")].partition(">")[2]
    height = int(chart.partition(f'viewBox="0 0 {WIDTH} ')[2].partition('"')[0])
    box = f'"-{EDGE} -{HEAD} {WIDTH + 2 * EDGE} {height + HEAD + EDGE}"'
    paper = f'<rect x="-{EDGE}" y="-{HEAD}" width="100%" height="100%" fill="var(--paper)"/>'
    name = f'<text x="0" y="-18" font-weight="600">{caption}</text>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox={box} role="img">'
    return f"{head}<title>{caption}</title><style>{style}</style>{paper}{name}{body}</svg>\n"


def figures(charts: Iterable[str]) -> str:
    """Return charts side by side, where the page is wide enough."""
    return f'<div class="charts">{"".join(charts)}</div>'


def _figure(caption: str, body: str, height: int) -> str:
    label = text_html(caption)
    return (
        f'<figure><figcaption>{label}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="{label}" xmlns="http://www.w3.org/2000/svg">{body}</svg></figure>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text_html(text)}</text>'
