"""Quota as people read it: own, lent, remaining, borrowed and what may still be borrowed, per tenant or queue, resource and flavor.

The arithmetic is the engine's own (`engine.quota`, SCH-03) on the tree as it stands now; this room only loads and names.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q, Sum

from berth.common import clock
from scheduling.engine.quota import EVERYBODY, QuotaTree, QuotaUse
from scheduling.engine.snapshot import TreeNode
from scheduling.engine.units import UNLIMITED
from scheduling.models import Lease, LoanSide
from tenants.models import Cohort, Queue, Quota, QuotaTransfer, Tenant

UNITS_PER_MILLI = 7
GPU = "gpu"
PLAIN = ("cpu", "memory", "vram")

Column = tuple[str, str]
"""(resource, flavor name); flavor is empty for everything but cards."""


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
    lending_limit: int | None

    @property
    def held(self) -> int:
        return self.own + self.borrowed


@dataclass(frozen=True, slots=True)
class _Tree:
    columns: tuple[Column, ...]
    nodes: tuple[TreeNode, ...]
    index: Mapping[tuple[str, int], int]
    tenant_queues: Mapping[int, Sequence[Queue]]


def tenant_quota_lines(tenant: Tenant) -> list[QuotaLine]:
    """The tenant's lines: cards by flavor name first, then CPU, memory, VRAM; only resources that are limited somewhere."""
    return _lines(tenant, "tenant", tenant.pk)


def queue_quota_lines(queue: Queue) -> list[QuotaLine]:
    """A queue's own lines. What a sibling queue of the tenant leaves it is not borrowed in the tenant's sense."""
    return _lines(queue.tenant, "queue", queue.pk)


def cohort_members(tenant: Tenant) -> frozenset[int]:
    """Ids of the tenants that lend to each other with this one (SCH-21 names tenants inside it only); itself included."""
    if tenant.cohort_id is None:
        return frozenset({tenant.pk})
    return frozenset(Tenant.objects.filter(cohort_id__in=_family(tenant.cohort_id)).values_list("pk", flat=True))


def _family(cohort_id: int) -> set[int]:
    parents = dict(Cohort.objects.values_list("pk", "parent_id"))
    root = cohort_id
    while parents.get(root) is not None:
        root = parents[root]  # type: ignore[assignment]
    family = {root}
    grew = True
    while grew:
        more = {pk for pk, parent in parents.items() if parent in family} - family
        family |= more
        grew = bool(more)
    return family


def _lines(tenant: Tenant, kind: str, pk: int) -> list[QuotaLine]:
    now = clock.now()
    tenants = cohort_members(tenant)
    tree = _load(tenant, tenants, now)
    arithmetic = QuotaTree(tree.nodes, len(tree.columns))
    held, borrowed = _held(tree, tenants)
    use = QuotaUse(arithmetic, [held, _nothing(tree), _nothing(tree)])
    lent = _lent(kind, pk)
    at = tree.index[kind, pk]
    lines = []
    for column, (resource, flavor) in enumerate(tree.columns):
        if not arithmetic.limited[column]:
            continue
        lines.append(
            _line(
                resource=resource,
                flavor=flavor,
                nominal=arithmetic.nominal[at][column],
                held=use.total[EVERYBODY][at][column],
                borrowed=borrowed[kind, pk].get((resource, flavor), 0),
                lent=lent.get((resource, flavor), 0),
                available=use.available(at, column),
                borrowing_limit=_limit(tree, arithmetic, at, column),
                lending_limit=tree.nodes[at].lending[column],
            )
        )
    return lines


def _line(
    *,
    resource: str,
    flavor: str,
    nominal: int,
    held: int,
    borrowed: int,
    lent: int,
    available: int,
    borrowing_limit: int | None,
    lending_limit: int | None,
) -> QuotaLine:
    borrowed = max(borrowed, held - nominal)
    own = held - borrowed
    lent = min(lent, nominal - own)
    remaining = nominal - own - lent
    can: int | None = None
    if available < UNLIMITED:
        can = max(0, available - remaining)
    if borrowing_limit is not None:
        room = max(0, borrowing_limit - borrowed)
        can = room if can is None else min(can, room)
    return QuotaLine(resource, flavor, nominal, own, lent, remaining, borrowed, can, borrowing_limit, lending_limit)


def _limit(tree: _Tree, arithmetic: QuotaTree, at: int, column: int) -> int | None:
    """The node's borrowing limit; a tenant without one of its own is limited by what its queues may borrow together."""
    own = tree.nodes[at].borrowing[column]
    if own is not None or tree.nodes[at].kind != "tenant":
        return own
    total = 0
    for child in arithmetic.children[at]:
        if tree.nodes[child].nominal[column] is None:
            continue
        limit = tree.nodes[child].borrowing[column]
        if limit is None:
            return None
        total += limit
    return total


def _load(tenant: Tenant, tenants: frozenset[int], now: datetime) -> _Tree:
    family = _family(tenant.cohort_id) if tenant.cohort_id else set()
    cohorts = {cohort.pk: cohort for cohort in Cohort.objects.filter(pk__in=family)}
    members = list(Tenant.objects.filter(pk__in=tenants).order_by("slug"))
    queues = list(Queue.objects.filter(tenant_id__in=tenants).order_by("tenant_id", "name"))
    rows = list(
        Quota.objects.filter(
            Q(cohort_id__in=family) | Q(tenant_id__in=tenants) | Q(queue__tenant_id__in=tenants), valid_from__lte=now
        )
        .filter(Q(valid_to__isnull=True) | Q(valid_to__gt=now))
        .select_related("flavor")
    )
    columns = _columns(rows)
    lines = _rows_by_node(rows)
    moved = _transfers([queue.pk for queue in queues], now)
    nodes: list[TreeNode] = []
    index: dict[tuple[str, int], int] = {}

    def put(kind: str, pk: int, name: str, parent: int) -> None:
        index[kind, pk] = len(nodes)
        nodes.append(
            _node(
                kind, pk, name, parent, columns, lines.get((kind, pk), {}), moved.get(pk, {}) if kind == "queue" else {}
            )
        )

    for pk in _parents_first(cohorts):
        parent = cohorts[pk].parent_id
        put("cohort", pk, cohorts[pk].name, index.get(("cohort", parent), -1) if parent else -1)
    by_tenant: dict[int, list[Queue]] = defaultdict(list)
    for queue in queues:
        by_tenant[queue.tenant_id].append(queue)
    for member in members:
        put("tenant", member.pk, member.slug, index[("cohort", member.cohort_id)] if member.cohort_id else -1)
        for queue in by_tenant[member.pk]:
            put("queue", queue.pk, queue.name, index["tenant", member.pk])
    return _Tree(columns, tuple(nodes), index, by_tenant)


def _columns(rows: Iterable[Quota]) -> tuple[Column, ...]:
    flavors = sorted({row.flavor.name for row in rows if row.flavor is not None})
    return (*((GPU, name) for name in flavors), *((resource, "") for resource in PLAIN))


def _rows_by_node(rows: Iterable[Quota]) -> dict[tuple[str, int], dict[Column, Quota]]:
    found: dict[tuple[str, int], dict[Column, Quota]] = defaultdict(dict)
    for row in rows:
        node = (
            ("cohort", row.cohort_id)
            if row.cohort_id
            else ("tenant", row.tenant_id)
            if row.tenant_id
            else ("queue", row.queue_id)
        )
        found[node][row.resource, row.flavor.name if row.flavor else ""] = row  # type: ignore[index]
    return found


def _transfers(queues: Sequence[int], now: datetime) -> dict[int, dict[Column, int]]:
    """Deltas in force: effective quota = base row + active transfers (DESIGN section 4)."""
    moved: dict[int, dict[Column, int]] = defaultdict(lambda: defaultdict(int))
    rows = QuotaTransfer.objects.filter(
        Q(giver_id__in=queues) | Q(receiver_id__in=queues), valid_from__lte=now, valid_to__gt=now
    )
    for row in rows.select_related("flavor"):
        column = (row.resource, row.flavor.name if row.flavor else "")
        moved[row.giver_id][column] -= row.amount
        moved[row.receiver_id][column] += row.amount
    return moved


def _node(
    kind: str,
    pk: int,
    name: str,
    parent: int,
    columns: Sequence[Column],
    lines: Mapping[Column, Quota],
    moved: Mapping[Column, int],
) -> TreeNode:
    def nominal(column: Column) -> int | None:
        if column not in lines and column not in moved:
            return None
        return max(0, (lines[column].nominal if column in lines else 0) + moved.get(column, 0))

    def of(column: Column, field: str) -> int | None:
        return getattr(lines[column], field) if column in lines else None

    return TreeNode(
        id=pk,
        name=name,
        kind=kind,
        parent=parent,
        nominal=tuple(nominal(column) for column in columns),
        borrowing=tuple(of(column, "borrowing_limit") for column in columns),
        lending=tuple(of(column, "lending_limit") for column in columns),
    )


def _parents_first(cohorts: Mapping[int, Cohort]) -> list[int]:
    ordered: list[int] = []
    while len(ordered) < len(cohorts):
        ordered.extend(
            pk
            for pk in sorted(cohorts)
            if pk not in ordered and (cohorts[pk].parent_id not in cohorts or cohorts[pk].parent_id in ordered)
        )
    return ordered


def _held(tree: _Tree, tenants: frozenset[int]) -> tuple[list[list[int]], dict[tuple[str, int], dict[Column, int]]]:
    """What open leases hold per tree node and column, and how much of it is borrowed per tenant and queue (cards, VRAM)."""
    held = _nothing(tree)
    borrowed: dict[tuple[str, int], dict[Column, int]] = defaultdict(lambda: defaultdict(int))
    at_column = {column: number for number, column in enumerate(tree.columns)}
    rows: Any = (
        Lease.objects.filter(closed_at__isnull=True, run__job__tenant_id__in=tenants)
        .values(
            tenant=F("run__job__tenant_id"), queue=F("run__job__queue_id"), name=F("flavor__name"), lent=F("borrowed")
        )
        .annotate(units=Sum("quantity"), cpu=Sum("cpu_m"), memory=Sum("memory_mib"), vram=Sum("vram_mib"))
        .order_by()
    )
    for row in rows:
        leaf = held[tree.index["queue", row["queue"]]]
        amounts: dict[Column, int] = {("cpu", ""): row["cpu"], ("memory", ""): row["memory"], ("vram", ""): row["vram"]}
        if row["name"]:
            amounts[GPU, row["name"]] = row["units"] // UNITS_PER_MILLI
        for column, amount in amounts.items():
            if column in at_column:
                leaf[at_column[column]] += amount
            if row["lent"] and column[0] in (GPU, "vram"):
                borrowed["tenant", row["tenant"]][column] += amount
                borrowed["queue", row["queue"]][column] += amount
    return held, borrowed


def _lent(kind: str, pk: int) -> dict[Column, int]:
    """Cards out on loan, and the VRAM that goes with them."""
    lent: dict[Column, int] = defaultdict(int)
    owner = {"tenant": "tenant_id", "queue": "queue_id"}[kind]
    rows = LoanSide.objects.filter(loan__ended_at__isnull=True, **{owner: pk}).values_list(
        "loan__flavor__name", "loan__flavor__vram_mib", "amount_m"
    )
    for name, vram, amount in rows:
        lent[GPU, name] += amount
        lent["vram", ""] += amount * vram // 1000
    return lent


def _nothing(tree: _Tree) -> list[list[int]]:
    return [[0] * len(tree.columns) for _ in tree.nodes]
