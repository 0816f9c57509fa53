"""Quota: how much is mine, how much is left, who has the rest?"""

from playwright.sync_api import expect

from scheduling.models import Job
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


def test_a_strange_queue_is_not_found(scene: Scene, sign_in: SignIn, site: str) -> None:
    page = sign_in("algo-b-member")

    assert page.request.get(f"{site}/queues/algo-a/prod/").status == 404
