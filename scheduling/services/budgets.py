"""The door by which billing settles what a start reserved of a budget: what was charged is spent, what is not needed is free (BIL-10)."""

from collections.abc import Mapping
from decimal import Decimal

from scheduling.models import Job, Run
from scheduling.states import RunState
from tenants.services.budget import release_budget


def settle_budgets(charged: Mapping[int, Decimal]) -> None:
    """By job id: what was charged since the last settling (less than 0 where a price fell). The caller's transaction holds the gates.

    A live run's reservation shrinks by what is charged, so that nothing counts twice; that of an ended run is given back whole.
    """
    jobs = Job.objects.select_related("tenant").in_bulk(list(charged))
    for job_id, job in sorted(jobs.items()):
        free = Decimal(0)
        for run in Run.objects.select_for_update().filter(job=job, budget_reserved__gt=0).order_by("pk"):
            part = run.budget_reserved if run.state == RunState.ENDED else min(run.budget_reserved, charged[job_id])
            part = max(part, Decimal(0))
            free += part
            Run.objects.filter(pk=run.pk).update(budget_reserved=run.budget_reserved - part)
        if free or charged[job_id]:
            release_budget(
                tenant_id=job.tenant_id,
                queue_id=job.queue_id,
                project_id=job.project_id,
                currency=job.tenant.currency,
                amount=free,
                spent=charged[job_id],
            )
