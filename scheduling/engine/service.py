"""SCH-27: how strong a job's claim on a turn is, by the service (cards x time) it has had. Smaller goes first; nothing is decided here.

Discretised levels, as in Tiresias' 2D-LAS: a job starts on level 0 and climbs as its card time passes the policy's bounds. On
another level the lower one goes first. On the same level

- level 0, the new ones: first come, first served;
- level 1, those being weighed: whoever has run the smallest part of its time here, so that no job falls far behind its fair part;
- above, the long ones: the narrowest first, running before waiting. Many narrow ones side by side leave whole nodes to the wide
  ones at the end, where one of them alone would leave most cards idle.

Without bounds every card-millisecond is a level of its own: plain least attained service. Where the policy knows durations, the
smallest rest (cards x time) goes first instead.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from scheduling.engine.policy import Policy
from scheduling.engine.units import CARD, NEVER, ONE_PPM

Turn = tuple[int, int, int, int]
"""(level, order inside the level, running before waiting, submit). Two jobs are only compared, so units may differ by level."""
FIRST_LONG_LEVEL: Final = 2


@dataclass(frozen=True, slots=True)
class Service:
    """What a job's turn depends on. `rest_ms` is the run time it still declares (NEVER if none), true where durations are known."""

    attained_card_ms: int
    cards_m: int
    submit_ms: int
    rest_ms: int
    running: bool


def turn_of(policy: Policy, job: Service, now_ms: int) -> Turn:
    """The job's place at `now_ms`, for comparing."""
    if policy.durations == "known":
        return _by_rest(job)
    if not policy.attained_levels:
        return job.attained_card_ms, 0, 0, job.submit_ms
    level = bisect_right(policy.attained_levels, job.attained_card_ms)
    if level == 0:
        return level, 0, 0, job.submit_ms
    if level < FIRST_LONG_LEVEL:
        return level, -_slowdown_ppm(policy, job, now_ms), 0, job.submit_ms
    return level, job.cards_m, 0 if job.running else 1, job.submit_ms


def _slowdown_ppm(policy: Policy, job: Service, now_ms: int) -> int:
    """Time since submit over time with cards. A running job's counts as more, so that a challenger has to be well behind it."""
    ran_ms = job.attained_card_ms * CARD // max(1, job.cards_m)
    slowdown = max(0, now_ms - job.submit_ms) * ONE_PPM // max(1, ran_ms)
    return slowdown * policy.running_edge_ppm // ONE_PPM if job.running else slowdown


def _by_rest(job: Service) -> Turn:
    if job.rest_ms >= NEVER:
        return NEVER, 0, 0, job.submit_ms
    return max(0, job.rest_ms) * job.cards_m // CARD, 0, 0, job.submit_ms
