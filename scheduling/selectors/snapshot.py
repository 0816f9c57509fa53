"""Committed rows -> the engine's Snapshot, in a constant number of queries (section 6, step 2). Reads only, decides nothing."""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import connection, transaction

from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Eviction, Loan, LoanSide, Reservation, Running, Snapshot
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import ReservationKind
from scheduling.selectors.snapshot_cluster import ClusterTables, read_cluster
from scheduling.selectors.snapshot_rows import fetch, frozen, ms_of
from scheduling.selectors.snapshot_tree import TreeTables, read_tree, weighed
from scheduling.selectors.snapshot_work import HOLDS, TIERS, read_work

FLAP_WINDOW = timedelta(minutes=30)
"""How far back evictions are told, so that no pair flaps; the policy's own window lies inside it."""


def load_snapshot(now: datetime, policy: Policy = PRESETS["default"]) -> Snapshot:
    """Everything one cycle decides on, as of one instant of the database. `now` is business time; the policy weighs past use.

    Outside a transaction all queries share one REPEATABLE READ snapshot; inside one they share the caller's.
    """
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return _load(now, policy)


def _load(now: datetime, policy: Policy) -> Snapshot:
    cluster = read_cluster(now)
    tree = weighed(read_tree(now, cluster), now, policy)
    work = read_work(now, cluster, tree)
    runs = {int(run): i for i, run in enumerate(work.running.runs)}
    loans = _read_loans(runs, cluster, tree)
    return Snapshot(
        flavors=cluster.flavors,
        pools=cluster.pools,
        nodes=cluster.nodes,
        cards=cluster.cards,
        tree=tree.tree,
        queues=tree.queues,
        shapes=work.shapes,
        pending=work.pending,
        running=_with_loan_ends(work.running, loans),
        pods=work.pods,
        loans=loans,
        reservations=_read_reservations(now, cluster, tree),
        evictions=_read_evictions(now, tree),
        holds=HOLDS,
    )


def _read_loans(runs: dict[int, int], cluster: ClusterTables, tree: TreeTables) -> tuple[Loan, ...]:
    sides: dict[int, list[LoanSide]] = defaultdict(list)
    for loan, queue, tenant, cohort, amount in fetch(
        "SELECT s.loan_id, s.queue_id, s.tenant_id, s.cohort_id, s.amount_m FROM scheduling_loanside s"
        " JOIN scheduling_loan l ON l.id = s.loan_id WHERE l.ended_at IS NULL ORDER BY s.id"
    ):
        key = ("queue", queue) if queue else ("tenant", tenant) if tenant else ("cohort", cohort)
        sides[loan].append(LoanSide(tree.node_index[key], amount))
    rows = fetch(
        f"SELECT id, run_id, flavor_id, amount_m, {ms_of('opened_at')}, {ms_of('expires_at')} FROM scheduling_loan"  # noqa: S608
        " WHERE ended_at IS NULL ORDER BY id"
    )
    return tuple(
        Loan(pk, runs[run], cluster.flavor_index[flavor], amount, opened, expires, tuple(sides[pk]))
        for pk, run, flavor, amount, opened, expires in rows
        if run in runs
    )


def _with_loan_ends(running: Running, loans: tuple[Loan, ...]) -> Running:
    """A run's loan ends when the first of its loans does."""
    if not loans:
        return running
    ends = running.loan_expires_ms.tolist()
    for loan in loans:
        ends[loan.run] = min(ends[loan.run], loan.expires_ms)
    return replace(running, loan_expires_ms=frozen(ends, running.loan_expires_ms.dtype.type))


def _read_reservations(now: datetime, cluster: ClusterTables, tree: TreeTables) -> tuple[Reservation, ...]:
    node_index = {int(pk): i for i, pk in enumerate(cluster.nodes.ids)}
    kept: dict[int, list[tuple[int, int]]] = defaultdict(list)
    seats: dict[int, list[tuple[str, int, int, int]]] = defaultdict(list)
    for reservation, node, cards, role, card, pods in fetch(
        "SELECT k.reservation_id, k.node_id, k.cards, k.role, k.card, k.pods FROM scheduling_reservationnode k"
        " JOIN scheduling_reservation r ON r.id = k.reservation_id WHERE r.released_at IS NULL ORDER BY k.node_id, k.id"
    ):
        kept[reservation].append((node_index[node], cards))
        if pods:
            seats[reservation].append((role, node_index[node], card, pods))
    rows = fetch(
        f"SELECT id, kind, {ms_of('from_at')}, coalesce({ms_of('to_at')}, {NEVER}), flavor_id, amount_m, queue_id, tier, job_id"  # noqa: S608
        " FROM scheduling_reservation WHERE released_at IS NULL AND (to_at IS NULL OR to_at > %s) ORDER BY id",
        [now],
    )
    return tuple(
        Reservation(
            id=pk,
            kind=ReservationKind(kind),
            from_ms=start,
            to_ms=end,
            flavor=cluster.flavor_index.get(flavor, -1),
            amount_m=amount,
            nodes=tuple(dict.fromkeys(node for node, _cards in kept[pk])),
            queue=tree.queue_index.get(queue, -1),
            tier=TIERS.get(tier, -1),
            job=job,
            cards=tuple((node, cards) for node, cards in kept[pk] if cards),
            pods=tuple(sorted(seats[pk])),
        )
        for pk, kind, start, end, flavor, amount, queue, tier, job in rows
    )


def _read_evictions(now: datetime, tree: TreeTables) -> tuple[Eviction, ...]:
    rows = fetch(
        f"SELECT e.queue_id, v.queue_id, v.id, {ms_of('p.notice_at')} FROM scheduling_preemption p"  # noqa: S608
        " JOIN scheduling_job v ON v.id = p.job_id JOIN scheduling_job e ON e.id = p.for_job_id"
        " WHERE p.notice_at > %s ORDER BY p.notice_at, p.id",
        [now - FLAP_WINDOW],
    )
    return tuple(
        Eviction(tree.queue_index[evictor], tree.queue_index[victim], job, at) for evictor, victim, job, at in rows
    )
