"""The demo's list prices, and its closed last month and running drafts, by billing's own services."""

from datetime import datetime
from decimal import Decimal

from berth.demo.organisation import CURRENCY, Organisation
from berth.demo.workload import ZONE
from billing.metering import Month
from billing.services.closing import close_month
from billing.services.costs import meter_running, settle_ended
from billing.services.drafts import refresh_all
from billing.services.prices import NewRate, create_price_book, create_rate, publish_all
from tenants.models import Flavor

FREE = Decimal(0)
METERS_AT_ZERO = ("cpu_core_hour", "memory_gib_hour")


def list_prices(organisation: Organisation, *, since: datetime) -> None:
    """The price book from `since` on: cards at list price, CPU and memory at 0.00, which is shown and never hidden."""
    book = create_price_book(name=f"list {since.astimezone(ZONE):%Y}", currency=CURRENCY)
    flavors = {flavor.name: flavor for flavor in Flavor.objects.all()}
    for spec in organisation.flavors:
        flavor = flavors.get(spec.name)
        if flavor is not None:
            create_rate(NewRate(price_book=book, meter="card_hour", flavor=flavor, price=spec.price, valid_from=since))
    for meter in METERS_AT_ZERO:
        create_rate(NewRate(price_book=book, meter=meter, price=FREE, valid_from=since))


def close_last_month(now: datetime) -> None:
    """Meter and issue last month's statements of every tenant."""
    local = now.astimezone(ZONE)
    year, month = (local.year, local.month - 1) if local.month > 1 else (local.year - 1, 12)
    for closing in close_month(Month(year, month)):
        if closing.error is not None:
            raise closing.error


def record_all_costs() -> None:
    """Costs of ended and running jobs, this month's drafts, and prices for estimates."""
    settle_ended()
    meter_running()
    publish_all()
    refresh_all()
