"""A hard stop bars new starts, counts what is reserved beside what is spent, and learns from billing what was really used. B51."""

from decimal import Decimal

from berth.common import clock
from billing.models import PriceBook, Rate
from billing.services.costs import meter_running, settle_ended
from billing.services.prices import publish_all
from scheduling.models import Job, Run
from tenants.models import BudgetGate, Queue
from tests.integration.loop_scene import Scene


def a_gate(queue: Queue, *, limit: int, spent: int = 0) -> BudgetGate:
    return BudgetGate.objects.create(
        tenant=queue.tenant, currency="CNY", limit_amount=limit, spent=Decimal(spent), hard_stop=True
    )


def numbers(gate: BudgetGate) -> tuple[int, int]:
    """Reserved and spent; whole amounts in these tests."""
    gate.refresh_from_db()
    assert gate.reserved % 1 + gate.spent % 1 == 0
    return int(gate.reserved), int(gate.spent)


def code(job: Job) -> str:
    return job.wait_reasons.get(until__isnull=True).code


def priced(scene: Scene, price: str = "10") -> None:
    """A card-hour of the scene's flavor from now on; CPU and memory are free."""
    book, _made = PriceBook.objects.get_or_create(name="list", currency="CNY", defaults={"created_at": clock.now()})
    Rate.objects.filter(valid_to__isnull=True).update(valid_to=clock.now())
    for meter, amount in (("card_hour", price), ("cpu_core_hour", "0"), ("memory_gib_hour", "0")):
        Rate.objects.create(
            price_book=book,
            meter=meter,
            price=Decimal(amount),
            currency="CNY",
            valid_from=clock.now(),
            created_at=clock.now(),
            flavor=scene.flavor if meter == "card_hour" else None,
        )
    publish_all()


def test_an_estimate_above_what_is_left_waits_and_holds_up_nobody(scene: Scene) -> None:
    """B51: 950 of 1,000 are spent, 8 cards for an hour and a quarter cost 100; the job behind it needs no more than is left."""
    scene.add_nodes()
    queue, other = scene.a_queue(8), scene.a_queue(8)
    priced(scene)
    gate = a_gate(queue, limit=1000, spent=950)
    dear = scene.submit(queue, seconds=None, expected_runtime_s=4500, priority=900)
    behind = scene.submit(other, seconds=None)

    scene.turn()
    assert (scene.states(dear), code(dear), numbers(gate)[0]) == (["queued"], "budget", 0)
    scene.go_on()

    assert (scene.states(dear, behind), code(dear)) == (["queued", "starting"], "budget")
    BudgetGate.objects.update(limit_amount=1100)
    scene.add_nodes()
    scene.go_on()
    assert scene.states(dear) == ["starting"]


def test_of_two_that_fit_alone_exactly_one_starts(scene: Scene) -> None:
    """B51: 50 are left, two of 40."""
    scene.add_nodes(2)
    queue = scene.a_queue(16)
    priced(scene)
    gate = a_gate(queue, limit=1000, spent=950)
    jobs = [scene.submit(queue, seconds=None, expected_runtime_s=1800) for _ in range(2)]

    scene.turn()

    assert (scene.states(*jobs), code(jobs[1])) == (["starting", "queued"], "budget")
    assert numbers(gate) == (40, 950)


def test_what_is_charged_takes_the_reservations_place_and_the_rest_is_free_at_the_end(scene: Scene) -> None:
    """8 cards at 10.00 for an hour are reserved; half an hour is used."""
    scene.add_nodes()
    queue = scene.a_queue(8)
    priced(scene)
    gate = a_gate(queue, limit=1000)
    job = scene.submit(queue, seconds=1800, expected_runtime_s=3600)
    scene.turn()
    assert numbers(gate) == (80, 0)

    scene.go_on(900)
    meter_running()
    assert numbers(gate) == (60, 20)
    scene.go_on(1000)
    settle_ended()
    settle_ended()

    assert scene.states(job) == ["succeeded"]
    assert numbers(gate) == (0, 40)
    assert Run.objects.get(job=job).budget_reserved == 0


def test_a_price_change_asks_again(scene: Scene) -> None:
    scene.add_nodes()
    queue = scene.a_queue(8)
    priced(scene)
    a_gate(queue, limit=50)
    job = scene.submit(queue, seconds=None, expected_runtime_s=3600)
    scene.turn()
    assert code(job) == "budget"

    scene.pass_time(10)
    priced(scene, "5")
    scene.turn()

    assert scene.states(job) == ["starting"]
