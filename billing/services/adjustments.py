"""Corrections by hand: amounts in the open period that refer to what they correct (BIL-07)."""

from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.errors import ConflictError, Problems
from berth.common.money import round_money
from berth.common.texts import is_blank, refused_character
from billing import ledger
from billing.metering import Month
from billing.models import Adjustment, BillingPeriod, Statement
from billing.services.drafts import refresh_tenant
from billing.services.periods import reach
from tenants.models import Tenant, User
from tenants.services.audit import record_event

_MOST = Decimal(10) ** 12


class PeriodClosedError(ConflictError):
    """Nothing can be posted to a closed period."""

    code = "period-closed"
    message = _("%(period)s of %(tenant)s is closed. Post the adjustment to an open period.")


@transaction.atomic
def post_adjustment(
    tenant: Tenant,
    month: Month | None,
    *,
    amount: Decimal,
    reason: str,
    currency: str = "",
    refers_to: Statement | None = None,
    kind: str = Adjustment.Kind.ADJUSTMENT,
    by: User | None = None,
) -> Adjustment:
    """Add an amount to the open period (the present one for None). Raises InvalidError, PeriodClosedError."""
    ledger.hold_tenant(tenant.pk)
    tenant.refresh_from_db(fields=["currency"])
    _check(tenant, amount=amount, reason=reason, currency=currency, refers_to=refers_to, kind=kind)
    period = _period(tenant, month)
    if period.state == BillingPeriod.State.CLOSED:
        raise PeriodClosedError(period=period.label, tenant=tenant.slug)
    adjustment = ledger.add_adjustment(
        Adjustment(
            tenant=tenant,
            period=period,
            refers_to=refers_to,
            kind=kind,
            amount=round_money(amount, tenant.currency),
            currency=tenant.currency,
            reason=reason.strip(),
            created_by=by,
            created_at=clock.now(),
        )
    )
    detail = {"amount": str(adjustment.amount), "period": period.label, "reason": adjustment.reason}
    record_event(by=by, action="adjustment.create", on=adjustment, tenant=tenant, detail=detail)
    refresh_tenant(tenant.pk, labels=frozenset({period.label}))
    return adjustment


def _check(
    tenant: Tenant, *, amount: Decimal, reason: str, currency: str, refers_to: Statement | None, kind: str
) -> None:
    problems = Problems()
    if not amount.is_finite() or abs(amount) >= _MOST or amount == 0:
        problems.add("amount", _("not 0, and between -999999999999 and 999999999999"))
    elif amount != round_money(amount, tenant.currency):
        problems.add("amount", _("finer than %(currency)s allows") % {"currency": tenant.currency})
    elif kind == Adjustment.Kind.CREDIT and amount > 0:
        problems.add("amount", _("a credit is negative"))
    if is_blank(reason) or len(reason) > 1000 or refused_character(reason, prose=True):
        problems.add("reason", _("1 to 1000 characters that say why"), code="required")
    if currency and currency != tenant.currency:
        problems.add("currency", _("the tenant is billed in %(currency)s") % {"currency": tenant.currency})
    if refers_to is not None and (refers_to.tenant_id != tenant.pk or refers_to.state != Statement.State.ISSUED):
        problems.add("refers_to", _("an issued statement of the same tenant"))
    problems.raise_if_any()


def _period(tenant: Tenant, month: Month | None) -> BillingPeriod:
    now = clock.now()
    calendar = reach(tenant, now, now)
    if month is None:
        return calendar.home(now)
    found = [period for period in calendar.periods if period.label == str(month)]
    if not found:
        problems = Problems()
        problems.add(
            "period",
            _("a month from %(first)s to %(last)s")
            % {"first": calendar.periods[0].label, "last": calendar.periods[-1].label},
        )
        problems.raise_if_any()
    return found[0]
