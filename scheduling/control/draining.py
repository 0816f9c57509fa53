"""Drains nodes: what may be preempted there gets its notice and its tier's grace; production is left to end by itself (SCH-01).

A pool or a queue is drained by the planner, with the rest of its plan. A node is one machine that a person wants empty: nothing else
depends on who leaves it, and no place is kept for it.
"""

from datetime import datetime, timedelta

from django.db import transaction

from scheduling.control.lock import Leadership
from scheduling.engine.policy import Policy
from scheduling.engine.tiers import grace_ms
from scheduling.engine.vocabulary import PreemptReason, Tier
from scheduling.models import Preemption, Run
from scheduling.services.telling import tell_preempted
from scheduling.states import EndReason, RunState
from scheduling.transitions import Cause, begin_stops, hold_epoch

DRAIN = PreemptReason.DRAIN.value
_LIVE = (RunState.ADMITTED.value, RunState.STARTING.value, RunState.RUNNING.value)
_PREEMPTIBLE = (Tier.DEVELOPMENT, Tier.BATCH)


def drain_nodes(leadership: Leadership, policy: Policy, now: datetime) -> list[int]:
    """Give notice to runs on nodes that are being drained; returns their ids. One notice a run (I7)."""
    runs = Run.objects.filter(leases__node__draining=True, leases__closed_at__isnull=True, state__in=_LIVE)
    tiers = dict(runs.exclude(job__tier="production").order_by("pk").values_list("pk", "job__tier"))
    if not tiers:
        return []
    stopped: list[int] = []
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        for tier in _PREEMPTIBLE:
            theirs = [run for run, name in tiers.items() if name == tier.name.lower()]
            stopped += _give_notice(theirs, timedelta(milliseconds=grace_ms(policy, tier)), leadership, now)
    return stopped


def _give_notice(run_ids: list[int], grace: timedelta, leadership: Leadership, now: datetime) -> list[int]:
    if not run_ids:
        return []
    cause = Cause(reason=DRAIN, at=now, epoch=leadership.epoch)
    moved = begin_stops(run_ids, stop_reason=EndReason.PREEMPTED, grace=grace, cause=cause)
    jobs = dict(Run.objects.filter(pk__in=moved).values_list("pk", "job_id"))
    Preemption.objects.bulk_create(
        Preemption(run_id=run, job_id=jobs[run], reason=DRAIN, notice_at=now, grace_until=now + grace) for run in moved
    )
    tell_preempted(dict.fromkeys(moved, DRAIN), now=now, grace=grace)
    return moved
