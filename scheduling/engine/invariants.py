"""SCH-23: what must hold of every plan before it is applied, checked from the snapshot anew and not from the cycle's own books.

`check` finds what a plan would break, `drop` takes the decisions that break something, and all they touch, out of it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from scheduling.engine.card_invariants import check_cards, check_ranks
from scheduling.engine.kept import STARTED
from scheduling.engine.nodes import NodeTable
from scheduling.engine.opening import free_now, tenants_by_queue, use_by_leaf
from scheduling.engine.plan import Evict, Placement, Plan, Start, Violation, Wait
from scheduling.engine.policy import Policy
from scheduling.engine.quota import Amount, QuotaTree, QuotaUse
from scheduling.engine.reservations import is_for, keeps_out, open_windows
from scheduling.engine.shared_cards import UNSAID_SLOT, open_cards_of
from scheduling.engine.snapshot import Id, Snapshot
from scheduling.engine.tiers import TierRules
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import NodeState, PreemptReason, ReservationKind, Tier, WaitCode


def check(snapshot: Snapshot, plan: Plan, now_ms: int = -1) -> tuple[Violation, ...]:
    """Everything that the plan would break, with the jobs whose decisions break it; empty for a sound plan.

    Windows of reservations are looked at where `now_ms` is given.
    """
    rules: tuple[Callable[[Snapshot, Plan], Iterator[Violation]], ...] = (
        _each_job_once,
        _gangs_whole,
        _nodes_not_over,
        _cards_held_once,
        _one_rank_on_mig,
        _quota_not_over,
        _only_those_who_may_leave,
        _only_those_who_may_move,
        _watermark_takes_over_committed,
        _resizes_inside_ranges,
    )
    found = [violation for rule in rules for violation in rule(snapshot, plan)]
    return (*found, *(_reserved_cards_left(snapshot, plan, now_ms) if now_ms >= 0 else ()))


def _each_job_once(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """Every waiting job is admitted or given a reason, and only one of the two."""
    decided = Counter([start.job for start in plan.starts] + [wait.job for wait in plan.waits])
    for job in snapshot.pending.ids:
        if decided.pop(job, 0) != 1:
            yield Violation("decided-once", (job,), "neither started nor waiting, or both")
    for job in decided:
        yield Violation("decided-once", (job,), "no such waiting job")


def _gangs_whole(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    place = {job: index for index, job in enumerate(snapshot.pending.ids)}
    for start in plan.starts:
        if start.job not in place:
            continue
        roles = snapshot.shapes[int(snapshot.pending.shape[place[start.job]])].roles
        pods = Counter(pod.role for pod in start.pods)
        for role in roles:
            if role.in_gang and not role.minimum <= pods[role.name] <= role.replicas:
                yield Violation("gang-whole", (start.job,), f"{role.name}: {pods[role.name]} of {role.minimum} pods")


def _added(plan: Plan) -> Iterator[tuple[Id, Placement]]:
    """(job, pod) of everything the plan places."""
    for start in plan.starts:
        yield from ((start.job, pod) for pod in start.pods)
    for resize in plan.resizes:
        yield from ((resize.job, pod) for pod in resize.added)


def _moved(snapshot: Snapshot, plan: Plan) -> Iterator[tuple[Id, Placement]]:
    """(job, pod) of everything the plan moves, as it stands on its target."""
    running, pods = snapshot.running, snapshot.pods
    moves = {(move.job, move.role, move.index): move for move in plan.moves}
    for row in range(len(pods.node)) if moves else ():
        run = int(pods.run[row])
        role = snapshot.shapes[int(running.shape[run])].roles[int(pods.role[row])].name
        move = moves.get((running.ids[run], role, int(pods.rank[row])))
        if move is not None:
            yield move.job, Placement(
                role=role, index=move.index, node=move.target, flavor=_flavor_of(snapshot, row), cards_m=int(pods.cards_m[row]),
                borrowed_m=int(pods.borrowed_m[row]), cpu_m=int(pods.cpu_m[row]), memory_mib=int(pods.memory_mib[row]),
                vram_mib=int(pods.vram_mib[row]), cards=move.cards,
            )  # fmt: skip


def _flavor_of(snapshot: Snapshot, row: int) -> Id | None:
    flavor = int(snapshot.pods.flavor[row])
    return snapshot.flavors[flavor].id if flavor >= 0 else None


def _nodes_not_over(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """No node gives more cards, CPU, memory or pods than it has free, and only ready nodes take any."""
    at = {node: index for index, node in enumerate(snapshot.nodes.ids)}
    open_cards = open_cards_of(snapshot, tenants_by_queue(snapshot))[1]
    free = free_now(snapshot, NodeTable(snapshot, NEVER), open_cards)
    opened = {(node, slot) for node, slots in open_cards.items() for slot in slots}
    unsaid = {node for node, slot in opened if slot >= UNSAID_SLOT}
    asked: dict[int, list[int]] = {}
    jobs: dict[int, list[Id]] = {}
    for job, pod in chain(_added(plan), _moved(snapshot, plan)):
        node = at[pod.node]
        total = asked.setdefault(node, [0, 0, 0, 0])
        cards_m = pod.cards_m
        if cards_m % CARD:
            cards_m = 0 if node in unsaid else _newly_opened(opened, node, pod)
        for axis, amount in enumerate((cards_m, pod.cpu_m, pod.memory_mib, 1)):
            total[axis] += amount
        jobs.setdefault(node, []).append(job)
    for node in sorted(asked):
        touching = tuple(dict.fromkeys(jobs[node]))
        over = [amount > 0 and amount > have for amount, have in zip(asked[node], free.free(node), strict=True)]
        if any(over):
            yield Violation(
                "node-not-over", touching, f"{snapshot.nodes.names[node]}: {asked[node]} of {free.free(node)}"
            )
        if snapshot.nodes.state[node] != NodeState.READY:
            yield Violation("node-ready", touching, snapshot.nodes.names[node])


def _cards_held_once(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """A card is in service and not over-held: whole by one, or in shares of one tenant (SCH-13)."""
    return check_cards(snapshot, chain(_added(plan), _moved(snapshot, plan)))


def _one_rank_on_mig(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """SCH-13: MIG instances do not talk to each other."""
    return check_ranks(snapshot, _added(plan))


def _newly_opened(opened: set[tuple[int, int]], node: int, pod: Placement) -> int:
    """Milli-cards that a share takes of those free as a whole: a card, where it is the first on it."""
    card = (node, pod.cards[0]) if pod.cards else (node, -1)
    if card in opened:
        return 0
    opened.add(card)
    return CARD


def _quota_not_over(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """Charged one by one, no start takes more than its queue may, and production stays inside its backed nominal."""
    tree = QuotaTree(snapshot.tree, len(snapshot.columns))
    use = QuotaUse(tree, use_by_leaf(snapshot))
    place = {job: index for index, job in enumerate(snapshot.pending.ids)}
    for start in plan.starts:
        if start.job not in place:
            continue
        job = place[start.job]
        queue, tier = snapshot.queues[int(snapshot.pending.queue[job])], int(snapshot.pending.tier[job])
        amounts = _charge(snapshot, start)
        if not use.allows(queue.node, amounts):
            yield Violation("quota-not-over", (start.job,), f"{queue.tenant}/{queue.name}")
        use.charge(queue.node, amounts, tier)
        if tier == Tier.PRODUCTION and not _is_backed(snapshot, tree, use, queue.node, amounts):
            yield Violation("production-nominal", (start.job,), f"{queue.tenant}/{queue.name}")


def _charge(snapshot: Snapshot, start: Start) -> tuple[Amount, ...]:
    column = {flavor.id: index for index, flavor in enumerate(snapshot.flavors)}
    count = len(column)
    totals: dict[int, int] = {}
    for pod in start.pods:
        if pod.flavor is not None:
            totals[column[pod.flavor]] = totals.get(column[pod.flavor], 0) + pod.cards_m
        for offset, amount in enumerate((pod.cpu_m, pod.memory_mib, pod.vram_mib)):
            totals[count + offset] = totals.get(count + offset, 0) + amount
    return tuple(sorted(totals.items()))


def _is_backed(snapshot: Snapshot, tree: QuotaTree, use: QuotaUse, leaf: int, amounts: tuple[Amount, ...]) -> bool:
    tenant = tree.tenant[leaf]
    for column, amount in amounts:
        if not amount or not tree.limited[column] or column >= len(snapshot.flavors):
            continue
        factor = snapshot.pools[snapshot.flavors[column].pool].factor_ppm
        held = sum(use.at(queue, column, Tier.PRODUCTION) for queue in tree.children[tenant] or [tenant])
        if held > tree.own(tenant, column) * ONE_PPM // factor:
            return False
    return True


def _only_those_who_may_leave(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """Nobody is evicted who may not be, nobody twice, and nobody for a job that will not get the place."""
    running = snapshot.running
    place = {job: index for index, job in enumerate(running.ids)}
    waits = {wait.job: wait.code for wait in plan.waits}
    seen: set[Id] = set()
    for evict in plan.evicts:
        run = place.get(evict.job, -1)
        asker = (evict.job,) if evict.for_job is None else (evict.for_job, evict.job)
        if run < 0 or running.queue[run] < 0 or running.tier[run] == Tier.PRODUCTION:
            yield Violation("may-be-evicted", asker, f"{evict.job} may not be evicted")
        elif running.leaving_ms[run] < NEVER or evict.job in seen:
            yield Violation("one-notice", asker, f"{evict.job} is leaving already")
        elif not _guarded_reason_holds(snapshot, evict, run):
            yield Violation("may-be-evicted", asker, f"{evict.job} may not leave by {evict.reason.value}")
        if evict.for_job is not None and waits.get(evict.for_job) != WaitCode.KEPT_FOR_PREEMPTED:
            yield Violation("evicted-for-somebody", asker, f"{evict.for_job} does not get the place")
        seen.add(evict.job)


def _watermark_takes_over_committed(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """SCH-15: only in pools that grant more than they have, after more than one sample, and only of tenants above what backs them."""
    victims = [evict for evict in plan.evicts if evict.reason is PreemptReason.WATERMARK]
    if not victims:
        return
    running, place = snapshot.running, {job: index for index, job in enumerate(snapshot.running.ids)}
    tree = QuotaTree(snapshot.tree, len(snapshot.columns))
    use = QuotaUse(tree, use_by_leaf(snapshot))
    rules = TierRules(snapshot, Policy(), tree)
    for evict in victims:
        queue = snapshot.queues[int(running.queue[place[evict.job]])]
        pool = snapshot.pools[queue.pool]
        columns = [column for column, flavor in enumerate(snapshot.flavors) if flavor.pool == queue.pool]
        over = any(rules.over_backed(use, tree.tenant[queue.node], column, queue.pool) for column in columns)
        if pool.factor_ppm <= ONE_PPM or pool.samples_above < 1 or not over:
            yield Violation("watermark-over-committed", (evict.job,), f"{queue.tenant}/{queue.name} in {pool.name}")


def _resizes_inside_ranges(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """SCH-10: one role of a job at a time, between its minimum and its full size, by pods that are there or new, and no one leaving."""
    running, place = snapshot.running, {job: index for index, job in enumerate(snapshot.running.ids)}
    leaving = {evict.job for evict in plan.evicts}
    seen: set[Id] = set()
    for resize in plan.resizes:
        run = place.get(resize.job, -1)
        roles = snapshot.shapes[int(running.shape[run])].roles if run >= 0 else ()
        at = next((index for index, role in enumerate(roles) if role.name == resize.role), -1)
        if at < 0:
            yield Violation("resize", (resize.job,), f"{resize.job} has no role {resize.role} that runs")
            continue
        rows = ((snapshot.pods.run == run) & (snapshot.pods.role == at)).nonzero()[0]
        ranks = set(snapshot.pods.rank[rows].tolist())
        role, new = roles[at], len(ranks) + len(resize.added) - len(resize.removed)
        fits = role.minimum <= new <= role.replicas if role.in_gang else new == role.replicas
        known = set(resize.removed) <= ranks and not ranks.intersection(pod.index for pod in resize.added)
        again = role.in_gang and (resize.job in seen or resize.job in leaving)
        if not fits or not known or again or (resize.old, resize.new) != (len(ranks), new):
            yield Violation("resize", (resize.job,), f"{resize.job}/{resize.role}: {resize.old} to {resize.new}")
        seen |= {resize.job} if role.in_gang else set()


def _reserved_cards_left(snapshot: Snapshot, plan: Plan, now_ms: int) -> Iterator[Violation]:
    """SCH-18: batch that a reservation keeps out leaves of its flavor what its own did not take. A place that was kept for it is its own."""
    kept_for = {row.job for row in snapshot.reservations if row.kind == ReservationKind.KEPT_FOR_JOB}
    place = {job: index for index, job in enumerate(snapshot.pending.ids)}
    let_go = {release.reservation for release in plan.releases}
    windows, _ = open_windows(snapshot, Policy(forecast_release_ms=NEVER), now_ms)
    for window in windows:
        row = window.reservation
        if row.flavor < 0 or row.id in let_go:
            continue
        taken, barred, jobs = window.used_m, 0, list[Id]()
        for start in plan.starts:
            job = place.get(start.job, -1)
            queue, tier = int(snapshot.pending.queue[job]), int(snapshot.pending.tier[job])
            cards_m = sum(pod.cards_m for pod in start.pods if pod.flavor == snapshot.flavors[row.flavor].id)
            taken += cards_m if is_for(row, queue, tier) else 0
            if cards_m and keeps_out(snapshot, row, queue, tier):
                barred += cards_m
                jobs += [start.job] if start.job not in kept_for else []
        if jobs and _free_of(snapshot, row.flavor) - barred < max(0, row.amount_m - taken):
            yield Violation("reserved-cards", tuple(jobs), f"{row.id}: {barred} beside {row.amount_m} kept")


def _free_of(snapshot: Snapshot, flavor: int) -> int:
    table = NodeTable(snapshot, NEVER)
    cards = free_now(snapshot, table, open_cards_of(snapshot, tenants_by_queue(snapshot))[1]).cards
    return sum(max(0, cards[node]) for node in range(len(table)) if table.flavor[node] == flavor)


def _guarded_reason_holds(snapshot: Snapshot, evict: Evict, run: int) -> bool:
    """Priority is between jobs of one queue and tier, fair sharing between queues (SCH-17); turns are of one tier and of those that
    write checkpoints (SCH-27)."""
    if evict.reason not in {PreemptReason.PRIORITY, PreemptReason.FAIR_SHARE, PreemptReason.TIME_SHARE}:
        return True
    if evict.for_job not in snapshot.pending.ids:
        return False
    pending, running, asker = snapshot.pending, snapshot.running, snapshot.pending.ids.index(evict.for_job)
    if evict.reason == PreemptReason.TIME_SHARE:
        return bool(pending.tier[asker] == running.tier[run] and running.checkpoints[run])
    same = (pending.queue[asker], pending.tier[asker]) == (running.queue[run], running.tier[run])
    if evict.reason == PreemptReason.PRIORITY:
        return bool(same and pending.priority[asker] >= running.priority[run])
    return bool(pending.queue[asker] != running.queue[run])


def _only_those_who_may_move(snapshot: Snapshot, plan: Plan) -> Iterator[Violation]:
    """Nobody is moved who may not be stopped, or who is told to leave as well."""
    running = snapshot.running
    place, told = {job: index for index, job in enumerate(running.ids)}, {evict.job for evict in plan.evicts}
    for job in dict.fromkeys(move.job for move in plan.moves):
        run = place.get(job, -1)
        if run < 0 or running.queue[run] < 0 or running.tier[run] == Tier.PRODUCTION:
            yield Violation("may-be-moved", (job,), f"{job} may not be moved")
        elif running.leaving_ms[run] < NEVER or job in told:
            yield Violation("may-be-moved", (job,), f"{job} is leaving")


def drop(plan: Plan, violations: tuple[Violation, ...]) -> Plan:
    """The plan without the decisions of the jobs named, and without what depends on them; those jobs wait as `planner-fault`."""
    faults: dict[Id, str] = {}
    for violation in violations:
        faults.update((job, violation.rule) for job in violation.jobs if job not in faults)
    askers = {evict.for_job for evict in plan.evicts if evict.job in faults and evict.for_job is not None}
    faults.update((job, "touched") for job in sorted(askers, key=str) if job not in faults)
    if not faults:
        return plan
    dropped = [start.job for start in plan.starts if start.job in faults]
    return replace(
        plan,
        starts=tuple(start for start in plan.starts if start.job not in faults),
        evicts=tuple(evict for evict in plan.evicts if evict.job not in faults and evict.for_job not in faults),
        resizes=tuple(resize for resize in plan.resizes if resize.job not in faults),
        reserves=tuple(reserve for reserve in plan.reserves if reserve.job not in faults),
        # A place kept for a job whose start is dropped stays kept: the next cycle releases it when it does start.
        releases=tuple(release for release in plan.releases if release.why != STARTED),
        recharges=tuple(recharge for recharge in plan.recharges if recharge.job not in faults),
        moves=tuple(move for move in plan.moves if move.job not in faults),
        waits=(
            *(_fault(wait.job, faults) if wait.job in faults else wait for wait in plan.waits),
            *(_fault(job, faults) for job in dropped if job not in {wait.job for wait in plan.waits}),
        ),
    )


def _fault(job: Id, faults: dict[Id, str]) -> Wait:
    return Wait(job, WaitCode.PLANNER_FAULT, detail=faults[job])
