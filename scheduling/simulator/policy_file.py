"""Policies: a preset name, or `{preset: NAME, overrides}` (docs/simulator.md) -> the engine's `Policy`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from berth.common.shown import shown
from scheduling.engine.policy import FINAL_SHARE, INITIAL_SHARE, PRESETS, Policy
from scheduling.engine.turns import ORDERS
from scheduling.simulator import quantities
from scheduling.simulator.documents import Fields, Scalar, Value, parse_yaml
from scheduling.simulator.problems import Problems, WrongValueError

Parse = Callable[[str], Any]

KEYS: dict[str, tuple[str, Parse]] = {
    "order": ("order", quantities.one_of(*ORDERS)),
    "block": ("block", quantities.one_of("backfill", "head", "none")),
    "queueing": ("queueing", quantities.flag),
    "placement": ("placement", quantities.one_of("default", "fgd", "bestfit", "random")),
    "borrowing": ("borrowing", quantities.flag),
    "preemption": ("preemption", quantities.flag),
    "fair_share_claims": ("fair_share_claims", quantities.between(0, 1_000_000)),
    "reclaim": ("reclaim", quantities.one_of("any", "lower-priority", "never")),
    "within_queue": (
        "within_queue",
        quantities.one_of("lower-priority", "lower-or-newer-equal-priority", "never"),
    ),
    "durations": ("durations", quantities.one_of("declared", "known")),
    "evicted_keep_place": ("evicted_keep_place", quantities.flag),
    "grace_development_s": ("grace_development_ms", quantities.milliseconds),
    "grace_batch_s": ("grace_batch_ms", quantities.milliseconds),
    "starve_production_s": ("starve_production_ms", quantities.milliseconds),
    "starve_development_s": ("starve_development_ms", quantities.milliseconds),
    "starve_batch_s": ("starve_batch_ms", quantities.milliseconds),
    "aged_batch_pool": ("aged_batch_pool_ppm", quantities.fraction_ppm),
    "backfill_heads": ("backfill_heads", quantities.between(0, 1000)),
    "loan_period_s": ("loan_period_ms", quantities.milliseconds),
    "minimum_run_s": ("minimum_run_ms", quantities.milliseconds),
    "flap_window_s": ("flap_window_ms", quantities.milliseconds),
    "watermark_samples": ("watermark_samples", quantities.between(1, 1000)),
    "watermark_every_s": ("watermark_every_ms", quantities.milliseconds),
    "watermark_hold_s": ("watermark_hold_ms", quantities.milliseconds),
    "forecast_release_s": ("forecast_release_ms", quantities.milliseconds),
    "level_slowdown": ("level_slowdown_ppm", quantities.fraction_ppm),
    "history": ("history_ppm", quantities.fraction_ppm),
    "idle_target": ("idle_target_ppm", quantities.fraction_ppm),
    "idle_penalty": ("idle_penalty_ppm", quantities.fraction_ppm),
    "idle_coverage": ("idle_coverage_ppm", quantities.fraction_ppm),
    "urgent_priority": ("urgent_priority", quantities.between(0, 1001)),
    "time_sharing": ("time_sharing", quantities.flag),
    "quantum_s": ("quantum_ms", quantities.milliseconds),
    "running_edge": ("running_edge_ppm", quantities.ppm),
    "moves": ("moves", quantities.flag),
    "stop_s": ("stop_ms", quantities.milliseconds),
    "preemption_cost_s": ("preemption_cost_ms", quantities.milliseconds),
    "restart_cost_s": ("restart_cost_ms", quantities.milliseconds),
}
"""Override as written in a file -> field of `Policy` and how it is read. Times are seconds, shares 0 to 1."""

STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)


def parse_policy(text: str, file: str) -> Policy:
    """The policy of a policy file. Raises `InvalidFileError` with all problems."""
    problems = Problems(file)
    policy = read_policy(parse_yaml(text, problems), "", problems)
    problems.raise_if_any()
    return policy


def read_policy(value: Value | None, path: str, problems: Problems) -> Policy:
    """A preset name or a mapping of overrides; nothing at all is the default policy."""
    if isinstance(value, Scalar) and not value.null:
        try:
            return PRESETS[preset_name(value.text)]
        except WrongValueError as wrong:
            problems.add(value.line, path, str(wrong))
            return PRESETS["default"]
    fields = Fields(value, path, problems)
    policy = PRESETS[fields.take("preset", preset_name, "default")]
    changes = {name: fields.take(key, parse, getattr(policy, name)) for key, (name, parse) in KEYS.items()}
    if changes["queueing"] and changes["placement"] != "default":
        fields.problem("placement", "a placement of its own needs queueing: false")
    if fields.value("preemption_strategies") is not None:
        changes["preemption_strategies"] = _strategies(fields)
    if fields.value("attained_levels") is not None:
        changes["attained_levels"] = tuple(sorted(fields.words("attained_levels", quantities.card_hours_ms)))
    fields.close()
    return replace(policy, **changes)


def _strategies(fields: Fields) -> tuple[str, ...]:
    """One or both of them, in any order, or none."""
    found = tuple(fields.words("preemption_strategies", quantities.one_of(*STRATEGIES)))
    if len(set(found)) != len(found):
        fields.problem("preemption_strategies", "each may be named once")
    return found


def preset_name(text: str) -> str:
    """A parser for the names of presets."""
    if text in PRESETS:
        return text
    supported = ", ".join(PRESETS)
    raise WrongValueError(f"unknown preset {shown(text)}; supported: {supported}")
