"""Quota as people read it: own, lent, remaining, borrowed and what may still be borrowed, per tenant or queue, resource and flavor.

The arithmetic is the engine's own (`engine.quota`, SCH-03) on the tree as it is configured; this room counts leases and names.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F, Sum

from scheduling.engine.quota import LEVELS, QuotaTree, QuotaUse
from scheduling.engine.units import UNLIMITED
from scheduling.models import Lease
from scheduling.selectors.asked_cards import asked_m
from scheduling.selectors.configured import Configured, configured
from scheduling.selectors.lent import lent_of_queues, lent_of_tenants
from tenants.models import Queue, Tenant

MILLI: Final = 1000
GPU: Final = "gpu"

Line = tuple[str, str]
"""Resource and flavor name; the name is empty for everything but cards."""


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One resource of one tenant or queue, in its inner unit (milli-cards, millicores, MiB).

    own + lent + remaining = nominal; None in a limit or in `can_borrow` is no limit. What was held when a quota was cut
    counts as borrowed beyond the new nominal, and remaining is 0, never negative.
    """

    resource: str
    flavor: str
    nominal: int
    own: int
    lent: int
    remaining: int
    borrowed: int
    can_borrow: int | None
    borrowing_limit: int | None

    @property
    def held(self) -> int:
        return self.own + self.borrowed


@dataclass(frozen=True, slots=True)
class _Held:
    """What open leases hold per queue (tree node) and column, and how much of it is borrowed, by tenant and by queue id."""

    leaves: list[list[int]]
    borrowed: Mapping[tuple[str, int], Mapping[Line, int]]


def tenant_quota_lines(tenant: Tenant) -> list[QuotaLine]:
    """The tenant's lines: cards by flavor, then CPU, memory, VRAM; resources that are limited and concern it."""
    return _lines(tenant.pk, "tenant", tenant.pk)


def queue_quota_lines(queue: Queue) -> list[QuotaLine]:
    """A queue's own lines. What a sibling queue of the tenant leaves it is not borrowed in the tenant's sense."""
    return _lines(queue.tenant_id, "queue", queue.pk)


def cohort_members(tenant: Tenant) -> frozenset[int]:
    """Ids of the tenants that lend to each other with this one (SCH-21 names tenants inside it only); itself included."""
    config = configured()
    at = config.tree_index.get(("tenant", tenant.pk))
    return frozenset({tenant.pk}) if at is None else frozenset(_members(config, at))


def _members(config: Configured, at: int) -> list[int]:
    root = config.tree.path[at][-1]
    return [
        pk for (kind, pk), node in config.tree_index.items() if kind == "tenant" and config.tree.path[node][-1] == root
    ]


def _lines(tenant: int, kind: str, pk: int) -> list[QuotaLine]:
    config = configured()
    tree, at = config.tree, config.tree_index.get((kind, pk))
    if at is None:
        return []
    held = _held(config, _members(config, config.tree_index["tenant", tenant]))
    use = QuotaUse(tree, [held.leaves, *([_nothing(tree)] * (LEVELS - 1))])
    found = lent_of_tenants([tenant]) if kind == "tenant" else lent_of_queues([tenant])
    lent: Mapping[Line, int] = found.get(pk, {})
    family = [at, *tree.children[at]]
    lines = []
    for column, key in enumerate(config.columns):
        line = _line_of(key)
        used = sum(held.leaves[node][column] for node in family)
        concerned = used or lent.get(line) or any(tree.nodes[node].nominal[column] is not None for node in family)
        if not tree.limited[column] or not concerned:
            continue
        lines.append(
            _line(
                line,
                nominal=tree.nominal[at][column],
                held=used,
                borrowed=held.borrowed[kind, pk].get(line, 0),
                lent=lent.get(line, 0),
                available=use.available(at, column),
                limit=_limit(tree, at, column),
            )
        )
    return lines


def _line(
    line: Line, *, nominal: int, held: int, borrowed: int, lent: int, available: int, limit: int | None
) -> QuotaLine:
    borrowed = max(borrowed, held - nominal)
    own = held - borrowed
    lent = min(lent, nominal - own)
    remaining = nominal - own - lent
    can = None if available >= UNLIMITED else max(0, available - remaining)
    if limit is not None:
        room = max(0, limit - borrowed)
        can = room if can is None else min(can, room)
    return QuotaLine(*line, nominal, own, lent, remaining, borrowed, can, limit)


def _limit(tree: QuotaTree, at: int, column: int) -> int | None:
    """The node's borrowing limit; a tenant without one of its own is limited by what its queues may borrow together."""
    own = tree.nodes[at].borrowing[column]
    if own is not None or tree.nodes[at].kind != "tenant":
        return own
    total = 0
    for child in tree.children[at]:
        if tree.nodes[child].nominal[column] is None:
            continue
        limit = tree.nodes[child].borrowing[column]
        if limit is None:
            return None
        total += limit
    return total


def _held(config: Configured, tenants: list[int]) -> _Held:
    leaves = _nothing(config.tree)
    borrowed: dict[tuple[str, int], dict[Line, int]] = defaultdict(lambda: defaultdict(int))
    at_column = {_line_of(key): column for column, key in enumerate(config.columns)}
    rows: Any = (
        Lease.objects.filter(closed_at__isnull=True, run__job__tenant_id__in=tenants)
        .values(
            tenant=F("run__job__tenant_id"),
            queue=F("run__job__queue_id"),
            name=F("flavor__name"),
            profile=F("flavor__mig_profile"),
            on_loan=F("borrowed"),
        )
        .annotate(units=Sum("quantity"), cpu=Sum("cpu_m"), memory=Sum("memory_mib"), vram=Sum("vram_mib"))
        .order_by()
    )
    for row in rows:
        leaf = config.tree_index.get(("queue", row["queue"]))
        amounts: dict[Line, int] = {("cpu", ""): row["cpu"], ("memory", ""): row["memory"], ("vram", ""): row["vram"]}
        if row["name"]:
            amounts[GPU, row["name"]] = asked_m(row["units"], row["profile"])
        for line, amount in amounts.items():
            if leaf is not None and line in at_column:
                leaves[leaf][at_column[line]] += amount
            if row["on_loan"] and line[0] in (GPU, "vram"):
                borrowed["tenant", row["tenant"]][line] += amount
                borrowed["queue", row["queue"]][line] += amount
    return _Held(leaves, borrowed)


def _line_of(key: str) -> Line:
    """`gpu:a100-80g`, `cpu`, `memory_gib`, `vram_gib` → resource and flavor."""
    resource, _colon, flavor = key.partition(":")
    return resource.removesuffix("_gib"), flavor


def _nothing(tree: QuotaTree) -> list[list[int]]:
    return [[0] * tree.columns for _ in tree.nodes]
