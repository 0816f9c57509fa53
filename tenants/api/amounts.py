"""One amount field for any resource: its unit depends on the `resource` beside it."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from berth.common.bodies import MAX_AMOUNT, number
from berth.common.units import from_milli, mib_to_gib
from tenants.models import Resource


def outside(resource: str, amount: int) -> int | float:
    """The amount of a row in people's units: cards, cores, GiB."""
    if resource in {Resource.GPU, Resource.CPU}:
        return number(from_milli(amount))
    if resource in {Resource.MEMORY, Resource.VRAM}:
        return number(mib_to_gib(amount))
    return amount


@extend_schema_field({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_AMOUNT})
class AskedAmountField(serializers.DecimalField):
    """More than nothing, with at most three decimals; the service turns it into the resource's unit."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=13, decimal_places=3, max_value=MAX_AMOUNT, **kwargs)


@extend_schema_field({"type": "number"})
class RowAmountField(serializers.Field[Any, Any, Any, Any]):
    """`amount` of a row that has a `resource`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(source="*", read_only=True, **kwargs)

    def to_representation(self, value: Any) -> int | float:
        return outside(value.resource, value.amount)
