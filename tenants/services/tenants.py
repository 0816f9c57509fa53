"""Opening, changing and closing tenants."""

import re
from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import available_timezones

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.alarm import ring
from berth.common.errors import ConflictError, Problems
from berth.common.money import EXPONENTS
from tenants.models import Cohort, Tenant, User
from tenants.models.tenant import SLUG, SLUG_PATTERN
from tenants.permissions import Action, require
from tenants.services.audit import changes, record_event
from tenants.services.commitments import Commitment, commitments_of, sentence

STATE_MOVES: Final[Mapping[str, frozenset[str]]] = {
    "active": frozenset({"budget-stopped", "closing"}),
    "budget-stopped": frozenset({"active", "closing"}),
    # A closing tenant starts nothing new; it is closed once its jobs are over and its statements issued, and may come back before.
    "closing": frozenset({"active", "closed"}),
    "closed": frozenset(),
}
MAX_WEIGHT_PPM: Final = 1_000_000_000
_BILLED = frozenset({Commitment.HOLDING_JOBS, Commitment.OPEN_STATEMENTS})
"""What is, or will be, on a bill in the tenant's present currency."""


class TenantInUseError(ConflictError):
    """Closed is final: nothing may be left that would run on or never be billed."""

    code = "tenant-in-use"
    message = _("%(tenant)s cannot be closed yet: %(left)s. Cancel or await its jobs and close its periods first.")


def create_tenant(*, by: User, slug: str, name: str, cohort: str | None = None, **fields: Any) -> Tenant:
    """A new active tenant. `fields`: weight_ppm, isolation, service_tier, cost_centre, billing_timezone, currency.

    InvalidError lists every wrong field; a slug that is taken is one of them.
    """
    require(by, Action.TENANT_CREATE)
    problems = Problems()
    check_new_slug(slug, problems)
    parent = cohort_named(cohort, problems)
    _check(fields, problems)
    problems.raise_if_any()
    try:
        with transaction.atomic():
            tenant = Tenant.objects.create(slug=slug, name=name, cohort=parent, created_at=clock.now(), **fields)
            record_event(by=by, action="tenant.create", on=tenant, tenant=tenant, detail={"slug": slug})
            ring("scheduling.cycle")
    except IntegrityError as error:
        raise ConflictError(_("There is a tenant of this name already.")) from error
    return tenant


def change_tenant(*, by: User, tenant: Tenant, **new: Any) -> Tenant:
    """Change the given fields (as in `create_tenant`, and `state` along STATE_MOVES); the slug stays for ever.

    The currency stays while anything is billed in it (InvalidError); a tenant with anything left is not closed (TenantInUseError).
    """
    require(by, Action.TENANT_CHANGE, tenant)
    with transaction.atomic():
        # Before the row is locked: whoever writes money takes its own lock first and then needs the row.
        left = commitments_of(tenant.pk) if _needs_rest(new) else {}
        row = Tenant.objects.select_for_update().select_related(None).get(pk=tenant.pk)
        problems = Problems()
        if "cohort" in new:
            new["cohort"] = cohort_named(new["cohort"], problems)
        _check(new, problems)
        _check_currency(row, new, left, problems)
        problems.raise_if_any()
        state = new.get("state", row.state)
        if state != row.state and state not in STATE_MOVES[row.state]:
            raise ConflictError(_("A tenant cannot go from %(old)s to %(new)s."), old=row.state, new=state)
        if state == Tenant.State.CLOSED != row.state and left:
            raise TenantInUseError(tenant=row.slug, left=sentence(left))
        detail = changes(row, new)
        for field, value in new.items():
            setattr(row, field, value)
        if detail:
            row.save(update_fields=sorted(new))
            record_event(by=by, action="tenant.change", on=row, tenant=row, detail=detail)
            ring("scheduling.cycle")
    return row


def _needs_rest(new: Mapping[str, Any]) -> bool:
    """Whether the change is one that must wait until nothing goes on."""
    return "currency" in new or new.get("state") == Tenant.State.CLOSED


def _check_currency(row: Tenant, new: Mapping[str, Any], left: Mapping[Commitment, int], problems: Problems) -> None:
    """Amounts of two currencies are never added, so the change waits until the last bill in the old one is issued."""
    billed = {kind: count for kind, count in left.items() if kind in _BILLED}
    if billed and new.get("currency", row.currency) != row.currency:
        why = _("Stays %(currency)s until everything is billed in it; open are %(left)s.")
        problems.add("currency", why % {"currency": row.currency, "left": sentence(billed)}, code="in-use")


def check_new_slug(slug: str, problems: Problems) -> None:
    """A tenant's name is a DNS label that no other has."""
    if not re.fullmatch(SLUG_PATTERN, slug):
        problems.add("slug", SLUG.message)
    elif Tenant.objects.filter(slug=slug).exists():
        problems.add("slug", _("There is a tenant of this name already."), code="taken")


def check_timezone(zone: str, problems: Problems) -> None:
    if zone not in available_timezones():
        problems.add("billing_timezone", _("Give a time zone of the IANA list, such as Asia/Shanghai."))


def cohort_named(name: str | None, problems: Problems) -> Cohort | None:
    """The cohort, None for None; an unknown name is a problem."""
    if name is None:
        return None
    found = Cohort.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Cohort.objects.order_by("name").values_list("name", flat=True)[:20])
        problems.add("cohort", _("There is no such cohort. Known are: %(known)s.") % {"known": known}, code="unknown")
    return found


def _check(fields: Mapping[str, Any], problems: Problems) -> None:
    zone, currency = fields.get("billing_timezone"), fields.get("currency")
    if zone is not None:
        check_timezone(zone, problems)
    if currency is not None and currency not in EXPONENTS:
        problems.add("currency", _("Give a currency by its ISO 4217 code, such as CNY."))
