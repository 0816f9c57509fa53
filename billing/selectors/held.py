"""What was held, ready for metering: segments of leases, what leases hold now, and whole nodes set aside.

The loop writes segments when a hold ends. Until then the open lease says what is held: from its pod's start on, own or borrowed
as its split was, charged up to a notice and not after it, as the segments will say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import Exists, Max, OuterRef, QuerySet

from berth.common.units import UNITS_PER_CARD
from billing.metering import Span, span
from billing.models import LedgerEntry
from scheduling.models import Job, Lease, LeaseSegment, NodeInterval
from scheduling.selectors.splits import split_changes_of
from scheduling.states import EndReason, RunState
from tenants.models import Pool

LEASE: Final = "lease"
NODE: Final = "node"
_BATCH = 5_000
_SHARED = Pool.Sharing.SHARED.value
_BILLABLE = LedgerEntry.HeldAs.BILLABLE.value


@dataclass(frozen=True, slots=True)
class Held:
    """One stretch of holding with one meaning, of a lease or of a node interval. Quantities are rates (`LedgerEntry`).

    `going_on`: it is held now and not in a segment yet; `end` is then where it stops at the latest, None if nowhere.
    """

    source: str
    source_id: int
    held_as: str
    start: datetime
    end: datetime | None
    going_on: bool = False
    segment_id: int | None = None
    cards_u7000: int = 0
    cpu_m: int = 0
    memory_mib: int = 0
    borrowed: bool = False
    flavor_id: int | None = None
    job_id: int | None = None
    run_id: int | None = None
    user_id: int | None = None
    queue_id: int | None = None
    project_id: int | None = None
    tier: str = ""
    kind: str = ""
    labels: dict[str, Any] | None = None

    def until(self, instant: datetime | None) -> Span | None:
        """The whole seconds of it, and of what goes on those before `instant` (None: none of them)."""
        end = self.end
        if self.going_on:
            if instant is None:
                return None
            end = instant if end is None else min(end, instant)
        return span(self.start, end) if end is not None and end > self.start else None


# Of a lease, from the lease itself and from its segments.
_LEASE_FIELDS = (
    "cpu_m",
    "memory_mib",
    "flavor_id",
    "flavor__pool__sharing",
    "node__pool__sharing",
    "run_id",
    "run__job_id",
    "run__job__user_id",
    "run__job__queue_id",
    "run__job__project_id",
    "run__job__tier",
    "run__job__kind",
    "run__job__labels",
)


def segments_of(job_ids: Sequence[int]) -> Iterator[Held]:
    """All segments of the jobs that have ended, by id."""
    found = LeaseSegment.objects.filter(lease__run__job_id__in=list(job_ids), during__upper_inf=False).order_by("id")
    fields = ("id", "lease_id", "kind", "during", "quantity", "borrowed", *(f"lease__{name}" for name in _LEASE_FIELDS))
    for segment_id, lease_id, kind, during, quantity, borrowed, *lease in found.values_list(*fields).iterator(_BATCH):
        yield replace(
            _of_lease(lease_id, kind, quantity, borrowed, lease),
            start=during.lower.astimezone(UTC),
            end=during.upper.astimezone(UTC),
            segment_id=segment_id,
        )


def going_on_of(*, tenant_id: int | None = None, job_ids: Sequence[int] | None = None) -> list[Held]:
    """What open leases of the tenant, or of the jobs, hold now: nothing before their pod has started or after its run ended."""
    found = Lease.objects.filter(closed_at__isnull=True, pod__started_at__isnull=False, pod__finished_at__isnull=True)
    found = found.exclude(run__state=RunState.ENDED.value)
    if tenant_id is not None:
        found = found.filter(run__job__tenant_id=tenant_id)
    if job_ids is not None:
        found = found.filter(run__job_id__in=list(job_ids))
    notices = ("run__preemption__notice_at", "run__stop_reason", "run__stopping_at", "pod__notice_at")
    fields = ("id", "pod__started_at", *notices, "quantity", "borrowed", *_LEASE_FIELDS)
    # The leases first: a split that changes between the two reads is then told as a change of now, and nothing before it moves.
    rows = list(found.order_by("id").values_list(*fields))
    splits = split_changes_of(row[0] for row in rows)
    held: list[Held] = []
    for (
        lease_id,
        started_at,
        notice_at,
        stop_reason,
        stopping_at,
        pod_notice_at,
        quantity,
        borrowed,
        *lease,
    ) in rows:
        failed = stop_reason == EndReason.CARD_FAILED
        turn = stopping_at if failed else notice_at
        after = LedgerEntry.HeldAs.FAULT.value if failed else LedgerEntry.HeldAs.GRACE.value
        if pod_notice_at is not None and (turn is None or pod_notice_at < turn):
            turn, after = pod_notice_at, LedgerEntry.HeldAs.GRACE.value
        of_lease = _of_lease(lease_id, _BILLABLE, quantity, borrowed, lease)
        whole = replace(of_lease, start=started_at.astimezone(UTC), going_on=True)
        for piece in _by_split(whole, splits.get(lease_id, [])):
            held += _with_notice(piece, turn, after)
    return held


def _by_split(held: Held, changes: Sequence[tuple[datetime, bool]]) -> Iterator[Held]:
    """Cut where its own/borrowed mark changed, as its segments will be."""
    for at, borrowed in changes:
        at = at.astimezone(UTC)
        if held.start < at:
            yield replace(held, end=at, borrowed=borrowed)
            held = replace(held, start=at)
    yield held


def _with_notice(held: Held, turn: datetime | None, after: str) -> Iterator[Held]:
    """Charged up to the notice, and something else after it."""
    if turn is None:
        yield held
        return
    turn = turn.astimezone(UTC)
    if held.start < turn:
        yield replace(held, end=turn if held.end is None else min(held.end, turn))
    if held.end is None or turn < held.end:
        yield replace(held, start=max(held.start, turn), held_as=after)


def not_posted(held: Sequence[Held]) -> list[Held]:
    """What goes on, without what a close has posted of it already: each starts where its ledger entries end."""
    posted = _posted_until("lease_id", [each.source_id for each in held if each.source == LEASE])
    nodes = _posted_until("node_interval_id", [each.source_id for each in held if each.source == NODE])
    known = {(LEASE, key): until for key, until in posted.items()} | {
        (NODE, key): until for key, until in nodes.items()
    }
    return [replace(each, start=max(each.start, known.get((each.source, each.source_id), each.start))) for each in held]


def _posted_until(source: str, ids: Sequence[int]) -> dict[int, datetime]:
    if not ids:
        return {}
    standing = LedgerEntry.objects.filter(**{f"{source}__in": ids}, refers_to__isnull=True, taken_back_by__isnull=True)
    found = standing.order_by().values_list(source).annotate(until=Max("ends_at"))
    return {source_id: until.astimezone(UTC) for source_id, until in found}


def unsettled_jobs(tenant_id: int | None = None) -> QuerySet[Job]:
    """Jobs that ran or ended and whose cost is not final yet: all that a sweep has to look at, by id."""
    found = Job.objects.filter(cost_final=False).exclude(runs_count=0, ended_at__isnull=True)
    return (found if tenant_id is None else found.filter(tenant_id=tenant_id)).order_by("id")


def with_unmetered_segments(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """Those of the jobs that have an ended segment without a ledger entry."""
    unmetered = LeaseSegment.objects.filter(
        ~Exists(LedgerEntry.objects.filter(segment_id=OuterRef("pk"))),
        lease__run__job_id=OuterRef("pk"),
        during__upper_inf=False,
    )
    return jobs.filter(Exists(unmetered))


def nodes_of(tenant_id: int) -> list[Held]:
    """Whole nodes set aside for the tenant (BIL-01): what is ready is charged, what is lost or out of service is not."""
    found = (
        NodeInterval.objects.filter(tenant_id=tenant_id, cards__gt=0, flavor__isnull=False)
        .exclude(pool__sharing=_SHARED)
        .order_by("id")
        .values_list("id", "during", "flavor_id", "cards", "cards_out", "state")
    )
    held = []
    for interval_id, during, flavor_id, cards, cards_out, state in found:
        ready = max(cards - cards_out, 0) if state == "ready" else 0
        for held_as, amount in ((LedgerEntry.HeldAs.BILLABLE, ready), (LedgerEntry.HeldAs.FAULT, cards - ready)):
            if amount:
                held.append(_from_node(interval_id, during, held_as.value, flavor_id, amount))
    return held


def _from_node(interval_id: int, during: Any, held_as: str, flavor_id: int, cards: int) -> Held:
    return Held(
        source=NODE,
        source_id=interval_id,
        held_as=held_as,
        start=during.lower.astimezone(UTC),
        end=during.upper.astimezone(UTC) if during.upper else None,
        going_on=during.upper is None,
        cards_u7000=cards * UNITS_PER_CARD,
        flavor_id=flavor_id,
    )


def _of_lease(lease_id: int, kind: str, quantity: int, borrowed: bool, lease: Sequence[Any]) -> Held:
    """What a ledger entry copies of a lease, its run and its job; the caller says from when to when."""
    cpu_m, memory_mib, flavor_id, flavor_sharing, node_sharing, run_id, job_id, user_id, queue_id, *rest = lease
    project_id, tier, job_kind, labels = rest
    set_aside = (flavor_sharing or node_sharing) != _SHARED
    return Held(
        source=LEASE,
        source_id=lease_id,
        held_as=LedgerEntry.HeldAs.SET_ASIDE.value if kind == _BILLABLE and set_aside else kind,
        start=datetime.min.replace(tzinfo=UTC),
        end=None,
        cards_u7000=quantity,
        cpu_m=cpu_m,
        memory_mib=memory_mib,
        borrowed=borrowed,
        flavor_id=flavor_id,
        job_id=job_id,
        run_id=run_id,
        user_id=user_id,
        queue_id=queue_id,
        project_id=project_id,
        tier=tier,
        kind=job_kind,
        labels=labels,
    )
