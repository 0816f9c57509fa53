"""SCH-04, SCH-16: a borrower that was to start in this very cycle steps back where a job inside its tenant's nominal needs the quota.

The contest compares only the queues' next jobs, so a borrower may be reached before a nominal job that stands behind a blocked head
of its own line. Starting the one now and evicting it a second later would help nobody: the start is taken back before it is made.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from scheduling.engine.classes import JobClass
from scheduling.engine.fit import Verdict, commit_start, find_start
from scheduling.engine.state import Started, State
from scheduling.engine.tiers import Standing, TierRules, best_standing
from scheduling.engine.vocabulary import Tier

MOST_STARTS = 64
"""How many of the cycle's latest borrowing starts are looked at."""


def displace_borrowers(
    state: State, rules: TierRules, job: int, job_class: JobClass, *, ends_ms: int, first: int
) -> list[Started]:
    """Start the job in place of borrowing starts from number `first` on; those that step back, or nobody and no change."""
    if job_class.tier == Tier.BATCH or best_standing(rules, state.quota_after, job_class) != Standing.OWN:
        return []
    chosen = _enough_quota(state, job_class, _latest_borrowers(state, job_class.tenant, first))
    for start in chosen:
        state.retract(start)
    fit = find_start(state, rules, job_class, ends_ms) if chosen else None
    if fit is None or fit.verdict != Verdict.FITS:
        for start in reversed(chosen):
            state.start(start)
        return []
    commit_start(state, rules, job, job_class, fit, ends_ms)
    return chosen


def _latest_borrowers(state: State, tenant: int, first: int) -> Iterator[Started]:
    """Borrowing starts of other tenants, newest first."""
    newest_first = reversed(state.borrowers[first:])
    return islice((start for start in newest_first if start.job_class.tenant != tenant), MOST_STARTS)


def _enough_quota(state: State, job_class: JobClass, borrowers: Iterable[Started]) -> list[Started]:
    """The latest starts whose quota makes room, those that proved unneeded left out; empty where all of them do not."""
    amounts, chosen = job_class.options[0].amounts, list[Started]()

    def allowed() -> bool:
        return state.quota.allows(job_class.leaf, amounts) and state.quota_after.allows(job_class.leaf, amounts)

    for start in borrowers:
        if allowed():
            break
        _shift(state, start, -1)
        chosen.append(start)
    enough = allowed()
    for start in list(chosen[:-1]) if enough else ():
        _shift(state, start, 1)
        if allowed():
            chosen.remove(start)
        else:
            _shift(state, start, -1)
    for start in chosen:
        _shift(state, start, 1)
    return chosen if enough else []


def _shift(state: State, start: Started, sign: int) -> None:
    for use in (state.quota, state.quota_after):
        change = use.charge if sign > 0 else use.refund
        change(start.job_class.leaf, start.amounts, start.job_class.tier)
