"""Queues with their quota and what stands on it: used, own, borrowed, lent, pending, and the share (SCH-05); any number of queues at once."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from django.db.models import Q, Sum

from berth.common import clock
from berth.common.units import PPM
from scheduling.engine.instances import equivalent_ppm
from scheduling.models import Lease
from scheduling.selectors.asked_cards import asked_m
from scheduling.selectors.effective_weights import QueueWeights, weights_of_queues
from scheduling.selectors.lent import lent_of_queues
from scheduling.selectors.pool_load import PendingAsk, PoolLoad, pending_asks, pool_loads
from tenants.models import Pool, Queue, Quota

GPU, CPU, MEMORY, VRAM = "gpu", "cpu", "memory", "vram"

Line = tuple[str, str]
"""Resource and flavor name; the name is empty for everything but cards."""


@dataclass(slots=True)
class QuotaNumbers:
    """One line of a queue, in milli-cards, millicores, MiB. `nominal` None: no line. used = own + borrowed."""

    nominal: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    mode: str = Quota.Mode.STATIC.value
    used: int = 0
    borrowed: int = 0
    lent: int = 0
    pending: int = 0

    @property
    def own(self) -> int:
        return self.used - self.borrowed


@dataclass(frozen=True, slots=True)
class QueueNumbers:
    """`share` is the queue's dominant share of its pool, divided by its effective weight; None while the pool is empty."""

    lines: Mapping[Line, QuotaNumbers]
    share: Fraction | None
    weights: QueueWeights


def queue_numbers(queues: Sequence[Queue]) -> dict[int, QueueNumbers]:
    """By queue id; the queues carry their pools. Twelve queries, and where something is lent up to two more."""
    ids = [queue.pk for queue in queues]
    found: dict[int, dict[Line, QuotaNumbers]] = {pk: defaultdict(QuotaNumbers) for pk in ids}
    for row in _lines(ids):
        at = found[row.queue_id or 0][row.resource, row.flavor.name if row.flavor else ""]
        at.nominal, at.mode = row.nominal, row.mode
        at.borrowing_limit, at.lending_limit = row.borrowing_limit, row.lending_limit
    for queue, line, used, borrowed in _held(ids):
        found[queue][line].used += used
        found[queue][line].borrowed += borrowed
    lent = lent_of_queues({queue.tenant_id for queue in queues})
    for pk in ids:
        for line, amount in lent.get(pk, {}).items():
            found[pk][line].lent += amount
    pools = {load.pool.pk: load for load in pool_loads(_pools(queues))}
    names = {flavor.flavor.pk: flavor.flavor.name for load in pools.values() for flavor in load.flavors}
    for ask in pending_asks():
        if ask.queue in found:
            _add_pending(found[ask.queue], ask, names)
    weights = weights_of_queues(ids)
    return {
        queue.pk: QueueNumbers(
            found[queue.pk],
            _share(weights[queue.pk], found[queue.pk], pools[queue.pool_id]),
            weights[queue.pk],
        )
        for queue in queues
    }


def _pools(queues: Sequence[Queue]) -> list[Pool]:
    return sorted({queue.pool_id: queue.pool for queue in queues}.values(), key=lambda pool: pool.pk)


def _lines(queues: Sequence[int]) -> Iterator[Quota]:
    at = clock.now()
    rows = Quota.objects.filter(queue_id__in=queues, valid_from__lte=at).filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=at)
    )
    yield from rows.select_related("flavor").order_by("id")


def _held(queues: Sequence[int]) -> Iterator[tuple[int, Line, int, int]]:
    rows = (
        Lease.objects.filter(closed_at__isnull=True, run__job__queue_id__in=queues)
        .values_list("run__job__queue_id", "flavor__name", "flavor__mig_profile", "borrowed")
        .annotate(units=Sum("quantity"), cpu=Sum("cpu_m"), memory=Sum("memory_mib"), vram=Sum("vram_mib"))
        .order_by()
    )
    for queue, flavor, profile, borrowed, units, cpu, memory, vram in rows:
        if flavor:
            cards = asked_m(units, profile)
            yield queue, (GPU, flavor), cards, cards if borrowed else 0
        for resource, amount in ((CPU, cpu), (MEMORY, memory), (VRAM, vram)):
            if amount:
                yield queue, (resource, ""), amount, 0


def _add_pending(lines: dict[Line, QuotaNumbers], ask: PendingAsk, names: Mapping[int, str]) -> None:
    if ask.flavor is not None and ask.flavor in names:
        lines[GPU, names[ask.flavor]].pending += ask.cards_m
    lines[CPU, ""].pending += ask.cpu_m
    lines[MEMORY, ""].pending += ask.memory_mib


def _share(weights: QueueWeights, lines: Mapping[Line, QuotaNumbers], pool: PoolLoad) -> Fraction | None:
    """The largest part of any resource that it uses, a card by its flavor's weight, over the effective weight."""
    weight = {
        load.flavor.name: equivalent_ppm(load.flavor.weight_ppm, load.flavor.mig_profile) for load in pool.flavors
    }
    cards = sum(load.total * weight[load.flavor.name] for load in pool.flavors)
    used = sum(numbers.used * weight.get(flavor, 0) for (_resource, flavor), numbers in lines.items() if flavor)
    parts = [
        Fraction(amount, capacity)
        for amount, capacity in (
            (used, cards),
            (lines[CPU, ""].used if (CPU, "") in lines else 0, pool.cpu_m),
            (lines[MEMORY, ""].used if (MEMORY, "") in lines else 0, pool.memory_mib),
        )
        if capacity
    ]
    if not parts:
        return None
    dominant = max(parts)
    if not dominant:
        return Fraction(0)
    divisor = weights.queue.found.effective_weight_ppm
    return dominant / Fraction(divisor, PPM) if divisor else None
