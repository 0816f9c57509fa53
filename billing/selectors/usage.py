"""Card-time used, by day, flavor, queue, user or job: what was charged, own and borrowed, what was not, and how busy it was."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db.models import F, Func, QuerySet, Sum, Value
from django.db.models.fields import BigIntegerField
from django.db.models.functions import Greatest, Least

from billing.metering import cut, local_day, midnights, within
from billing.models import LedgerEntry
from billing.selectors.held import Held, going_on_of, not_posted
from scheduling.models import Run, UtilisationHour
from tenants.models import Flavor, Queue, Tenant, User

DIMENSIONS: Final = ("day", "flavor", "queue", "user", "job")
_CHARGED: Final = frozenset({LedgerEntry.HeldAs.BILLABLE.value, LedgerEntry.HeldAs.SET_ASIDE.value})
_FIELDS: Final = {
    "day": "day",
    "flavor": "flavor__name",
    "queue": "queue__name",
    "user": "user__username",
    "job": "job_id",
}

Key = tuple[Any, ...]


class _Seconds(Func):
    """Whole seconds between two instants."""

    template = "EXTRACT(EPOCH FROM (%(expressions)s))::bigint"
    arg_joiner = " - "
    output_field = BigIntegerField()


@dataclass(slots=True)
class Use:
    """Card-time of one group in 1/7000 card × seconds. `sampled` and `busy` are parts of what was held."""

    key: Key
    own: int = 0
    borrowed: int = 0
    excluded: int = 0
    held_with_hours: int = 0
    sampled: int = 0
    busy: int = 0
    keys: dict[str, Any] = field(default_factory=dict)

    def add(self, held_as: str, units: int, *, borrowed: bool) -> None:
        """Count what was held as charged, own or borrowed, or as not charged."""
        if held_as not in _CHARGED:
            self.excluded += units
        elif borrowed:
            self.borrowed += units
        else:
            self.own += units


def use_of(
    tenants: Sequence[Tenant], *, since: datetime, until: datetime, group_by: Sequence[str], now: datetime
) -> list[Use]:
    """Use of the tenants during [since, until), grouped by some of DIMENSIONS, in order of the key.

    Days are the tenant's own. What goes on counts up to `now`. Nodes set aside count through the leases on them.
    """
    found: dict[Key, Use] = {}

    def of(key: Key) -> Use:
        return found.setdefault(key, Use(key, keys=dict(zip(group_by, key, strict=True))))

    for *key, held_as, borrowed, units in _posted([tenant.pk for tenant in tenants], since, until, group_by):
        of(tuple(key)).add(held_as, int(units), borrowed=borrowed)
    for tenant in tenants:
        for going_on, held, units in _going_on(tenant, since, min(until, now), group_by):
            of(going_on).add(held.held_as, units, borrowed=held.borrowed)
    for sampled_key, held_units, sampled, busy in _hours([tenant.pk for tenant in tenants], since, until, group_by):
        if sampled_key in found:
            use = found[sampled_key]
            use.held_with_hours, use.sampled, use.busy = (
                use.held_with_hours + held_units,
                use.sampled + sampled,
                use.busy + busy,
            )
    return sorted(found.values(), key=lambda use: tuple((part is not None, str(part)) for part in use.key))


def _posted(
    tenant_ids: list[int], since: datetime, until: datetime, group_by: Sequence[str]
) -> QuerySet[LedgerEntry, tuple[Any, ...]]:
    inside = _Seconds(Least("ends_at", Value(until)), Greatest("starts_at", Value(since)))
    names = [_FIELDS[name] for name in group_by]
    return (
        LedgerEntry.objects.filter(
            tenant_id__in=tenant_ids, lease__isnull=False, ends_at__gt=since, starts_at__lt=until
        )
        .order_by()
        .values_list(*names, "held_as", "borrowed")
        .annotate(units=Sum(F("cards_u7000") * inside))
    )


def _going_on(
    tenant: Tenant, since: datetime, until: datetime, group_by: Sequence[str]
) -> Iterator[tuple[Key, Held, int]]:
    zone = ZoneInfo(tenant.billing_timezone)
    held = not_posted(going_on_of(tenant_id=tenant.pk))
    names = _names(held)
    for each in held:
        whole = each.until(until)
        inside = within(whole, since, until) if whole else None
        if inside is None:
            continue
        for piece in cut(inside, midnights(inside, zone) if "day" in group_by else ()):
            known = {**names[each.source_id], "day": local_day(piece.start, zone)}
            yield tuple(known[name] for name in group_by), each, each.cards_u7000 * piece.seconds


def _names(held: Sequence[Held]) -> dict[int, dict[str, Any]]:
    """What each lease is called in each dimension but the day."""
    flavors = dict(Flavor.objects.values_list("id", "name"))
    queues = dict(Queue.objects.filter(pk__in={each.queue_id for each in held}).values_list("id", "name"))
    users = dict(User.objects.filter(pk__in={each.user_id for each in held}).values_list("id", "username"))
    return {
        each.source_id: {
            "flavor": flavors.get(each.flavor_id or 0),
            "queue": queues.get(each.queue_id or 0),
            "user": users.get(each.user_id or 0),
            "job": each.job_id,
        }
        for each in held
    }


def _hours(
    tenant_ids: list[int], since: datetime, until: datetime, group_by: Sequence[str]
) -> Iterator[tuple[Key, int, int, int]]:
    """(key, held, sampled, busy) from the hourly roll-ups of utilisation; hours that only touch the window count whole."""
    rows = UtilisationHour.objects.filter(tenant_id__in=tenant_ids, hour__gte=since, hour__lt=until).order_by()
    names = ["flavor__name", "queue__name", "tenant__billing_timezone", "hour"]
    runs: dict[int, tuple[int, str]] = {}
    by_run = "job" in group_by or "user" in group_by
    if by_run:
        names.append("run_id")
    sums = rows.values_list(*names).annotate(
        held=Sum("held_units_s"), sampled=Sum("sampled_units_s"), busy=Sum("busy_units_s")
    )
    found = list(sums)
    if by_run:
        runs = _run_owners({row[4] for row in found})
    for flavor, queue, zone, hour, *rest in found:
        job, user = runs.get(rest[0], (None, None)) if by_run else (None, None)
        known = {"flavor": flavor, "queue": queue, "job": job, "user": user, "day": _day(hour, zone)}
        yield tuple(known[name] for name in group_by), *rest[-3:]


def _run_owners(run_ids: set[int]) -> dict[int, tuple[int, str]]:
    runs = Run.objects.filter(pk__in=run_ids).values_list("id", "job_id", "job__user__username")
    return {run_id: (job_id, user) for run_id, job_id, user in runs}


def _day(hour: datetime, zone: str) -> date:
    return local_day(hour, ZoneInfo(zone))
