"""The list of jobs: filters in the address, chips, paging, phone rows."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from scheduling.models import Forecast
from tests.web.conftest import PHONE, SignIn
from tests.web.scene import Scene, add_job, add_run, add_wait


def test_filters_stand_in_the_address_and_leave_by_their_chip(scene: Scene, sign_in: SignIn) -> None:
    add_job(scene, "algo-b", "waits-here")
    add_job(scene, "algo-b", "went-well", state="succeeded")
    page = sign_in("algo-b-member", "/jobs/")

    page.get_by_role("group", name="Filters").get_by_text("state", exact=True).click()
    page.get_by_role("link", name="succeeded", exact=True).click()

    expect(page).to_have_url(re.compile(r"\?state=succeeded$"))
    expect(page.get_by_role("link", name="went-well")).to_be_visible()
    expect(page.get_by_role("link", name="waits-here")).to_have_count(0)
    page.get_by_label("Remove the filter state: succeeded").click()
    expect(page.get_by_role("link", name="waits-here")).to_be_visible()


def test_nothing_found_says_what_each_filter_alone_removes(scene: Scene, sign_in: SignIn) -> None:
    add_job(scene, "algo-b", "waits-here")

    page = sign_in("algo-b-member", "/jobs/?state=failed&tier=development")

    expect(page.get_by_text("No job matches all of these filters")).to_be_visible()
    expect(page.get_by_text("without state: failed there is 1")).to_be_visible()


def test_older_and_newer_walk_the_list_without_gap(scene: Scene, sign_in: SignIn) -> None:
    for number in range(53):
        add_job(scene, "algo-b", f"sweep-{number:02d}", cards=1, state="succeeded")
    page = sign_in("algo-b-member", "/jobs/")
    expect(page.get_by_text("50 of 53 jobs")).to_be_visible()

    page.get_by_role("link", name="Older").click()

    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.get_by_role("link", name="sweep-02")).to_be_visible()
    page.get_by_role("link", name="Newer").click()
    expect(page.get_by_role("link", name="sweep-52")).to_be_visible()
    expect(page.get_by_role("link", name="Newer")).to_have_count(0)


def test_a_row_says_why_with_resource_and_number_and_where_it_stands(scene: Scene, sign_in: SignIn) -> None:
    first = add_job(scene, "algo-a", "ahead", cards=8)
    add_wait(scene, first, "cards-busy", need=8, have=4, short=4)
    job = add_job(scene, "algo-b", "dpo-mix")
    add_wait(scene, job, "quota-borrow-limit", need=8, have=0, short=8)

    page = sign_in("algo-b-member", "/jobs/")

    row = page.locator(f"#job-{job.pk}")
    expect(row).to_contain_text("borrowing limit reached, short 8 cards (a100-80g)")
    expect(row).to_contain_text("2nd in line, 8 cards ahead")
    expect(row).to_contain_text("waiting is free")


def test_search_finds_by_name_and_by_number(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "needle-17")
    add_job(scene, "algo-b", "straw")
    page = sign_in("algo-b-member", "/jobs/")

    page.keyboard.press("/")
    page.keyboard.type(f"j{job.pk}")
    page.keyboard.press("Enter")

    expect(page.get_by_role("link", name="needle-17")).to_be_visible()
    expect(page.get_by_role("link", name="straw")).to_have_count(0)


def test_on_a_phone_rows_keep_state_name_cards_reason_and_time(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "sft-qwen-72b-r3", pods=2, state="running", ago=140)
    add_run(scene, job, borrowed=8)
    page = sign_in("algo-b-member", "/jobs/")

    page.set_viewport_size(PHONE)

    row = page.locator(f"#job-{job.pk}")
    for text in ("running", "sft-qwen-72b-r3", "16", "loan until", "2 h 13 min"):
        expect(row.get_by_text(text).first).to_be_visible()


@pytest.mark.parametrize("width", [800, 1024, 1280, 1440])
def test_the_list_fits_windows_of_every_width(scene: Scene, sign_in: SignIn, width: int) -> None:
    """With long names of cards and instants of another day: what has no room is on the job's own page."""
    long = scene.flavor
    long.name = "h100-80g-sxm5-shared"
    long.save(update_fields=["name"])
    job = add_job(scene, "algo-b", "align-qwen-72b-1201-0624", cards=8, pods=2, state="running", ago=4000)
    add_run(scene, job, borrowed=8)
    waiting = add_job(scene, "algo-b", "vlm-align-h800-1201-0622", cards=8, pods=8)
    add_wait(scene, waiting, "cards-busy", need=64, have=4, short=60)
    days = [scene.now + timedelta(days=ahead) for ahead in (1, 2, 3)]
    Forecast.objects.create(job=waiting, at=scene.now, earliest=days[0], likely=days[1], latest=days[2])
    page = sign_in("algo-b-member", "/jobs/")

    page.set_viewport_size({"width": width, "height": 800})

    expect(page.locator(f"#job-{job.pk}")).to_contain_text("loan until")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
