"""Quota lines of a queue, tenant or cohort: read from a body, set for the time from now on, the past kept as rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from berth.common.alarm import ring
from berth.common.errors import Problems
from berth.common.units import UnitError, gib_to_mib, plain, to_milli
from tenants.models import Cohort, Flavor, Pool, Queue, Quota, Resource, Tenant

Key = tuple[str, int | None]
"""Resource and flavor id (None for all but cards)."""

MOST: Final = 1_000_000_000
MEMBERS: Final = ("nominal", "borrowing_limit", "lending_limit", "mode")
NODE_FIELDS: Final[Mapping[type, str]] = {Cohort: "cohort", Tenant: "tenant", Queue: "queue"}


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """What a line should be from now on, in the units used inside; a limit of None is no limit. `ends` = the line goes."""

    resource: str
    flavor: Flavor | None = None
    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    mode: str = Quota.Mode.STATIC.value
    ends: bool = False

    @property
    def key(self) -> Key:
        return self.resource, self.flavor.pk if self.flavor else None


def inside(resource: str, amount: Any) -> int:
    """People's units to those used inside: cards and cores to thousandths, GiB of memory and VRAM to MiB, the rest whole."""
    if resource in {Resource.GPU, Resource.CPU}:
        return to_milli(amount)
    if resource in {Resource.MEMORY, Resource.VRAM}:
        return gib_to_mib(amount)
    return int(plain(amount))


def read_quota(document: Any, *, pool: Pool, problems: Problems, where: str = "quota") -> list[QuotaLine]:
    """The lines of `{gpu: {FLAVOR: {nominal, …}}, cpu: {nominal, …}, …}`; what is wrong is added to `problems` by its place.

    A flavor's name without `@` means the pool's own. `null` instead of a line ends it.
    """
    if not isinstance(document, Mapping):
        problems.add(where, _("Give an object with the resources %(known)s.") % {"known": _resources()})
        return []
    lines: list[QuotaLine] = []
    flavors = {name: flavor for flavor in pool.flavors.order_by("name") for name in (flavor.short_name, flavor.name)}
    for resource, given in document.items():
        place = f"{where}.{resource}"
        if resource not in Resource.values:
            problems.add(
                place, _("Unknown resource. Known are: %(known)s.") % {"known": _resources()}, code="unknown-field"
            )
        elif resource != Resource.GPU:
            lines.extend(_line(resource, None, given, place, problems))
        elif not isinstance(given, Mapping):
            problems.add(place, _("Give an object from flavor to line."))
        else:
            for name, line in given.items():
                spot = f"{place}.{name}"
                if name in flavors:
                    lines.extend(_line(resource, flavors[name], line, spot, problems))
                else:
                    text = _("No flavor of this queue's pool. Its flavors are: %(known)s.")
                    problems.add(
                        spot, text % {"known": ", ".join(sorted({f.name for f in flavors.values()}))}, code="unknown"
                    )
    return lines


def lines_in_force(node: Cohort | Tenant | Queue, at: datetime) -> dict[Key, Quota]:
    """The node's rows that hold at `at`, by resource and flavor."""
    rows = Quota.objects.filter(_valid(at), **{NODE_FIELDS[type(node)]: node}).select_related("flavor")
    return {(row.resource, row.flavor_id): row for row in rows}


def write_lines(node: Cohort | Tenant | Queue, lines: Sequence[QuotaLine], *, at: datetime) -> None:
    """Close what holds at `at`, drop what was to begin later, open the new lines; in the caller's transaction, sums unchecked."""
    field = NODE_FIELDS[type(node)]
    for line in lines:
        rows = Quota.objects.filter(
            Q(valid_to__isnull=True) | Q(valid_to__gt=at), resource=line.resource, flavor=line.flavor, **{field: node}
        )
        rows.filter(valid_from__gte=at).delete()
        rows.update(valid_to=at)
        if not line.ends:
            Quota.objects.create(
                **{field: node},
                resource=line.resource,
                flavor=line.flavor,
                nominal=line.nominal,
                borrowing_limit=line.borrowing_limit,
                lending_limit=line.lending_limit,
                mode=line.mode,
                valid_from=at,
            )
    if lines:
        ring("scheduling.cycle")


def add_for_a_while(queue: Queue, line: QuotaLine, *, at: datetime, until: datetime | None) -> None:
    """Add `line.nominal` to what the queue has of it from `at` until `until` (None = for good); limits stay as they are."""
    end = Q() if until is None else Q(valid_from__lt=until)
    rows = list(
        Quota.objects.select_for_update()
        .filter(
            Q(valid_to__isnull=True) | Q(valid_to__gt=at), end, queue=queue, resource=line.resource, flavor=line.flavor
        )
        .order_by("valid_from")
    )
    gaps = _gaps(rows, at, until)
    for row in rows:
        _split(row, line.nominal, at=at, until=until)
    for start, stop in gaps:
        Quota.objects.create(
            queue=queue,
            resource=line.resource,
            flavor=line.flavor,
            nominal=line.nominal,
            valid_from=start,
            valid_to=stop,
        )
    ring("scheduling.cycle")


def _split(row: Quota, amount: int, *, at: datetime, until: datetime | None) -> None:
    """The row's part within [at, until) gets `amount` more; the parts outside stay what they were."""
    start, stop = max(row.valid_from, at), row.valid_to if until is None else _first(row.valid_to, until)
    values = {
        name: getattr(row, name)
        for name in ("queue_id", "resource", "flavor_id", "borrowing_limit", "lending_limit", "mode")
    }
    old_from, old_to, nominal = row.valid_from, row.valid_to, row.nominal
    if old_from < start:
        row.valid_to = start
        row.save(update_fields=["valid_to"])
    else:
        row.delete()
    Quota.objects.create(**values, nominal=nominal + amount, valid_from=start, valid_to=stop)
    if stop is not None and stop != old_to:
        Quota.objects.create(**values, nominal=nominal, valid_from=stop, valid_to=old_to)


def _gaps(rows: Iterable[Quota], at: datetime, until: datetime | None) -> list[tuple[datetime, datetime | None]]:
    """Stretches of [at, until) that no row covers; rows are in order of time and do not overlap."""
    found: list[tuple[datetime, datetime | None]] = []
    edge: datetime | None = at
    for row in rows:
        if edge is not None and row.valid_from > edge:
            found.append((edge, row.valid_from))
        edge = row.valid_to
        if edge is None:
            return found
    if edge is not None and (until is None or edge < until):
        found.append((edge, until))
    return found


def _first(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else min(one, other)


def _valid(at: datetime) -> Q:
    return Q(valid_from__lte=at) & (Q(valid_to__isnull=True) | Q(valid_to__gt=at))


def _resources() -> str:
    return ", ".join(Resource.values)


def _line(resource: str, flavor: Flavor | None, given: Any, where: str, problems: Problems) -> list[QuotaLine]:
    if given is None:
        return [QuotaLine(resource, flavor, ends=True)]
    if not isinstance(given, Mapping):
        problems.add(where, _("Give an object with %(known)s.") % {"known": ", ".join(MEMBERS)})
        return []
    before = len(problems.found)
    for name in given:
        if name not in MEMBERS:
            problems.add(
                f"{where}.{name}",
                _("Unknown field. Known are: %(known)s.") % {"known": ", ".join(MEMBERS)},
                code="unknown-field",
            )
    amounts = {
        name: _amount(resource, given.get(name), f"{where}.{name}", problems)
        for name in ("nominal", "borrowing_limit", "lending_limit")
        if given.get(name) is not None
    }
    mode = given.get("mode", Quota.Mode.STATIC.value)
    if mode not in Quota.Mode.values:
        problems.add(f"{where}.mode", _("Choose one of: %(known)s.") % {"known": ", ".join(Quota.Mode.values)})
    if len(problems.found) > before:
        return []
    return [
        QuotaLine(
            resource,
            flavor,
            nominal=amounts.get("nominal", 0),
            borrowing_limit=amounts.get("borrowing_limit"),
            lending_limit=amounts.get("lending_limit"),
            mode=mode,
        )
    ]


def _amount(resource: str, value: Any, where: str, problems: Problems) -> int:
    text = _("Give a number from 0 to %(most)s, as fine as thousandths of a card or core, or a MiB.") % {"most": MOST}
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        problems.add(where, text, code="out-of-range")
        return 0
    try:
        return inside(resource, repr(value) if isinstance(value, float) else value)
    except (UnitError, ValueError, ArithmeticError):
        problems.add(where, text, code="too-fine")
        return 0
