"""What is out on loan, as tenants and their queues read it. The one place that says whose a loan's side is (SCH-16).

A loan crosses a tenant's boundary, so its side is the tenant's. What a queue lends is its part of that: by its own unused
nominal that it may lend, since this is what the tenant's lending room is made of.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from django.db.models import Q, Sum
from django.db.models.functions import Coalesce

from scheduling.models import Lease, LoanSide
from scheduling.selectors.asked_cards import asked_m
from scheduling.selectors.configured import Configured, configured

MILLI: Final = 1000
GPU: Final = "gpu"
VRAM: Final = "vram"

Line = tuple[str, str]
"""Resource and flavor name; the name is empty for everything but cards."""


def lent_of_tenants(tenants: Collection[int]) -> dict[int, dict[Line, int]]:
    """By tenant id: milli-cards by flavor, and the VRAM that goes with them in MiB. One query."""
    lent: dict[int, dict[Line, int]] = defaultdict(lambda: defaultdict(int))
    for tenant, _queue, flavor, vram, amount in _sides(tenants):
        _add(lent[tenant], flavor, vram, amount)
    return lent


def lent_of_queues(tenants: Collection[int]) -> dict[int, dict[Line, int]]:
    """By queue id, for all queues of the tenants; what no queue has room for stays the tenant's alone. One to three queries."""
    lent: dict[int, dict[Line, int]] = defaultdict(lambda: defaultdict(int))
    shared: dict[tuple[int, str, int], int] = defaultdict(int)
    for tenant, queue, flavor, vram, amount in _sides(tenants):
        if queue is not None:
            _add(lent[queue], flavor, vram, amount)
        else:
            shared[tenant, flavor, vram] += amount
    if not shared:
        return lent
    config = configured()
    held = _held_by_queue({tenant for tenant, _flavor, _vram in shared})
    for (tenant, flavor, vram), amount in sorted(shared.items()):
        room = {
            queue: left - lent[queue][GPU, flavor] for queue, left in _lendable(config, held, tenant, flavor).items()
        }
        for queue, part in _spread(amount, room).items():
            _add(lent[queue], flavor, vram, part)
    return lent


def _add(lines: dict[Line, int], flavor: str, vram_mib: int, amount_m: int) -> None:
    lines[GPU, flavor] += amount_m
    lines[VRAM, ""] += amount_m * vram_mib // MILLI


def _sides(tenants: Collection[int]) -> Iterator[tuple[int, int | None, str, int, int]]:
    """Tenant, queue where the side names one, flavor, its VRAM, and milli-cards of open loans."""
    rows = LoanSide.objects.filter(loan__ended_at__isnull=True).filter(
        Q(tenant__in=tenants) | Q(queue__tenant__in=tenants)
    )
    yield from (
        rows.annotate(owner=Coalesce("tenant_id", "queue__tenant_id"))
        .values_list("owner", "queue_id", "loan__flavor__name", "loan__flavor__vram_mib")
        .annotate(amount=Sum("amount_m"))
        .order_by()
    )


def _held_by_queue(tenants: Collection[int]) -> dict[tuple[int, str], int]:
    rows = (
        Lease.objects.filter(closed_at__isnull=True, flavor__isnull=False, run__job__tenant__in=tenants)
        .values_list("run__job__queue_id", "flavor__name", "flavor__mig_profile")
        .annotate(units=Sum("quantity"))
        .order_by()
    )
    return {(queue, flavor): asked_m(units, profile) for queue, flavor, profile, units in rows}


def _lendable(config: Configured, held: Mapping[tuple[int, str], int], tenant: int, flavor: str) -> dict[int, int]:
    """By queue id: nominal of the flavor that it neither uses nor keeps back by its lending limit."""
    tree, at = config.tree, config.tree_index.get(("tenant", tenant))
    columns = [column for column, key in enumerate(config.columns) if key == f"{GPU}:{flavor}"]
    if at is None or not columns:
        return {}
    [column] = columns
    ids = {node: pk for (kind, pk), node in config.tree_index.items() if kind == "queue"}
    return {
        ids[node]: min(
            tree.subtree[node][column] - tree.kept[node][column],
            tree.subtree[node][column] - held.get((ids[node], flavor), 0),
        )
        for node in tree.children[at]
    }


def _spread(amount: int, room: Mapping[int, int]) -> dict[int, int]:
    """In proportion to the room, never above it, by largest remainder, ties by id."""
    open_room = {queue: left for queue, left in sorted(room.items()) if left > 0}
    total = sum(open_room.values())
    amount = min(amount, total)
    if not amount:
        return {}
    parts = {queue: amount * left // total for queue, left in open_room.items()}
    rest = sorted(open_room, key=lambda queue: (-(amount * open_room[queue] % total), queue))
    for queue in rest[: amount - sum(parts.values())]:
        parts[queue] += 1
    return parts
