"""Jobs, runs, their pods and shapes for the snapshot: columns straight from the database to arrays."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from scheduling.engine.snapshot import Pending, Pods, RoleAsk, Running, Shape
from scheduling.engine.units import CARD, NEVER
from scheduling.engine.vocabulary import Tier, TopologyMode, WaitCode
from scheduling.selectors.asked_cards import asked_m
from scheduling.selectors.snapshot_attained import read_attained
from scheduling.selectors.snapshot_cluster import ClusterTables
from scheduling.selectors.snapshot_dependencies import held_by_others
from scheduling.selectors.snapshot_rows import columns_of, fetch, frozen, ms_of, positions, to_ms
from scheduling.selectors.snapshot_sizes import read_sizes
from scheduling.selectors.snapshot_tree import TreeTables

HOLDS = (
    "",
    WaitCode.DEPENDENCY.value,
    WaitCode.ARRAY_LIMIT.value,
    WaitCode.BUDGET.value,
    WaitCode.BACKOFF.value,
    WaitCode.PLANNER_FAULT.value,
)
"""Bars that the loop knows of itself; a job's `hold` is a position here, the first that applies."""
PLANNER_FAULT_LIMIT = 3
UNITS_PER_MILLI = 7
"""Of real cards: time on cards is the same for an instance as for its part of one."""
LEFT_BEHIND_MS = 30_000
"""Cards of a fenced run are foreign occupation until its pods are gone, expected to be free this long after its end."""
TIERS = {tier.label: int(tier) for tier in Tier}
_NEVER = str(NEVER)
_PENDING = f"""WITH members AS MATERIALIZED (
        SELECT array_parent_id, count(*) FILTER (WHERE state IN ('starting', 'running', 'stopping')) AS active
        FROM scheduling_job WHERE array_parent_id IS NOT NULL AND ended_at IS NULL GROUP BY 1)
    SELECT j.id, j.queue_id, j.shape_key, j.tier, j.priority, {ms_of("j.order_at")}, {ms_of("j.eligible_at")},
    coalesce(j.max_runtime_s * 1000::bigint, {_NEVER}), coalesce(j.expected_runtime_s * 1000::bigint, {_NEVER}),
    coalesce({ms_of("j.deadline")}, {_NEVER}),
    CASE WHEN array_of.array_limit <= members.active + row_number() OVER (PARTITION BY j.array_parent_id ORDER BY j.id) - 1 THEN 2
        WHEN j.queue_id = ANY(%s) OR (j.refused_estimate IS NOT NULL AND EXISTS (SELECT 1 FROM tenants_budgetgate g
            WHERE g.hard_stop AND g.limit_amount < g.spent + g.reserved + j.refused_estimate AND g.tenant_id = j.tenant_id
            AND (g.queue_id IS NULL OR g.queue_id = j.queue_id) AND (g.project_id IS NULL OR g.project_id = j.project_id))) THEN 3
        WHEN j.backoff_until > %s THEN 4
        WHEN j.planner_faults >= {PLANNER_FAULT_LIMIT} THEN 5
        ELSE 0 END,
    coalesce({ms_of("j.backoff_until")}, 0), j.checkpoint_path <> ''
    FROM scheduling_job j LEFT JOIN scheduling_job array_of ON array_of.id = j.array_parent_id
    LEFT JOIN members ON members.array_parent_id = j.array_parent_id
    WHERE j.state = 'queued' ORDER BY j.id"""  # noqa: S608 - constants of this module only
"""Arrays are counted once whatever the planner believes: after a burst of submits its statistics still say that nothing waits."""
_RUN_COLUMNS = f"""j.shape_key, j.tier, j.priority, {ms_of("j.order_at")}, {ms_of("coalesce(r.started_at, r.admitted_at)")},
    coalesce(j.max_runtime_s * 1000::bigint, {_NEVER})"""
_SAVE_COLUMNS = f"""coalesce({ms_of("r.checkpoint_at")}, -1), j.checkpoint_path <> '',
    coalesce(j.checkpoint_interval_s * 1000::bigint, 0), coalesce({ms_of("r.last_resize_at")}, -1), j.id"""
_RUNNING = f"""SELECT j.id, r.id, j.queue_id, {_RUN_COLUMNS},
    CASE WHEN r.state = 'stopping' THEN {ms_of("coalesce(r.grace_until, r.stopping_at, r.admitted_at)")} ELSE {_NEVER} END,
    {_SAVE_COLUMNS}
    FROM scheduling_run r JOIN scheduling_job j ON j.id = r.job_id
    WHERE r.state IN ('admitted', 'starting', 'running', 'stopping')
    UNION ALL
    SELECT -r.id, r.id, NULL, {_RUN_COLUMNS}, {ms_of("r.ended_at")} + {LEFT_BEHIND_MS}, {_SAVE_COLUMNS}
    FROM scheduling_run r JOIN scheduling_job j ON j.id = r.job_id
    WHERE r.state = 'ended' AND r.id IN (SELECT run_id FROM scheduling_lease WHERE closed_at IS NULL)
    UNION ALL
    SELECT -r.id, -r.id, j.queue_id, {_RUN_COLUMNS}, {ms_of("gone.until")}, {_SAVE_COLUMNS}
    FROM scheduling_run r JOIN scheduling_job j ON j.id = r.job_id JOIN (
        SELECT p.run_id, max(p.leave_until) AS until FROM scheduling_lease l JOIN scheduling_pod p ON p.id = l.pod_id
        WHERE l.closed_at IS NULL AND p.released_at IS NOT NULL GROUP BY p.run_id) gone ON gone.run_id = r.id
    WHERE r.state IN ('admitted', 'starting', 'running', 'stopping')
    ORDER BY 1"""  # noqa: S608 - constants of this module only
"""Pods that were asked to leave a run which goes on are a run of their own that leaves, with the run's number below 0 (SCH-10)."""
_PODS = """SELECT CASE WHEN p.released_at IS NOT NULL AND r.state <> 'ended' THEN -l.run_id ELSE l.run_id END, p.role_name, p.index, l.node_id, max(l.flavor_id), sum(l.quantity)::bigint,
    coalesce(sum(l.quantity) FILTER (WHERE l.borrowed), 0)::bigint, sum(l.cpu_m)::bigint, sum(l.memory_mib)::bigint,
    sum(l.vram_mib)::bigint, coalesce(array_agg(c.index ORDER BY l.slot) FILTER (WHERE c.id IS NOT NULL), '{}')
    FROM scheduling_lease l JOIN scheduling_pod p ON p.id = l.pod_id JOIN scheduling_run r ON r.id = l.run_id
    LEFT JOIN scheduling_card c ON c.id = l.card_id
    WHERE l.closed_at IS NULL GROUP BY l.run_id, r.state, p.id, p.role_name, p.index, l.node_id"""

_HAD_ROLES = """SELECT DISTINCT p.run_id, p.role_name FROM scheduling_pod p JOIN scheduling_run r ON r.id = p.run_id
    WHERE NOT p.in_gang AND r.state IN ('admitted', 'starting', 'running')"""


@dataclass(frozen=True, slots=True)
class WorkTables:
    """Waiting and running work and what it asks for."""

    shapes: tuple[Shape, ...]
    pending: Pending
    running: Running
    pods: Pods


def read_work(now: datetime, cluster: ClusterTables, tree: TreeTables) -> WorkTables:
    """Jobs that wait for a start, jobs that hold something, and the pods they hold it with."""
    waiting = columns_of(fetch(_PENDING, [sorted(tree.stopped), now]), 13)
    running = columns_of(fetch(_RUNNING), 15)
    pod_rows = fetch(_PODS)
    book = _read_shapes(
        cluster, [*zip(waiting[0], waiting[2], strict=True), *zip(running[14], running[3], strict=True)]
    )
    attained, sizes = read_attained(), read_sizes(running[1])
    pods, held_m = _pods(pod_rows, running[1], running[3], book, cluster)
    return WorkTables(
        shapes=tuple(shape for shape, _key in book.values()),
        pending=_pending(waiting, book, tree, attained),
        running=replace(
            _running(running, book, tree, held_m, attained, to_ms(now)),
            had_roles=_had_roles(running[1], running[3], book),
            wanted=sizes.wanted,
            fixed=sizes.fixed,
            parts=sizes.parts,
        ),
        pods=pods,
    )


NONSENSE = Shape(roles=())
"""Stands for a job that has no roles, or names what is not there: barred as a planner fault."""
Book = dict[str, tuple[Shape, int]]
"""Shape and its index by shape key, in order of first use."""


def _pending(columns: Sequence[tuple[Any, ...]], book: Book, tree: TreeTables, attained: Mapping[int, int]) -> Pending:
    ids, queues, keys, tiers, priority, submit, eligible, limit, expected, deadline, hold, backoff, writes = columns
    dependent = held_by_others(ids)
    bars = [HOLDS.index(WaitCode.DEPENDENCY) if job in dependent else bar for job, bar in zip(ids, hold, strict=True)]
    return Pending(
        ids=ids,
        queue=positions(queues, sorted(tree.queue_index)),
        shape=frozen([book[key][1] for key in keys], np.int32),
        tier=frozen([TIERS[tier] for tier in tiers], np.int8),
        priority=frozen(priority, np.int32),
        submit_ms=frozen(submit, np.int64),
        eligible_ms=frozen(eligible, np.int64),
        limit_ms=frozen(limit, np.int64),
        expected_ms=frozen(expected, np.int64),
        deadline_ms=frozen(deadline, np.int64),
        hold=frozen([_bar(bar, book[key][0]) for bar, key in zip(bars, keys, strict=True)], np.int8),
        backoff_ms=frozen(backoff, np.int64),
        attained_card_ms=frozen([attained.get(job, 0) for job in ids], np.int64),
        checkpoints=frozen(writes, np.bool_),
    )


def _bar(bar: int, shape: Shape) -> int:
    return bar if shape.roles else HOLDS.index(WaitCode.PLANNER_FAULT)


def _running(
    columns: Sequence[tuple[Any, ...]],
    book: Book,
    tree: TreeTables,
    held_m: Mapping[int, int],
    attained: Mapping[int, int],
    now_ms: int,
) -> Running:
    (
        ids,
        runs,
        queues,
        keys,
        tiers,
        priority,
        submit,
        start,
        limit,
        leaving,
        saved,
        checkpoints,
        interval,
        resized,
        _job,
    ) = columns
    starts = frozen(start, np.int64)
    held = frozen([held_m.get(run, 0) for run in runs], np.int64)
    before = frozen([attained.get(job, 0) for job in ids], np.int64)
    return Running(
        ids=ids,
        runs=runs,
        queue=positions(queues, sorted(tree.queue_index)),
        shape=frozen([book[key][1] for key in keys], np.int32),
        tier=frozen([TIERS[tier] for tier in tiers], np.int8),
        priority=frozen(priority, np.int32),
        submit_ms=frozen(submit, np.int64),
        start_ms=starts,
        limit_ms=frozen(limit, np.int64),
        leaving_ms=frozen(leaving, np.int64),
        last_checkpoint_ms=_last_checkpoints(saved, checkpoints, interval, start, now_ms),
        checkpoints=frozen(checkpoints, np.bool_),
        loan_expires_ms=frozen([NEVER] * len(ids), np.int64),
        last_resize_ms=frozen(resized, np.int64),
        attained_card_ms=frozen((before + held * np.maximum(0, now_ms - starts) // CARD).tolist(), np.int64),
        split_known=frozen([True] * len(ids), np.bool_),
    )


def _last_checkpoints(
    saved: Sequence[int], checkpoints: Sequence[bool], interval: Sequence[int], start: Sequence[int], now_ms: int
) -> Any:
    """As reported; a job that reports nothing is judged by its interval (section 7)."""
    found = []
    for at, writes, every, began in zip(saved, checkpoints, interval, start, strict=True):
        steps = (now_ms - began) // every if at < 0 and writes and every else 0
        found.append(began + steps * every if steps > 0 else at)
    return frozen(found, np.int64)


def _pods(
    rows: Sequence[tuple[Any, ...]], runs: Sequence[int], keys: Sequence[str], book: Book, cluster: ClusterTables
) -> tuple[Pods, dict[int, int]]:
    """Pods by (run, role, rank), and the milli-cards of real cards that each run holds."""
    run_index = {run: i for i, run in enumerate(runs)}
    roles = [{role.name: i for i, role in enumerate(book[key][0].roles)} for key in keys]
    placed = [(run_index[row[0]], roles[run_index[row[0]]].get(row[1], -1), row) for row in rows if row[0] in run_index]
    placed.sort(key=lambda entry: (entry[0], entry[1], entry[2][2]))
    _runs, _roles, index, node, flavor, units, borrowed, cpu, memory, vram, cards = columns_of(
        [entry[2] for entry in placed], 11
    )
    held: dict[int, int] = defaultdict(int)
    for _at, _role, row in placed:
        held[row[0]] += row[5] // UNITS_PER_MILLI
    pods = Pods(
        run=frozen([entry[0] for entry in placed], np.int32),
        role=frozen([entry[1] for entry in placed], np.int32),
        rank=frozen(index, np.int32),
        node=positions(node, [int(each) for each in cluster.nodes.ids]),
        flavor=frozen([cluster.flavor_index.get(each, -1) for each in flavor], np.int32),
        cards_m=frozen(_asked(units, flavor, cluster), np.int64),
        borrowed_m=frozen(_asked(borrowed, flavor, cluster), np.int64),
        cpu_m=frozen(cpu, np.int64),
        memory_mib=frozen(memory, np.int64),
        vram_mib=frozen(vram, np.int64),
        cards=tuple(tuple(each) for each in cards),
    )
    return pods, held


def _asked(units: Sequence[int], flavors: Sequence[int | None], cluster: ClusterTables) -> list[int]:
    """What pods hold as their flavors count it."""
    profiles = {int(row.id): row.mig_profile for row in cluster.flavors}
    return [asked_m(each, profiles.get(flavor or 0)) for each, flavor in zip(units, flavors, strict=True)]


def _had_roles(runs: Sequence[int], keys: Sequence[str], book: Book) -> dict[int, frozenset[int]]:
    """By row of the running: roles outside the gang whose pods were made once."""
    run_index = {run: i for i, run in enumerate(runs)}
    had: dict[int, set[int]] = defaultdict(set)
    for run, name in fetch(_HAD_ROLES):
        row = run_index[run]
        had[row] |= {i for i, role in enumerate(book[keys[row]][0].roles) if role.name == name}
    return {row: frozenset(roles) for row, roles in had.items()}


def _read_shapes(cluster: ClusterTables, uses: Iterable[tuple[int, str]]) -> Book:
    """One shape a key, read from the job of that key with the smallest id, numbered in order of that id."""
    first: dict[str, int] = {}
    for job, key in uses:
        first[key] = min(job, first.get(key, job))
    jobs = sorted(first.values())
    roles: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in fetch(
        "SELECT r.job_id, r.name, r.replicas, r.minimum, r.cards_m, r.cpu_m, r.memory_mib, r.vram_mib, r.in_gang,"
        " coalesce(array_agg(f.flavor_id ORDER BY f.position) FILTER (WHERE f.id IS NOT NULL), '{}')"
        " FROM scheduling_role r LEFT JOIN scheduling_roleflavor f ON f.role_id = r.id WHERE r.job_id = ANY(%s)"
        " GROUP BY r.id ORDER BY r.job_id, r.position",
        [jobs],
    ):
        roles[row[0]].append(row[1:])
    details = fetch(
        "SELECT j.id, j.shape_key, j.topology_mode, j.topology_level, coalesce(j.elastic_step, 0), coalesce(j.elastic_cooldown_s, 600),"
        " j.objective, coalesce(array_agg(d.name) FILTER (WHERE d.id IS NOT NULL), '{}') FROM scheduling_job j"
        " LEFT JOIN scheduling_jobdataset d ON d.job_id = j.id WHERE j.id = ANY(%s) GROUP BY j.id ORDER BY j.id",
        [jobs],
    )
    return {row[1]: (_shape_or_none(row, roles[row[0]], cluster), i) for i, row in enumerate(details)}


def _shape_or_none(row: tuple[Any, ...], roles: Sequence[tuple[Any, ...]], cluster: ClusterTables) -> Shape:
    """A job whose rows make no sense must not stop the others from being planned (F44): it becomes a shape without roles."""
    try:
        return _shape(row, roles, cluster)
    except (KeyError, ValueError):
        return NONSENSE


def _shape(row: tuple[Any, ...], roles: Sequence[tuple[Any, ...]], cluster: ClusterTables) -> Shape:
    _job, _key, mode, level, step, cooldown_s, objective, datasets = row
    return Shape(
        roles=tuple(_role(role, cluster) for role in roles),
        topology=TopologyMode(mode),
        level=level,
        elastic_step=step,
        elastic_cooldown_ms=cooldown_s * 1000,
        objective=objective,
        datasets=frozenset(datasets),
    )


def _role(row: tuple[Any, ...], cluster: ClusterTables) -> RoleAsk:
    name, replicas, minimum, cards_m, cpu_m, memory_mib, vram_mib, in_gang, flavors = row
    return RoleAsk(
        name=name,
        replicas=replicas,
        minimum=minimum,
        cards_m=cards_m,
        flavors=tuple(cluster.flavor_index[flavor] for flavor in flavors),
        cpu_m=cpu_m,
        memory_mib=memory_mib,
        vram_mib=vram_mib,
        in_gang=in_gang,
    )
