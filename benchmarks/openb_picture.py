"""Draws docs/placement-benchmark.svg from results of `benchmarks.openb`: cards left by each rule on each list when 100 % were asked for.

python -m benchmarks.openb_picture RESULTS.json [MORE.json] > docs/placement-benchmark.svg
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LEFT, TOP, STEP, WIDTH, BAR = 96, 40, 30, 560, 9
SCALE = 20.0
"""Per cent of cards at the right edge."""
RULES = (
    ("placement", "Berth", "#1f6feb"),
    ("fgd", "FGD, published", "#8b949e"),
    ("bestfit", "best fit, published", "#d0d7de"),
)


def draw(ours: dict[str, float], fgd: dict[str, float], best_fit: dict[str, float]) -> Iterator[str]:
    """One group of bars a list; text is black, bars are told apart by shade as well as colour."""
    height = TOP + STEP * len(ours) + 28
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" font-family="sans-serif" font-size="11">'
    yield "<title>Unallocated cards in per cent when 100 % of the cards have been asked for, by list</title>"
    yield '<rect width="100%" height="100%" fill="white"/>'
    for number, (_, name, colour) in enumerate(RULES):
        at = LEFT + 150 * number
        yield f'<rect x="{at}" y="12" width="12" height="{BAR}" fill="{colour}"/><text x="{at + 18}" y="21">{name}</text>'
    for percent in range(0, int(SCALE) + 1, 5):
        x = LEFT + WIDTH * percent / SCALE
        yield f'<path d="M{x:.0f} {TOP - 6}V{height - 24}" stroke="#eaeef2"/>'
        yield f'<text x="{x:.0f}" y="{height - 8}" text-anchor="middle">{percent} %</text>'
    for row, name in enumerate(ours):
        top = TOP + STEP * row
        yield f'<text x="{LEFT - 8}" y="{top + 17}" text-anchor="end">{name}</text>'
        for number, value in enumerate((ours[name], fgd[name], best_fit[name])):
            colour, y = RULES[number][2], top + BAR * number
            yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH * value / SCALE:.1f}" height="{BAR - 1}" fill="{colour}"/>'
    yield "</svg>"


def main() -> None:
    document: dict[str, Any] = {}
    for file in sys.argv[1:]:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        document = {**found, "lists": {**document.get("lists", {}), **found["lists"]}}
    ours = {name: rules["placement"]["100"][0] for name, rules in document["lists"].items()}
    fgd = {name: document["published_fgd"][name][0][0] for name in ours}
    fit = {name: document["published_best_fit"][name][0][0] for name in ours}
    print("\n".join(draw(ours, fgd, fit)))


if __name__ == "__main__":
    main()
