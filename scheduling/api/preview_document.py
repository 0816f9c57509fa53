"""A preview as the answer shows it (CONTRACT section 2)."""

from collections.abc import Mapping
from typing import Any

from berth.common.bodies import number
from berth.common.reasons import wait_message, wait_step
from berth.common.units import from_ppm
from scheduling.api.amounts import amounts_document, money
from scheduling.control.preview import Preview, instant
from scheduling.engine.plan import Start, Wait
from scheduling.engine.snapshot import Id
from scheduling.simulator.eta import CannotTell, Estimate


def preview_document(preview: Preview) -> dict[str, Any]:
    return {
        "admissible": preview.admissible,
        "problems": [
            {"field": problem.field, "code": problem.code, "message": str(problem.message)}
            for problem in preview.problems
        ],
        "start": _start(preview.estimate),
        "cost": _cost(preview),
        "quota": _quota(preview.start),
        "wait": _wait(preview.wait),
        "placement": [_placement(preview.start, preview.nodes or {})] if preview.start is not None else [],
        "suggestions": _suggestions(preview),
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


def _quota(start: Start | None) -> dict[str, Any] | None:
    if start is None:
        return None
    return {"nominal": amounts_document(start.own), "borrowed": amounts_document(start.borrowed)}


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


def _placement(start: Start, nodes: Mapping[Id, str]) -> dict[str, Any]:
    return {
        "pods": [
            {"role": pod.role, "index": pod.index, "node": nodes[pod.node], "cards": list(pod.cards)}
            for pod in start.pods
        ],
        "levels_crossed": list(start.levels_crossed),
        "slowdown_pct": number(from_ppm(start.slowdown_ppm) * 100),
        "strands": {"nodes": 0, "cards": 0},
        "chosen": True,
        "note": "",
    }


def _suggestions(preview: Preview) -> list[str]:
    return [] if preview.wait is None else [wait_step(preview.wait)]
