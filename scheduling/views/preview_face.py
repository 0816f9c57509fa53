"""A preview in the shapes the page's components read: the same answer as REST's, in inner units and instants."""

from dataclasses import dataclass
from typing import Any

from berth.common.reasons import Amounts
from scheduling.control.preview import Preview, instant
from scheduling.control.preview_cost import CostRange
from scheduling.engine.plan import Start, Wait
from scheduling.selectors.start_ranges import StartRange
from scheduling.simulator.eta import CannotTell


@dataclass(frozen=True, slots=True)
class NodePart:
    """What the job would hold of one node: how many pods with how many cards."""

    node: str
    pods: int
    cards_m: int


@dataclass(frozen=True, slots=True)
class PreviewFace:
    """`wait` is None where it would start at once; own, borrowed and nodes are empty where it would wait."""

    start: StartRange | None
    wait: Wait | None
    cost: CostRange | None
    own: Amounts
    borrowed: Amounts
    nodes: tuple[NodePart, ...]
    crossed: tuple[str, ...]
    slowdown_ppm: int

    @property
    def starts_now(self) -> bool:
        return bool(self.nodes)


def face_of(preview: Preview) -> PreviewFace:
    start = preview.start
    return PreviewFace(
        start=_range(preview),
        wait=preview.wait,
        cost=preview.cost,
        own=start.own if start else {},
        borrowed=start.borrowed if start else {},
        nodes=_nodes(start, preview) if start else (),
        crossed=tuple(start.levels_crossed) if start else (),
        slowdown_ppm=start.slowdown_ppm if start else 0,
    )


def _range(preview: Preview) -> StartRange | None:
    estimate: Any = preview.estimate
    if estimate is None:
        return None
    if isinstance(estimate, CannotTell):
        return StartRange(None, None, None, estimate.why)
    return StartRange(instant(estimate.earliest_ms), instant(estimate.likely_ms), instant(estimate.latest_ms), "")


def _nodes(start: Start, preview: Preview) -> tuple[NodePart, ...]:
    names = preview.nodes or {}
    found: dict[str, tuple[int, int]] = {}
    for pod in start.pods:
        name = names.get(pod.node, str(pod.node))
        pods, cards = found.get(name, (0, 0))
        found[name] = (pods + 1, cards + pod.cards_m)
    return tuple(NodePart(name, pods, cards) for name, (pods, cards) in found.items())
