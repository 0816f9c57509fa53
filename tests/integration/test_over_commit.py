"""SCH-15 in the loop: samples of cards reach nodes and pools, two in a row above the high watermark take over-committed work out."""

import pytest

from berth.common import clock
from scheduling.control.sampling import sample_cards
from scheduling.models import Job, Node, PoolUse, Preemption, WaitReason
from scheduling.selectors.snapshot import load_snapshot
from tests.integration.loop_scene import Scene


def crowded(scene: Scene, utilisation: str | None = "0.95") -> tuple[Job, Job, Job]:
    """16 cards granted at 1.25: a holds 4 of its 10, b 12 of its 10; 8 each are backed. The last of b's is batch."""
    scene.add_nodes(2)
    pool = scene.flavor.pool
    pool.factor_ppm = 1_250_000
    pool.save(update_fields=["factor_ppm"])
    a, b = (scene.a_queue(10, tier="development") for _ in range(2))
    labels = {} if utilisation is None else {"berth.dev/sim-utilisation": utilisation}
    jobs = (
        scene.submit(a, cards=4, seconds=None, tier="development", labels=labels),
        scene.submit(b, cards=8, seconds=None, tier="development", labels=labels),
        scene.submit(b, cards=4, seconds=None, tier="batch", labels=labels),
    )
    scene.turn()
    scene.go_on(5)
    assert scene.states(*jobs) == ["running"] * 3
    return jobs


def sample_and_turn(scene: Scene, seconds: float = 15) -> None:
    scene.pass_time(seconds)
    sample_cards()
    scene.turn()


@pytest.mark.parametrize(("utilisation", "measured"), [("0.95", 950_000), (None, None)], ids=["measured", "allocated"])
def test_two_samples_above_evict_what_is_over_committed(scene: Scene, utilisation: str, measured: int | None) -> None:
    """SCH-15, section 4.9: one sample alone never does."""
    a, dev, batch = crowded(scene, utilisation)

    sample_and_turn(scene)
    assert not Preemption.objects.exists()
    assert set(Node.objects.values_list("measured_ppm", flat=True)) == {measured}

    sample_and_turn(scene)
    preemption = Preemption.objects.get()
    assert (preemption.job_id, preemption.reason, preemption.for_job_id) == (batch.pk, "watermark", None)
    assert scene.states(a, dev, batch) == ["running", "running", "stopping"]


def test_after_it_samples_count_anew_and_the_job_waits_to_come_back(scene: Scene) -> None:
    _, _, batch = crowded(scene)
    sample_and_turn(scene)
    sample_and_turn(scene)

    use = PoolUse.objects.get()
    assert (use.samples_above, use.measured, use.relieved_at) == (0, True, clock.now())
    for _ in range(8):
        scene.go_on(5)
    sample_cards()
    assert scene.states(batch) == ["queued"]
    wait = WaitReason.objects.get(job=batch)
    assert (wait.code, wait.detail) == ("quota-borrow-limit", "watermark")
    assert Preemption.objects.count() == 1


def test_old_samples_say_nothing_about_now(scene: Scene) -> None:
    crowded(scene)
    for _ in range(2):
        scene.pass_time(15)
        sample_cards()
    assert load_snapshot(clock.now()).pools[0].samples_above == 2

    scene.pass_time(61)

    assert load_snapshot(clock.now()).pools[0].samples_above == 0
    scene.turn()
    assert not Preemption.objects.exists()


def test_two_looks_at_one_moment_are_one_sample(scene: Scene) -> None:
    crowded(scene)
    scene.pass_time(15)

    sample_cards()
    sample_cards()

    assert PoolUse.objects.get().samples_above == 1


def test_a_pool_that_grants_what_it_has_is_not_watched(scene: Scene) -> None:
    scene.add_nodes(1)
    scene.submit(scene.a_queue(8), seconds=None, labels={"berth.dev/sim-utilisation": "0.5"}, cards=4)
    scene.turn()
    scene.go_on(5)

    sample_cards()

    assert not PoolUse.objects.exists()
    assert Node.objects.get().measured_ppm == 250_000, "half of its cards at 50 %"
