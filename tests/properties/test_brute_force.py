"""SCH-01, 03, 08, 09, 11, 17 on clusters so small that everything can be tried: who starts, who waits, and who leaves for whom."""

import os

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import PRESETS
from scheduling.engine.vocabulary import WaitCode
from tests.properties.brute_claims import Claimed
from tests.properties.brute_starts import Beside
from tests.properties.tiny_scenes import Tiny, draw_claim, draw_tiny
from tests.unit.engine.builders import NOW_MS

PARTS = 4
SCENES = int(os.environ.get("BERTH_SCENES", "1000"))
"""In all parts together, of each kind; `make test` asks for ten thousand."""
POLICIES = ("default", "fifo-skip", "static-quota")
"""No job waits behind another one that is not promised a place."""


@pytest.mark.parametrize("part", range(PARTS))
def test_whoever_could_start_beside_the_plan_does_and_nobody_else(part: int) -> None:
    """A job that waits has no place or no quota beside all that the plan starts, keeps and promises; so none is told to wait for its turn."""
    started, waiting, promised = 0, 0, 0
    for seed in range(part, SCENES, PARTS):
        scene, preset = draw_tiny(seed), POLICIES[seed % len(POLICIES)]
        plan = run_cycle(scene.world().snapshot(), PRESETS[preset], NOW_MS)
        beside = Beside(scene, plan, borrowing=PRESETS[preset].borrowing)

        assert beside.wrong_starts() == [], (seed, preset)
        assert beside.broken_places() == [], (seed, preset)
        waits = [wait for wait in plan.waits if wait.job not in beside.places]
        assert [wait.job for wait in waits if beside.could_start(beside.work[str(wait.job)])] == [], (seed, preset)
        assert WaitCode.FAIR_SHARE not in {wait.code for wait in waits}, (seed, preset)
        started, waiting, promised = started + len(plan.starts), waiting + len(waits), promised + len(beside.heads)

    assert min(started, waiting, promised) > SCENES // PARTS // 5


@pytest.mark.parametrize("part", range(PARTS))
def test_only_who_may_leaves_no_more_than_suffice_and_somebody_wherever_that_makes_room(part: int) -> None:
    claims, alike, refused = 0, 0, 0
    for seed in range(part, SCENES, PARTS):
        scene = draw_claim(seed)
        plan = run_cycle(scene.world().snapshot(), PRESETS["default"], NOW_MS)
        claimed = Claimed(scene, scene.jobs[0])
        allowed = list(claimed.may_leave())
        enough = [gone for gone in allowed if claimed.makes_room(gone)]
        if plan.evicts:
            leavers = frozenset(evict.job for evict in plan.evicts)
            claims += 1
            assert leavers in enough, (seed, leavers, enough)
            assert not any(gone < leavers for gone in enough), (seed, leavers, enough)
            if _are_alike(scene, frozenset().union(*allowed)):
                alike += 1
                assert len(leavers) == min(map(len, enough)), (seed, leavers, enough)
        elif not plan.starts:
            refused += 1
            # Where nobody has to leave, it waits for those who had notice before.
            assert not enough or frozenset() in enough, (seed, enough)

    assert min(claims, refused) > SCENES // PARTS // 20
    assert alike > SCENES // PARTS // 200


def _are_alike(scene: Tiny, names: frozenset[str]) -> bool:
    """Whether only the id tells these runs apart in SCH-17's order."""
    runs = [run for run in scene.runs if run.name in names]
    return len({(run.tenant, run.tier, run.priority, run.lost, run.started) for run in runs}) == 1
