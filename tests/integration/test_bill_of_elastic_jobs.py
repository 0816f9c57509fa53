"""Every pod of an elastic job is billed by its own times: none before it joined, none for leaving for others' sake (SCH-10, BIL-05)."""

from datetime import datetime, timedelta
from decimal import Decimal

from berth.common import clock
from billing.models import PriceBook
from billing.selectors.held import going_on_of
from billing.services.costs import record_costs
from billing.services.prices import NewRate, create_rate
from scheduling.models import Job, LeaseSegment
from tests.integration.elastic_jobs import a_borrower_and_its_lender, sizes
from tests.integration.loop_scene import MORNING, Scene


def price(scene: Scene, job: Job, *, own: str, borrowed: str) -> None:
    """Of a card-hour, from the day before; CPU and memory are free."""
    book = PriceBook.objects.create(name="list", currency=job.tenant.currency, created_at=MORNING)
    of_cards = [("card_hour", own, scene.flavor), ("borrowed_card_hour", borrowed, scene.flavor)]
    for meter, amount, flavor in (*of_cards, ("cpu_core_hour", "0", None), ("memory_gib_hour", "0", None)):
        start = MORNING - timedelta(days=1)
        create_rate(
            NewRate(price_book=book, meter=meter, price=Decimal(amount), valid_from=start, valid_to=None, flavor=flavor)
        )


def card_seconds(job: Job) -> dict[tuple[str, bool], int]:
    """By (kind, whether borrowed)."""
    sums: dict[tuple[str, bool], int] = {}
    for segment in LeaseSegment.objects.filter(lease__run__job=job):
        key = (segment.kind, segment.borrowed)
        seconds = int((segment.during.upper - segment.during.lower).total_seconds())
        sums[key] = sums.get(key, 0) + seconds
    return sums


def test_a_job_that_shrank_and_grew_costs_what_its_pods_held(scene: Scene) -> None:
    job, lender = a_borrower_and_its_lender(scene, seconds=600, labels={"berth.dev/sim-stop-delay": "7"})
    price(scene, job, own="9.00", borrowed="4.50")
    scene.go_on(90)
    claim = scene.submit(lender, seconds=60)
    for seconds in (1, 1, 5, 5, 5, 60, 5, 5, 60, 5):
        scene.go_on(seconds)
    assert scene.states(job, claim) == ["running", "succeeded"]
    assert sizes(job) == [(4, 3, "reclaim-nominal"), (3, 4, "idle-cards")]
    first, second = job.runs.get().pods.filter(index=3).order_by("pk")
    assert [after(first.started_at), after(first.notice_at), after(first.finished_at)] == [0, 101, 108]
    assert [after(second.started_at), after(second.joined_at)] == [177, 177]
    for seconds in (300, 60, 5):
        scene.go_on(seconds)
    record_costs([job.pk])

    assert scene.states(job) == ["succeeded"]
    assert card_seconds(job) == {
        ("billable", False): 2 * 8 * 600,
        ("billable", True): 8 * 600 + 8 * 101 + 8 * (600 - 177),
        ("grace", True): 8 * 7,
    }
    # 9,600 s at 9.00 an hour are 24.00; 8,992 s at 4.50 are 11.24.
    assert Job.objects.get(pk=job.pk).cost_amount == Decimal("35.24")


def test_what_goes_on_is_told_as_its_segments_will_be(scene: Scene) -> None:
    """The pod that leaves costs nothing from its notice on, while it is still there."""
    job, lender = a_borrower_and_its_lender(scene, labels={"berth.dev/sim-stop-delay": "60"})
    scene.go_on(90)
    scene.submit(lender, seconds=None)
    for seconds in (1, 20):
        scene.go_on(seconds)

    now = clock.now()
    sums: dict[str, int] = {}
    for held in going_on_of(job_ids=[job.pk]):
        span = held.until(now)
        sums[held.held_as] = sums.get(held.held_as, 0) + (span.seconds if span is not None else 0)

    assert sums == {"billable": 3 * 8 * 121 + 8 * 101, "grace": 8 * 20}


def after(at: datetime | None) -> float | None:
    """Seconds after the morning."""
    return None if at is None else (at - MORNING).total_seconds()
