"""Live pages: a 304 while the cycle stands, new content with the next one, and never under a reader's hands."""

from playwright.sync_api import expect

from tests.web.conftest import SignIn
from tests.web.scene import Scene, add_job, next_cycle


def test_a_region_gets_304_until_the_next_cycle(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/jobs/")
    with page.expect_response(lambda answer: answer.request.headers.get("hx-request") == "true") as first:
        pass

    assert first.value.status == 304
    add_job(scene, "algo-b", "newcomer")
    next_cycle(scene)
    expect(page.get_by_role("link", name="newcomer")).to_be_visible()


def test_a_paused_page_stands_still_and_says_so(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/jobs/")

    page.get_by_role("button", name="pause").click()

    expect(page.locator("[data-asof-word]")).to_have_text("paused by you")
    add_job(scene, "algo-b", "newcomer")
    next_cycle(scene)
    page.get_by_role("button", name="resume").click()
    expect(page.get_by_role("link", name="newcomer")).to_be_visible()


def test_a_region_is_not_swapped_while_its_menu_is_open(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/jobs/")
    menu = page.get_by_role("group", name="Filters").get_by_text("state", exact=True)
    menu.click()
    add_job(scene, "algo-b", "newcomer")
    next_cycle(scene)

    page.clock.install()
    page.clock.run_for(7000)

    expect(page.get_by_role("link", name="succeeded", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="newcomer")).to_have_count(0)
