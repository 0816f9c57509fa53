"""Closes leases and cuts them into the segments that bills are made of: many pods' at once, in the caller's transaction."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from berth.common.updating import update_rows
from scheduling.control.segments import FAULT, GRACE, Hold, Stretch, cut_hold
from scheduling.models import Lease, LeaseSegment, Pod, Preemption, Run, SegmentQuarantine
from scheduling.selectors.splits import split_changes_of
from scheduling.services.queue_use import count_segments
from scheduling.states import PLATFORM_FAULTS, EndReason

Notice = tuple[datetime | None, str]
"""From when on a run is no longer charged, and as what the time after it counts."""


@dataclass(frozen=True, slots=True)
class Closing:
    """Pods of one run that give back what they hold. `last_sign` cuts every lease there (a lost node); the leases of pods that are
    `still_there` stay open until the pods are gone, without costing anything more."""

    run: Run
    pods: Sequence[Pod]
    reason: EndReason
    last_sign: datetime | None = None
    still_there: frozenset[int] = frozenset()


def close_pod_leases(pods: Sequence[Pod], *, now: datetime) -> None:
    """Give back what pods of live runs hold that have ended: the rest of the gang goes on without those cards."""
    by_run: dict[int, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_run[pod.run_id].append(pod)
    runs = Run.objects.filter(pk__in=by_run).order_by("pk") if by_run else ()
    close_leases([Closing(run, by_run[run.pk], EndReason.SUCCEEDED) for run in runs], now=now)


def close_lost_pods(run_id: int, pods: Sequence[Pod], *, last_sign: datetime, now: datetime) -> None:
    """Give back what pods of a live run held on a node that is lost: charged to its last sign of life at most (BIL-05)."""
    closing = Closing(Run.objects.get(pk=run_id), pods, EndReason.NODE_LOST, last_sign=last_sign)
    close_leases([closing], now=now)


def close_leases(closings: Sequence[Closing], *, now: datetime) -> None:
    """Close and cut what these pods hold. In five statements, however many they are."""
    of_pod = {pod.pk: (closing, pod) for closing in closings for pod in closing.pods}
    leases = list(Lease.objects.filter(pod__in=of_pod, closed_at__isnull=True).order_by("pk")) if of_pod else []
    if not leases:
        return
    splits = split_changes_of(lease.pk for lease in leases)
    notices = _notices([closing.run for closing in closings])
    segments: list[tuple[Lease, Stretch]] = []
    for lease in leases:
        closing, pod = of_pod[lease.pod_id]
        hold, closed_at = _hold(closing, pod, lease, notices[closing.run.pk], splits[lease.pk], now)
        segments += [(lease, piece) for piece in cut_hold(hold)]
        lease.closed_at = None if pod.pk in closing.still_there else max(closed_at, lease.opened_at)
    _store_segments(segments, now)
    update_rows(leases, ["closed_at"])


def _hold(
    closing: Closing, pod: Pod, lease: Lease, of_run: Notice, splits: Sequence[tuple[datetime, bool]], now: datetime
) -> tuple[Hold, datetime]:
    """How long one lease was held and what of it counts as what; and when its card is free."""
    until, closed_at = _pod_end(pod, closing, now)
    notice_at, notice_kind = _first_notice(pod, of_run)
    is_fault = closing.reason in PLATFORM_FAULTS
    never_whole = closing.run.started_at is None and is_fault
    hold = Hold(
        pod.started_at,
        until,
        closed_at,
        notice_at,
        notice_kind,
        fault=never_whole or (pod.joined_at is not None and pod.phase == Pod.Phase.PENDING and is_fault),
        borrowed=lease.borrowed,
        splits=splits,
    )
    return hold, closed_at


def _notices(runs: Sequence[Run]) -> Mapping[int, Notice]:
    """By run: an eviction's grace, or a card that failed under it."""
    evicted = dict(Preemption.objects.filter(run__in=runs).values_list("run_id", "notice_at"))
    return {
        run.pk: (run.stopping_at, FAULT) if run.stop_reason == EndReason.CARD_FAILED else (evicted.get(run.pk), GRACE)
        for run in runs
    }


def _first_notice(pod: Pod, of_run: Notice) -> Notice:
    """A pod may have been told to leave before the run was (SCH-10)."""
    at, _kind = of_run
    if pod.notice_at is None or (at is not None and at <= pod.notice_at):
        return of_run
    return pod.notice_at, GRACE


def _pod_end(pod: Pod, closing: Closing, now: datetime) -> tuple[datetime, datetime]:
    """Until when the pod is charged at most, and when its card is free."""
    finished = pod.finished_at or pod.last_sign_at or now
    if closing.last_sign is None:
        return finished, finished
    return min(closing.last_sign, pod.finished_at or closing.last_sign), pod.finished_at or now


def _store_segments(segments: Sequence[tuple[Lease, Stretch]], now: datetime) -> None:
    """All at once; where the database refuses, one by one, and what it refuses goes to quarantine (DESIGN section 4).

    A stretch of no length is no fault: a cluster that counts in seconds says so of a pod that began and ended in one.
    """
    stored: list[LeaseSegment] = []
    good = [entry for entry in segments if entry[1].start < entry[1].end]
    bad = [(entry, "ends before it starts") for entry in segments if entry[1].start > entry[1].end]
    try:
        with transaction.atomic():
            stored = LeaseSegment.objects.bulk_create([_segment(*entry) for entry in good], batch_size=2000)
    except IntegrityError:
        for entry in good:
            try:
                with transaction.atomic():
                    (segment := _segment(*entry)).save(force_insert=True)
                stored.append(segment)
            except IntegrityError as error:
                bad.append((entry, str(error).partition("\n")[0]))
    SegmentQuarantine.objects.bulk_create(
        SegmentQuarantine(
            lease=lease, kind=piece.kind, start_at=piece.start, end_at=piece.end, reason=why[:500], created_at=now
        )
        for (lease, piece), why in bad
    )
    count_segments([segment.pk for segment in stored], now=now)


def _segment(lease: Lease, piece: Stretch) -> LeaseSegment:
    return LeaseSegment(
        lease=lease,
        card_id=lease.card_id,
        kind=piece.kind,
        during=DateTimeTZRange(piece.start, piece.end, "[)"),
        quantity=lease.quantity,
        borrowed=piece.borrowed,
    )
