"""What happens to the job whose turn it is: it starts, or others leave for it, or it waits, perhaps with a reservation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduling.engine.asks import Option
from scheduling.engine.backfill import Timeline, reserve_head
from scheduling.engine.candidates import CandidateBook
from scheduling.engine.classes import JobClass
from scheduling.engine.displace import displace_borrowers
from scheduling.engine.elastic import FEW_SIZES
from scheduling.engine.fit import Verdict, commit_start, end_of, find_smaller, find_start
from scheduling.engine.impossible import Capacity, Impossible
from scheduling.engine.order import Contest
from scheduling.engine.reservations import beside_kept
from scheduling.engine.shrink import shrink_for
from scheduling.engine.starvation import AgedBatch, keep_idle
from scheduling.engine.state import Head, Started, State
from scheduling.engine.tiers import TierRules
from scheduling.engine.time_share import TimeShare
from scheduling.engine.turns import PLAIN
from scheduling.engine.units import NEVER
from scheduling.engine.victims import claim
from scheduling.engine.watermark import may_start


@dataclass(slots=True)
class Decider:
    """Walks the contest's order. `waiting` ends up as that order without those who start; `behind` waits only for its turn."""

    state: State
    rules: TierRules
    contest: Contest
    capacity: Capacity
    aged: AgedBatch
    candidates: CandidateBook
    turns: TimeShare
    waiting: list[int] = field(default_factory=list)
    behind: set[int] = field(default_factory=set)
    impossible: dict[JobClass, Impossible] = field(default_factory=dict)
    head_of: dict[int, Head] = field(default_factory=dict)
    verdict_of: dict[JobClass, Verdict] = field(default_factory=dict)
    _ends_ms: list[int] = field(default_factory=list)
    """By waiting job: when it ends by its own limit if it starts now."""
    _priority: list[int] = field(default_factory=list)
    _first_borrower: int = 0
    _timeline: Timeline | None = None
    _heads: dict[int, int] = field(default_factory=dict)
    _kept_idle: dict[tuple[int, int], int] = field(default_factory=dict)
    _stopped_pools: set[int] = field(default_factory=set)
    _gave_quota: bool = False
    """Whether borrowers that stepped back gave up more quota than was taken."""

    def run(self) -> None:
        now_ms, limits = self.state.now_ms, self.state.snapshot.pending.limit_ms.tolist()
        self._ends_ms = [end_of(limit_ms, now_ms) for limit_ms in limits]
        self._priority = self.state.snapshot.pending.priority.tolist()
        self._first_borrower = len(self.state.borrowers)
        while (job := self.contest.pop()) >= 0:
            job_class = self.contest.class_of(job)
            if job in self.state.kept:
                self.contest.step(job_class)
                self.waiting.append(job)
            elif job_class.pool in self._stopped_pools:
                self.contest.step(job_class)
                self.behind.add(job)
                self.waiting.append(job)
            elif self._tried_all(job, job_class) or not (
                self._start(job, job_class)
                or self._displace(job, job_class)
                or self._claim(job, job_class)
                or self._start_smaller(job, job_class)
                or self._claim_smaller(job, job_class)
                or self._take_turn(job, job_class)
            ):
                self._wait(job, job_class)
        self._look_again()

    def _look_again(self) -> None:
        """Who steps back or leaves may give up more than is taken: whoever can start with the rest does not wait for the next cycle."""
        state, failed, started = self.state, self.verdict_of.keys(), set[int]()
        cards, anything = state.has_loosened()
        if self._gave_quota or cards:
            again = set(failed)
        else:
            again = {each for each in state.late if _has_quota_after(state, each)} if state.victims else set()
            again |= {each for each in failed if anything and not each.options[0].cards_m}
        again -= self.impossible.keys()
        if not again:
            return
        for job_class in again:
            job_class.blocked_from_ms = job_class.smaller_blocked_from_ms = NEVER + 1
        for job in self.waiting:
            job_class = self.contest.class_of(job)
            if job_class not in again or job in state.kept or job in self.behind:
                continue
            if self._start_after_all(job, job_class):
                started.add(job)
            elif not job_class.blocked_from_ms:
                again.discard(job_class)
                if not again:
                    break
        self.waiting = [job for job in self.waiting if job not in started]

    def _start_after_all(self, job: int, job_class: JobClass) -> bool:
        """A head does not stand in its own way."""
        heads, head = self.state.heads, self.head_of.get(job)
        place = next((at for at, each in enumerate(heads) if each is head), -1)
        if head is not None:
            del heads[place]
        if self._start(job, job_class) or self._start_smaller(job, job_class):
            self.head_of.pop(job, None)
            return True
        if head is not None:
            heads.insert(place, head)
        return False

    def _tried_all(self, job: int, job_class: JobClass) -> bool:
        """Most waiting jobs: another of the class, at least as short, found no room and nobody who could make any."""
        if self.turns.anywhere and self.turns.may_try(job, job_class):
            return False
        ends_ms = self._ends_ms[job]
        if len(job_class.sizes) > 1 and (
            ends_ms < job_class.smaller_blocked_from_ms or self._priority[job] > job_class.smaller_claim_failed
        ):
            return False
        return self._priority[job] <= job_class.claim_failed and ends_ms >= job_class.blocked_from_ms

    def _start(self, job: int, job_class: JobClass) -> bool:
        state = self.state
        ends_ms = self._ends_ms[job]
        if ends_ms >= job_class.blocked_from_ms:
            return False
        fit = find_start(state, self.rules, job_class, ends_ms)
        if fit.verdict == Verdict.FITS:
            commit_start(state, self.rules, job, job_class, fit, ends_ms)
            self._spend(job, job_class)
            return True
        job_class.blocked_from_ms = ends_ms if fit.verdict == Verdict.RESERVED else 0
        self.verdict_of[job_class] = fit.verdict
        return False

    def _displace(self, job: int, job_class: JobClass) -> bool:
        """Borrowers that were to start in this cycle step back for a job inside its tenant's nominal, but never out of a plain line.

        No run is stopped for it, so whether the policy evicts does not matter.
        """
        state = self.state
        if (
            job_class.claim_failed >= 0
            or state.policy.order in PLAIN
            or self.verdict_of.get(job_class) != Verdict.QUOTA
        ):
            return False
        ends_ms = self._ends_ms[job]
        first = self._first_borrower
        stepped_back = displace_borrowers(state, self.rules, job, job_class, ends_ms=ends_ms, first=first)
        for start in stepped_back:
            start.job_class.blocked_from_ms = 0
            self.waiting.append(start.job)
            self.contest.replay(start.job_class)
        if stepped_back:
            self._gave_quota |= _gives_more(stepped_back, state.started[-1])
            self._spend(job, job_class)
        return bool(stepped_back)

    def _claim(self, job: int, job_class: JobClass) -> bool:
        """Others leave for it: evictions and the placement that uses them are one decision (SCH-17)."""
        if self._priority[job] <= job_class.claim_failed or not self.state.policy.preemption:
            return False
        if self.verdict_of.get(job_class) == Verdict.RESERVED or self._is_held_back(job_class):
            return False
        if not self._make_room(job, job_class, job_class.options):
            job_class.claim_failed = self._priority[job]
            return False
        self.waiting.append(job)
        self._spend(job, job_class)
        return True

    def _make_room(self, job: int, job_class: JobClass, options: Sequence[Option]) -> bool:
        """Running jobs become smaller before anyone has to leave (SCH-10)."""
        asked = (self.state, self.rules, self.candidates, job, job_class, options)
        return shrink_for(*asked) or claim(*asked)

    def _claim_smaller(self, job: int, job_class: JobClass) -> bool:
        """The largest smaller size for which others make room, where none starts by itself."""
        state = self.state
        if (
            len(job_class.sizes) < 2
            or self._priority[job] <= job_class.smaller_claim_failed
            or not state.policy.preemption
        ):
            return False
        if job_class.smaller_blocked_from_ms > 0 or self._is_held_back(job_class):
            return False
        smaller = job_class.sizes[1:]
        tried = smaller if len(smaller) <= FEW_SIZES else (*smaller[:: len(smaller) // FEW_SIZES], smaller[-1])
        if any(self._make_room(job, job_class, options) for options in tried):
            self.waiting.append(job)
            self._spend(job, job_class)
            return True
        job_class.smaller_claim_failed = self._priority[job]
        return False

    def _start_smaller(self, job: int, job_class: JobClass) -> bool:
        """SCH-10: the largest smaller size, once the full one fits neither at once nor by anybody's leaving (case 36)."""
        ends_ms = self._ends_ms[job]
        if len(job_class.sizes) < 2 or ends_ms >= job_class.smaller_blocked_from_ms:
            return False
        fit = find_smaller(self.state, self.rules, job_class, ends_ms)
        if fit.verdict == Verdict.FITS:
            commit_start(self.state, self.rules, job, job_class, fit, ends_ms)
            self._spend(job, job_class)
            return True
        job_class.smaller_blocked_from_ms = ends_ms if fit.verdict == Verdict.RESERVED else 0
        return False

    def _is_held_back(self, job_class: JobClass) -> bool:
        """Nobody leaves, and no place is kept, for work that may not start: over-committed (SCH-15), on reserved cards (SCH-18)."""
        state = self.state
        if not state.held_back and state.kept_aside is None:
            return False
        return not any(
            may_start(state, self.rules, job_class, option)
            and beside_kept(state, job_class, option.gang, option.amounts)
            for option in job_class.smallest
        )

    def _take_turn(self, job: int, job_class: JobClass) -> bool:
        """SCH-27: the last resort."""
        if not self.turns.anywhere or not self.turns.may_try(job, job_class):
            return False
        if self.verdict_of.get(job_class) == Verdict.RESERVED or self._is_held_back(job_class):
            return False
        if not self.turns.take(job, job_class):
            self.turns.give_up(job, job_class)
            return False
        self.waiting.append(job)
        self._spend(job, job_class)
        return True

    def _spend(self, job: int, job_class: JobClass) -> None:
        if self.contest.starved[job] and self.aged.goes_ahead(job_class):
            self.aged.spend(job_class)
        self.contest.replay(job_class)

    def _wait(self, job: int, job_class: JobClass) -> None:
        self.contest.step(job_class)
        self.waiting.append(job)
        if self._can_never_run(job_class):
            return
        if self.state.policy.block == "head":
            self._stopped_pools.add(job_class.pool)
        elif self.state.policy.block == "backfill":
            self._reserve(job, job_class)

    def _can_never_run(self, job_class: JobClass) -> bool:
        """Asked once, when a class is first blocked: what became impossible blocks nobody (SCH-21)."""
        if not job_class.weighed:
            job_class.weighed = True
            found = self.capacity.find(job_class)
            if found:
                self.impossible[job_class] = found
        return job_class in self.impossible

    def _reserve(self, job: int, job_class: JobClass) -> None:
        """SCH-08 for the first blocked jobs of the pool; SCH-07 keeps idle cards for aged ones without a finite time."""
        head = None
        taken = self._heads.get(job_class.pool, 0)
        starved = self.contest.starved[job]
        heads = self.state.policy.backfill_heads
        if (taken >= heads and not starved) or self._is_held_back(job_class):
            return
        kept = self._kept_idle.get((job_class.pool, job_class.tier), 0)
        if taken < heads or (starved and kept < heads):
            self._heads[job_class.pool] = taken + 1
            if self._timeline is None:
                self._timeline = Timeline(self.state)
            head = reserve_head(self.state, self.rules, self._timeline, job, job_class)
            if head is not None:
                self.head_of[job] = head
        if starved and kept < heads:
            self._kept_idle[job_class.pool, job_class.tier] = kept + 1
            if head is None:
                keep_idle(self.state, self.rules, job, job_class)
            if self.aged.goes_ahead(job_class):
                self.aged.spend(job_class)


def _gives_more(given: Sequence[Started], taken: Started) -> bool:
    left = dict(taken.amounts)
    for start in given:
        for column, amount in start.amounts:
            left[column] = left.get(column, 0) - amount
    return min(left.values(), default=0) < 0


def _has_quota_after(state: State, job_class: JobClass) -> bool:
    return any(state.quota_after.allows(job_class.leaf, option.amounts) for option in job_class.options)
