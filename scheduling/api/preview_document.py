"""A preview as the answer shows it (docs/api-jobs.md)."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from berth.common.bodies import number
from berth.common.reasons import wait_message, wait_step
from berth.common.units import from_ppm
from scheduling.api.amounts import amounts_document, cards, gib, money
from scheduling.control.preview import Preview, instant
from scheduling.control.preview_choices import Choice
from scheduling.control.preview_memory import Memory
from scheduling.control.preview_memory_words import memory_step, memory_text
from scheduling.control.preview_places import Place
from scheduling.control.preview_words import growth_text, stranded_text
from scheduling.engine.plan import Wait
from scheduling.simulator.eta import CannotTell, Estimate


def preview_document(preview: Preview) -> dict[str, Any]:
    known = preview.estimate is not None
    return {
        "admissible": preview.admissible,
        "problems": [
            {"field": problem.field, "code": problem.code, "message": str(problem.message)}
            for problem in preview.problems
        ],
        "start": _start(preview.estimate),
        "cost": _cost(preview),
        "quota": {"nominal": {"gpu": cards(preview.own_m)}, "borrowed": {"gpu": cards(preview.borrowed_m)}}
        if known
        else None,
        "wait": _wait(preview.wait),
        "placement": [_placement(place, preview.places) for place in preview.places],
        "choices": [_choice(choice, preview) for choice in preview.choices],
        "memory": None if preview.memory is None else _memory(preview.memory),
        "suggestions": _suggestions(preview),
    }


def _suggestions(preview: Preview) -> list[str]:
    steps = [] if preview.wait is None else [wait_step(preview.wait)]
    if preview.memory is not None:
        steps.append(memory_step(preview.memory))
    return [step for step in steps if step]


def _memory(memory: Memory) -> dict[str, Any]:
    use = memory.use
    return {
        "job": use.job,
        "run": use.run,
        "had_gib": gib(use.had_mib),
        "peak_gib": None if use.peak_mib is None else gib(use.peak_mib),
        "ran_out": use.ran_out,
        "enough_gib": None if memory.enough_mib is None else gib(memory.enough_mib),
        "message": memory_text(memory),
    }


def _start(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    if isinstance(estimate, CannotTell):
        return {"earliest": None, "likely": None, "latest": None, "why_not": estimate.why}
    return {
        "earliest": instant(estimate.earliest_ms),
        "likely": instant(estimate.likely_ms),
        "latest": instant(estimate.latest_ms),
        "why_not": None,
    }


def _cost(preview: Preview) -> dict[str, Any] | None:
    cost = preview.cost
    if cost is None:
        return None
    amounts = {name: money(getattr(cost, name), cost.currency) for name in ("low", "likely", "high")}
    return {**amounts, "currency": cost.currency}


def _wait(wait: Wait | None) -> dict[str, Any] | None:
    if wait is None:
        return None
    return {
        "code": wait.code.value,
        "message": wait_message(wait),
        "need": amounts_document(wait.need),
        "have": amounts_document(wait.have),
        "short": amounts_document(wait.short),
    }


def _placement(place: Place, every: Sequence[Place]) -> dict[str, Any]:
    return {
        "pods": [
            {"role": pod.role, "index": pod.index, "node": pod.node, "cards": list(pod.cards)} for pod in place.pods
        ],
        "levels_crossed": list(place.levels_crossed),
        "slowdown_pct": _percent(place.slowdown_ppm),
        "strands": {"nodes": place.broken, "cards": cards(place.stranded_m)},
        "chosen": place.chosen,
        "note": _note(place, every),
    }


def _choice(choice: Choice, preview: Preview) -> dict[str, Any]:
    currency = preview.cost.currency if preview.cost else ""
    return {
        "objectives": list(choice.objectives),
        "flavors": choice.flavors,
        "speed": number(from_ppm(choice.speed_ppm)),
        "runtime_s": None if choice.runtime_ms is None else choice.runtime_ms // 1000,
        "cost": None if choice.cost is None else money(choice.cost, currency),
        "in_time": choice.in_time,
        "chosen": choice.chosen,
    }


def _percent(ppm: int) -> int | float:
    return number(from_ppm(ppm) * 100)


def _note(place: Place, every: Sequence[Place]) -> str:
    """Why it is chosen or not, then what others who grow to their nominal quota would find."""
    if place.chosen:
        slowest = max(other.slowdown_ppm for other in every)
        first = (
            _("Chosen: it crosses the fewest levels and is the fastest.")
            if len(every) > 1 and slowest > place.slowdown_ppm
            else _("Chosen: it leaves most whole nodes whole.")
        )
    elif place.slowdown_ppm:
        slower = _("%(slower)s %% slower: its pods are apart.") % {"slower": _percent(place.slowdown_ppm)}
        first = f"{slower} {stranded_text(place)}"
    else:
        first = stranded_text(place)
    return " ".join([first, *(growth_text(each) for each in place.growth)])
