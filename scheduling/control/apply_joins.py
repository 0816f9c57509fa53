"""Roles outside the gang that join a run which has begun without them become rows: pods and leases, before any cluster hears of them.

The run itself does not move. What is sent for it later, and what became of that, is the dispatcher's.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max

from scheduling.cluster.names import pod_name
from scheduling.control.apply_starts import create_leases
from scheduling.engine.later import WHY
from scheduling.engine.plan import Resize
from scheduling.models import Pod, Run
from scheduling.states import RunState
from scheduling.transitions import lock_jobs

MAY_BE_JOINED = (RunState.ADMITTED.value, RunState.STARTING.value, RunState.RUNNING.value)


def apply_joins(resizes: Sequence[Resize], *, now: datetime) -> list[int]:
    """Runs that were joined. A run that ended or is stopping meanwhile, or has had the role, is left as it is: the decision is stale."""
    wanted = [resize for resize in resizes if resize.reason == WHY]
    if not wanted:
        return []
    lock_jobs(sorted({int(resize.job) for resize in wanted}))
    live = {
        run.job_id: run
        for run in Run.objects.filter(job_id__in={int(resize.job) for resize in wanted}, state__in=MAY_BE_JOINED)
    }
    had = set(Pod.objects.filter(run__in=live.values()).values_list("run_id", "role_name"))
    joined: list[int] = []
    for resize in wanted:
        run = live.get(int(resize.job))
        if run is not None and (run.pk, resize.role) not in had:
            create_leases(run, _create_pods(run, resize), resize.added, now)
            joined.append(run.pk)
    return joined


def _create_pods(run: Run, resize: Resize) -> dict[tuple[str, int], Pod]:
    """Their ranks follow all others of the run."""
    first = (Pod.objects.filter(run=run).aggregate(last=Max("rank"))["last"] or 0) + 1
    rows = [
        Pod(
            run=run,
            role_name=placement.role,
            rank=first + place,
            index=placement.index,
            name=pod_name(run.job_id, run.number, placement.role, placement.index),
            node_id=placement.node,
            in_gang=False,
        )
        for place, placement in enumerate(sorted(resize.added, key=lambda each: each.index))
    ]
    return {(pod.role_name, pod.index): pod for pod in Pod.objects.bulk_create(rows)}
