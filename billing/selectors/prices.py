"""Prices as the pure rating room takes them, and the books and rates that people see."""

from datetime import datetime

from django.db.models import Max, Q

from billing.models import BillingPeriod, Rate
from billing.rating import Meter, Price, PriceList
from tenants.models import Flavor, Tenant


def price_list(tenant: Tenant) -> PriceList:
    """All prices, past and coming, that the tenant can meet, in its currency; another currency's are not seen (B08)."""
    rates = Rate.objects.filter(Q(tenant=tenant) | Q(tenant__isnull=True), currency=tenant.currency)
    rows = rates.select_related("flavor", "tenant").order_by("valid_from", "id")
    return PriceList(
        (
            Price(
                id=rate.pk,
                meter=Meter(rate.meter),
                flavor=rate.flavor.name if rate.flavor else "",
                tenant=rate.tenant.slug if rate.tenant else "",
                amount=rate.price,
                currency=rate.currency,
                start=rate.valid_from,
                end=rate.valid_to,
            )
            for rate in rows
        ),
        tenant=tenant.slug,
    )


def flavor_names() -> dict[int, str]:
    """Names of all flavors by id."""
    return dict(Flavor.objects.values_list("id", "name"))


def closed_until(*, tenant_id: int | None, currency: str) -> datetime | None:
    """The end of the last closed period of the tenant, or of anyone in the currency; None when none is closed."""
    closed = BillingPeriod.objects.filter(state=BillingPeriod.State.CLOSED, tenant__currency=currency)
    if tenant_id is not None:
        closed = closed.filter(tenant_id=tenant_id)
    return closed.aggregate(last=Max("ends_at"))["last"]
