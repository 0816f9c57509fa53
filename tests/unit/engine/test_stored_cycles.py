"""SCH-22: a cycle is stored as bytes and read again whole; what another version wrote is refused with the reason, never misread."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scheduling.engine import stored
from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import PRESETS
from scheduling.engine.stored import StoredCycle, StoredCycleError, plan_digest, restore, store
from tests.unit.engine.assembly import NOW_MS
from tests.unit.engine.builders import Role, World

ROOT = Path(__file__).resolve().parents[3]


def a_world() -> World:
    """Lending, topology, several roles, a job that waits, one that runs on borrowed cards."""
    world = World(nodes=4, cpu=64, memory=512, per_rack=2)
    world.tenant("a", nominal=16).tenant("b", nominal=8, lending=4).tenant("c", nominal=8, cpu=(64, None, None))
    world.running("r1", "a", gpu=8, nodes=["n000", "n001"], replicas=2).running(
        "r2", "b", gpu=4, nodes=["n002"], limit=600
    )
    world.pending("j1", "b", gpu=8, priority=700).pending("j2", "c", tier="production", gpu=8)
    world.pending("j3", "c", roles=[Role(replicas=2, gpu=2), Role("ps", cpu=4)])
    return world.pending("j4", "a", gpu=64)


def a_cycle() -> StoredCycle:
    snapshot, policy = a_world().snapshot(), PRESETS["default"]
    return StoredCycle(snapshot, policy, NOW_MS, run_cycle(snapshot, policy, NOW_MS))


def assert_same(one: Any, other: Any) -> None:
    """Field by field; arrays by kind and content."""
    assert type(one) is type(other)
    if is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)
        assert not one.flags.writeable
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for each, twin in zip(one, other, strict=True):
            assert_same(each, twin)
    else:
        assert one == other


def test_a_stored_cycle_reads_back_as_it_was_and_gives_the_same_plan() -> None:
    cycle = a_cycle()

    again = restore(store(cycle))

    assert_same(again, cycle)
    assert again.plan is not None
    assert cycle.plan is not None
    assert plan_digest(run_cycle(again.snapshot, again.policy, again.now_ms)) == plan_digest(cycle.plan)
    assert store(again) == store(cycle)


def test_a_cycle_whose_planning_raised_is_stored_without_a_plan() -> None:
    assert restore(store(replace(a_cycle(), plan=None))).plan is None


def test_the_bytes_are_the_same_in_every_process() -> None:
    """Whatever the hash seed: sets and mappings are in order."""
    code = (
        "import hashlib; from tests.unit.engine.test_stored_cycles import a_cycle, store;"
        " print(hashlib.sha256(store(a_cycle())).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
            },
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        ).stdout
        for seed in ("0", "1")
    }

    assert len(found) == 1


def test_another_plan_has_another_digest() -> None:
    cycle = a_cycle()
    assert cycle.plan is not None
    start = cycle.plan.starts[0]

    moved = replace(cycle.plan, starts=(replace(start, slowdown_ppm=start.slowdown_ppm + 1), *cycle.plan.starts[1:]))

    assert plan_digest(moved) != plan_digest(cycle.plan)


def repacked(change: Callable[[Any], None]) -> bytes:
    """A stored cycle whose document was changed."""
    whole = store(a_cycle())
    head = len(stored.MAGIC) + 1
    document = json.loads(zlib.decompress(whole[head:]))
    change(document)
    return whole[:head] + zlib.compress(json.dumps(document).encode())


REFUSED = {
    "nothing": (lambda: b"", "not a stored cycle"),
    "something else": (lambda: b"\x80\x04pickled", "not a stored cycle"),
    "a later format": (lambda: stored.MAGIC + b"\x07" + store(a_cycle())[len(stored.MAGIC) + 1 :], "format 7"),
    "half of it": (lambda: store(a_cycle())[:200], "damaged"),
    "a record that has gained a field since": (
        lambda: repacked(lambda document: document["records"]["Policy"].remove("history_ppm")),
        "stored before Policy gained history_ppm",
    ),
    "a record that has lost a field since": (
        lambda: repacked(lambda document: document["records"]["Queue"].append("colour")),
        "stored before Queue lost colour",
    ),
    "a record that is no longer known": (
        lambda: repacked(lambda document: document["records"].update(Ship=["length"])),
        "records that this version does not know: Ship",
    ),
    "a kind that nobody wrote": (
        lambda: repacked(lambda document: document.update(cycle=["call", "os.system"])),
        "damaged",
    ),
    "another record in its place": (
        lambda: repacked(lambda document: document.update(cycle=document["cycle"][3])),
        "not a stored cycle",
    ),
}


@pytest.mark.parametrize(("made", "want"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_read_is_refused_with_the_reason(made: Callable[[], bytes], want: str) -> None:
    with pytest.raises(StoredCycleError, match=want):
        restore(made())


def test_a_tier_in_a_field_of_numbers_is_stored_as_a_number() -> None:
    """A reservation for a tier, as plan files make it."""
    snapshot = a_world().reserved("r", tier="production", gpu=4).snapshot()
    plan = run_cycle(snapshot, PRESETS["default"], NOW_MS)

    again = restore(store(StoredCycle(snapshot, PRESETS["default"], NOW_MS, plan)))

    assert again.snapshot.reservations == snapshot.reservations
    assert again.plan == plan
