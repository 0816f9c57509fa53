"""SCH-21: what a wait reason names is what bars the job. Taken out of the way, the job starts, or the next reason says what else there is."""

import os

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.engine.plan import Wait
from scheduling.engine.policy import PRESETS
from scheduling.engine.vocabulary import WaitCode
from tests.properties.drawn_scenes import Drawn, draw_scene
from tests.properties.named_blockers import BUSY, NOW_MS, QUOTA, advised, row_of, unblocked

PARTS = 5
SCENES = int(os.environ.get("BERTH_SCENES", "1000")) // 10
ORDER = {code: place for place, code in enumerate(WaitCode)}
NEW_REASONS = frozenset({"watermark", "beside-cards", "idle-penalty", "nodes-closed"})
"""Details of what is weighed last."""


@pytest.mark.parametrize("part", range(PARTS))
def test_the_named_blocker_is_what_bars_the_job(part: int) -> None:
    presets, looked_at, started = sorted(PRESETS), 0, 0
    for seed in range(part * SCENES // PARTS, (part + 1) * SCENES // PARTS):
        scene, preset = draw_scene(seed), presets[seed % len(presets)]
        plan = run_cycle(scene.snapshot(), PRESETS[preset], NOW_MS)
        for wait in plan.waits:
            helped = unblocked(scene, plan, wait)
            if helped is not None:
                new = _wait_in(helped, preset, wait)
                looked_at, started = looked_at + 1, started + (new is None)
                assert new is None or _is_next(scene, wait, new), (seed, preset, wait, new)

    assert started > looked_at / 3


@pytest.mark.parametrize("part", range(PARTS))
def test_who_does_what_the_reason_suggests_starts_or_is_told_what_else_there_is(part: int) -> None:
    """More quota is weighed where nobody can be evicted: elsewhere what lower tiers hold counts at first as if it made room (SCH-01)."""
    presets = sorted(PRESETS)
    for seed in range(part * SCENES // PARTS, (part + 1) * SCENES // PARTS):
        scene, preset = draw_scene(seed), presets[seed % len(presets)]
        plan = run_cycle(scene.snapshot(), PRESETS[preset], NOW_MS)
        for wait in plan.waits:
            helped = advised(scene, wait)
            if helped is not None and not (wait.suggestion == "ask-quota" and PRESETS[preset].preemption):
                new = _wait_in(helped, preset, wait)
                # Idle cards of another flavor are told alike to every queue, whatever its quota there.
                quota = new is not None and wait.suggestion == "other-flavor" and new.detail == "quota"
                assert new is None or quota or _is_next(scene, wait, new), (seed, preset, wait, new)


def _wait_in(scene: Drawn, preset: str, wait: Wait) -> Wait | None:
    """Why the job waits there; None where it starts."""
    plan = run_cycle(scene.snapshot(), PRESETS[preset], NOW_MS)
    return next((each for each in plan.waits if each.job == wait.job), None)


def _is_next(scene: Drawn, old: Wait, new: Wait) -> bool:
    """Whether what bars the job now is another thing than what barred it before."""
    if old.code == WaitCode.FAIR_SHARE or new.code == WaitCode.KEPT_FOR_PREEMPTED:
        return new.code != old.code
    if new.code in QUOTA and (old.code in {*BUSY, WaitCode.TOPOLOGY} or not new.holders):
        return True  # Lower tiers would have to leave first, or nobody holds what is lacking: the quota itself is too small.
    if new.code != old.code:
        return new.detail in NEW_REASONS or ORDER[new.code] > ORDER[old.code]
    if new.detail != old.detail or set(new.short) < set(old.short):
        return True
    if new.code in QUOTA and sum(new.hint.values()) < sum(old.hint.values()):
        return True  # A limit further up in the tree.
    # Of several roles the holders of one are named at a time.
    return len(row_of(scene, "pending", old.job).fields["roles"]) > 1 or not set(new.short) & set(old.short)
