"""One scheduling cycle: snapshot in, plan out. The order of the steps is here; each rule is in a file of its own."""

from scheduling.engine.candidates import CandidateBook
from scheduling.engine.cards import CardBook
from scheduling.engine.classes import ClassBook
from scheduling.engine.decide import Decider
from scheduling.engine.drain import drain
from scheduling.engine.explain import explain_waits
from scheduling.engine.growth import resize_running
from scheduling.engine.holds import sort_pending
from scheduling.engine.impossible import Capacity
from scheduling.engine.kept import Promises, print_backfill
from scheduling.engine.later import join_later
from scheduling.engine.loans import Lenders, end_strict_loans, renew_loans
from scheduling.engine.opening import open_state
from scheduling.engine.order import Contest
from scheduling.engine.plan import Evict, Move, Plan, Wait
from scheduling.engine.policy import Policy
from scheduling.engine.printed import print_shares
from scheduling.engine.reservations import keep_aside
from scheduling.engine.shrink import print_shrunk
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.split import Splitter
from scheduling.engine.starts import print_starts
from scheduling.engine.starvation import AgedBatch
from scheduling.engine.state import State
from scheduling.engine.tiers import TierRules
from scheduling.engine.time_share import TimeShare
from scheduling.engine.watermark import relieve


def run_cycle(snapshot: Snapshot, policy: Policy, now_ms: int, *, explain: bool = True) -> Plan:
    """Decide everything that can be decided at `now_ms`. Pure: the snapshot is unchanged, the same input gives the same plan.

    Without `explain` the decisions are the same, but shares are not printed and only those have a wait who do not compete: for
    replays, where nobody reads the reasons of a cycle.

    Ideally, one job after another: of all waiting jobs take the one that comes first (tier, nominal before borrowing, lowest
    projected share, priority, submit, id); start it where its quota and some nodes have room; if not, and it may, let others
    leave for it; if not, let it wait with its reason; and take the next, until all are decided.

    We depart from that, each time for a reason:

    1. Promises come first. Jobs that cards were kept for in earlier cycles get their places back, and start, before anyone is
       compared: who was evicted for them has already paid.
    2. Jobs of one queue, shape and tier are one class. In a cycle room only shrinks, so when one of them does not fit the rest of
       its class is not tried again; and reasons are worked out once per class, at the end, so that numbers are those of the end.
    3. Blocked jobs do not stop the line (backfill): the first of them are promised a time, and a later job may pass only where it
       cannot delay that. Those who waited too long stand first in their tier, and idle cards are kept for them.
    4. Freed cards are not handed out in the cycle that frees them. Notice is given now; whoever needs them waits with its place
       kept, and the next cycles start it.
    """
    state = open_state(snapshot, policy, now_ms)
    rules = TierRules(snapshot, policy, state.tree)
    classes = ClassBook(snapshot, state.tree.tenant, state.shares)
    line = sort_pending(snapshot, classes, now_ms)

    drain(state)
    candidates = CandidateBook(state)
    held_back = relieve(state, rules, candidates)
    promises = Promises(state, rules, classes)
    started = promises.honour([*line.eligible])
    state.held_back = held_back
    promises.releases += keep_aside(state, rules)

    aged = AgedBatch(state.table, policy)
    competing = {job: job_class for job, job_class in line.eligible.items() if job not in started}
    contest = Contest(state, rules, classes, aged, competing)
    capacity = Capacity(snapshot, state.table, state.tree, rules)
    turns = TimeShare(state, rules, candidates)
    decider = Decider(state, rules, contest, capacity, aged, candidates, turns)
    decider.run()

    return _print_plan(state, promises, decider, line.waits, explain=explain)


def _print_plan(state: State, promises: Promises, decider: Decider, barred: dict[int, Wait], *, explain: bool) -> Plan:
    """What follows from the decisions: roles that join, splits, loans, reservations; and all of it as the plan states it."""
    snapshot, contest = state.snapshot, decider.contest
    cards, lenders = CardBook(snapshot, state.runs.shares.values()), Lenders(state)
    resizes = join_later(state, decider.rules, contest.classes, cards)
    splitter = Splitter(state, lenders)
    splitter.run()
    end_strict_loans(state, splitter.now_own)
    waiting = (contest.class_of(job) for job in decider.waiting if job not in state.kept)
    able = (job_class for job_class in waiting if job_class not in decider.impossible)
    resizes += print_shrunk(state)
    resizes += resize_running(
        state, decider.rules, contest.classes, cards, lenders,
        still_waiting=able, recharged={recharge.run for recharge in splitter.recharges},
    )  # fmt: skip
    reserves = promises.reserves()
    backfills, replaced = print_backfill(
        state, [(head.job, head.placed, head.amounts, head.at_ms) for head in state.heads]
    )
    ids = snapshot.pending.ids
    return Plan(
        starts=print_starts(state, cards, lenders),
        evicts=_print_evicts(state, decider.candidates),
        resizes=resizes,
        reserves=(*reserves, *backfills),
        releases=(*promises.releases, *replaced),
        loans=(*splitter.loans, *renew_loans(state, {change.loan for change in splitter.loans})),
        recharges=tuple(splitter.recharges),
        moves=_print_moves(state, cards),
        waits=explain_waits(state, decider, barred, compete=explain),
        shares=print_shares(state) if explain else {},
        order=tuple(ids[job] for job in decider.waiting if contest.class_of(job) not in decider.impossible),
    )


def _print_moves(state: State, cards: CardBook) -> tuple[Move, ...]:
    snapshot, moves = state.snapshot, list[Move]()
    for moved in state.moves:
        for row in state.runs.rows(moved.run):
            role = snapshot.shapes[int(snapshot.running.shape[moved.run])].roles[int(snapshot.pods.role[row])]
            moves.append(
                Move(
                    job=snapshot.running.ids[moved.run],
                    role=role.name,
                    index=int(snapshot.pods.rank[row]),
                    source=snapshot.nodes.ids[moved.source],
                    target=snapshot.nodes.ids[moved.target],
                    cards=cards.take_whole(moved.target, state.runs.cards_m[row]),
                )
            )
    return tuple(moves)


def _print_evicts(state: State, candidates: CandidateBook) -> tuple[Evict, ...]:
    running = state.snapshot.running
    return tuple(
        Evict(
            job=running.ids[victim.run],
            run=running.runs[victim.run],
            for_job=victim.for_job,
            reason=victim.reason,
            grace_ms=candidates.grace_ms(victim.run),
            lost_card_ms=candidates.lost_card_ms(victim.run),
        )
        for victim in state.victims
    )
