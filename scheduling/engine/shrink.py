"""SCH-10: whom a claim makes smaller before it makes anyone leave. Steps down to the minimum, the highest index first.

Where smaller sizes alone make no place, nobody is made smaller and the claim asks runs to leave. A resize inside its cooldown is
for nominal alone, and says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduling.engine.asking import Asking
from scheduling.engine.asks import Option
from scheduling.engine.candidates import Candidate, CandidateBook
from scheduling.engine.claims import Claim
from scheduling.engine.classes import JobClass
from scheduling.engine.elastic import resizable_role, size_below
from scheduling.engine.fit import heads_allow, within_pool_share
from scheduling.engine.free import shifted
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.plan import Resize
from scheduling.engine.runs import Part
from scheduling.engine.state import Kept, Shrunk, State
from scheduling.engine.tiers import Standing, TierRules, grace_ms
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import PreemptReason, Tier

IN_COOLDOWN = "-in-cooldown"
"""Added to the reason of a resize that overrides its cooldown."""
_OF_NOMINAL = frozenset({PreemptReason.YIELD, PreemptReason.LOAN_EXPIRED, PreemptReason.RECLAIM_NOMINAL})


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a run, with the pods it gives up and why it may be taken."""

    candidate: Candidate
    part: Part
    reason: str


def shrink_for(
    state: State, rules: TierRules, book: CandidateBook, job: int, job_class: JobClass, options: Sequence[Option]
) -> bool:
    """Make running jobs smaller for the job and keep its place; False, and nothing changed, where that is not enough."""
    shapes = book.elastic_shapes
    if not shapes or job_class.tier == Tier.BATCH:
        return False
    pending = state.snapshot.pending
    grace = max(state.policy.grace_batch_ms, state.policy.grace_development_ms)
    length = int(pending.limit_ms[job])
    ends_ms = NEVER if length >= NEVER else state.now_ms + grace + length
    for option in options:
        standing = rules.standing(state.quota_after, job_class, option.amounts)
        if standing == Standing.BARRED or not within_pool_share(state, job_class, option):
            continue
        flavors = frozenset(ask.flavor for ask in option.gang if ask.flavor >= 0)
        own, priority, submit_ms = standing == Standing.OWN, int(pending.priority[job]), int(pending.submit_ms[job])
        ask = Claim(job_class, option, own, flavors, ends_ms, priority, submit_ms)
        found = _Search(state, rules, book, ask, shapes).run()
        if found is not None:
            _commit(state, job, ask, *found)
            return True
    return False


def _commit(state: State, job: int, ask: Claim, steps: Sequence[Step], placed: Placed) -> None:
    """The pods are out of the picture of *after* already: note when they go, and for whom the place is."""
    for step in steps:
        run = step.candidate.run
        before = state.shrunk.get(run)
        reason = step.reason if before is None else before.reason
        rows = step.part.rows if before is None else (*before.rows, *step.part.rows)
        leaves_ms = state.now_ms + grace_ms(state.policy, step.candidate.tier)
        state.shrunk[run] = Shrunk(rows, reason, leaves_ms)
        for node, _ in step.part.footprint:
            state.leaves_on[node] = max(leaves_ms, state.leaves_on.get(node, state.now_ms))
            state.settle(node)
        state.touched.add(step.candidate.tenant)
    state.keep(Kept(job, ask.job_class, placed, ask.option.amounts, state.freed_ms(placed)))


class _Search:
    """One claim's steps in the picture of *after*: those it finds are out of it when it returns, nothing else."""

    def __init__(self, state: State, rules: TierRules, book: CandidateBook, ask: Claim, shapes: set[int]) -> None:
        self._state, self._rules, self._book, self._ask, self._shapes = state, rules, book, ask, shapes
        self._asking = Asking(state, book, ask)
        self._limits = state.limits_for(ask.job_class, ask.ends_ms)
        self._steps: list[Step] = []

    def run(self) -> tuple[list[Step], Placed] | None:
        if self._place() is not None:
            return None
        placed = None
        for candidate in self._candidates():
            while placed is None:
                step = self._next_step(candidate)
                if step is None:
                    break
                self._move(step, 1)
                self._steps.append(step)
                placed = self._place()
        if placed is None:
            for step in reversed(self._steps):
                self._move(step, -1)
            return None
        return self._steps, self._drop_unneeded(placed)

    def _candidates(self) -> list[Candidate]:
        """Elastic runs of the claim's own tenant and of borrowers, in the order in which they would be asked to leave."""
        tenant = self._ask.job_class.tenant
        tenants = {tenant} | {other for _, other in self._book.borrowers()}
        shape = self._state.snapshot.running.shape
        ranked = [
            ((not one.expired, self._book.share(owner), one.key), one)
            for owner in sorted(tenants)
            for one in self._book.of_tenant(owner)
            if int(shape[one.run]) in self._shapes and self._asking.is_useful(one)
        ]
        return [one for _, one in sorted(ranked, key=lambda entry: entry[0])]

    def _next_step(self, candidate: Candidate) -> Step | None:
        """The candidate's next step down, if the rules let the claim take it now."""
        state, run = self._state, candidate.run
        shape = state.snapshot.shapes[int(state.snapshot.running.shape[run])]
        place = resizable_role(shape)
        rows = [row for row in state.runs.rows(run) if int(state.snapshot.pods.role[row]) == place]
        smaller = size_below(shape, place, len(rows))
        if smaller is None or not self._asking.may_take(candidate):
            return None
        reason = self._asking.reasons[run]
        cooling = state.now_ms < self._last_ms(run) + shape.elastic_cooldown_ms
        if cooling and reason not in _OF_NOMINAL:
            return None
        ranks = sorted(rows, key=lambda row: int(state.snapshot.pods.rank[row]))
        text = f"{reason.value}{IN_COOLDOWN}" if cooling else reason.value
        return Step(candidate, state.runs.part(run, tuple(reversed(ranks[smaller:]))), text)

    def _last_ms(self, run: int) -> int:
        running = self._state.snapshot.running
        return max(int(running.start_ms[run]), int(running.last_resize_ms[run]))

    def _move(self, step: Step, sign: int) -> None:
        """Take a step's pods out of the picture of *after* (sign -1: put them back)."""
        state, run, part = self._state, step.candidate.run, step.part
        leaf, tier = state.runs.leaf[run], state.runs.tier[run]
        if sign > 0:
            state.runs.drop(run, part.rows)
        else:
            state.runs.restore(run, part.rows)
        for node, held in part.footprint:
            state.after.shift(node, held, sign)
        uses = [state.quota_after]
        for head in state.heads:
            if state.runs.ends_ms[run] > head.at_ms:
                uses.append(head.quota)
                for node, held in part.footprint:
                    if node in head.nodes:
                        head.nodes[node] = shifted(head.nodes[node], held, sign)
        for use in uses:
            change = use.refund if sign > 0 else use.charge
            change(leaf, part.amounts, tier)
        self._asking.moved(step.candidate)

    def _place(self) -> Placed | None:
        state, ask = self._state, self._ask
        job_class, amounts = ask.job_class, ask.option.amounts
        if not state.quota_after.allows(job_class.leaf, amounts):
            return None
        if not heads_allow(state, self._rules, job_class, amounts, ask.ends_ms):
            return None
        return place_gang(state.after, ask.option.gang, job_class.shape, pool=job_class.pool, limits=self._limits)

    def _drop_unneeded(self, placed: Placed) -> Placed:
        """The fewest steps that suffice: of each run the last steps are put back as long as there is a place without them."""
        for step in reversed(self._steps[:-1]):
            last = [other for other in self._steps if other.candidate is step.candidate][-1]
            if last is not step:
                continue
            self._move(step, -1)
            found = self._place()
            if found is None:
                self._move(step, 1)
            else:
                self._steps.remove(step)
                placed = found
        return placed


def print_shrunk(state: State) -> tuple[Resize, ...]:
    """As the plan states it. Who is to leave altogether after all does so as a whole."""
    running, pods, resizes = state.snapshot.running, state.snapshot.pods, []
    for run in sorted(state.shrunk):
        if state.leaving_ms[run] < NEVER:
            continue
        shape, shrunk = state.snapshot.shapes[int(running.shape[run])], state.shrunk[run]
        place = resizable_role(shape)
        left = sum(int(pods.role[row]) == place for row in state.runs.rows(run))
        removed = tuple(int(pods.rank[row]) for row in shrunk.rows)
        role = shape.roles[place].name
        grace = shrunk.leaves_ms - state.now_ms
        resizes.append(
            Resize(running.ids[run], role, left + len(removed), left, shrunk.reason, removed=removed, grace_ms=grace)
        )
    return tuple(resizes)
