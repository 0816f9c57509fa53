"""Reservations that the cycle makes itself, for backfill heads and for jobs that cards are kept for (SCH-08, SCH-17)."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from scheduling.engine.plan import Release, Reserve
from scheduling.engine.units import NEVER
from scheduling.models import Reservation, ReservationNode

BATCH = 2_000


def apply_reservations(reserves: Sequence[Reserve], releases: Sequence[Release], *, now: datetime) -> None:
    """Let go what the plan lets go, and put down what is new; what stands as it was is in neither list."""
    by_reason: dict[str, list[int]] = {}
    for release in releases:
        by_reason.setdefault(release.why[:40], []).append(int(release.reservation))
    for why, ids in sorted(by_reason.items()):
        Reservation.objects.filter(pk__in=ids, released_at__isnull=True).update(released_at=now, why=why)
    made = Reservation.objects.bulk_create([_row(reserve, now) for reserve in reserves], BATCH)
    ReservationNode.objects.bulk_create(
        [each for row, reserve in zip(made, reserves, strict=True) for each in _places(row, reserve)],
        BATCH,
    )


def _places(row: Reservation, reserve: Reserve) -> Iterator[ReservationNode]:
    """A row for each (node, role, card) with its pods; the node's cards stand in its first row."""
    cards = dict(reserve.cards)
    for role, node, card, pods in reserve.pods:
        kept = cards.pop(node, 0)
        yield ReservationNode(reservation=row, node_id=node, cards=kept, role=role, card=card, pods=pods)


def _row(reserve: Reserve, now: datetime) -> Reservation:
    return Reservation(
        kind=reserve.kind.value,
        job_id=reserve.job,
        amount_m=sum(amount for key, amount in reserve.amounts.items() if key.startswith("gpu:")),
        from_at=datetime.fromtimestamp(reserve.from_ms / 1000, UTC),
        to_at=None if reserve.to_ms >= NEVER else datetime.fromtimestamp(reserve.to_ms / 1000, UTC),
        created_at=now,
    )
