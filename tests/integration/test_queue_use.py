"""SCH-06 in the running product: what queues used, counted once and forgotten by half every 7 days, and what it does to their weights."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from berth.common import clock
from scheduling.cluster.virtual import FailNode, NodeFailure
from scheduling.control.ending import RunEnd, end_run
from scheduling.control.sampling import sample_cards
from scheduling.models import Job, QueueUse
from scheduling.selectors.effective_weights import weights_of_queues
from scheduling.selectors.queue_use import usage_of_queues
from scheduling.selectors.snapshot import load_snapshot
from scheduling.services.queue_use import measure_use, recount
from scheduling.states import EndReason
from scheduling.transitions import Cause
from tenants.models import Queue
from tests.integration.loop_scene import Scene
from tests.integration.money_world import MoneyWorld, at, row

DAY_S = 86_400
HOUR_MS = 3_600_000


def card_hours(queue: Queue) -> float:
    """Decayed use as it reads now."""
    past = usage_of_queues(clock.now()).get(queue.pk)
    return round(past.decayed_card_ms / HOUR_MS, 2) if past else 0


def running(scene: Scene, queue: Queue, *, seconds: float | None = None, cards: int = 8, **labels: str) -> Job:
    """A job whose pod started this instant."""
    named = {f"berth.dev/sim-{key}": value for key, value in labels.items()}
    job = scene.submit(queue, cards=cards, seconds=seconds, labels=named)
    scene.turn()
    scene.go_on(1)
    return job


def parts(scene: Scene, queue: Queue) -> tuple[int, int]:
    """Effective weight and what may be borrowed of the queue, in ppm, as a cycle of this instant takes them."""
    snapshot = load_snapshot(clock.now())
    node = next(each for each in snapshot.tree if each.kind == "queue" and each.id == queue.pk)
    return node.effective_weight_ppm, node.borrow_scale_ppm


def test_use_halves_in_seven_days_and_reads_the_same_while_it_is_held_and_after(scene: Scene) -> None:
    scene.add_nodes()
    queue = scene.a_queue(8)
    running(scene, queue, seconds=36_000)
    scene.pass_time(36_000)
    while_held = card_hours(queue)
    scene.go_on(0)
    scene.go_on(0)

    ended = card_hours(queue)
    scene.pass_time(7 * DAY_S)
    week_later = card_hours(queue)

    assert QueueUse.objects.get(pk=queue.pk).decayed_card_ms > 0
    assert while_held == pytest.approx(80, abs=2)
    assert ended == pytest.approx(while_held, abs=0.05)
    assert week_later == pytest.approx(ended / 2, abs=0.01)


def test_an_end_that_is_told_twice_or_broken_off_is_counted_once(scene: Scene) -> None:
    """I6: kill -9 between the segments and the commit leaves neither; the successor ends the run again, and a third time for nothing."""
    scene.add_nodes()
    queue = scene.a_queue(8)
    job = running(scene, queue)
    scene.go_on(3_600)
    end = RunEnd(scene.run_of(job).pk, EndReason.NODE_LOST, last_sign=clock.now())
    cause = Cause(reason="node-lost", at=clock.now())

    with transaction.atomic():
        end_run(end, now=clock.now(), cause=cause)
        transaction.set_rollback(True)
    broken_off = (card_hours(queue), QueueUse.objects.filter(pk=queue.pk).exists())
    with transaction.atomic():
        first, second = (end_run(end, now=clock.now(), cause=cause) for _ in range(2))

    assert broken_off == (7.99, False)
    assert (first, second, card_hours(queue)) == (True, False, 7.99)


def test_what_was_counted_end_by_end_is_what_all_segments_say(scene: Scene) -> None:
    """Ends of all kinds: succeeded, evicted within its grace, a node lost with its pods still there; a fault of the platform is no use."""
    scene.add_nodes(3)
    lender, borrower = scene.a_queue(16), scene.a_queue(8, tier="development")
    running(scene, borrower, seconds=600)
    running(scene, borrower)
    lost = running(scene, borrower)
    scene.go_on(700)
    scene.port.act(FailNode(scene.run_of(lost).pods.get().node.name, NodeFailure.SILENT))
    running(scene, lender, seconds=300)
    for _ in range(40):
        scene.pass_wall(20)
        scene.look()
        scene.turn()
    counted = {use.pk: use.decayed_card_ms for use in QueueUse.objects.all()}
    held = {queue: past.decayed_card_ms for queue, past in usage_of_queues(clock.now()).items()}

    recount(now=clock.now())

    again = {use.pk: use.decayed_card_ms for use in QueueUse.objects.all()}
    assert set(counted) == {lender.pk, borrower.pk}
    assert all(again[pk] == pytest.approx(counted[pk], rel=1e-3) for pk in counted)
    assert usage_of_queues(clock.now())[borrower.pk].decayed_card_ms == pytest.approx(held[borrower.pk], rel=1e-3)


@pytest.mark.django_db
def test_imported_use_counts_by_its_age_and_a_second_time_for_nothing() -> None:
    """Two card-hours of a week ago and two that end now: three; the same file again changes nothing."""
    with clock.frozen_at(at("2026-11-29T10:00:00Z")):
        world = MoneyWorld().with_prices()
        past = [
            row("2026-11-22T08:00:00Z", "2026-11-22T10:00:00Z"),
            row("2026-11-29T08:00:00Z", "2026-11-29T10:00:00Z"),
        ]
        imports = [world.load(*past) for _ in range(2)]

        assert [each.new for each in imports] == [2, 0]
        assert card_hours(world.queue) == pytest.approx(3, abs=0.03)


def test_hours_that_nobody_looked_at_are_held_without_samples(scene: Scene) -> None:
    """B54: two hours at 30 % with samples all along; then 20 minutes nobody looked: 86 % covered is unknown, never idle."""
    scene.add_nodes()
    queue = scene.a_queue(8)
    running(scene, queue, utilisation="0.3")
    for _ in range(160):
        scene.go_on(45)
        sample_cards()
    measure_use(now=clock.now())
    watched = (parts(scene, queue), usage_of_queues(clock.now())[queue.pk])
    scene.pass_time(1_200)

    measure_use(now=clock.now())

    assert watched[0] == (500_000, 500_000)
    assert watched[1].utilisation_ppm == 300_000
    assert watched[1].coverage_ppm == pytest.approx(999_000, abs=2_000)
    left = usage_of_queues(clock.now())[queue.pk]
    assert left.coverage_ppm == pytest.approx(857_000, abs=3_000)
    assert parts(scene, queue) == (1_000_000, 1_000_000)
    assert not weights_of_queues([queue.pk])[queue.pk].queue.is_covered


def test_who_used_less_of_late_is_served_first(scene: Scene) -> None:
    """Two equal tenants without quota of their own; one of them had the cards all day. Its job is the older one, and waits."""
    scene.add_nodes()
    had, had_not = (scene.a_queue(0, tier="development") for _ in range(2))
    scene.a_queue(8)
    running(scene, had, seconds=DAY_S)
    scene.go_on(DAY_S - 60)
    older, newer = (scene.submit(queue, seconds=None) for queue in (had, had_not))

    for _ in range(3):
        scene.go_on(60)

    assert scene.states(older, newer) == ["queued", "running"]


def test_a_cycle_loads_in_the_same_number_of_queries_however_many_queues_used_something(scene: Scene) -> None:
    def load() -> int:
        with CaptureQueriesContext(connection) as captured:
            load_snapshot(clock.now())
        return len(captured)

    scene.add_nodes(4)
    running(scene, scene.a_queue(8), seconds=60)
    scene.go_on(100)
    before = load()
    for _ in range(3):
        running(scene, scene.a_queue(8))
    measure_use(now=clock.now())

    assert load() == before
    assert len(usage_of_queues(clock.now())) == 4
