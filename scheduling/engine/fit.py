"""May this job start now, and where? Quota first, then nodes, in every picture of the cycle that the start would touch."""

from dataclasses import dataclass
from enum import Enum

from scheduling.engine.asks import Option
from scheduling.engine.classes import JobClass
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.state import Started, State
from scheduling.engine.tiers import Standing, TierRules, borrowed_part
from scheduling.engine.units import NEVER


class Verdict(Enum):
    """What stood in the way of the best flavor choice. `RESERVED`: only reservations did, so a shorter job may still pass."""

    FITS = "fits"
    BARRED = "barred"
    QUOTA = "quota"
    NODES = "nodes"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class Fit:
    verdict: Verdict
    option: Option | None = None
    placed: Placed = ()


_CLOSENESS = {Verdict.BARRED: 0, Verdict.QUOTA: 1, Verdict.NODES: 2, Verdict.RESERVED: 3}


def find_start(state: State, rules: TierRules, job_class: JobClass, ends_ms: int) -> Fit:
    """The first flavor choice that fits now, choices inside nominal before those that borrow; else how near it came."""
    closest = Fit(Verdict.BARRED)
    standings = [(rules.standing(state.quota_after, job_class, option.amounts), option) for option in job_class.options]
    for wanted in (Standing.OWN, Standing.BORROW):
        for standing, option in standings:
            if standing != wanted:
                continue
            fit = _try(state, job_class, option, ends_ms)
            if fit.verdict == Verdict.FITS:
                return fit
            if _CLOSENESS[fit.verdict] > _CLOSENESS[closest.verdict]:
                closest = fit
    return closest


def _try(state: State, job_class: JobClass, option: Option, ends_ms: int) -> Fit:
    leaf, amounts = job_class.leaf, option.amounts
    if not state.quota.allows(leaf, amounts) or not state.quota_after.allows(leaf, amounts):
        return Fit(Verdict.QUOTA, option)
    if not within_pool_share(state, job_class, option):
        return Fit(Verdict.QUOTA, option)
    limits = state.limits(ends_ms)
    lent_out = [head for head in state.heads if ends_ms > head.at_ms and not head.quota.allows(leaf, amounts)]
    if not lent_out:
        placed = place_gang(state.usable, option.gang, job_class.shape, pool=job_class.pool, limits=limits)
        if placed is not None:
            return Fit(Verdict.FITS, option, placed)
        if not limits:
            return Fit(Verdict.NODES, option)
    placed = place_gang(state.usable, option.gang, job_class.shape, pool=job_class.pool)
    return Fit(Verdict.NODES if placed is None else Verdict.RESERVED, option)


def within_pool_share(state: State, job_class: JobClass, option: Option) -> bool:
    """A queue's maximum share of its pool's cards (`max_pool_share`)."""
    room = pool_share_room(state, job_class)
    return room is None or option.cards_m <= room


def pool_share_room(state: State, job_class: JobClass) -> int | None:
    """Milli-cards that the queue's maximum share of the pool still allows; None without such a maximum."""
    share = state.snapshot.queues[job_class.queue].max_pool_share_ppm
    if share is None:
        return None
    table = state.table
    cards = sum(cards_m for node, cards_m in enumerate(table.cards_m) if table.pool[node] == job_class.pool)
    held = sum(state.quota_after.total[0][job_class.leaf][: len(state.snapshot.flavors)])
    return cards * share // 1_000_000 - held


def commit_start(state: State, job: int, job_class: JobClass, fit: Fit, ends_ms: int) -> Started:
    """Start the gang, and with it those roles outside it that fit now (SCH-09)."""
    assert fit.option is not None  # noqa: S101
    placed, amounts = fit.placed, fit.option.amounts
    borrowed = borrowed_part(state.quota_after, job_class, amounts)
    backfilled = any(head.job_class.pool == job_class.pool for head in state.heads)
    started = Started(job, job_class, placed, amounts, borrowed, ends_ms, backfilled)
    state.start(started)
    return started


def end_of(limit_ms: int, now_ms: int) -> int:
    """When a job that starts now ends by its own declared limit; NEVER without one (SCH-08)."""
    return NEVER if limit_ms >= NEVER else now_ms + limit_ms
