"""A cycle whose reasons nobody reads decides the same."""

from dataclasses import replace

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import PRESETS
from tests.unit.engine.builders import NOW_MS, World


@pytest.mark.parametrize(
    ("impossible", "want_waits"),
    [(False, []), (True, ["giant"])],
    ids=["nobody who competes is told why it waits", "what can never run is named, since it blocks nobody"],
)
def test_decisions_and_order_do_not_hang_on_reasons(impossible: bool, want_waits: list[str]) -> None:
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("loan", "b", gpu=8, nodes=["n000"], started=3600).running(
        "own", "b", gpu=8, nodes=["n001"], started=3600
    )
    world.pending("claims", "a", gpu=8).pending("waits", "b", gpu=8, limit=600)
    if impossible:
        world.pending("giant", "a", gpu=16)
    snapshot = world.snapshot()

    told = run_cycle(snapshot, PRESETS["default"], NOW_MS)
    untold = run_cycle(snapshot, PRESETS["default"], NOW_MS, explain=False)

    assert told.evicts
    assert told.order == ("claims", "waits")
    assert replace(told, waits=(), shares={}) == replace(untold, waits=(), shares={})
    assert [wait.job for wait in untold.waits] == want_waits
    assert not untold.shares
