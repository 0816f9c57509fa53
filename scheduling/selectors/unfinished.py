"""How many jobs of a tenant are not over: what keeps it from being closed."""

from scheduling.models import Job
from scheduling.states import HOLDING, WAITING


def waiting_jobs(tenant_id: int) -> int:
    """Jobs that may still start."""
    return Job.objects.filter(tenant_id=tenant_id, state__in=WAITING).count()


def holding_jobs(tenant_id: int) -> int:
    """Jobs that hold cards, or are about to."""
    return Job.objects.filter(tenant_id=tenant_id, state__in=HOLDING).count()
