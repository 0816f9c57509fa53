"""One page for everybody: two languages, light and dark, wide and phone carry the same facts without a sideways scroll."""

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import PHONE, SignIn
from tests.web.scene import Scene, add_job, add_prices, add_run, add_wait, bill

WIDE = {"width": 1440, "height": 900}


def paths(scene: Scene) -> list[str]:
    add_prices(scene)
    running = add_job(
        scene, "algo-b", "sft-qwen-72b-r3-with-a-long-name-that-goes-on", pods=2, state="running", ago=140
    )
    add_run(scene, running, borrowed=8)
    waiting = add_job(scene, "algo-b", "dpo-mix")
    add_wait(scene, waiting, "quota-borrow-limit", need=8, have=0, short=8)
    done = add_job(scene, "algo-b", "rm-train", cards=4, state="succeeded")
    add_run(scene, done, minutes=150, ended="succeeded")
    bill(scene)
    return [
        "/",
        "/jobs/",
        f"/jobs/{waiting.pk}/",
        f"/jobs/{running.pk}/",
        "/submit/",
        "/quota/",
        "/queues/algo-b/dev/",
        "/statements/",
    ]


def sideways(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_page_scrolls_sideways_on_a_phone(scene: Scene, sign_in: SignIn, site: str, language: str) -> None:
    scene.users["algo-b-member"].language = language
    scene.users["algo-b-member"].save(update_fields=["language"])
    addresses = paths(scene)
    page = sign_in("algo-b-member")
    page.set_viewport_size(PHONE)

    for address in addresses:
        page.goto(f"{site}{address}")

        assert sideways(page) == 0, address


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_system_theme_reaches_every_page_and_a_choice_wins(
    scene: Scene, sign_in: SignIn, site: str, theme: str
) -> None:
    grounds = {"light": "rgb(245, 246, 248)", "dark": "rgb(18, 22, 28)"}
    other = {"light": "dark", "dark": "light"}[theme]
    page = sign_in("algo-b-member")
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    for address in ("/", "/jobs/", "/submit/", "/quota/", "/statements/"):
        page.goto(f"{site}{address}")
        expect(page.locator("body")).to_have_css("background-color", grounds[theme])

    page.locator("summary", has_text="Colours").click()
    with page.expect_response("**/preferences/"):
        page.get_by_role("button", name=other.capitalize()).click()
    page.goto(f"{site}/jobs/")

    expect(page.locator("html")).to_have_attribute("data-bs-theme", other)
    expect(page.locator("body")).to_have_css("background-color", grounds[other])


def test_the_language_is_switched_in_place_and_remembered(scene: Scene, sign_in: SignIn, site: str) -> None:
    page = sign_in("algo-b-member", "/jobs/?state=queued")

    page.locator("summary", has_text="Language").click()
    page.get_by_role("button", name="简体中文").click()

    expect(page).to_have_url(f"{site}/jobs/?state=queued")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    page.goto(f"{site}/quota/")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")


def test_the_keyboard_reaches_content_first_and_pages_by_two_keys(scene: Scene, sign_in: SignIn, site: str) -> None:
    page = sign_in("algo-b-member")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()

    page.locator("body").press("g")
    page.locator("body").press("q")

    expect(page).to_have_url(f"{site}/quota/")


def test_targets_on_a_phone_are_large_enough(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")
    page.set_viewport_size(PHONE)

    for locator in (page.locator(".b-phonebar > a"), page.locator(".form-control"), page.locator("[data-submit-word]")):
        for box in [each.bounding_box() for each in locator.filter(visible=True).all()]:
            assert box is not None
            assert box["height"] >= 44, box
