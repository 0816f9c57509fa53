"""The quota tree and its queues for the snapshot: effective amounts are base rows plus transfers in force (SCH-03, SCH-25)."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import CPU, MEMORY, VRAM, Queue, TreeNode
from scheduling.engine.weights import weigh
from scheduling.selectors.queue_use import usage_of_queues
from scheduling.selectors.snapshot_cluster import ClusterTables
from scheduling.selectors.snapshot_rows import fetch

Key = tuple[str, int]
"""Kind of a tree node (`cohort`, `tenant`, `queue`) and its row's id."""
Lines = dict[Key, dict[int, list[int | None]]]
"""Per tree node and column: nominal, borrowing limit, lending limit."""


@dataclass(frozen=True, slots=True)
class TreeTables:
    """The tree sorted by (kind, id), queues sorted by id, and the look-ups that work on them needs."""

    tree: tuple[TreeNode, ...]
    queues: tuple[Queue, ...]
    node_index: Mapping[Key, int]
    queue_index: Mapping[int, int]
    stopped: frozenset[int]
    """Queues whose tenant, or own budget, lets nothing start."""


@dataclass(frozen=True, slots=True)
class _Entry:
    key: Key
    name: str
    parent: Key | None
    weight_ppm: int


def read_tree(now: datetime, cluster: ClusterTables) -> TreeTables:
    """Cohorts, tenants and queues with what they may use now, and their weights as they were set."""
    entries = sorted([*_cohorts(), *_tenants(), *_queue_entries()], key=lambda entry: entry.key)
    node_index = {entry.key: i for i, entry in enumerate(entries)}
    columns = {f"gpu:{flavor.id}": i for i, flavor in enumerate(cluster.flavors)}
    columns |= {name: len(cluster.flavors) + i for i, name in enumerate((CPU, MEMORY, VRAM))}
    lines = _read_lines(now, columns)
    _apply_transfers(now, columns, lines)
    tree = tuple(_tree_node(entry, node_index, lines[entry.key], len(columns)) for entry in entries)
    left = _budgets_left()
    queues, stopped = _read_queues(node_index, cluster.pool_index, left)
    return TreeTables(tree, queues, node_index, {int(queue.id): i for i, queue in enumerate(queues)}, stopped)


def weighed(tables: TreeTables, now: datetime, policy: Policy) -> TreeTables:
    """The same tree, weighed by what its queues have used until now (SCH-06); one query."""
    usage = {tables.node_index["queue", queue]: past for queue, past in usage_of_queues(now).items()}
    return replace(tables, tree=weigh(tables.tree, usage, policy))


def _cohorts() -> list[_Entry]:
    rows = fetch("SELECT id, name, parent_id, weight_ppm FROM tenants_cohort")
    return [
        _Entry(("cohort", pk), name, None if parent is None else ("cohort", parent), weight)
        for pk, name, parent, weight in rows
    ]


def _tenants() -> list[_Entry]:
    rows = fetch("SELECT id, slug, cohort_id, weight_ppm FROM tenants_tenant")
    return [
        _Entry(("tenant", pk), slug, None if cohort is None else ("cohort", cohort), weight)
        for pk, slug, cohort, weight in rows
    ]


def _queue_entries() -> list[_Entry]:
    rows = fetch(
        "SELECT q.id, t.slug || '/' || q.name, q.tenant_id, q.weight_ppm"
        " FROM tenants_queue q JOIN tenants_tenant t ON t.id = q.tenant_id"
    )
    return [_Entry(("queue", pk), name, ("tenant", tenant), weight) for pk, name, tenant, weight in rows]


def _read_lines(now: datetime, columns: Mapping[str, int]) -> Lines:
    """Lines in force; storage and IOPS are no business of placement."""
    lines: Lines = defaultdict(dict)
    for cohort, tenant, queue, resource, flavor, nominal, borrowing, lending in fetch(
        "SELECT cohort_id, tenant_id, queue_id, resource, flavor_id, nominal, borrowing_limit, lending_limit FROM tenants_quota"
        " WHERE valid_from <= %s AND (valid_to IS NULL OR valid_to > %s)",
        [now, now],
    ):
        column = columns.get(_column_name(resource, flavor))
        if column is not None:
            key = ("cohort", cohort) if cohort else ("tenant", tenant) if tenant else ("queue", queue)
            lines[key][column] = [nominal, borrowing, lending]
    return lines


def _column_name(resource: str, flavor: int | None) -> str:
    return f"gpu:{flavor}" if resource == "gpu" else resource


def _apply_transfers(now: datetime, columns: Mapping[str, int], lines: Lines) -> None:
    """Move nominal between queues, and between their tenants where a tenant has a line of its own; no sum changes."""
    for giver, giving_tenant, receiver, receiving_tenant, resource, flavor, amount in fetch(
        "SELECT t.giver_id, g.tenant_id, t.receiver_id, r.tenant_id, t.resource, t.flavor_id, t.amount"
        " FROM tenants_quotatransfer t JOIN tenants_queue g ON g.id = t.giver_id JOIN tenants_queue r ON r.id = t.receiver_id"
        " WHERE t.valid_from <= %s AND t.valid_to > %s ORDER BY t.id",
        [now, now],
    ):
        column = columns.get(_column_name(resource, flavor))
        if column is None:
            continue
        _add(lines, ("queue", giver), column, -amount)
        _add(lines, ("queue", receiver), column, amount)
        if giving_tenant != receiving_tenant:
            for key, delta in ((("tenant", giving_tenant), -amount), (("tenant", receiving_tenant), amount)):
                if column in lines[key]:
                    _add(lines, key, column, delta)


def _add(lines: Lines, key: Key, column: int, delta: int) -> None:
    line = lines[key].setdefault(column, [0, None, None])
    line[0] = max(0, (line[0] or 0) + delta)


def _tree_node(
    entry: _Entry, index: Mapping[Key, int], lines: Mapping[int, list[int | None]], columns: int
) -> TreeNode:
    found = [lines.get(column) for column in range(columns)]
    return TreeNode(
        id=entry.key[1],
        name=entry.name,
        kind=entry.key[0],
        parent=-1 if entry.parent is None else index[entry.parent],
        nominal=tuple(line[0] if line else None for line in found),
        borrowing=tuple(line[1] if line else None for line in found),
        lending=tuple(line[2] if line else None for line in found),
        weight_ppm=entry.weight_ppm,
        effective_weight_ppm=entry.weight_ppm,
    )


def _budgets_left() -> list[tuple[int, int | None, Decimal]]:
    """What hard-stop gates without a project leave: (tenant, queue or None for the whole tenant, amount)."""
    return [
        (tenant, queue, left)
        for tenant, queue, left in fetch(
            "SELECT tenant_id, queue_id, limit_amount - spent - reserved FROM tenants_budgetgate"
            " WHERE hard_stop AND limit_amount IS NOT NULL AND project_id IS NULL ORDER BY id"
        )
    ]


def _read_queues(
    node_index: Mapping[Key, int], pool_index: Mapping[int, int], left: list[tuple[int, int | None, Decimal]]
) -> tuple[tuple[Queue, ...], frozenset[int]]:
    rows = fetch(
        "SELECT q.id, t.slug || '/' || q.name, t.slug, q.pool_id, coalesce(c.name, ''), q.state, t.state, t.service_tier,"
        " q.loan_period_s, q.strict_expiry, q.max_pool_share_ppm, t.id FROM tenants_queue q"
        " JOIN tenants_tenant t ON t.id = q.tenant_id LEFT JOIN tenants_cohort c ON c.id = t.cohort_id ORDER BY q.id"
    )
    queues, stopped = [], set()
    for pk, name, tenant, pool, cohort, state, tenant_state, service_tier, loan_s, strict, share, tenant_id in rows:
        remaining = min((amount for of, queue, amount in left if of == tenant_id and queue in (None, pk)), default=None)
        if tenant_state == "budget-stopped" or (remaining is not None and remaining <= 0):
            stopped.add(pk)
        queues.append(
            Queue(
                id=pk,
                name=name,
                tenant=tenant,
                node=node_index["queue", pk],
                pool=pool_index[pool],
                cohort=cohort,
                open=state != "closed" and tenant_state != "closed",
                draining=state == "draining" or tenant_state == "closing",
                priority_tenant=service_tier == "priority",
                loan_period_ms=loan_s * 1000,
                strict_expiry=strict,
                max_pool_share_ppm=share,
                budget_remaining=remaining,
            )
        )
    return tuple(queues), frozenset(stopped)
