"""Which months of a tenant still owe a statement that says something: what keeps its currency, and keeps it from being closed."""

from django.db.models import Exists, OuterRef, Q

from billing import ledger
from billing.models import Adjustment, BillingPeriod, LedgerEntry, Statement
from billing.services.drafts import refresh_tenant


def open_statements(tenant_id: int) -> int:
    """Open periods with usage, adjustments or a draft that has a total, up to now. Holds the tenant's money still."""
    ledger.hold_tenant(tenant_id)
    refresh_tenant(tenant_id)
    of_period = {"period": OuterRef("pk")}
    return BillingPeriod.objects.filter(
        Q(Exists(LedgerEntry.objects.filter(**of_period)))
        | Q(Exists(Adjustment.objects.filter(**of_period)))
        | Q(Exists(Statement.objects.filter(**of_period, superseded_at__isnull=True).exclude(total=0))),
        tenant_id=tenant_id,
        state=BillingPeriod.State.OPEN,
    ).count()
