"""Time limits of runs: the declared run time in business time, the start-up of a gang in wall time."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Value

from berth.common import clock
from scheduling.control.lock import Leadership
from scheduling.control.loose_pods import LOOSE, give_up_joins
from scheduling.models import Pod, Run
from scheduling.states import EndReason, RunState
from scheduling.transitions import CANCEL_GRACE, Cause, begin_stops, hold_epoch, lock_jobs

STARTUP_LIMIT = timedelta(minutes=10)
SECOND = timedelta(seconds=1)


def enforce_limits(leadership: Leadership, now: datetime) -> list[int]:
    """Ask runs that passed a limit to stop; returns their ids."""
    overdue = _past_their_time(now)
    late = _not_whole_in_time()
    joins = _not_joined_in_time(now)
    if not overdue and not late and not joins:
        return []
    stopped: list[int] = []
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        for run_ids, reason in ((overdue, EndReason.TIMEOUT), (late, EndReason.START_TIMEOUT)):
            cause = Cause(reason=reason.value, at=now, epoch=leadership.epoch)
            stopped += begin_stops(run_ids, stop_reason=reason, grace=CANCEL_GRACE, cause=cause)
        _name_image_trouble(late)
        # Under the lock of their jobs what ran or left meanwhile is out of the list.
        lock_jobs(Run.objects.filter(pods__in=joins).values_list("job_id", flat=True))
        give_up_joins(_not_joined_in_time(now) if joins else [], reason=EndReason.START_TIMEOUT, now=now)
    return stopped


def _past_their_time(now: datetime) -> list[int]:
    allowed = ExpressionWrapper(F("job__max_runtime_s") * Value(SECOND), output_field=DurationField())
    rows = Run.objects.filter(state=RunState.RUNNING.value, job__max_runtime_s__isnull=False)
    return list(rows.annotate(until=F("started_at") + allowed).filter(until__lte=now).values_list("pk", flat=True))


def _not_whole_in_time() -> list[int]:
    since = clock.wall_now() - STARTUP_LIMIT
    rows = Run.objects.filter(state__in=[RunState.ADMITTED.value, RunState.STARTING.value], admitted_wall__lte=since)
    return list(rows.values_list("pk", flat=True))


def _not_joined_in_time(now: datetime) -> list[Pod]:
    """Pods that joined a running job and do not run: the job goes on without them (SCH-10)."""
    since = now - STARTUP_LIMIT * clock.scale()
    rows = Pod.objects.filter(LOOSE, released_at__isnull=True, joined_at__lte=since, run__state=RunState.RUNNING.value)
    return list(rows.order_by("run_id", "pk"))


def _name_image_trouble(run_ids: list[int]) -> None:
    """A gang that waited for an image that cannot be had says so, not just that it was late."""
    from scheduling.control.verdict import IMAGE_REASONS

    pods = Pod.objects.filter(run_id__in=run_ids, reason__in=IMAGE_REASONS)
    for run_id, message in pods.values_list("run_id", "message"):
        rows = Run.objects.filter(pk=run_id, state=RunState.STOPPING.value)
        rows.update(stop_reason=EndReason.IMAGE_PULL.value, end_message=message[:1000])
