"""Pods that no run depends on: they joined one and never ran, or were asked to leave it (SCH-10). What befalls them ends nothing.

Only the loop calls it, inside a transaction that holds the epoch. It must not talk to a cluster.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from scheduling.control.apply_resizes import record_resize
from scheduling.control.closing import close_lost_pods
from scheduling.models import Node, Pod, Run
from scheduling.states import EndReason, RunState
from scheduling.transitions import CANCEL_GRACE, lock_jobs

GOES_ON = (RunState.ADMITTED.value, RunState.STARTING.value, RunState.RUNNING.value)
NOT_RUNNING = (Pod.Phase.PLANNED, Pod.Phase.PENDING)
LOOSE = Q(released_at__isnull=False) | Q(joined_at__isnull=False, in_gang=True, phase__in=NOT_RUNNING)


def give_up_joins(pods: Sequence[Pod], *, reason: EndReason, now: datetime) -> None:
    """Their runs go on at the size they had; after the cooldown the engine may try again. Changes the records given as well."""
    by_role: dict[tuple[int, str], list[Pod]] = defaultdict(list)
    for pod in pods:
        by_role[pod.run_id, pod.role_name].append(pod)
    runs = Run.objects.in_bulk({run_id for run_id, _role in by_role})
    for (run_id, role), given_up in sorted(by_role.items()):
        present = Pod.objects.filter(run_id=run_id, role_name=role, released_at__isnull=True)
        size = present.count()
        for pod in given_up:
            pod.released_at = pod.notice_at = now
            pod.leave_until, pod.release_reason = now + CANCEL_GRACE, reason.value
        Pod.objects.bulk_update(given_up, ["released_at", "notice_at", "leave_until", "release_reason"])
        record_resize(runs[run_id], role, (size, size - len(given_up)), reason.value, now=now)


def drop_loose_pods(node: Node, *, last_sign: datetime, now: datetime) -> None:
    """The node is lost. Runs that hold nothing else on it go on; what they held there ends with its last sign of life."""
    held = Pod.objects.filter(node=node, leases__closed_at__isnull=True, run__state__in=GOES_ON).distinct()
    loose: dict[int, list[Pod]] = defaultdict(list)
    for pod in held.filter(LOOSE).order_by("run_id", "pk"):
        loose[pod.run_id].append(pod)
    bound = set(held.exclude(LOOSE).filter(run_id__in=loose).values_list("run_id", flat=True))
    left = {run_id: pods for run_id, pods in loose.items() if run_id not in bound}
    lock_jobs(Run.objects.filter(pk__in=left).values_list("job_id", flat=True))
    for run_id, pods in sorted(left.items()):
        give_up_joins([pod for pod in pods if pod.released_at is None], reason=EndReason.NODE_LOST, now=now)
        close_lost_pods(run_id, pods, last_sign=last_sign, now=now)
