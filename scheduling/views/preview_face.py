"""A preview in the shapes the page's components read: the same answer as REST's, in inner units and instants."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from berth.common.reasons import amounts_text
from scheduling.control.preview import Preview, instant
from scheduling.control.preview_choices import FASTEST, Choice
from scheduling.control.preview_cost import CostRange
from scheduling.control.preview_memory_words import memory_step, memory_text
from scheduling.control.preview_places import Place
from scheduling.control.preview_words import growth_text, stranded_text
from scheduling.engine.objective import CHEAPEST
from scheduling.engine.plan import Wait
from scheduling.selectors.start_ranges import StartRange
from scheduling.simulator.eta import CannotTell


@dataclass(frozen=True, slots=True)
class NodePart:
    """What the job would hold of one node: how many pods with how many milli-cards."""

    node: str
    pods: int
    cards_m: int

    @property
    def held(self) -> str:
        """`8 cards`."""
        return amounts_text({"gpu": self.cards_m})


@dataclass(frozen=True, slots=True)
class PlaceFace:
    """One way to place the job, node by node, with what it costs everybody."""

    nodes: tuple[NodePart, ...]
    crossed: tuple[str, ...]
    slowdown_ppm: int
    stranded: str
    growth: tuple[str, ...]
    chosen: bool


@dataclass(frozen=True, slots=True)
class ChoiceFace:
    """One kind of cards that the job accepts, and what speaks for it."""

    cards: str
    fastest: bool
    cheapest: bool
    runtime_s: int | None
    cost: Decimal | None
    in_time: bool | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class PreviewFace:
    """`wait` is None where it would start at once; `places` are empty where it would wait, the chosen one comes first."""

    start: StartRange | None
    wait: Wait | None
    cost: CostRange | None
    own_m: int
    borrowed_m: int
    places: tuple[PlaceFace, ...]
    choices: tuple[ChoiceFace, ...] = ()
    memory: str = ""
    memory_step: str = ""

    @property
    def starts_now(self) -> bool:
        return bool(self.places)


def face_of(preview: Preview) -> PreviewFace:
    return PreviewFace(
        start=_range(preview.estimate),
        wait=preview.wait,
        cost=preview.cost,
        own_m=preview.own_m,
        borrowed_m=preview.borrowed_m,
        places=tuple(_place(place) for place in preview.places),
        choices=tuple(_choice(choice) for choice in preview.choices),
        memory="" if preview.memory is None else memory_text(preview.memory),
        memory_step="" if preview.memory is None else memory_step(preview.memory),
    )


def _choice(choice: Choice) -> ChoiceFace:
    return ChoiceFace(
        cards=" + ".join(dict.fromkeys(choice.flavors.values())),
        fastest=FASTEST in choice.objectives,
        cheapest=CHEAPEST in choice.objectives,
        runtime_s=None if choice.runtime_ms is None else choice.runtime_ms // 1000,
        cost=choice.cost,
        in_time=choice.in_time,
        chosen=choice.chosen,
    )


def _range(estimate: Any) -> StartRange | None:
    if estimate is None:
        return None
    if isinstance(estimate, CannotTell):
        return StartRange(None, None, None, estimate.why)
    return StartRange(instant(estimate.earliest_ms), instant(estimate.likely_ms), instant(estimate.latest_ms), "")


def _place(place: Place) -> PlaceFace:
    return PlaceFace(
        nodes=_nodes(place.pods),
        crossed=place.levels_crossed,
        slowdown_ppm=place.slowdown_ppm,
        stranded=stranded_text(place),
        growth=tuple(growth_text(each) for each in place.growth),
        chosen=place.chosen,
    )


def _nodes(pods: Sequence[Any]) -> tuple[NodePart, ...]:
    found: dict[str, tuple[int, int]] = {}
    for pod in pods:
        held, cards = found.get(pod.node, (0, 0))
        found[pod.node] = (held + 1, cards + pod.cards_m)
    return tuple(NodePart(node, held, cards) for node, (held, cards) in found.items())
