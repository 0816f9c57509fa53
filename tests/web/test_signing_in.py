"""Signing in, and what a stranger to a tenant sees of it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import PHONE, SignIn
from tests.web.scene import Scene, add_job


def test_a_member_signs_in_and_lands_on_the_overview(scene: Scene, sign_in_by_form: SignIn) -> None:
    page = sign_in_by_form("algo-b-member")

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_role("link", name="Submit job")).to_be_visible()


def test_a_wrong_password_says_so_and_keeps_the_name(scene: Scene, page: Page, site: str) -> None:
    page.goto(f"{site}/accounts/login/")
    page.get_by_label("User name").fill("algo-b-member")
    page.get_by_label("Password", exact=True).fill("not it")

    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("User name")).to_have_value("algo-b-member")


@pytest.mark.parametrize(
    ("reader", "address", "back"),
    [
        ("", "/accounts/password/reset/", "Back to sign-in"),
        ("algo-b-member", "/accounts/password/change/", "Back to Berth"),
        ("algo-b-member", "/accounts/email/", "Back to Berth"),
        ("algo-b-member", "/accounts/2fa/", "Back to Berth"),
    ],
)
@pytest.mark.parametrize("phone", [False, True])
def test_the_foot_of_account_pages_stands_under_the_middle_of_the_card(
    scene: Scene, page: Page, site: str, sign_in: SignIn, reader: str, address: str, back: str, phone: bool
) -> None:
    if phone:
        page.set_viewport_size(PHONE)
    if reader:
        sign_in(reader, address)
    else:
        page.goto(f"{site}{address}")

    link, languages, card = (
        middle(found)
        for found in (page.get_by_role("link", name=back), page.locator(".b-languages"), page.locator("main"))
    )

    assert abs(link - card) <= 1
    assert abs(languages - card) <= 1


def middle(found: Locator) -> float:
    """Of what stands there, from the left edge of the window."""
    box = found.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2


def test_without_signing_in_every_page_leads_to_the_form(scene: Scene, page: Page, site: str) -> None:
    for path in ("/", "/jobs/", "/submit/", "/quota/", "/statements/"):
        page.goto(f"{site}{path}")

        expect(page).to_have_url(re.compile(r"/accounts/login/\?next="))


def test_a_role_sees_only_the_groups_it_may_open(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("finance")

    expect(page.locator(".b-rail").get_by_role("link", name="Statements")).to_be_visible()
    expect(page.get_by_role("link", name="Submit job")).to_have_count(0)


def test_the_tenant_menu_offers_only_ones_own(scene: Scene, sign_in_by_form: SignIn) -> None:
    add_job(scene, "algo-a", "not-yours")

    page = sign_in_by_form("algo-b-member", "/jobs/?tenant=algo-a")

    expect(page.get_by_text("not-yours")).to_have_count(0)
    expect(page.locator(".b-tenant")).to_contain_text("algo-b")
