"""Reservations that the cycle makes itself, for backfill heads and for jobs that cards are kept for (SCH-08, SCH-17)."""

from collections.abc import Sequence
from datetime import UTC, datetime

from scheduling.engine.plan import Release, Reserve
from scheduling.models import Reservation, ReservationNode


def apply_reservations(reserves: Sequence[Reserve], releases: Sequence[Release], *, now: datetime) -> None:
    """Release what the plan lets go; then one open reservation a job and kind, replaced where it moved."""
    for release in releases:
        Reservation.objects.filter(pk=release.reservation, released_at__isnull=True).update(
            released_at=now, why=release.why[:40]
        )
    for reserve in reserves:
        _reserve(reserve, now)


def _reserve(reserve: Reserve, now: datetime) -> None:
    start = datetime.fromtimestamp(reserve.from_ms / 1000, UTC)
    amount = reserve.amounts.get("gpu", 0)
    open_now = Reservation.objects.filter(kind=reserve.kind.value, job_id=reserve.job, released_at__isnull=True)
    kept = dict(reserve.cards) or dict.fromkeys(reserve.nodes, 0)
    for row in open_now.prefetch_related("kept"):
        if row.from_at == start and row.amount_m == amount and {k.node_id: k.cards for k in row.kept.all()} == kept:
            return
    open_now.update(released_at=now, why="moved")
    made = Reservation.objects.create(
        kind=reserve.kind.value, job_id=reserve.job, amount_m=amount, from_at=start, created_at=now
    )
    ReservationNode.objects.bulk_create(
        ReservationNode(reservation=made, node_id=node, cards=cards) for node, cards in sorted(kept.items())
    )
