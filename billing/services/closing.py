"""Closes a period: meters what is left, rates it, issues the statement; once, however often and by how many it is asked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.errors import BerthError, ConflictError, NotFoundError
from berth.common.money import money_text
from billing import ledger
from billing.metering import Month
from billing.models import BillingPeriod, Statement
from billing.rating import MissingPriceError
from billing.selectors.held import unsettled_jobs
from billing.services.drafts import rate_period, write_draft
from billing.services.metering import meter_jobs, meter_nodes
from billing.services.periods import reach
from tenants.models import Tenant, User
from tenants.services.audit import record_event


class PeriodNotEndedError(ConflictError):
    """A period that has not ended cannot be closed (BIL-07)."""

    code = "period-not-ended"
    message = _("%(period)s of %(tenant)s ends at %(ends_at)s and cannot be closed before.")


class PriceMissingError(ConflictError):
    """A close stops at the first quantity without a price and names it (B38)."""

    code = "price-missing"
    message = _("No price for %(meter)s of %(flavor)s for %(tenant)s at %(instant)s. Add a rate and close again.")

    @classmethod
    def of(cls, error: MissingPriceError) -> "PriceMissingError":
        """The same, as an error that people and scripts see."""
        return cls(
            meter=error.meter.value,
            flavor=error.flavor or "-",
            tenant=error.tenant,
            instant=error.instant.isoformat().replace("+00:00", "Z"),
        )


class OtherCurrencyError(ConflictError):
    """A close stops at an amount that is not in the statement's currency and names it (B08)."""

    code = "other-currency"
    message = _(
        "Adjustment %(id)s of %(tenant)s is in %(found)s and the statement in %(currency)s: they cannot be added."
    )


@dataclass(frozen=True, slots=True)
class Closing:
    """What became of one tenant's period: a statement, or the error that stopped it."""

    tenant: str
    statement: Statement | None
    error: BerthError | None


def close_month(month: Month, *, tenant: Tenant | None = None, by: User | None = None) -> list[Closing]:
    """Close the month of one tenant, or of every tenant that had begun by its end, each in its own transaction.

    One tenant's missing price does not keep the others open. Raises NotFoundError where there is nothing to close.
    """
    found = []
    for each in [tenant] if tenant else Tenant.objects.order_by("id"):
        try:
            statement = close_period(each, month, by=by)
        except NotFoundError:
            continue
        except BerthError as error:
            found.append(Closing(each.slug, None, error))
        else:
            found.append(Closing(each.slug, statement, None))
    if not found:
        raise NotFoundError(_("Nobody has a billing period %(period)s."), period=str(month))
    return found


@transaction.atomic
def close_period(tenant: Tenant, month: Month, *, by: User | None = None) -> Statement:
    """The issued statement of the tenant's month; a second close returns the first one's (B48).

    Raises PeriodNotEndedError, PriceMissingError, OtherCurrencyError, or NotFoundError for a month before the tenant's first.
    """
    ledger.hold_tenant(tenant.pk)
    tenant.refresh_from_db(fields=["currency"])
    period = _period(tenant, month, clock.now())
    if period.state == BillingPeriod.State.CLOSED:
        return Statement.objects.get(period=period, state=Statement.State.ISSUED)
    if clock.now() < period.ends_at:
        raise PeriodNotEndedError(period=period.label, tenant=tenant.slug, ends_at=_instant(period.ends_at))
    meter_jobs(tenant.pk, list(unsettled_jobs(tenant.pk).values_list("pk", flat=True)), until=period.ends_at)
    meter_nodes(tenant.pk, until=period.ends_at)
    calendar = reach(tenant, period.starts_at, period.ends_at)
    rated = rate_period(tenant, calendar, period, as_of=period.starts_at)
    if rated.missing:
        raise PriceMissingError.of(rated.missing[0])
    for each in rated.foreign[:1]:
        raise OtherCurrencyError(id=each.pk, tenant=tenant.slug, found=each.currency, currency=tenant.currency)
    draft = write_draft(tenant, period, rated, as_of=period.ends_at)
    issued = ledger.issue(draft, period, at=clock.now(), by=by)
    detail = {"period": period.label, "number": issued.number, "total": money_text(issued.total, issued.currency)}
    record_event(by=by, action="period.close", on=period, tenant=tenant, detail=detail)
    return issued


def _period(tenant: Tenant, month: Month, now: datetime) -> BillingPeriod:
    """The row of the month, made where the calendar does not reach it yet; the tenant must have begun by then."""
    found = BillingPeriod.objects.select_for_update().filter(tenant=tenant, label=str(month)).first()
    if found is None:
        reach(tenant, min(tenant.created_at, now), now)
        found = BillingPeriod.objects.select_for_update().filter(tenant=tenant, label=str(month)).first()
    if found is not None:
        return found
    latest = BillingPeriod.objects.filter(tenant=tenant).order_by("-starts_at")[:1].get()
    if Month.parse(latest.label) < month:
        raise PeriodNotEndedError(period=str(month), tenant=tenant.slug, ends_at=str(month.next))
    raise NotFoundError(_("%(tenant)s has no billing period %(period)s."), tenant=tenant.slug, period=str(month))


def _instant(at: datetime) -> Any:
    return at.isoformat().replace("+00:00", "Z")
