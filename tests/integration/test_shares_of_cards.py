"""A share of a card from the queue to its bill: one lease of its part, on one card, with one tenant's others only (SCH-13)."""

import pytest
from django.db import IntegrityError, transaction

from berth.common import clock
from scheduling.cluster.virtual import SetCardHealth
from scheduling.models import Job, Lease, LeaseSegment, Pod, Reservation, SimulatedPod
from tenants.models import Flavor, Queue, Quota
from tests.integration.loop_scene import Scene


@pytest.fixture
def shared(scene: Scene) -> Scene:
    """A scene whose cards are whole or in shares, with one node of two of them."""
    Flavor.objects.filter(pk=scene.flavor.pk).update(mode="any")
    scene.flavor.refresh_from_db()
    scene.add_nodes(1, gpus=2)
    return scene


def share(scene: Scene, queue: Queue, part: str = "0.5", **fields: object) -> Job:
    return scene.submit(queue, cards=part, **fields)  # type: ignore[arg-type]


def held(job: Job) -> list[tuple[int, int, int]]:
    """(card's index, milli-cards, MiB of card memory) of a job's leases."""
    rows = Lease.objects.filter(run__job=job).order_by("id").values_list("card__index", "quantity", "vram_mib")
    return [(index, units // 7, vram) for index, units, vram in rows]


def test_two_shares_of_a_tenant_run_side_by_side_on_one_card(shared: Scene) -> None:
    queue = shared.a_queue(2)
    jobs = [share(shared, queue, seconds=120), share(shared, queue, seconds=60)]

    shared.turn()
    shared.go_on()
    assert shared.states(*jobs) == ["running", "running"]
    assert [held(job) for job in jobs] == [[(0, 500, 40 * 1024)], [(0, 500, 40 * 1024)]]
    shared.go_on(300)

    assert shared.states(*jobs) == ["succeeded", "succeeded"]
    segments = LeaseSegment.objects.order_by("lease__run__job").values_list("card__index", "quantity", "kind")
    assert list(segments) == [(0, 3500, "billable"), (0, 3500, "billable")]
    assert shared.open_cards() == 0


def test_another_tenants_share_gets_another_card_and_a_third_one_waits(shared: Scene) -> None:
    first, second, third = (shared.a_queue(2) for _ in range(3))
    jobs = [share(shared, queue, "0.3", seconds=None) for queue in (first, second, third)]

    shared.turn()
    shared.go_on()

    assert shared.states(*jobs) == ["running", "running", "queued"]
    assert [held(job)[0][0] for job in jobs[:2]] == [0, 1]


def test_a_whole_card_waits_for_the_last_share_and_then_takes_the_card(shared: Scene) -> None:
    queue = shared.a_queue(4)
    shares = [share(shared, queue, "0.5", seconds=60), share(shared, queue, "0.4", seconds=120)]
    shared.turn()
    whole = shared.submit(queue, cards=2, seconds=60)
    shared.go_on()
    shared.go_on(60)
    assert shared.states(*shares, whole) == ["succeeded", "running", "queued"]

    shared.go_on(90)
    shared.go_on()

    assert shared.states(*shares, whole) == ["succeeded", "succeeded", "running"]
    assert held(whole) == [(0, 1000, 80 * 1024), (1, 1000, 80 * 1024)]


def test_a_card_that_fails_ends_all_who_share_it(shared: Scene) -> None:
    queue = shared.a_queue(2)
    jobs = [share(shared, queue, "0.3", seconds=None) for _ in range(2)]
    other = share(shared, shared.a_queue(2), "0.3", seconds=None)
    shared.turn()
    shared.go_on()
    failed = Lease.objects.get(run__job=jobs[0]).card
    assert failed is not None

    shared.port.act(SetCardHealth(failed.node.name, failed.index, healthy=False))
    shared.go_on()
    shared.go_on(10)
    shared.go_on(10)

    assert shared.states(other) == ["running"]
    assert {shared.run_of(job).number for job in jobs} <= {1, 2}
    assert all(shared.run_of(job).job.runs.filter(stop_reason="card-failed").exists() for job in jobs)


def test_the_cluster_gets_the_share_and_its_cap(shared: Scene) -> None:
    job = share(shared, shared.a_queue(2), "0.25", seconds=None)

    shared.turn()
    shared.go_on()

    pod = SimulatedPod.objects.get(run_name=f"j{job.pk}-r1")
    assert (pod.annotations["berth.dev/card-share"], pod.annotations["berth.dev/cards"]) == ("250", "0")
    assert (pod.phase, pod.cards, pod.card_count) == ("Running", [0], 1)


def test_open_leases_of_one_card_are_never_more_than_the_card(shared: Scene) -> None:
    """Checked by the database, whoever writes."""
    job = share(shared, shared.a_queue(2), "0.6", seconds=None)
    shared.turn()
    lease = Lease.objects.get(run__job=job)
    pod = Pod.objects.create(run=lease.run, role_name="x", rank=9, index=0, name="x", node=lease.node)

    for units in (3500, 7000):
        with pytest.raises(IntegrityError, match="more than a whole card"), transaction.atomic():
            Lease.objects.create(
                run=lease.run, pod=pod, slot=0, node=lease.node, card=lease.card, flavor=lease.flavor, quantity=units,
                opened_at=clock.now(),
            )  # fmt: skip


def test_a_borrowed_share_is_lent_whole_and_turns_own_with_the_quota(shared: Scene) -> None:
    """SCH-03, SCH-16: leases and loans say one amount, and it comes to rest."""
    shared.a_queue(2)
    queue = shared.a_queue(0, tier="development")
    Quota.objects.filter(queue=queue).update(nominal=300)
    job = share(shared, queue, "0.5", seconds=None)
    shared.turn()
    shared.go_on()

    assert list(Lease.objects.filter(run__job=job).values_list("borrowed", flat=True)) == [True]
    assert list(shared.run_of(job).loans.values_list("amount_m", "ended_at")) == [(500, None)]
    shared.go_on()
    assert shared.run_of(job).loans.count() == 1

    Quota.objects.filter(queue=queue).update(nominal=500)
    shared.go_on()

    assert list(Lease.objects.filter(run__job=job).values_list("borrowed", flat=True)) == [False]
    assert not shared.run_of(job).loans.filter(ended_at=None).exists()


def test_two_shares_that_a_card_was_freed_for_start_on_it_together(shared: Scene) -> None:
    """SCH-17: the place is kept through the grace with the card that they will open, and the plan goes on to say the same."""
    lender, borrower = shared.a_queue(1), shared.a_queue(1, tier="development")
    lent = [shared.submit(borrower, cards=1, seconds=None) for _ in range(2)]
    shared.turn()
    shared.go_on(5)
    assert shared.states(*lent) == ["running", "running"]

    asked = [share(shared, lender, seconds=None) for _ in range(2)]
    shared.go_on(5)
    kept = Reservation.objects.filter(kind="kept-for-job", released_at__isnull=True)
    places = sorted(kept.values_list("job", "kept__role", "kept__card", "kept__pods", "kept__cards"))
    for _ in range(2):
        shared.go_on(5)

    assert places == [(job.pk, "worker", -1, 1, 500) for job in asked]
    assert shared.states(*asked) == ["running", "running"]
    assert held(asked[0])[0][0] == held(asked[1])[0][0]
    assert set(Reservation.objects.filter(kind="kept-for-job").values_list("why", flat=True)) == {"started"}
