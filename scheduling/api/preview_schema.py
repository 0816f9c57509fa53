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


class ChoiceSchema(Fields):
    objectives = serializers.ListField(
        child=serializers.CharField(), help_text="`fastest`, `cheapest` or both lead to it."
    )
    flavors = serializers.DictField(child=serializers.CharField(), help_text="By role.")
    speed = NumberField(help_text="Of the slowest cards of the gang; 1 is the platform's yardstick.")
    runtime_s = serializers.IntegerField(
        allow_null=True, help_text="Expected run time by that speed; null without one."
    )
    cost = serializers.CharField(allow_null=True, help_text="Of the cards for that time at the tenant's own price.")
    in_time = serializers.BooleanField(
        allow_null=True, help_text="Whether it would meet the deadline; null without one."
    )
    chosen = serializers.BooleanField(help_text="What the job would start on now.")


class MemorySchema(Fields):
    job = serializers.IntegerField(help_text="The newest job of the same name in the tenant with such a run.")
    run = serializers.IntegerField(help_text="Its run's number.")
    had_gib = NumberField(help_text="Of one card, or of the share's cap.")
    peak_gib = NumberField(allow_null=True, help_text="Most in use on one card; null = no samples.")
    ran_out = serializers.BooleanField(help_text="The run ended because the memory of its cards did.")
    enough_gib = NumberField(allow_null=True, help_text="The peak with a tenth more, in whole GiB; null = not known.")
    message = serializers.CharField()


class PreviewSchema(Fields):
    admissible = serializers.BooleanField(help_text="Whether submitting it would be accepted.")
    problems = PreviewProblemSchema(many=True)
    start = StartSchema(allow_null=True)
    cost = CostRangeSchema(allow_null=True)
    quota = QuotaPartSchema(allow_null=True)
    wait = PreviewWaitSchema(allow_null=True, help_text="Why it would wait; null where it would start at once.")
    placement = PlacementSchema(many=True)
    choices = ChoiceSchema(many=True, help_text="Where roles accept several flavors: the fastest and the cheapest.")
    memory = MemorySchema(
        allow_null=True, help_text="What the last run of a job of this name had and used of its cards' memory (SCH-26)."
    )
    suggestions = serializers.ListField(child=serializers.CharField())
