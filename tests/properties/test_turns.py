"""SCH-27 on scenes drawn wide, every pool with the option: turns are taken of those who take part alone, and no plan breaks an invariant."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.engine.invariants import check
from scheduling.engine.policy import PRESETS
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.vocabulary import PreemptReason, Tier
from tests.properties.drawn_scenes import draw_scene
from tests.unit.engine.builders import NOW_MS

SCENES = 500
HOUR_MS = 3_600_000


def sharing(seed: int) -> Snapshot:
    """A drawn scene of short turns, in which most jobs write checkpoints and those who run have had some more card time."""
    random, found = Random(seed), draw_scene(seed).snapshot()
    writes = [
        np.array([random.random() < 0.8 for _ in table.ids], dtype=np.bool_) for table in (found.pending, found.running)
    ]
    pools = tuple(replace(pool, time_sharing=True, quantum_ms=60_000) for pool in found.pools)
    return replace(
        found,
        pools=pools,
        pending=replace(found.pending, checkpoints=writes[0]),
        running=replace(
            found.running, checkpoints=writes[1], attained_card_ms=found.running.attained_card_ms + HOUR_MS
        ),
    )


@pytest.mark.parametrize("preset", ["default", "time-shared"])
def test_turns_are_taken_among_those_who_take_part(preset: str) -> None:
    taken = 0
    for seed in range(SCENES):
        snapshot = sharing(seed)
        pending, running = snapshot.pending, snapshot.running

        plan = run_cycle(snapshot, PRESETS[preset], NOW_MS)

        assert check(snapshot, plan, NOW_MS) == ()
        for evict in plan.evicts:
            if evict.reason is PreemptReason.TIME_SHARE:
                taken += 1
                asker, run = pending.ids.index(evict.for_job), running.ids.index(evict.job)
                assert pending.checkpoints[asker]
                assert running.checkpoints[run]
                assert pending.tier[asker] == running.tier[run] != Tier.PRODUCTION
                assert NOW_MS - running.start_ms[run] >= snapshot.pools[0].quantum_ms
                assert pending.attained_card_ms[asker] <= running.attained_card_ms[run]
    assert taken > 0, "no scene has anybody take a turn"
