"""SCH-22 in the running product: cycles that are kept can be planned again, and the plan is the same byte for byte."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduling.control import cycle_store, loop
from scheduling.control.cycle_store import CycleStore, thin_stored_cycles
from scheduling.engine.policy import PRESETS
from scheduling.engine.stored import restore, store
from scheduling.models import Cycle
from tests.integration.loop_scene import Scene


def a_busy_scene(scene: Scene) -> int:
    """Own and borrowed cards, somebody who reclaims, somebody who waits; the cycle that decided on all of it."""
    scene.add_nodes(2)
    lender, borrower = scene.a_queue(8), scene.a_queue(8, tier="development")
    scene.submit(borrower, cards=8, replicas=2)
    scene.turn()
    scene.go_on(1)
    scene.submit(lender)
    scene.submit(borrower, cards=4)
    return scene.go_on(1).cycle_id


def replay(cycle: int, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """The plan and the verdict."""
    capsys.readouterr()
    call_command("replay_cycle", cycle)
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_a_cycle_that_is_planned_again_gives_the_same_plan(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """While jobs have gone on since and a policy, an hour and a queue are not what they were."""
    cycle = a_busy_scene(scene)
    scene.pass_time(3_600)
    scene.go_on(1)

    plan, verdict = replay(cycle, capsys)

    assert len(plan["preempts"]) == 1
    assert len(plan["waits"]) == 2
    assert "same as recorded: sha256 " in verdict


def test_a_plan_that_differs_is_shown_line_by_line_and_fails(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    cycle = Cycle.objects.get(pk=a_busy_scene(scene))
    assert cycle.snapshot is not None
    stored = restore(bytes(cycle.snapshot))
    cycle.snapshot = store(replace(stored, policy=replace(stored.policy, preemption=False)))
    cycle.save()

    with pytest.raises(CommandError, match="differs from what was recorded"):
        call_command("replay_cycle", cycle.pk)

    said = capsys.readouterr()
    assert json.loads(said.out)["preempts"] == []
    assert any(line.startswith("-") and '"reclaim-nominal"' in line for line in said.err.splitlines())


def test_a_cycle_that_was_not_stored_says_so(scene: Scene) -> None:
    cycle = a_busy_scene(scene)
    Cycle.objects.filter(pk=cycle).update(snapshot=None)

    with pytest.raises(CommandError, match="was not stored"):
        call_command("replay_cycle", cycle)
    with pytest.raises(CommandError, match="there is no cycle 999999"):
        call_command("replay_cycle", 999_999)


def test_a_cycle_whose_planning_raised_is_kept_with_its_picture(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """F44: the fault is in the planner, and gone when the cycle is planned again."""
    a_busy_scene(scene)

    def broken(*_args: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    with monkeypatch.context() as patched:
        patched.setattr(loop, "plan_cycle", broken)
        with pytest.raises(ZeroDivisionError):
            scene.loop.turn()
    failed = Cycle.objects.get(failed=True)

    with pytest.raises(CommandError, match="raised then and does not now"):
        call_command("replay_cycle", failed.pk)
    assert json.loads(capsys.readouterr().out)["waits"]


def test_the_newest_some_of_the_older_and_all_with_a_fault_stay_replayable(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = a_busy_scene(scene)
    for _ in range(12):
        scene.go_on(1)
    faulty = first + 1
    Cycle.objects.filter(pk=faulty).update(dropped=1)
    monkeypatch.setattr(cycle_store, "NEWEST", 4)
    monkeypatch.setattr(cycle_store, "ONE_IN", 5)
    ids = list(Cycle.objects.order_by("pk").values_list("pk", flat=True))

    thin_stored_cycles(ids[-1])

    kept = list(Cycle.objects.filter(snapshot__isnull=False).order_by("pk").values_list("pk", flat=True))
    assert kept == sorted({pk for pk in ids if pk % 5 == 0} | {faulty} | set(ids[-4:]))


def test_storing_takes_a_small_part_of_the_loops_time(scene: Scene) -> None:
    """A loop that has just stored one rests for 50 times as long as that took, but never lets a fault pass."""
    picture = restore(bytes(Cycle.objects.get(pk=a_busy_scene(scene)).snapshot or b""))
    cycle = Cycle.objects.latest("pk")
    resting = CycleStore(_rests_until=float("inf"))

    kept = [
        resting.keep(cycle.pk, picture.snapshot, PRESETS["default"], picture.now_ms, None),
        CycleStore(_rests_until=float("inf")).keep(
            cycle.pk, picture.snapshot, PRESETS["default"], picture.now_ms, FINE
        ),
    ]

    assert kept == [True, False]


FINE: Any = type("Planned", (), {"faulty": {}, "plan": None})()
