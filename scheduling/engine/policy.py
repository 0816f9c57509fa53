"""Every number and switch of the rules, named, with its default; presets change some of them (docs/simulator.md)."""

from dataclasses import dataclass, replace
from typing import Final

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000


FINAL_SHARE: Final = "less-than-or-equal-to-final-share"
INITIAL_SHARE: Final = "less-than-initial-share"
"""Kueue's strategies of fair-share preemption: the asker's share after against the victim queue's share after, or before."""


@dataclass(frozen=True, slots=True)
class Policy:
    """`durations`: `declared` (the scheduler sees only max_runtime) or `known`. Times in ms, shares in ppm.

    Without `queueing` each arrival is placed at once or dropped, by the rule `placement` (SCH-12, `simulate` only).
    `preemption_strategies`: in which order fair sharing tries Kueue's two; none = borrowers never evict borrowers.
    `fair_share_claims`: for how many jobs of a pool it evicts in one cycle, the others ask in the next one. `reclaim`: of
    which borrowers nominal is taken back, `any`, those of `lower-priority`, or `never`. `within_queue`: who leaves for a job of the
    same queue and tier, `lower-priority`, `lower-or-newer-equal-priority`, or `never`.
    """

    preset: str = "default"
    queueing: bool = True
    placement: str = "default"
    order: str = "tiers"
    block: str = "backfill"
    borrowing: bool = True
    preemption: bool = True
    preemption_strategies: tuple[str, ...] = (FINAL_SHARE, INITIAL_SHARE)
    fair_share_claims: int = 64
    reclaim: str = "any"
    within_queue: str = "lower-priority"
    durations: str = "declared"
    evicted_keep_place: bool = True
    grace_development_ms: int = 300_000
    grace_batch_ms: int = 30_000
    starve_production_ms: int = HOUR_MS
    starve_development_ms: int = 6 * HOUR_MS
    starve_batch_ms: int = 24 * HOUR_MS
    aged_batch_pool_ppm: int = 100_000
    backfill_heads: int = 4
    loan_period_ms: int = 4 * HOUR_MS
    minimum_run_ms: int = 10 * MINUTE_MS
    flap_window_ms: int = 10 * MINUTE_MS
    watermark_samples: int = 2
    watermark_every_ms: int = MINUTE_MS
    watermark_hold_ms: int = 30 * MINUTE_MS
    forecast_release_ms: int = 15 * MINUTE_MS
    level_slowdown_ppm: int = 180_000
    history_ppm: int = 300_000
    idle_target_ppm: int = 600_000
    idle_penalty_ppm: int = 500_000
    idle_coverage_ppm: int = 900_000
    urgent_priority: int = 900
    time_sharing: bool = False
    quantum_ms: int = 30 * MINUTE_MS
    attained_levels: tuple[int, ...] = ()
    running_edge_ppm: int = 1_000_000
    moves: bool = False
    stop_ms: int = 0
    preemption_cost_ms: int = 0
    restart_cost_ms: int = 0


PRESETS: Final = {
    "default": Policy(),
    "fifo": Policy(preset="fifo", order="submit", block="head", borrowing=True, preemption=False),
    "fifo-skip": Policy(preset="fifo-skip", order="submit", block="none", borrowing=True, preemption=False),
    "sjf-known": Policy(preset="sjf-known", order="shortest", block="none", preemption=False, durations="known"),
    "las": Policy(
        preset="las", order="attained", block="none", preemption=False, time_sharing=True, quantum_ms=2 * MINUTE_MS
    ),
    "time-shared": Policy(
        preset="time-shared",
        order="attained",
        block="none",
        time_sharing=True,
        quantum_ms=10 * MINUTE_MS,
        preemption_strategies=(),
        attained_levels=tuple(hours * HOUR_MS // 2 for hours in (1, 64, 1200, 2400, 4800)),
        running_edge_ppm=1_250_000,
        moves=True,
    ),
    "static-quota": replace(Policy(preset="static-quota"), borrowing=False),
    "placement": Policy(preset="placement", queueing=False),
    "placement-fgd": Policy(preset="placement-fgd", queueing=False, placement="fgd"),
    "placement-bestfit": Policy(preset="placement-bestfit", queueing=False, placement="bestfit"),
    "placement-random": Policy(preset="placement-random", queueing=False, placement="random"),
}
