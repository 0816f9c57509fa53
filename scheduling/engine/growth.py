"""SCH-10: running jobs that change their size by themselves: up where nobody else could use the cards, and to a size they asked for.

They never take what a waiting job could use, and no one leaves for them. Whom a claim makes smaller is decided with the claim.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from scheduling.engine.asks import PodAsk
from scheduling.engine.cards import CardBook
from scheduling.engine.classes import ClassBook, JobClass
from scheduling.engine.elastic import is_elastic, resizable_role, size_above
from scheduling.engine.fit import end_of, find_later, pool_share_room
from scheduling.engine.loans import Lenders
from scheduling.engine.placement import Placed
from scheduling.engine.plan import LoanOpen, Placement, Resize
from scheduling.engine.snapshot import Id
from scheduling.engine.starts import borrowed_whole, print_pods
from scheduling.engine.state import State
from scheduling.engine.tiers import Standing, TierRules, borrowed_part
from scheduling.engine.topology import HOST
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import TopologyMode

IDLE_CARDS, ASKED_FOR = "idle-cards", "asked-for"
"""Why a job is resized that nobody else needed to be."""


@dataclass(slots=True, eq=False)
class Elastic:
    """A running job whose role `place` may be resized now. `ranks` are those of its pods, `most` the size it may grow to."""

    run: int
    job_class: JobClass
    place: int
    ask: PodAsk
    ranks: list[int]
    most: int
    ends_ms: int
    added: list[Placed] = field(default_factory=list)
    borrowed_m: int = 0
    """Of what was added."""

    @property
    def size(self) -> int:
        return len(self.ranks) + sum(sum(counts.values()) for placed in self.added for _, counts in placed)


def resize_running(
    state: State,
    rules: TierRules,
    classes: ClassBook,
    cards: CardBook,
    lenders: Lenders,
    *,
    still_waiting: Iterable[JobClass],
    recharged: Set[Id],
) -> tuple[Resize, ...]:
    """After everybody waiting had a turn: `still_waiting` are the classes of those who have no place kept and could ever run.

    Runs that are `recharged` in this cycle have their size looked at in the next one: only one of the two may change their loans.
    """
    elastic = [each for each in _elastic_runs(state, classes) if state.snapshot.running.runs[each.run] not in recharged]
    if not elastic:
        return ()
    waiting = list(dict.fromkeys(still_waiting))
    asked = [_shrink(state, each) for each in elastic if each.most < each.size]
    growing = [each for each in elastic if each.most > each.size and not _is_wanted(state, rules, each, waiting)]
    left = list(growing)
    while left:
        first = min(left, key=lambda each: _turn(state, each))
        if not _grow(state, rules, first):
            left.remove(first)
    return (*asked, *(_print_growth(state, cards, lenders, each) for each in growing if each.added))


def _elastic_runs(state: State, classes: ClassBook) -> list[Elastic]:
    """Those whose cooldown has passed, since their start or their last resize, and whose last change is done."""
    snapshot, running = state.snapshot, state.snapshot.running
    shapes = {index for index, shape in enumerate(snapshot.shapes) if is_elastic(shape)}
    found = []
    for run in range(len(running)) if shapes else ():
        shape = int(running.shape[run])
        if shape not in shapes or run in running.fixed or running.queue[run] < 0 or state.leaving_ms[run] < NEVER:
            continue
        cooldown_ms = snapshot.shapes[shape].elastic_cooldown_ms
        if state.now_ms < max(int(running.start_ms[run]), int(running.last_resize_ms[run])) + cooldown_ms:
            continue
        each = _elastic(state, classes.of(int(running.queue[run]), shape, int(running.tier[run])), run)
        if each is not None and run not in state.shrunk:
            found.append(each)
    return found


def _elastic(state: State, job_class: JobClass, run: int) -> Elastic | None:
    running, runs, pods = state.snapshot.running, state.runs, state.snapshot.pods
    place = resizable_role(job_class.shape)
    role = job_class.shape.roles[place]
    rows = [row for row in runs.rows(run) if int(pods.role[row]) == place]
    flavor = runs.flavor[rows[0]] if rows else -1
    asks = [
        ask for option in job_class.options for ask in option.gang if ask.role == role.name and ask.flavor == flavor
    ]
    if not rows or not asks:
        return None
    wanted = running.wanted.get(run, role.replicas)
    most = max(role.minimum, min(wanted, role.replicas))
    ends_ms = end_of(int(running.limit_ms[run]), int(running.start_ms[run]))
    return Elastic(run, job_class, place, asks[0], sorted(int(pods.rank[row]) for row in rows), most, ends_ms)


def _is_wanted(state: State, rules: TierRules, each: Elastic, waiting: Sequence[JobClass]) -> bool:
    """Whether a waiting job could use such cards: it accepts them, and quota would let it start at its smallest size."""
    for job_class in waiting:
        if job_class.pool != each.job_class.pool:
            continue
        for option in job_class.smallest:
            if each.ask.flavor >= 0 and all(ask.flavor != each.ask.flavor for ask in option.gang):
                continue
            barred = rules.standing(state.quota_after, job_class, option.amounts) == Standing.BARRED
            if not barred and state.quota_after.allows(job_class.leaf, option.amounts):
                return True
    return False


def _turn(state: State, each: Elastic) -> tuple[int, int, int, int, int]:
    """Who grows by a step next: as waiting jobs go, by tier, share, priority, submit and id."""
    running, step = state.snapshot.running, state.shares.vector(state.charge_of([(each.ask, 1)]))
    return (
        -each.job_class.tier,
        state.shares.projected_rank(each.job_class.leaf, step),
        -int(running.priority[each.run]),
        int(running.submit_ms[each.run]),
        each.run,
    )


def _grow(state: State, rules: TierRules, each: Elastic) -> bool:
    """One step, if there is room under every rule that a start is under."""
    shape, size = each.job_class.shape, each.size
    target = size_above(shape, each.place, size)
    if target is None or size >= each.most:
        return False
    ask = replace(each.ask, count=min(target, each.most) - size)
    share = pool_share_room(state, each.job_class)
    if share is not None and ask.cards_m * ask.count > share:
        return False
    only = _near(state, each) if shape.topology == TopologyMode.REQUIRED else None
    placed = find_later(state, rules, each.job_class, ask, each.ends_ms, borrows=True, only=only)
    if placed is None:
        return False
    amounts = state.charge_of([(ask, ask.count)])
    each.borrowed_m += borrowed_part(state.quota_after, each.job_class, amounts).get(ask.flavor, 0)
    state.occupy(each.job_class, amounts, placed, each.ends_ms)
    each.added.append(placed)
    return True


def _near(state: State, each: Elastic) -> frozenset[int]:
    """Nodes of the domain that a required topology holds the job in."""
    table, level = state.table, each.job_class.shape.level
    own = {state.runs.node[row] for row in state.runs.rows(each.run)}
    if level == HOST or level not in table.levels:
        return frozenset(own)
    domain = table.domain[table.levels.index(level)]
    inside = {domain[node] for node in own}
    return frozenset(node for node in range(len(table)) if domain[node] in inside)


def _shrink(state: State, each: Elastic) -> Resize:
    """To the size the job asked for, the highest index first."""
    running, role = state.snapshot.running, each.job_class.shape.roles[each.place]
    removed = tuple(reversed(each.ranks[each.most :]))
    return Resize(running.ids[each.run], role.name, each.size, each.most, ASKED_FOR, removed=removed)


def _print_growth(state: State, cards: CardBook, lenders: Lenders, each: Elastic) -> Resize:
    running = state.snapshot.running
    free = [rank for rank in range(each.size) if rank not in set(each.ranks)]
    added = tuple(_pods(state, cards, each, free))
    role = each.job_class.shape.roles[each.place]
    why = IDLE_CARDS if each.run not in running.wanted else ASKED_FOR
    loans = _loans(state, lenders, each, sum(pod.borrowed_m for pod in added))
    return Resize(running.ids[each.run], role.name, len(each.ranks), each.size, why, added=added, loans=loans)


def _pods(state: State, cards: CardBook, each: Elastic, ranks: Sequence[int]) -> Iterator[Placement]:
    """Under the ranks that are free; own first, in rank order (SCH-03)."""
    pods = [pod for placed in each.added for pod in print_pods(state.snapshot, cards, placed)]
    own_m = sum(pod.cards_m for pod in pods) - each.borrowed_m
    for pod, rank in zip(pods, ranks, strict=False):
        borrowed_m = borrowed_whole(pod.cards_m - min(pod.cards_m, max(0, own_m)), pod.cards_m)
        own_m -= pod.cards_m - borrowed_m
        yield replace(pod, index=rank, borrowed_m=borrowed_m)


def _loans(state: State, lenders: Lenders, each: Elastic, more_m: int) -> tuple[LoanOpen, ...]:
    """One of all that the job borrows by then, which ends when the one it had would have ended."""
    if not more_m:
        return ()
    snapshot = state.snapshot
    old = [loan for loan in snapshot.loans if loan.run == each.run and loan.flavor == each.ask.flavor]
    lenders.give_back(old)
    expires_ms = min((loan.expires_ms for loan in old), default=0)
    if expires_ms <= state.now_ms:
        expires_ms = state.now_ms + snapshot.queues[each.job_class.queue].loan_period_ms
    amount_m = more_m + sum(loan.amount_m for loan in old)
    return (lenders.open_loan(each.job_class.tenant, each.ask.flavor, amount_m, expires_ms),)
