"""What pools physically have, as scheduling last recorded it."""

from collections.abc import Iterable

from tenants.models import PoolCapacity, Resource


def recorded_cards(flavor_ids: Iterable[int]) -> dict[int, int]:
    """Flavor id → milli-cards; flavors without a record are left out."""
    rows = PoolCapacity.objects.filter(resource=Resource.GPU, flavor_id__in=list(flavor_ids))
    return {flavor_id: amount for flavor_id, amount in rows.values_list("flavor_id", "amount") if flavor_id}


def recorded_amounts(pool_ids: Iterable[int]) -> dict[int, dict[tuple[str, str | None], int]]:
    """Pool id → (resource, flavor name or None) → amount in the units used inside."""
    rows = PoolCapacity.objects.filter(pool_id__in=list(pool_ids)).order_by("pool_id", "resource", "flavor__name")
    found: dict[int, dict[tuple[str, str | None], int]] = {}
    for pool_id, resource, flavor, amount in rows.values_list("pool_id", "resource", "flavor__name", "amount"):
        found.setdefault(pool_id, {})[resource, flavor] = amount
    return found
