"""MIG instances from the queue to the bill: several tenants on one card, each on its own part of the hardware (SCH-13)."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from berth.common import clock
from billing.models import PriceBook, Statement
from billing.services.costs import settle_ended
from billing.services.drafts import refresh_tenant
from billing.services.prices import NewRate, create_rate
from scheduling.cluster.kube_nodes import read_node
from scheduling.cluster.virtual import SetCardHealth
from scheduling.control.adopting import adopt_nodes
from scheduling.control.observed import SeenNode, node_document, read_node_document
from scheduling.control.sampling import sample_cards
from scheduling.models import Card, Job, Lease, Node, Pod, SimulatedPod, UtilisationHour, WaitReason
from scheduling.selectors.node_facts import node_facts
from scheduling.selectors.pool_load import pool_loads
from scheduling.selectors.quota_lines import queue_quota_lines
from scheduling.selectors.supply import flavor_supply
from tenants.models import Flavor, Queue
from tests.factories import a_flavor, a_node, a_quota
from tests.integration.loop_scene import Scene

GIB = 1024
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def cut(scene: Scene, profile: str = "3g.40gb", vram_gib: int = 40, cards: int = 1) -> Scene:
    """The scene with one node whose cards are cut into instances of the profile."""
    Flavor.objects.filter(pk=scene.flavor.pk).update(mode="mig", mig_profile=profile, vram_mib=vram_gib * GIB)
    scene.flavor.refresh_from_db()
    scene.add_nodes(1, gpus=cards)
    return scene


def instance(scene: Scene, queue: Queue, count: int = 1, **fields: object) -> Job:
    return scene.submit(queue, cards=count, **fields)  # type: ignore[arg-type]


def held(job: Job) -> list[tuple[int, int, int]]:
    """(card's index, sevenths of it, MiB of card memory) of a job's leases."""
    rows = Lease.objects.filter(run__job=job).order_by("id").values_list("card__index", "quantity", "vram_mib")
    return [(index, units // 1000, vram) for index, units, vram in rows]


def test_instances_of_two_tenants_run_side_by_side_on_one_card_and_the_next_waits_in_numbers(scene: Scene) -> None:
    cut(scene)
    jobs = [instance(scene, scene.a_queue(2), seconds=120) for _ in range(3)]

    scene.turn()
    scene.go_on()

    assert scene.states(*jobs) == ["running", "running", "queued"]
    assert [held(job) for job in jobs] == [[(0, 3, 40 * GIB)], [(0, 3, 40 * GIB)], []]
    wait = WaitReason.objects.get(job=jobs[2])
    key = f"gpu:{scene.flavor.name}"
    assert (wait.code, wait.need[key], wait.have[key], wait.short[key]) == ("cards-busy", 1000, 0, 1000)

    scene.go_on(130)
    scene.go_on()
    assert scene.states(*jobs) == ["succeeded", "succeeded", "running"]
    assert held(jobs[2]) == [(0, 3, 40 * GIB)]


def test_seven_instances_fill_a_card_and_every_book_says_so(scene: Scene) -> None:
    cut(scene, "1g.10gb", vram_gib=10, cards=2)
    queue = scene.a_queue(14)
    jobs = [instance(scene, queue, count, seconds=None) for count in (7, 1, 2)]
    failed = Card.objects.order_by("index").last()
    assert failed is not None

    scene.turn()
    scene.go_on()

    assert scene.states(*jobs) == ["running"] * 3
    assert held(jobs[0]) == [(0, 1, 10 * GIB)] * 7
    assert [held(job) for job in jobs[1:]] == [[(1, 1, 10 * GIB)], [(1, 1, 10 * GIB)] * 2]
    [line] = [line for line in queue_quota_lines(queue) if line.resource == "gpu"]
    assert (line.nominal, line.own, line.borrowed, line.remaining) == (14_000, 10_000, 0, 4_000)
    [load] = pool_loads([scene.flavor.pool])[0].flavors
    assert (load.total, load.held, load.free) == (14_000, 10_000, 4_000)
    supply = flavor_supply([scene.flavor])[scene.flavor.pk]
    assert (supply.capacity, supply.free) == (14_000, 4_000)
    [facts] = node_facts([failed.node])
    assert (facts.usable_m, facts.free_m, [card.held_m for card in facts.cards]) == (14_000, 4_000, [1000, 429])


def test_the_cluster_is_asked_for_instances_by_their_profile(scene: Scene) -> None:
    cut(scene, "1g.10gb", vram_gib=10, cards=2)
    queue = scene.a_queue(9)
    jobs = [instance(scene, queue, count, seconds=None) for count in (6, 2)]

    scene.turn()
    scene.go_on()

    pods = [SimulatedPod.objects.get(run_name=f"j{job.pk}-r1") for job in jobs]
    assert [(pod.phase, pod.cards, pod.card_count) for pod in pods] == [("Running", [0] * 6, 6), ("Running", [0, 1], 2)]
    assert [node.resource_name for node in scene.port.list_nodes(timeout_s=2).items] == ["nvidia.com/mig-1g.10gb"]


def test_a_card_that_fails_ends_all_whose_instances_it_was_cut_into(scene: Scene) -> None:
    cut(scene, cards=2)
    jobs = [instance(scene, scene.a_queue(1), seconds=None) for _ in range(3)]
    scene.turn()
    scene.go_on()
    assert [held(job)[0][0] for job in jobs] == [0, 0, 1]

    scene.port.act(SetCardHealth(Lease.objects.filter(run__job=jobs[0])[0].node.name, 0, healthy=False))
    scene.go_on()
    scene.go_on(10)
    scene.go_on(10)

    assert scene.states(jobs[2]) == ["running"]
    assert [job.runs.filter(stop_reason="card-failed").count() for job in jobs] == [1, 1, 0]
    alive = [job for job in jobs[:2] if scene.states(job) == ["running"]]
    assert [held(job)[-1][0] for job in alive] == [1]


def test_an_instance_that_was_borrowed_comes_back_to_its_lender(scene: Scene) -> None:
    """SCH-16, SCH-17: one instance is enough; its neighbour on the card goes on."""
    cut(scene)
    lender, borrower = scene.a_queue(1), scene.a_queue(1, tier="development")
    taken = [instance(scene, borrower, seconds=None) for _ in range(2)]
    scene.turn()
    scene.go_on()
    assert scene.states(*taken) == ["running", "running"]
    assert sorted(Lease.objects.values_list("borrowed", flat=True)) == [False, True]
    assert [loan.amount_m for job in taken for loan in scene.run_of(job).loans.all()] == [1000]

    asked = instance(scene, lender, seconds=None)
    for _ in range(4):
        scene.go_on(5)

    assert scene.states(asked) == ["running"]
    assert sorted(scene.states(*taken)) == ["queued", "running"]
    assert held(asked) == [(0, 3, 40 * GIB)]


def test_a_whole_card_job_never_lands_on_a_card_that_is_cut(scene: Scene) -> None:
    cut(scene)
    whole = a_flavor(pool=scene.flavor.pool)
    a_node(flavor=whole, gpus=1)
    scene.add_nodes(0)
    queue = scene.a_queue(2)
    a_quota(queue, flavor=whole, nominal=2)
    mig, scene.flavor = scene.flavor, whole

    jobs = [scene.submit(queue, cards=1, seconds=None) for _ in range(2)]
    scene.turn()
    scene.go_on()

    assert scene.states(*jobs) == ["running", "queued"]
    assert not Lease.objects.filter(flavor=mig).exists()


def test_open_leases_of_one_card_are_never_more_than_the_card(scene: Scene) -> None:
    """Checked by the database, whoever writes: beside two of three sevenths only one seventh is left."""
    cut(scene)
    jobs = [instance(scene, scene.a_queue(1), seconds=None) for _ in range(2)]
    scene.turn()
    lease = Lease.objects.get(run__job=jobs[0])
    pod = Pod.objects.create(run=lease.run, role_name="x", rank=9, index=0, name="x", node=lease.node)

    for units in (2000, 7000):
        with pytest.raises(IntegrityError, match="more than a whole card"), transaction.atomic():
            Lease.objects.create(
                run=lease.run, pod=pod, slot=0, node=lease.node, card=lease.card, flavor=lease.flavor, quantity=units,
                opened_at=clock.now(),
            )  # fmt: skip


def test_an_instance_costs_its_sevenths_of_its_flavors_price(scene: Scene) -> None:
    """BIL-01, BIL-02: 40 min of 3/7 at 21.00 are 6.00; 10 min of two of them, 3.00; beside them a tenant whose terms are 14.00: 4.00."""
    cut(scene, cards=2)
    queues = [scene.a_queue(3), scene.a_queue(1)]
    book = PriceBook.objects.create(name="list", currency="CNY", created_at=LONG_AGO)
    for meter, price, tenant in (
        ("card_hour", "21.00", None),
        ("card_hour", "14.00", queues[1].tenant),
        ("cpu_core_hour", "0.00", None),
        ("memory_gib_hour", "0.00", None),
    ):
        flavor = scene.flavor if meter == "card_hour" else None
        create_rate(NewRate(book, meter, Decimal(price), LONG_AGO, valid_to=None, flavor=flavor, tenant=tenant))
    jobs = [instance(scene, queues[0], seconds=2400), instance(scene, queues[1], seconds=2400)]
    pair = instance(scene, queues[0], 2, seconds=600)
    scene.turn()
    scene.go_on()
    for _ in range(3):
        scene.go_on(900)

    settle_ended()

    assert scene.states(*jobs, pair) == ["succeeded", "succeeded", "succeeded"]
    found = Job.objects.in_bulk([job.pk for job in (*jobs, pair)])
    assert [found[job.pk].cost_amount for job in (*jobs, pair)] == [Decimal(6), Decimal(4), Decimal(3)]
    for queue, want in zip(queues, ([(2400, "6.00"), (1200, "3.00")], [(2400, "4.00")]), strict=True):
        refresh_tenant(queue.tenant_id)
        draft = Statement.objects.get(tenant=queue.tenant, superseded_at__isnull=True)
        lines = draft.lines.filter(kind="usage", meter="card_hour", flavor=scene.flavor).order_by("job_id")
        assert [(line.quantity, line.amount) for line in lines] == [
            (Decimal(seconds * 3000), Decimal(amount)) for seconds, amount in want
        ]


def seen_node(resource: str, count: int, **labels: str) -> SeenNode:
    """A machine of a real cluster as its API server lists it."""
    capacity = {"cpu": "128", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": "0", resource: str(count)}
    node = read_node(
        {
            "metadata": {
                "name": "real-0",
                "uid": "u-0",
                "creationTimestamp": "2026-11-29T09:00:00Z",
                "labels": {f"berth.dev/{key}": value for key, value in labels.items()},
            },
            "status": {"capacity": capacity, "conditions": [{"type": "Ready", "status": "True"}]},
        }
    )
    return read_node_document(node.name, node.uid, node_document(node, lost="", last_sign=None, new=True))


@pytest.mark.parametrize(
    ("resource", "count", "want"),
    [
        ("nvidia.com/mig-3g.40gb", 8, [("mig-3g", 4)]),
        ("nvidia.com/mig-1g.10gb", 28, []),
        ("nvidia.com/gpu", 4, []),
    ],
    ids=["cut as the flavor says", "cut otherwise", "not cut"],
)
def test_a_found_node_is_taken_in_by_the_profile_that_its_cards_are_cut_by(
    scene: Scene, resource: str, count: int, want: list[tuple[str, int]]
) -> None:
    """Its label names the flavor, its device plugin what there is to ask for."""
    flavor = a_flavor("mig-3g", pool=scene.flavor.pool, mode="mig", mig_profile="3g.40gb")

    adopt_nodes(scene.cluster, [seen_node(resource, count, flavor="mig-3g")], now=clock.now())

    found = Node.objects.filter(name="real-0")
    assert list(found.values_list("flavor__name", "gpus")) == want
    assert list(Card.objects.filter(node__in=found).values_list("flavor", "mode")) == [(flavor.pk, "mig")] * (
        4 if want else 0
    )


def test_a_pod_on_several_instances_of_a_card_is_sampled_once_a_card(scene: Scene) -> None:
    """Its hours count every instance that it holds: 90 s of two of three sevenths, at 60 %."""
    cut(scene, cards=2)
    job = instance(scene, scene.a_queue(3), 3, seconds=None, labels={"berth.dev/sim-utilisation": "0.6"})
    scene.turn()
    scene.go_on()

    for _ in range(3):
        scene.pass_time(45)
        assert sample_cards() == 2

    hour = UtilisationHour.objects.get(run_id=scene.run_of(job).pk)
    assert hour.sampled_units_s == hour.held_units_s > 3 * 3000 * 90
    assert hour.busy_units_s * 10 == hour.sampled_units_s * 6
