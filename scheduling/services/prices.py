"""The door by which billing publishes what tenants pay now: a read model for estimates, never for bills."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from scheduling.models import EffectivePrice, Job


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """Price of one unit of a meter for a tenant; flavor None is for any. `version` names the rate it comes from."""

    tenant_id: int
    meter: str
    flavor_id: int | None
    price: Decimal
    currency: str
    version: str


def publish_prices(prices: Sequence[PublishedPrice], *, tenant_ids: Sequence[int], at: datetime) -> None:
    """Replace the published prices of the tenants; rows whose price stays are left alone."""
    wanted = {(each.tenant_id, each.meter, each.flavor_id): each for each in prices}
    with transaction.atomic():
        stored = EffectivePrice.objects.select_for_update().filter(tenant_id__in=list(tenant_ids)).order_by("id")
        gone = []
        for row in stored:
            new = wanted.get((row.tenant_id, row.meter, row.flavor_id))
            if new is not None and (row.price, row.currency, row.version) == (new.price, new.currency, new.version):
                del wanted[row.tenant_id, row.meter, row.flavor_id]
            else:
                gone.append(row.pk)
        EffectivePrice.objects.filter(pk__in=gone).delete()
        if gone or wanted:
            # What a budget refused at the old price is asked again.
            Job.objects.filter(tenant_id__in=list(tenant_ids), refused_estimate__isnull=False).update(
                refused_estimate=None
            )
        rows = [
            EffectivePrice(
                tenant_id=each.tenant_id,
                meter=each.meter,
                flavor_id=each.flavor_id,
                price=each.price,
                currency=each.currency,
                version=each.version,
                published_at=at,
            )
            for each in wanted.values()
        ]
        EffectivePrice.objects.bulk_create(rows, 2_000)
