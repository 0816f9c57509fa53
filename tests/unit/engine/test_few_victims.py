"""SCH-17 where taking in order leads nowhere, or takes more than it needs: scenes that trying everything on tiny clusters brought up."""

from tests.unit.engine.builders import World, evicted


def test_nominal_is_taken_back_where_limits_were_lowered_until_nobody_lends() -> None:
    """Nothing is lendable, so no over-quota share says that b stands above (SCH-05)."""
    world = World(nodes=1, gpus=4).tenant("a", nominal=2, lending=0).tenant("b", nominal=1, lending=0)
    world.running("b0", "b", gpu=3, nodes=["n000"])

    assert evicted(world.pending("j", "a", gpu=2).plan()) == {"b0": ("j", "reclaim-nominal", 300)}
