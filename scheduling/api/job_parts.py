"""Pods, cost and usage of one job as answers show them."""

from collections import defaultdict
from decimal import Decimal
from typing import Any

from berth.common.bodies import number
from berth.common.units import UNITS_PER_CARD
from scheduling.api.amounts import gib, money
from scheduling.api.job_document import cost_document
from scheduling.api.run_document import pod_document
from scheduling.models import Job, Lease, Pod
from scheduling.selectors.job_costs import job_cost
from scheduling.selectors.job_usage import HeldTime, job_usage


def pods_of(job: Job) -> list[dict[str, Any]]:
    leases: dict[int, list[Lease]] = defaultdict(list)
    for lease in Lease.objects.filter(run__job=job).select_related("card").order_by("pod_id", "slot"):
        leases[lease.pod_id].append(lease)
    pods = Pod.objects.filter(run__job=job).select_related("run", "node").order_by("run__number", "rank", "id")
    return [pod_document(pod, leases[pod.pk]) for pod in pods]


def cost_of(job: Job) -> dict[str, Any]:
    found = job_cost(job)
    estimate = found.estimate
    return {
        **cost_document(job),
        "tense": found.tense,
        "estimate": None
        if estimate is None
        else {
            "low": money(_rounded(estimate.low), estimate.currency),
            "high": money(_rounded(estimate.high), estimate.currency),
            "currency": estimate.currency,
        },
        "not_charged": [
            {
                "reason": line.kind,
                "card_hours": f"{line.card_hours:.6f}",
                "worth": money(_rounded(line.worth), found.currency),
            }
            for line in found.not_charged
        ],
    }


def _rounded(amount: Decimal | None) -> Decimal | None:
    """Estimates are not bills: six decimals are plenty."""
    return None if amount is None else round(amount, 6)


def usage_of(job: Job) -> list[dict[str, Any]]:
    return [_usage(line) for line in job_usage(job)]


def _usage(line: HeldTime) -> dict[str, Any]:
    """Utilisation is of the time that has samples, coverage says how much of the held time that is."""
    return {
        "run": line.run,
        "flavor": line.flavor,
        "card_seconds": _card_seconds(line.held),
        "own": _card_seconds(line.own),
        "borrowed": _card_seconds(line.borrowed),
        "excluded": {kind: _card_seconds(units) for kind, units in sorted(line.excluded.items())},
        "utilisation": round(line.busy / line.sampled, 4) if line.sampled else None,
        "coverage": round(min(1.0, line.sampled / line.held), 4) if line.held else None,
        "peak_vram_gib": None if line.peak_vram_mib is None else gib(line.peak_vram_mib),
    }


def _card_seconds(units: int) -> int | float:
    return number(round(Decimal(units) / UNITS_PER_CARD, 3))
