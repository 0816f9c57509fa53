"""One scheduling cycle: snapshot in, plan out. The order of the steps is here; each rule is in a file of its own."""

from scheduling.engine.candidates import CandidateBook
from scheduling.engine.classes import ClassBook
from scheduling.engine.decide import Decider
from scheduling.engine.explain import explain_waits
from scheduling.engine.holds import sort_pending
from scheduling.engine.impossible import Capacity
from scheduling.engine.loans import Lenders, end_strict_loans, settle_loans
from scheduling.engine.order import Contest
from scheduling.engine.plan import Evict, Plan
from scheduling.engine.policy import Policy
from scheduling.engine.printed import print_shares
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.starts import print_starts
from scheduling.engine.starvation import AgedBatch
from scheduling.engine.state import State, open_state
from scheduling.engine.tiers import TierRules


def run_cycle(snapshot: Snapshot, policy: Policy, now_ms: int) -> Plan:
    """Decide everything that can be decided at `now_ms`. Pure: the snapshot is unchanged, the same input gives the same plan."""
    state = open_state(snapshot, policy, now_ms)
    rules = TierRules(snapshot, policy, state.tree)
    classes = ClassBook(snapshot, state.tree.tenant, state.shares)
    candidates = CandidateBook(state)
    lenders = Lenders(state)
    line = sort_pending(snapshot, classes, now_ms)
    aged = AgedBatch(state.table, policy, len(snapshot.pools))
    contest = Contest(state, rules, classes, aged, line.eligible)
    capacity = Capacity(snapshot, state.table, state.tree, rules)
    decider = Decider(state, rules, contest, capacity, aged, candidates)
    decider.run()
    end_strict_loans(state)
    ids = snapshot.pending.ids
    return Plan(
        starts=print_starts(state, lenders),
        evicts=_print_evicts(state, candidates),
        loans=settle_loans(state),
        waits=explain_waits(state, decider, line.waits),
        shares=print_shares(state),
        order=tuple(ids[job] for job in decider.waiting if contest.class_of(job) not in decider.impossible),
    )


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
