"""Tells tenants what happened to their runs without their doing: a lost node, a bad card, an eviction notice (section 6).

One message a run, to everybody of the tenant, as a code with its numbers. In the caller's transaction: nobody is told of what was
rolled back, and nobody is told twice, since the caller moves each run once.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from scheduling.models import Run
from scheduling.states import EndReason
from tenants.services.notifications import Message, notify_all

NODE_LOST, CARD_FAILED, PREEMPTED = EndReason.NODE_LOST.value, EndReason.CARD_FAILED.value, EndReason.PREEMPTED.value


def tell_node_lost(run_ids: Collection[int], *, node: str) -> None:
    """Their runs were fenced and the jobs are queued again in their old places."""
    _tell(NODE_LOST, {run: {"node": node} for run in run_ids})


def tell_card_failed(run_ids: Collection[int], *, cards: str) -> None:
    """`cards` as `node/index, …`: their runs are being stopped and the jobs go back to their places."""
    _tell(CARD_FAILED, {run: {"cards": cards} for run in run_ids})


def tell_preempted(reasons: Mapping[int, str], *, now: datetime, grace: timedelta) -> None:
    """By run id, the preempt reason: when they were told to leave and by when they have to be gone."""
    until = (now + grace).isoformat()
    _tell(PREEMPTED, {run: {"reason": reason, "grace_until": until} for run, reason in reasons.items()})


def _tell(code: str, details: Mapping[int, Mapping[str, str]]) -> None:
    runs = Run.objects.filter(pk__in=details).select_related("job__tenant").order_by("pk") if details else ()
    notify_all(
        [
            Message(
                code=code,
                tenant=run.job.tenant,
                params={"name": run.job.name, "run": run.number, **details[run.pk]},
                job_id=run.job_id,
            )
            for run in runs
        ]
    )
