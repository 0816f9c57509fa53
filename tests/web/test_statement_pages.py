"""Statements: what do I owe, and can I check it?"""

import re

from playwright.sync_api import ViewportSize, expect

from tests.web.conftest import PHONE, SignIn
from tests.web.scene import Scene, add_job, add_prices, add_run, bill

PAPER: ViewportSize = {"width": 680, "height": 1000}
"""A4 between its margins is narrower than the widest phone layout, and is no phone."""


def bill_one_run(scene: Scene) -> None:
    """Four cards of algo-b for two and a half hours: 125.00."""
    add_prices(scene)
    job = add_job(scene, "algo-b", "rm-train", cards=4, state="succeeded")
    add_run(scene, job, minutes=150, ended="succeeded")
    bill(scene)


def test_a_line_opens_in_place_down_to_segments_and_the_price_version(scene: Scene, sign_in: SignIn) -> None:
    """BIL-08: 4 cards × 150 min = 10 card-hours × 12.50 = 125.00, and each level repeats it."""
    bill_one_run(scene)
    page = sign_in("algo-b-member", "/statements/")
    page.locator("tbody a").first.click()
    expect(page.locator(".b-figure")).to_have_text("CNY 125.00")

    page.get_by_role("button", name="a100-80g card-hours, own").click()
    page.get_by_role("button", name="rm-train").click()

    segments = page.locator(".b-inner .b-inner")
    expect(segments.get_by_text("worker-0").first).to_be_visible()
    expect(segments.get_by_text("9,000").first).to_be_visible()
    expect(segments.get_by_text("12.50 CNY a card-hour")).to_be_visible()
    expect(page.locator("tfoot").first).to_contain_text("10.000")


def test_zero_priced_lines_stay_and_the_total_closes(scene: Scene, sign_in: SignIn) -> None:
    """F21."""
    bill_one_run(scene)

    page = sign_in("algo-b-member", "/statements/")
    page.locator("tbody a").first.click()

    expect(page.get_by_role("button", name="CPU core-hours")).to_be_visible()
    expect(page.locator(".b-money tfoot td").first).to_have_text("125.00")


def test_a_strange_tenants_statement_is_not_found(scene: Scene, sign_in: SignIn, site: str) -> None:
    bill_one_run(scene)
    page = sign_in("finance", "/statements/")
    address = page.get_by_role("row", name="algo-b").get_by_role("link").first.get_attribute("href")
    page.context.clear_cookies()

    page = sign_in("algo-a-member")

    assert page.request.get(f"{site}{address}").status == 404


def test_on_a_phone_each_statement_says_whose_it_is_and_the_walk_down_needs_no_sideways_scroll(
    scene: Scene, sign_in: SignIn
) -> None:
    add_prices(scene)
    for tenant in ("algo-b", "data-c"):
        job = add_job(scene, tenant, f"{tenant}-train", cards=4, state="succeeded")
        add_run(scene, job, minutes=150, ended="succeeded")
    bill(scene)
    page = sign_in("finance", "/statements/")
    page.set_viewport_size(PHONE)
    row = page.get_by_role("row").filter(has_text="algo-b")
    number = row.locator(".b-phone-line.b-mono")
    expect(number).to_be_visible()
    expect(row.get_by_text("billed to")).to_be_visible()

    row.get_by_role("link").click()
    page.get_by_role("button", name="a100-80g card-hours, own").click()
    page.get_by_role("button", name="algo-b-train").click()

    expect(page.get_by_text("algo-b-member · 10.000 card-hour × 12.50")).to_be_visible()
    segments = page.locator(".b-inner .b-inner")
    expect(segments.get_by_text("9,000 s").first).to_be_visible()
    expect(segments.get_by_text("2.500000").first).to_be_visible()
    widest = (
        "Math.max(...[...document.querySelectorAll('.b-inner, .b-inner td')].map(e => e.scrollWidth - e.clientWidth))"
    )
    assert page.evaluate(widest) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_jobs_of_a_line_go_on_after_the_dearest_hundred(scene: Scene, sign_in: SignIn) -> None:
    """BIL-08: every job of the line can be reached, not only the dearest."""
    add_prices(scene)
    for number in range(103):
        job = add_job(scene, "algo-b", f"rm-{number}", cards=1, state="succeeded")
        add_run(scene, job, minutes=150 - number, ended="succeeded")
    bill(scene)
    page = sign_in("algo-b-member", "/statements/")
    page.locator("tbody a").first.click()
    page.get_by_role("button", name="a100-80g card-hours, own").click()
    expect(page.get_by_text("dearest 100 of 103 jobs")).to_be_visible()

    page.get_by_role("button", name="3 more").click()

    expect(page.get_by_role("button", name="rm-102")).to_be_visible()
    expect(page.locator(".b-inner tbody [data-drill]")).to_have_count(103)
    expect(page.get_by_text("All 103 jobs together")).to_be_visible()
    page.get_by_role("button", name="rm-102").click()
    expect(page.locator(".b-inner .b-inner").get_by_text("worker-0").first).to_be_visible()


def test_a_printed_statement_names_its_issuer_and_has_no_hints_for_the_screen(scene: Scene, sign_in: SignIn) -> None:
    bill_one_run(scene)
    page = sign_in("algo-b-member", "/statements/")
    page.locator("tbody a").first.click()
    hint = page.get_by_text("(open to walk down)").first
    expect(hint).to_be_visible()

    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)

    expect(hint).to_be_hidden()
    expect(page.locator(".b-opener .b-icon").first).to_be_hidden()
    expect(page.get_by_role("columnheader", name="Amount, CNY").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]
    expect(page.locator(".b-issuer")).to_have_text(re.compile(r"^Berth\s+\S*algo-b"))
