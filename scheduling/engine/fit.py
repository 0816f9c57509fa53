"""May this job start now, and where? Quota first, then nodes, in every picture of the cycle that the start would touch."""

from collections.abc import Sequence, Set
from enum import Enum
from typing import NamedTuple

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.classes import JobClass
from scheduling.engine.elastic import largest_fitting
from scheduling.engine.free import Limits
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.quota import Amount
from scheduling.engine.reservations import beside_kept
from scheduling.engine.seats import Seat, sit_again
from scheduling.engine.snapshot import Shape
from scheduling.engine.state import Started, State
from scheduling.engine.tiers import Standing, TierRules, borrowed_part
from scheduling.engine.units import NEVER, ONE_PPM
from scheduling.engine.vocabulary import Tier
from scheduling.engine.watermark import may_start


class Verdict(Enum):
    """What stood in the way of the best flavor choice. `RESERVED`: only reservations did, so a shorter job may still pass."""

    FITS = "fits"
    BARRED = "barred"
    QUOTA = "quota"
    NODES = "nodes"
    RESERVED = "reserved"


class Fit(NamedTuple):
    verdict: Verdict
    option: Option | None = None
    placed: Placed = ()


_BARRED = Fit(Verdict.BARRED)
_CLOSENESS = {Verdict.BARRED: 0, Verdict.QUOTA: 1, Verdict.NODES: 2, Verdict.RESERVED: 3}


def find_start(
    state: State,
    rules: TierRules,
    job_class: JobClass,
    ends_ms: int,
    *,
    only: Set[int] | None = None,
    options: Sequence[Option] | None = None,
    seats: Sequence[Seat] = (),
) -> Fit:
    """The first flavor choice that fits now, choices inside nominal before those that borrow; else how near it came.

    `options` are those of a smaller size; without them the full one is looked at. `only` and `seats` are where it may be: on these
    nodes, or on these very seats.
    """
    closest = _BARRED
    choices = job_class.options if options is None else options
    standings = [(rules.standing(state.quota_after, job_class, option.amounts), option) for option in choices]
    for wanted in (Standing.OWN, Standing.BORROW):
        for standing, option in standings:
            if standing is not wanted:
                continue
            fit = _try(state, rules, job_class, option, ends_ms, only, seats)
            if fit.verdict == Verdict.FITS:
                return fit
            if _CLOSENESS[fit.verdict] > _CLOSENESS[closest.verdict]:
                closest = fit
    return closest


def find_smaller(state: State, rules: TierRules, job_class: JobClass, ends_ms: int) -> Fit:
    """SCH-10: the largest size below the full one that fits now; else how near the smallest came."""

    def attempt(options: Sequence[Option]) -> Fit | None:
        fit = find_start(state, rules, job_class, ends_ms, options=options)
        return fit if fit.verdict == Verdict.FITS else None

    found = largest_fitting(job_class.sizes[1:], attempt)
    return found or find_start(state, rules, job_class, ends_ms, options=job_class.smallest)


def _try(
    state: State,
    rules: TierRules,
    job_class: JobClass,
    option: Option,
    ends_ms: int,
    only: Set[int] | None,
    seats: Sequence[Seat],
) -> Fit:
    amounts = option.amounts
    if not _has_quota(state, rules, job_class, option):
        return Fit(Verdict.QUOTA, option)
    if not beside_kept(state, job_class, option.gang, amounts):
        return Fit(Verdict.NODES, option)
    limits = state.limits_for(job_class, ends_ms)
    if heads_allow(state, rules, job_class, amounts, ends_ms):
        placed = _place(state, job_class, option, limits, only, seats)
        if placed is not None:
            return Fit(Verdict.FITS, option, placed)
        if not limits:
            return Fit(Verdict.NODES, option)
    placed = _place(state, job_class, option, (), only, seats)
    return Fit(Verdict.NODES if placed is None else Verdict.RESERVED, option)


def _has_quota(state: State, rules: TierRules, job_class: JobClass, option: Option) -> bool:
    """Now and once everybody who leaves has left."""
    leaf, amounts = job_class.leaf, option.amounts
    if not state.quota.allows(leaf, amounts):
        return False
    if not state.quota_after.allows(leaf, amounts):
        state.late.add(job_class)
        return False
    if is_barred_now(state, rules, job_class, amounts):
        return False
    return within_pool_share(state, job_class, option) and may_start(state, rules, job_class, option)


def is_barred_now(state: State, rules: TierRules, job_class: JobClass, amounts: Sequence[Amount]) -> bool:
    """Whether nominal is all that the ask may have, and those who leave still hold it (SCH-01)."""
    return bool(state.leaving or state.shrunk) and rules.standing(state.quota, job_class, amounts) == Standing.BARRED


def _place(
    state: State, job_class: JobClass, option: Option, limits: Limits, only: Set[int] | None, seats: Sequence[Seat]
) -> Placed | None:
    if seats:
        return sit_again(state.usable, option, seats, limits=limits)
    return place_gang(state.usable, option.gang, job_class.shape, pool=job_class.pool, limits=limits, only=only)


def heads_allow(state: State, rules: TierRules, job_class: JobClass, amounts: Sequence[Amount], ends_ms: int) -> bool:
    """True where every head whose time comes before the job ends still finds its quota then."""
    for head in state.heads:
        if ends_ms <= head.at_ms:
            continue
        if not head.quota.allows(job_class.leaf, amounts):
            return False
        only_nominal = job_class.tier == Tier.PRODUCTION or not state.policy.borrowing
        if only_nominal and rules.standing(head.quota, job_class, amounts) == Standing.BARRED:
            return False
    return True


def within_pool_share(state: State, job_class: JobClass, option: Option) -> bool:
    """A queue's maximum share of its pool's cards (`max_pool_share`). What asks for no card takes none of it."""
    room = pool_share_room(state, job_class)
    return room is None or not option.cards_m or option.cards_m <= room


def pool_share_room(state: State, job_class: JobClass) -> int | None:
    """Milli-cards that the queue's maximum share of the pool still allows; None without such a maximum."""
    share = state.snapshot.queues[job_class.queue].max_pool_share_ppm
    if share is None:
        return None
    cards = state.table.pool_cards_m[job_class.pool]
    held = sum(state.quota_after.row(job_class.leaf)[: len(state.snapshot.flavors)])
    return cards * share // ONE_PPM - held


def commit_start(state: State, rules: TierRules, job: int, job_class: JobClass, fit: Fit, ends_ms: int) -> Started:
    """Start the gang, and with it those roles outside it that fit now (SCH-09): the others follow when they fit."""
    option, placed = fit.option, fit.placed
    if option is None:
        raise ValueError("only a fit can be started")
    backfilled = any(head.job_class.pool == job_class.pool for head in state.heads)
    amounts, borrowed = option.amounts, borrowed_part(state.quota_after, job_class, option.amounts)
    state.occupy(job_class, amounts, placed, ends_ms)
    for ask in option.later:
        more = find_later(state, rules, job_class, ask, ends_ms, borrows=any(borrowed.values()))
        if more is not None:
            extra = state.charge_of([(ask, ask.count)])
            for column, part in borrowed_part(state.quota_after, job_class, extra).items():
                borrowed[column] = borrowed.get(column, 0) + part
            state.occupy(job_class, extra, more, ends_ms)
            placed, amounts = (*placed, *more), _sum(amounts, extra)
    started = Started(job, job_class, placed, amounts, borrowed, ends_ms, backfilled)
    state.note(started)
    return started


def find_later(
    state: State,
    rules: TierRules,
    job_class: JobClass,
    ask: PodAsk,
    ends_ms: int,
    *,
    borrows: bool,
    only: Set[int] | None = None,
) -> Placed | None:
    """Room for more pods of a running job, of a role outside the gang or of one that grows, in its bucket and under the same rules.

    It never makes a job borrow that does not yet (`borrows`): reclaim takes a whole run, and a gang inside its nominal is safe from it.
    """
    amounts = state.charge_of([(ask, ask.count)])
    standing = rules.standing(state.quota_after, job_class, amounts)
    if standing == Standing.BARRED or (standing == Standing.BORROW and not borrows):
        return None
    if not all(use.allows(job_class.leaf, amounts) for use in (state.quota, state.quota_after)):
        return None
    if is_barred_now(state, rules, job_class, amounts):
        return None
    if not heads_allow(state, rules, job_class, amounts, ends_ms):
        return None
    if not beside_kept(state, job_class, (ask,), amounts):
        return None
    anywhere = Shape(roles=job_class.shape.roles)
    return place_gang(
        state.usable, (ask,), anywhere, pool=job_class.pool, limits=state.limits_for(job_class, ends_ms), only=only
    )


def _sum(one: Sequence[Amount], other: Sequence[Amount]) -> tuple[Amount, ...]:
    totals = dict(one)
    for column, amount in other:
        totals[column] = totals.get(column, 0) + amount
    return tuple(sorted(totals.items()))


def end_of(limit_ms: int, now_ms: int) -> int:
    """When a job that starts now ends by its own declared limit; NEVER without one (SCH-08)."""
    return NEVER if limit_ms >= NEVER else now_ms + limit_ms
