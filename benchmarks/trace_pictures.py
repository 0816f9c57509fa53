"""Draws bars from a result of a trace benchmark, for docs/trace-benchmarks.md.

python -m benchmarks.trace_pictures philly|helios|thirty_to_seventy|kueue_shapes|figures RESULT.json > docs/NAME.svg
"""

import json
import sys
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

LEFT, TOP, STEP, WIDTH, BAR = 240, 34, 24, 420, 14
OURS, OTHERS = "#1f6feb", "#8b949e"
Bars = list[tuple[str, float]]


def of_philly(result: dict[str, Any]) -> tuple[str, Bars]:
    rows = [(f"Berth, {name}", found["p90_queue_s"] / 3600) for name, found in result["presets"].items()]
    return "p90 queue time, hours", rows


def of_helios(result: dict[str, Any]) -> tuple[str, Bars]:
    rows = [(f"Berth, {name}", found["still_waiting_cards"]) for name, found in result["presets"].items()]
    return "Cards that wait, on average", [*rows, ("as it was, fixed quotas", result["waiting_cards"])]


def of_thirty_to_seventy(result: dict[str, Any]) -> tuple[str, Bars]:
    return "Cards held in the week, per cent", [
        (f"Berth, {name}", found["use_pct"]) for name, found in result["presets"].items()
    ]


def of_kueue_shapes(result: dict[str, Any]) -> tuple[str, Bars]:
    rows = [("Berth, virtual clock", result["berth"]["makespan_s"]), ("the generator's floor", result["floor_s"])]
    return "Until all workloads are done, s", [
        *rows,
        *((f"Kueue, {name}", found["makespan_s"]) for name, found in result["kueue"].items()),
    ]


def of_figures(result: dict[str, Any]) -> tuple[str, Bars]:
    rows = [(f"Berth, {each['what']} {each['small']} to {each['large']}", each["ratio"]) for each in result["sweeps"]]
    return "A cold cycle with ten times as much takes as many times as long", [*rows, ("the goal", 12.0)]


KINDS: dict[str, Callable[[dict[str, Any]], tuple[str, Bars]]] = {
    "philly": of_philly,
    "helios": of_helios,
    "thirty_to_seventy": of_thirty_to_seventy,
    "kueue_shapes": of_kueue_shapes,
    "figures": of_figures,
}


def draw(title: str, bars: Bars) -> Iterator[str]:
    """One bar a row, its value beside it; the longest takes the whole width."""
    height, most = TOP + STEP * len(bars) + 8, max((value for _, value in bars), default=0) or 1
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 80}" height="{height}" font-family="sans-serif" font-size="12">'
    yield f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="white"/><text x="{LEFT}" y="20">{escape(title)}</text>'
    for row, (name, value) in enumerate(bars):
        y, length = TOP + STEP * row, WIDTH * value / most
        colour = OURS if name.startswith("Berth") else OTHERS
        yield f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>'
        yield f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/><text x="{LEFT + length + 6:.1f}" y="{y + 12}">{value:.4g}</text>'
    yield "</svg>"


def main() -> None:
    kind, file = sys.argv[1:]
    print("\n".join(draw(*KINDS[kind](json.loads(Path(file).read_text(encoding="utf-8"))))))


if __name__ == "__main__":
    main()
