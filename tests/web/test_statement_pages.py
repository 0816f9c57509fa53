"""Statements: what do I owe, and can I check it?"""

from playwright.sync_api import expect

from tests.web.conftest import SignIn
from tests.web.scene import Scene, add_job, add_prices, add_run, bill


def test_a_line_opens_in_place_down_to_segments_and_the_price_version(scene: Scene, sign_in: SignIn) -> None:
    """BIL-08: 4 cards × 150 min = 10 card-hours × 12.50 = 125.00, and each level repeats it."""
    add_prices(scene)
    job = add_job(scene, "algo-b", "rm-train", cards=4, state="succeeded")
    add_run(scene, job, minutes=150, ended="succeeded")
    bill(scene)
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
    add_prices(scene)
    job = add_job(scene, "algo-b", "rm-train", cards=4, state="succeeded")
    add_run(scene, job, minutes=150, ended="succeeded")
    bill(scene)

    page = sign_in("algo-b-member", "/statements/")
    page.locator("tbody a").first.click()

    expect(page.get_by_role("button", name="CPU core-hours")).to_be_visible()
    expect(page.locator(".b-money tfoot td").first).to_have_text("125.00")


def test_a_strange_tenants_statement_is_not_found(scene: Scene, sign_in: SignIn, site: str) -> None:
    add_prices(scene)
    job = add_job(scene, "algo-b", "rm-train", cards=4, state="succeeded")
    add_run(scene, job, minutes=150, ended="succeeded")
    bill(scene)
    page = sign_in("finance", "/statements/")
    address = page.get_by_role("row", name="algo-b").get_by_role("link").first.get_attribute("href")
    page.context.clear_cookies()

    page = sign_in("algo-a-member")

    assert page.request.get(f"{site}{address}").status == 404
