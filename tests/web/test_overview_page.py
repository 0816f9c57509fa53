"""The overview: can I board now, and what of mine needs me?"""

from playwright.sync_api import expect

from tests.web.conftest import SignIn
from tests.web.scene import Scene, add_job, add_prices, add_run, add_wait, bill


def test_it_answers_with_alarms_room_jobs_and_money(scene: Scene, sign_in: SignIn) -> None:
    """Numbers equal those of the pages they lead to: 8 of 8 own, 8 borrowed; 16 of 32 cards held; 125.00 this month."""
    add_prices(scene)
    running = add_job(scene, "algo-b", "sft-qwen", pods=2, state="running", ago=140)
    add_run(scene, running, borrowed=8)
    waiting = add_job(scene, "algo-b", "dpo-mix")
    add_wait(scene, waiting, "quota-borrow-limit", need=8, have=0, short=8)
    failed = add_job(scene, "algo-b", "rm-train", cards=4, state="failed", end_reason="gpu-oom")
    add_run(scene, failed, minutes=150, ended="gpu-oom")
    bill(scene)

    page = sign_in("algo-b-member")

    needs = page.locator("section", has=page.get_by_role("heading", name="Needs somebody (2)"))
    expect(needs).to_contain_text("borrowing limit reached, short 8 cards (a100-80g)")
    expect(needs).to_contain_text("out of VRAM")
    expect(page.locator(".b-quota__words")).to_contain_text("borrowed 8")
    expect(page.get_by_text("16 of 32 cards, 16 free")).to_be_visible()
    expect(page.get_by_text("50% of cards held")).to_be_visible()
    month = page.locator("section", has=page.get_by_role("link", name="the draft statement"))
    expect(month.locator(".b-figure")).to_contain_text("CNY")


def test_waits_that_only_time_ends_need_nobody(scene: Scene, sign_in: SignIn) -> None:
    """A place reserved for earlier jobs is listed only with a step that would pass before it."""
    for name, suggestion in (("patient", ""), ("undeclared", "declare-runtime")):
        job = add_job(scene, "algo-b", name)
        add_wait(scene, job, "reserved", need=8, have=0, short=8, suggestion=suggestion, hint={"before": 0})

    page = sign_in("algo-b-member")

    needs = page.locator("section", has=page.get_by_role("heading", name="Needs somebody (1)"))
    expect(needs).to_contain_text("undeclared")
    expect(needs).to_contain_text("since ")
    expect(needs).not_to_contain_text("patient")


def test_a_new_member_is_told_what_to_do_first(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in("algo-b-member")

    expect(page.get_by_text("32 cards are free: a job submitted now can start within seconds.")).to_be_visible()
    page.get_by_role("link", name="Submit a job").click()
    expect(page.get_by_role("heading", name="Submit a job")).to_be_visible()
