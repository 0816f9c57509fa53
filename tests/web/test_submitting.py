"""The submit page: one body with two faces, a preview that follows typing, all problems at once."""

import re

from playwright.sync_api import Page, expect

from scheduling.models import Job
from tests.web.conftest import PHONE, SignIn
from tests.web.scene import Scene, add_job


def fill(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        page.locator(f"#field-{name}").fill(value)


def test_what_is_submitted_appears_on_its_page_and_in_the_list(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")
    fill(
        page,
        name="sft-llama",
        gpu="8",
        image="registry.example/train:1",
        command="python train.py",
        expected_runtime="10 h",
    )

    page.locator("[data-submit-word]").click()

    expect(page.get_by_role("heading", name="sft-llama", level=1)).to_be_visible()
    page.goto(page.url.split("/jobs/")[0] + "/jobs/")
    expect(page.get_by_role("link", name="sft-llama")).to_be_visible()
    job = Job.objects.get(name="sft-llama")
    assert (job.expected_runtime_s, job.roles.get().command) == (36_000, ["python", "train.py"])


def test_the_preview_tells_start_and_place_before_the_job_has_a_name(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")

    fill(page, gpu="8", expected_runtime="10 h")

    expect(page.locator("#preview")).to_contain_text("2 things to fill in")
    expect(page.locator("#preview")).to_contain_text("at once")
    expect(page.locator("#preview")).to_contain_text("CNY 1,000")
    expect(page.locator("[data-submit-word]")).to_contain_text("something is still missing")


def test_the_preview_follows_what_is_typed_and_the_button_says_what_happens(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")
    expect(page.locator("#preview")).to_contain_text("things to fill in")

    fill(page, name="sft-llama", gpu="8", image="registry.example/train:1", expected_runtime="10 h")

    expect(page.locator("#preview")).to_contain_text("at once")
    expect(page.locator("#preview")).to_contain_text("CNY 1,000")
    expect(page.locator("#preview")).to_contain_text("own: 8 cards")
    expect(page.locator("[data-submit-word]")).to_have_text("Submit: 8 cards, starts at once")
    fill(page, gpu="16")
    expect(page.locator("#preview")).to_contain_text(re.compile("16 cards"))


def test_all_problems_are_told_at_once_with_links_and_input_is_kept(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")
    fill(page, name="kept", replicas="many", gpu="8", max_runtime="soon")

    with page.expect_response(lambda answer: answer.request.method == "POST" and answer.url.endswith("/submit/")):
        page.locator("[data-submit-word]").click()

    problems = page.locator("#problems")
    expect(problems.get_by_role("link")).to_have_text(["Pods", "Image", "Longest run"])
    expect(page.locator("#field-name")).to_have_value("kept")
    expect(page.locator("#field-replicas")).to_have_value("many")
    problems.get_by_role("link", name="Image").click()
    expect(page.locator("#field-image")).to_be_focused()


def test_the_form_opens_on_the_queue_that_the_person_used_last(scene: Scene, sign_in: SignIn) -> None:
    used = scene.queues["algo-b"]
    type(used).objects.create(name="aaa", tenant=used.tenant, pool=used.pool)
    add_job(scene, "algo-b", "used-before")

    page = sign_in("algo-b-member", "/submit/")

    expect(page.locator("#field-queue")).to_have_value(f"algo-b/{used.name}")


def test_form_and_yaml_are_one_body_and_lose_nothing(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")
    fill(page, name="two-faces", gpu="8", image="registry.example/train:1")
    page.get_by_role("button", name="YAML").click()
    text = page.locator("#face").input_value()
    assert "name: two-faces" in text
    page.locator("#face").fill(text + "datasets:\n- imagenet\n")

    page.get_by_role("button", name="Form").click()
    fill(page, name="three-faces")
    page.get_by_role("button", name="YAML").click()

    text = page.locator("#face").input_value()
    assert "three-faces" in text
    assert "imagenet" in text


def test_yaml_that_is_none_says_where(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/?face=yaml")

    with page.expect_response(lambda answer: answer.url.endswith("/submit/") and answer.request.method == "POST"):
        page.locator("#face").fill("name: [unclosed")
        page.locator("[data-submit-word]").click()

    expect(page.locator("#problems")).to_contain_text("Line 1")
    expect(page.locator("#face")).to_have_value("name: [unclosed")


def test_a_clone_starts_from_the_job_it_is_of(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "sft-qwen", pods=2)
    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    page.get_by_role("link", name="Clone", exact=True).click()

    expect(page.locator("#field-name")).to_have_value("sft-qwen")
    expect(page.locator("#field-replicas")).to_have_value("2")
    page.locator("[data-submit-word]").click()
    expect(page.get_by_text("clone of")).to_be_visible()
    assert Job.objects.get(cloned_from=job).name == "sft-qwen"


def test_changing_the_language_keeps_a_half_filled_form(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")
    fill(page, name="half-filled", gpu="4")

    page.locator("summary", has_text="Language").click()
    page.get_by_role("button", name="简体中文").click()

    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.locator("#field-name")).to_have_value("half-filled")
    expect(page.locator("#field-gpu")).to_have_value("4")


def test_on_a_phone_the_answer_and_the_button_stay_in_sight(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member", "/submit/")
    page.set_viewport_size(PHONE)

    fill(page, name="sft-llama", gpu="8", image="registry.example/train:1", expected_runtime="10 h")

    expect(page.locator("[data-summary-word]")).to_contain_text("at once · CNY 1,000")
    expect(page.locator("[data-submit-word]")).to_be_in_viewport()
