"""What the OpenAPI document says about `POST /jobs/preview`."""

from typing import Any

from rest_framework import serializers

from scheduling.api.job_schema import AmountsField, NumberField

Fields = serializers.Serializer[Any]


class PreviewProblemSchema(Fields):
    field = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class StartSchema(Fields):
    earliest = serializers.DateTimeField(allow_null=True)
    likely = serializers.DateTimeField(allow_null=True)
    latest = serializers.DateTimeField(allow_null=True)
    why_not = serializers.CharField(allow_null=True)


class CostRangeSchema(Fields):
    low = serializers.CharField(allow_null=True)
    likely = serializers.CharField(allow_null=True)
    high = serializers.CharField(allow_null=True)
    currency = serializers.CharField()


class QuotaPartSchema(Fields):
    nominal = AmountsField()
    borrowed = AmountsField()


class PlacedPodSchema(Fields):
    role = serializers.CharField()
    index = serializers.IntegerField()
    node = serializers.CharField()
    cards = serializers.ListField(child=serializers.IntegerField())


class StrandsSchema(Fields):
    nodes = serializers.IntegerField(help_text="Nodes that would be left with some, but not all, cards free.")
    cards = NumberField(help_text="Free cards on those nodes.")


class PlacementSchema(Fields):
    pods = PlacedPodSchema(many=True)
    levels_crossed = serializers.ListField(child=serializers.CharField())
    slowdown_pct = NumberField()
    strands = StrandsSchema()
    chosen = serializers.BooleanField()
    note = serializers.CharField()


class PreviewWaitSchema(Fields):
    code = serializers.CharField()
    message = serializers.CharField()
    need = AmountsField()
    have = AmountsField()
    short = AmountsField()


class PreviewSchema(Fields):
    admissible = serializers.BooleanField(help_text="Whether submitting it would be accepted.")
    problems = PreviewProblemSchema(many=True)
    start = StartSchema(allow_null=True)
    cost = CostRangeSchema(allow_null=True)
    quota = QuotaPartSchema(allow_null=True)
    wait = PreviewWaitSchema(allow_null=True, help_text="Why it would wait; null where it would start at once.")
    placement = PlacementSchema(many=True)
    suggestions = serializers.ListField(child=serializers.CharField())
