"""Reservations by hand (SCH-18): capacity of a flavor kept for a queue or tier during a window, and let go before its end."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import alarm, clock
from berth.common.errors import ConflictError, Problems
from scheduling.models import Reservation
from tenants.models import Flavor, Queue, User
from tenants.permissions import Action, require
from tenants.services.audit import record_event


def reserve_by_hand(
    *, by: User, flavor: str, amount_m: int, queue: str, tier: str, from_at: datetime, to_at: datetime
) -> Reservation:
    """Keep `amount_m` milli-cards of `flavor` for `queue` (`tenant/name`, "" = any) and `tier` ("" = any). Raises InvalidError."""
    require(by, Action.RESERVATION_CREATE)
    problems = Problems()
    kept = Flavor.objects.filter(name=flavor).first()
    if kept is None:
        problems.add("flavor", _("There is no such flavor."), code="unknown")
    tenant, __, name = queue.partition("/")
    line = Queue.objects.filter(tenant__slug=tenant, name=name).first() if queue else None
    if queue and (line is None or (kept is not None and line.pool_id != kept.pool_id)):
        problems.add("queue", _("There is no such queue in the flavor's pool; write tenant/name."), code="unknown")
    if not queue and not tier:
        problems.add("queue", _("Name a queue, a tier or both."), code="required")
    if to_at <= from_at:
        problems.add("to", _("Must be after its beginning."), code="range")
    problems.raise_if_any()
    with transaction.atomic():
        made = Reservation.objects.create(
            kind="manual",
            queue=line,
            tier=tier,
            flavor=kept,
            amount_m=amount_m,
            from_at=from_at,
            to_at=to_at,
            created_at=clock.now(),
        )
        record_event(by=by, action="reservation.create", on=made, detail={"flavor": flavor, "amount_m": amount_m})
        alarm.ring("scheduling.cycle")
    return made


def release_by_hand(reservation: Reservation, *, by: User) -> Reservation:
    """Let a reservation of a queue or tier go now. Raises ConflictError for those of the cycle's own, and for one that is gone."""
    require(by, Action.RESERVATION_CREATE)
    with transaction.atomic():
        row = Reservation.objects.select_for_update(of=("self",)).get(pk=reservation.pk)
        if row.kind not in {"manual", "forecast"}:
            raise ConflictError(
                _("The scheduler keeps this one for a job, and lets it go by itself."), code="not-by-hand"
            )
        if row.released_at is not None:
            raise ConflictError(_("It was released already."))
        row.released_at, row.why = clock.now(), "by-hand"
        row.save(update_fields=["released_at", "why"])
        record_event(by=by, action="reservation.release", on=row, detail={})
        alarm.ring("scheduling.cycle")
    return row
