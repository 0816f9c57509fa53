"""Effective weights in answers: the number and the parts that make it (SCH-06)."""

from typing import Any

from rest_framework import serializers

from berth.common.bodies import number
from berth.common.units import from_ppm
from scheduling.selectors.effective_weights import QueueWeights, WeightParts

Fields = serializers.Serializer[Any]


class WeightPartsSchema(Fields):
    weight = serializers.FloatField(help_text="As it was set.")
    effective_weight = serializers.FloatField(
        help_text="weight × (1 − k + k × history_factor) × (1 − idle_penalty), k = 0.3."
    )
    history_factor = serializers.FloatField(help_text="F: 1 for who used nothing of late, 0.5 for who used its part.")
    idle_penalty = serializers.FloatField(help_text="p: also taken off what the queue may borrow.")
    utilisation = serializers.FloatField(
        allow_null=True, help_text="Of the last 7 days; null = unknown, which is never idle."
    )
    coverage = serializers.FloatField(
        help_text="Share of held card-time that has samples; below 0.9 there is no penalty."
    )
    decayed_card_hours = serializers.FloatField(help_text="Card-equivalent use with a half-life of 7 days.")


class QueueWeightsSchema(Fields):
    queue = WeightPartsSchema(help_text="Among the queues of its tenant.")
    tenant = WeightPartsSchema(help_text="Among the tenants of its cohort.")


def weights_document(weights: QueueWeights) -> dict[str, Any]:
    return {"queue": _parts(weights.queue), "tenant": _parts(weights.tenant)}


def _parts(parts: WeightParts) -> dict[str, Any]:
    found = parts.found
    return {
        "weight": _ppm(parts.weight_ppm),
        "effective_weight": _ppm(found.effective_weight_ppm),
        "history_factor": _ppm(found.history_ppm),
        "idle_penalty": _ppm(found.penalty_ppm),
        "utilisation": None if found.utilisation_ppm is None else _ppm(found.utilisation_ppm),
        "coverage": _ppm(found.coverage_ppm),
        "decayed_card_hours": round(float(parts.card_hours), 3),
    }


def _ppm(value: int) -> int | float:
    return number(from_ppm(value))
