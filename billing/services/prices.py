"""Price books and rates: what finance may set, and what must not move any more (BIL-03)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from berth.common import alarm, clock
from berth.common.errors import ConflictError, Problems
from berth.common.instants import ALLOWED, in_range
from berth.common.money import EXPONENTS
from berth.common.texts import is_blank, refused_character
from billing.models import LedgerEntry, PriceBook, Rate
from billing.rating import CARD_METERS, Meter
from billing.selectors.prices import closed_until, flavor_names, price_list
from billing.services.drafts import refresh_tenant
from scheduling.services.prices import PublishedPrice, publish_prices
from tenants.models import Flavor, Tenant, User
from tenants.services.audit import changes, record_event

_MOST = Decimal(10) ** 12
_PLACES = 6
_REFRESHED_AT_ONCE = 20
"""Drafts re-rate, and prices are published, before the answer to a price change for this many tenants; a task does the rest."""


class RateOverlapError(ConflictError):
    """Two prices for one meter, flavor, tenant and instant (B38)."""

    code = "rate-overlap"
    message = _("Another rate stands for the same meter, flavor and tenant in that time. End it first.")


class PriceFrozenError(ConflictError):
    """The change would reach into a closed period (B39)."""

    code = "price-frozen"
    message = _("Time before %(until)s is closed: prices in it cannot change.")


@dataclass(frozen=True, slots=True)
class NewRate:
    """A rate as asked for. Flavor None is any (not for cards), tenant None is everybody, `valid_to` None is for good."""

    price_book: PriceBook
    meter: str
    price: Decimal
    valid_from: datetime
    valid_to: datetime | None = None
    flavor: Flavor | None = None
    tenant: Tenant | None = None
    currency: str = ""


def create_price_book(*, name: str, currency: str, note: str = "", by: User | None = None) -> PriceBook:
    """A book for rates of one currency; raises InvalidError."""
    problems = Problems()
    if currency not in EXPONENTS:
        problems.add("currency", _("not a currency of ISO 4217, such as CNY"))
    if is_blank(name) or len(name) > 63 or refused_character(name):
        problems.add("name", _("1 to 63 characters"))
    elif PriceBook.objects.filter(name=name).exists():
        problems.add("name", _("a price book of this name exists"), code="taken")
    problems.raise_if_any()
    with transaction.atomic():
        book = PriceBook.objects.create(name=name, currency=currency, note=note, created_at=clock.now())
        record_event(by=by, action="price-book.create", on=book, detail={"name": name, "currency": currency})
    return book


def create_rate(asked: NewRate, *, by: User | None = None) -> Rate:
    """Add a price; drafts of open periods re-rate with it. Raises InvalidError, RateOverlapError, PriceFrozenError.

    Time in a closed period may only be given a price where none stood: a gap may be filled, history may not be re-rated.
    """
    _check(asked)
    tenant_id = asked.tenant.pk if asked.tenant else None
    closed = closed_until(tenant_id=tenant_id, currency=asked.price_book.currency)
    if closed is not None and asked.valid_from < closed and _reprices(asked, closed):
        raise PriceFrozenError(until=closed.isoformat())
    try:
        with transaction.atomic():
            rate = Rate.objects.create(
                price_book=asked.price_book,
                meter=asked.meter,
                flavor=asked.flavor,
                tenant=asked.tenant,
                price=asked.price,
                currency=asked.price_book.currency,
                valid_from=asked.valid_from,
                valid_to=asked.valid_to,
                created_at=clock.now(),
            )
            detail = {"meter": rate.meter, "price": str(rate.price), "from": rate.valid_from.isoformat()}
            record_event(by=by, action="rate.create", on=rate, tenant=rate.tenant, detail=detail)
    except IntegrityError as error:
        raise RateOverlapError from error
    _after_change(rate)
    return rate


def end_rate(rate: Rate, *, valid_to: datetime | None, by: User | None = None) -> Rate:
    """Set the end of a rate, the only thing of it that may change; an end at its start withdraws it (B39)."""
    problems = Problems()
    _check_instant("to", valid_to, problems)
    if valid_to is not None and valid_to < rate.valid_from:
        problems.add("to", _("not before the rate's start"))
    problems.raise_if_any()
    closed = closed_until(tenant_id=rate.tenant_id, currency=rate.currency)
    if closed is not None and any(end is not None and end < closed for end in (rate.valid_to, valid_to)):
        raise PriceFrozenError(until=closed.isoformat())
    try:
        with transaction.atomic():
            detail = changes(rate, {"valid_to": valid_to})
            rate.valid_to = valid_to
            rate.save(update_fields=["valid_to"])
            record_event(by=by, action="rate.end", on=rate, tenant=rate.tenant, detail=detail)
    except IntegrityError as error:
        raise RateOverlapError from error
    _after_change(rate)
    return rate


def publish(tenants: Iterable[Tenant]) -> None:
    """Tell scheduling what these tenants pay now, for estimates; a meter without a price is not published."""
    now = clock.now()
    flavors = flavor_names()
    published, ids = [], []
    for tenant in tenants:
        ids.append(tenant.pk)
        prices = price_list(tenant)
        of_cards = [(meter, flavor_id) for meter in sorted(CARD_METERS) for flavor_id in flavors]
        of_nodes = [(meter, flavor_id) for meter in Meter if meter not in CARD_METERS for flavor_id in (None, *flavors)]
        for meter, flavor_id in of_cards + of_nodes:
            price = prices.find(meter, flavors.get(flavor_id or 0, ""), now)
            if price is not None and (flavor_id is None or price.flavor):
                published.append(
                    PublishedPrice(tenant.pk, meter.value, flavor_id, price.amount, price.currency, f"rate {price.id}")
                )
    publish_prices(published, tenant_ids=ids, at=now)


def publish_all() -> None:
    """Publish for everybody: prices start and end with time, so beat calls this once a minute."""
    publish(Tenant.objects.order_by("id"))


def _check(asked: NewRate) -> None:
    problems = Problems()
    if asked.meter not in set(Meter):
        problems.add("meter", _("one of %(meters)s") % {"meters": ", ".join(Meter)})
    elif Meter(asked.meter) in CARD_METERS and asked.flavor is None:
        problems.add("flavor", _("a price for cards names its flavor"), code="required")
    if not 0 <= asked.price < _MOST or asked.price != round(asked.price, _PLACES):
        problems.add("price", _("0 to 999999999999 with up to 6 decimals"))
    if asked.currency and asked.currency != asked.price_book.currency:
        problems.add("currency", _("the price book's currency, %(currency)s") % {"currency": asked.price_book.currency})
    if asked.tenant is not None and asked.tenant.currency != asked.price_book.currency:
        problems.add("tenant", _("the tenant is billed in %(currency)s") % {"currency": asked.tenant.currency})
    _check_instant("from", asked.valid_from, problems)
    _check_instant("to", asked.valid_to, problems)
    if asked.valid_to is not None and asked.valid_to < asked.valid_from:
        problems.add("to", _("not before the rate's start"))
    problems.raise_if_any()


def _check_instant(field: str, at: datetime | None, problems: Problems) -> None:
    if at is not None and not in_range(at):
        problems.add(field, _("Give an instant from %(earliest)s to %(latest)s.") % ALLOWED, code="out-of-range")


def _reprices(asked: NewRate, closed: datetime) -> bool:
    """Whether some closed instant had a price that the new rate could take the place of."""
    earlier = Rate.objects.filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=asked.valid_from),
        meter__in=_stand_ins(asked.meter),
        currency=asked.price_book.currency,
        valid_from__lt=min(closed, asked.valid_to or closed),
    )
    if asked.flavor is not None:
        earlier = earlier.filter(Q(flavor=asked.flavor) | Q(flavor__isnull=True))
    if asked.tenant is not None:
        earlier = earlier.filter(Q(tenant=asked.tenant) | Q(tenant__isnull=True))
    return earlier.exists()


def _stand_ins(meter: str) -> tuple[str, ...]:
    return (meter, Meter.CARD_HOUR.value) if meter == Meter.BORROWED_CARD_HOUR else (meter,)


def _after_change(rate: Rate) -> None:
    """Publish, re-rate open drafts, and have the costs on jobs recorded anew."""
    if rate.tenant is not None:
        tenants = [rate.tenant]
    else:
        billed = LedgerEntry.objects.filter(period__state="open", period__tenant__currency=rate.currency)
        if rate.flavor_id is not None:
            billed = billed.filter(flavor_id=rate.flavor_id)
        tenants = list(Tenant.objects.filter(pk__in=billed.order_by().values("tenant_id").distinct()).order_by("id"))
    payers = tenants if rate.tenant is not None else list(Tenant.objects.filter(currency=rate.currency).order_by("id"))
    publish(payers[:_REFRESHED_AT_ONCE])
    if len(payers) > _REFRESHED_AT_ONCE:
        alarm.ring("billing.publish_prices")
    for tenant in tenants[:_REFRESHED_AT_ONCE]:
        refresh_tenant(tenant.pk, rated_anew=True)
    alarm.ring("billing.rerate", tenant_ids=[tenant.pk for tenant in tenants])
