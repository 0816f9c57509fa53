"""The gate a budget puts before a start: estimates are reserved and settled by guarded updates, never read and written apart (BIL-10)."""

from decimal import Decimal

from django.db import transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Greatest
from django.utils.translation import gettext_lazy as _

from berth.common.errors import ConflictError
from tenants.models import BudgetGate


class BudgetStoppedError(ConflictError):
    """A hard stop has no room for the estimate."""

    code = "budget"
    message = _("The budget has no room for this.")


def gates_of(*, tenant_id: int, queue_id: int, project_id: int | None, currency: str) -> QuerySet[BudgetGate]:
    """The gates that work of this tenant, queue and project must pass, by id. A gate in another currency cannot be compared."""
    passes = Q(queue_id__isnull=True) | Q(queue_id=queue_id)
    project = (
        Q(project_id__isnull=True) if project_id is None else Q(project_id__isnull=True) | Q(project_id=project_id)
    )
    return BudgetGate.objects.filter(passes, project, tenant_id=tenant_id, currency=currency).order_by("id")


def reserve_budget(*, tenant_id: int, queue_id: int, project_id: int | None, currency: str, amount: Decimal) -> bool:
    """Reserve the estimate in every gate or in none; False when a hard stop has no room (spent + reserved + amount ≤ limit)."""
    gates = gates_of(tenant_id=tenant_id, queue_id=queue_id, project_id=project_id, currency=currency)
    with transaction.atomic():
        # In the order of ids, so that two starts never wait for each other.
        ids = list(gates.select_for_update().values_list("pk", flat=True))
        room = (
            Q(hard_stop=False) | Q(limit_amount__isnull=True) | Q(limit_amount__gte=F("spent") + F("reserved") + amount)
        )
        open_gates = BudgetGate.objects.filter(room, pk__in=ids)
        if open_gates.count() != len(ids):
            return False
        open_gates.update(reserved=F("reserved") + amount)
    return True


def hold_gates(tenant_id: int) -> bool:
    """Lock the tenant's gates till the transaction ends, before any row of a job; False where it has none.

    Starts take gates before jobs, so whoever settles has to do the same.
    """
    return bool(BudgetGate.objects.select_for_update().filter(tenant_id=tenant_id).order_by("id").values_list("pk"))


def release_budget(
    *,
    tenant_id: int,
    queue_id: int,
    project_id: int | None,
    currency: str,
    amount: Decimal,
    spent: Decimal = Decimal(0),
) -> None:
    """Give back a reservation of `amount`, and add what was really `spent`; a reservation never falls below zero."""
    gates = gates_of(tenant_id=tenant_id, queue_id=queue_id, project_id=project_id, currency=currency)
    with transaction.atomic():
        ids = list(gates.select_for_update().values_list("pk", flat=True))
        BudgetGate.objects.filter(pk__in=ids).update(
            reserved=Greatest(F("reserved") - amount, Value(Decimal(0))), spent=F("spent") + spent
        )
