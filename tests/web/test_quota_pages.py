"""Quota: how much is mine, how much is left, who has the rest?"""

from playwright.sync_api import expect

from berth.common import clock
from scheduling.models import Job, QueueUse
from tenants.models import Queue
from tests.web.conftest import SignIn
from tests.web.scene import Scene, add_job, add_run, add_wait


def test_own_lent_and_remaining_make_nominal_on_both_sides_of_a_loan(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "sft-qwen", pods=2, state="running", ago=140)
    add_run(scene, job, borrowed=8)

    page = sign_in("algo-b-member", "/quota/")
    borrower = page.get_by_role("row", name="a100-80g cards")
    expect(borrower.locator("td.b-num")).to_have_text(["8", "8", "0", "0", "8", "0"], use_inner_text=True)
    expect(page.get_by_text("lent by data-c 8")).to_be_visible()
    page.context.clear_cookies()
    page = sign_in("data-c-member", "/quota/")

    lender = page.get_by_role("row", name="a100-80g cards")
    expect(lender.locator("td.b-num").nth(2)).to_have_text("8", use_inner_text=True)
    expect(lender.locator("svg[role=img]")).to_have_attribute(
        "aria-label", "Of 8 nominal, 0 used, 8 lent, 0 remaining; 0 borrowed, 8 more can be borrowed"
    )
    expect(page.locator("section", has=page.get_by_role("heading", name="Lent now"))).to_contain_text("algo-b")


def test_a_queue_shows_its_line_in_order(scene: Scene, sign_in: SignIn) -> None:
    for name in ("second", "first"):
        add_job(scene, "algo-b", name, cards=1)
    for name in ("first", "second"):
        add_wait(scene, Job.objects.get(name=name), "cards-busy", need=1, have=0, short=1)

    page = sign_in("algo-b-member", "/queues/algo-b/dev/")

    expect(page.locator("section").first.locator("tbody a")).to_have_text(["first", "second"])


def used(queue: Queue, *, card_hours: int, busy: float | None, sampled: float = 1) -> None:
    """A queue's past: decayed use, and utilisation of the last days (None: no samples) with its coverage."""
    held = card_hours * 7000 * 3600
    QueueUse.objects.create(
        queue=queue, decayed_card_ms=card_hours * 3_600_000, as_of=clock.now(), held_units_s=held,
        sampled_units_s=0 if busy is None else int(held * sampled), busy_units_s=int(held * sampled * (busy or 0)),
        measured_at=clock.now(),
    )  # fmt: skip


def test_a_queue_shows_what_makes_its_effective_weight(scene: Scene, sign_in: SignIn) -> None:
    """SCH-06: of three tenants algo-b used everything, at 45 %: F = 2^-3, p = a quarter; 1 x 0.7375 x 0.75."""
    used(Queue.objects.get(tenant__slug="algo-b", name="dev"), card_hours=120, busy=0.45, sampled=0.95)
    used(Queue.objects.get(tenant__slug="data-c"), card_hours=0, busy=None)

    page = sign_in("algo-b-member", "/queues/algo-b/dev/")

    section = page.locator("section", has=page.get_by_role("heading", name="Effective weight"))
    row = section.get_by_role("row", name="algo-b")
    expect(row.locator("td")).to_have_text(["1.00", "120.0", "0.74", "45%", "95%", "0.75", "0.55"], use_inner_text=True)


def test_a_waiting_job_tells_its_effective_weight_with_its_parts(scene: Scene, sign_in: SignIn) -> None:
    """SCH-06: with four fifths of held time sampled, how busy the cards were is unknown and costs nothing."""
    used(Queue.objects.get(tenant__slug="algo-b", name="dev"), card_hours=120, busy=0.3, sampled=0.8)
    job = add_job(scene, "algo-b", "sft", cards=1)

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    fact = page.locator(".b-facts > div", has=page.get_by_role("heading", name="Effective weight"))
    expect(fact).to_contain_text("0.74 of 1 set")
    expect(fact).to_contain_text("× 0.74 past use × 1.00 idle cards")
    expect(fact).to_contain_text("80% of held time has samples, 90% needed")


def test_a_strange_queue_is_not_found(scene: Scene, sign_in: SignIn, site: str) -> None:
    page = sign_in("algo-b-member")

    assert page.request.get(f"{site}/queues/algo-a/prod/").status == 404
