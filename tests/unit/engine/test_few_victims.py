"""SCH-17 where taking in order leads nowhere, or takes more than it needs: scenes that trying everything on tiny clusters brought up."""

from tests.unit.engine.builders import World, evicted


def test_nominal_is_taken_back_where_limits_were_lowered_until_nobody_lends() -> None:
    """Nothing is lendable, so no over-quota share says that b stands above (SCH-05)."""
    world = World(nodes=1, gpus=4).tenant("a", nominal=2, lending=0).tenant("b", nominal=1, lending=0)
    world.running("b0", "b", gpu=3, nodes=["n000"])

    assert evicted(world.pending("j", "a", gpu=2).plan()) == {"b0": ("j", "reclaim-nominal", 300)}


def test_development_that_fits_nominal_beside_the_production_does_not_leave_for_what_batch_holds_above() -> None:
    """SCH-01: nominal fills from the highest tier down. An expired loan puts it in front of the batch run."""
    world = World(nodes=1, gpus=4).tenant("a", nominal=6)
    world.running("dev", "a", gpu=2, nodes=["n000"], loan_expires_in=-1)
    world.running("batch", "a", gpu=2, tier="batch", nodes=["n000"]).node("n001", gpus=0)

    assert not evicted(world.pending("j", "a", gpu=4, tier="production").plan())
