"""What was held, ready for metering: lease segments with everything a ledger entry copies, and whole nodes set aside."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import Exists, Max, OuterRef, QuerySet

from berth.common.units import UNITS_PER_CARD
from billing.models import LedgerEntry
from scheduling.models import Job, LeaseSegment, NodeInterval
from tenants.models import Pool

SEGMENT: Final = "segment"
NODE: Final = "node"
_BATCH = 5_000
_SHARED = Pool.Sharing.SHARED.value


@dataclass(frozen=True, slots=True)
class Held:
    """One stretch of holding with one meaning. `end` is None while it goes on. Quantities are rates (`LedgerEntry`)."""

    source: str
    source_id: int
    held_as: str
    start: datetime
    end: datetime | None
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


_FIELDS = (
    "id",
    "kind",
    "during",
    "quantity",
    "borrowed",
    "lease__cpu_m",
    "lease__memory_mib",
    "lease__flavor_id",
    "lease__flavor__pool__sharing",
    "lease__node__pool__sharing",
    "lease__run_id",
    "lease__run__job_id",
    "lease__run__job__user_id",
    "lease__run__job__queue_id",
    "lease__run__job__project_id",
    "lease__run__job__tier",
    "lease__run__job__kind",
    "lease__run__job__labels",
)


def segments_of(job_ids: Sequence[int], *, still_open: bool | None = None) -> Iterator[Held]:
    """Segments of the jobs, by id; only open ones, only ended ones, or (None) both."""
    found = LeaseSegment.objects.filter(lease__run__job_id__in=list(job_ids)).order_by("id")
    if still_open is not None:
        found = found.filter(during__upper_inf=still_open)
    for row in found.values_list(*_FIELDS).iterator(_BATCH):
        yield _from_segment(row)


def open_segments_of(tenant_id: int) -> list[Held]:
    """Segments of the tenant that go on now."""
    found = LeaseSegment.objects.filter(
        lease__closed_at__isnull=True, lease__run__job__tenant_id=tenant_id, during__upper_inf=True
    )
    return [_from_segment(row) for row in found.order_by("id").values_list(*_FIELDS)]


def not_posted(held: Sequence[Held]) -> list[Held]:
    """What goes on, without what a close has posted of it already: each starts where its ledger entries end."""
    segments = [each.source_id for each in held if each.source == SEGMENT]
    nodes = [each.source_id for each in held if each.source == NODE]
    posted = _posted_until("segment_id", segments) | _posted_until("node_interval_id", nodes)
    return [
        replace(each, start=max(each.start, posted.get((each.source_id, each.held_as), each.start))) for each in held
    ]


def _posted_until(source: str, ids: Sequence[int]) -> dict[tuple[int, str], datetime]:
    if not ids:
        return {}
    standing = LedgerEntry.objects.filter(**{f"{source}__in": ids}, refers_to__isnull=True, taken_back_by__isnull=True)
    found = standing.order_by().values_list(source, "held_as").annotate(until=Max("ends_at"))
    return {(source_id, held_as): until.astimezone(UTC) for source_id, held_as, until in found}


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
        cards_u7000=cards * UNITS_PER_CARD,
        flavor_id=flavor_id,
    )


def _from_segment(row: Iterable[Any]) -> Held:
    (
        segment_id,
        kind,
        during,
        quantity,
        borrowed,
        cpu_m,
        memory_mib,
        flavor_id,
        flavor_sharing,
        node_sharing,
        *rest,
    ) = row
    run_id, job_id, user_id, queue_id, project_id, tier, job_kind, labels = rest
    set_aside = (flavor_sharing or node_sharing) != _SHARED
    billable = kind == LeaseSegment.Kind.BILLABLE
    return Held(
        source=SEGMENT,
        source_id=segment_id,
        held_as=LedgerEntry.HeldAs.SET_ASIDE.value if billable and set_aside else kind,
        start=during.lower.astimezone(UTC),
        end=during.upper.astimezone(UTC) if during.upper else None,
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
