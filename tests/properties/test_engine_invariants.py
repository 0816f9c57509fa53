"""What holds of every cycle, whatever the cluster, the tree and the jobs (SCH-22, SCH-23)."""

import pickle
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduling.engine.cycle import run_cycle
from scheduling.engine.invariants import check
from scheduling.engine.policy import PRESETS
from scheduling.engine.vocabulary import WaitCode
from tests.properties.engine_worlds import Scene, scenes
from tests.unit.engine.builders import NOW_MS

MOST_CYCLES = 24
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
presets = st.sampled_from(sorted(PRESETS))
worlds = st.one_of(scenes(), scenes(gpus=(0.2, 0.5, 0.5, 0.7, 1, 2)))
"""Whole cards only, and shares of cards among them (SCH-13)."""


@quick
@given(scene=worlds, preset=presets)
def test_no_plan_breaks_an_invariant(scene: Scene, preset: str) -> None:
    """SCH-23: nodes, cards and quota, gangs whole, each job once, nobody evicted who may not be."""
    snapshot = scene.world().snapshot()

    plan = run_cycle(snapshot, PRESETS[preset], NOW_MS)

    assert check(snapshot, plan, NOW_MS) == ()


@quick
@given(scene=worlds, seed=st.integers(0, 2**16))
def test_the_order_of_input_rows_does_not_matter(scene: Scene, seed: int) -> None:
    """SCH-22."""
    shuffled = scene.world(Random(seed).shuffle)

    assert shuffled.plan() == scene.world().plan()


@quick
@given(scene=worlds)
def test_a_cycle_leaves_the_snapshot_as_it_was(scene: Scene) -> None:
    """Case 26: search changes nothing."""
    snapshot = scene.world().snapshot()
    before = pickle.dumps(snapshot)

    run_cycle(snapshot, PRESETS["default"], NOW_MS)

    assert pickle.dumps(snapshot) == before


@quick
@given(scene=worlds)
def test_whoever_cards_were_freed_for_starts_when_they_are_free(scene: Scene) -> None:
    """SCH-17: nobody is evicted for a job that cannot start then."""
    plan = scene.world().plan()
    promised = {wait.job for wait in plan.waits if wait.code == WaitCode.KEPT_FOR_PREEMPTED}

    following = scene.after(plan).world().plan()

    assert promised <= {start.job for start in following.starts}


@quick
@given(scene=worlds)
def test_repeated_cycles_come_to_rest(scene: Scene) -> None:
    """No pair of jobs evicts each other for ever (case 19's replay)."""
    for _ in range(MOST_CYCLES):
        plan = scene.world().plan()
        moved = bool(plan.starts or plan.evicts) or any(job.leaving_in is not None for job in scene.running)
        scene = scene.after(plan)
        if not moved:
            return

    assert not plan.starts
    assert not plan.evicts


@quick
@given(scene=worlds)
def test_production_is_never_evicted_and_stays_inside_nominal(scene: Scene) -> None:
    """SCH-01, case 74."""
    plan = scene.world().plan()
    tiers = {job.id: job.tier for job in scene.running}

    assert all(tiers[str(evict.job)] != "production" for evict in plan.evicts)
    assert all(not start.borrowed["gpu"] for start in plan.starts if _tier(scene, start.job) == "production")


def _tier(scene: Scene, job: object) -> str:
    return next(each.tier for each in scene.pending if each.id == job)
