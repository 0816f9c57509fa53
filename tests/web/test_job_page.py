"""One job's page: why not yet, when, what can I do, what did it cost."""

import re
from datetime import timedelta
from zoneinfo import ZoneInfo

from playwright.sync_api import expect

from scheduling.models import Forecast, Job, RunResize, Transition
from tests.web.conftest import SignIn
from tests.web.scene import Scene, add_job, add_run, add_wait, next_cycle


def test_a_waiting_job_shows_its_sum_who_holds_it_and_a_step(scene: Scene, sign_in: SignIn) -> None:
    """The numbers of the card close: need − have = short; the holder is named, since it is the tenant's own job."""
    holder = add_job(scene, "algo-b", "sft-qwen", pods=2, state="running", ago=140)
    add_run(scene, holder, borrowed=8)
    job = add_job(scene, "algo-b", "dpo-mix", expected_runtime_s=36_000)
    holders = [{"tenant": "algo-b", "queue": "dev", "job": holder.pk, "amounts": {"gpu:a100-80g": 16_000}}]
    hint = {"gpu:a100-80g": 8000}
    add_wait(
        scene, job, "quota-borrow-limit", need=8, have=0, short=8, holders=holders, suggestion="ask-quota", hint=hint
    )

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    card = page.locator(".b-why")
    expect(card.get_by_role("heading", level=2)).to_contain_text("short: 8 cards (a100-80g)")
    expect(card.locator(".b-sum td")).to_have_text(["8", "0", "8"])
    expect(card.get_by_role("link", name="sft-qwen")).to_be_visible()
    expect(card).to_contain_text("Ask for 8 cards (a100-80g) more quota.")
    expect(page.get_by_text("0 jobs, 0 cards ahead")).to_be_visible()


def test_an_elastic_job_shows_its_size_its_range_and_why_it_is_smaller(scene: Scene, sign_in: SignIn) -> None:
    """SCH-10."""
    job = add_job(scene, "algo-b", "sft-qwen", pods=2, state="running", ago=140)
    run = add_run(scene, job)
    job.roles.update(replicas=4, minimum=1)
    at = scene.now - timedelta(minutes=5)
    RunResize.objects.create(run=run, at=at, role_name="worker", old=3, new=2, reason="reclaim-nominal-in-cooldown")

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    held = page.locator(".b-facts")
    expect(held).to_contain_text("2 pods, may have 1 to 4")
    expect(held).to_contain_text("nominal quota reclaimed, before its pause was over")
    expect(page.locator(".b-head__facts")).to_contain_text("1–4 ×")
    expect(page.locator(".b-table--rows")).to_contain_text("3 → 2 pods: nominal quota reclaimed")


def test_others_are_named_inside_the_cohort_only(scene: Scene, sign_in: SignIn) -> None:
    """SCH-21."""
    job = add_job(scene, "algo-b", "dpo-mix")
    holders = [
        {"tenant": "algo-a", "queue": "prod", "job": 1, "amounts": {"gpu:a100-80g": 16_000}},
        {"tenant": "ext-d", "queue": "prod", "job": 2, "amounts": {"gpu:a100-80g": 8000}},
    ]
    add_wait(scene, job, "cards-busy", need=8, have=4, short=4, holders=holders)

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    expect(page.locator(".b-why")).to_contain_text("algo-a")
    expect(page.locator(".b-why")).to_contain_text("other tenants")
    expect(page.locator("body")).not_to_contain_text("ext-d")


def test_the_start_is_a_range_with_its_hit_rate_or_cannot_tell_and_why(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "dpo-mix")
    add_wait(scene, job, "cards-busy", need=8, have=4, short=4)
    earlier = add_job(scene, "algo-b", "earlier", state="succeeded")
    Forecast.objects.create(
        job=earlier, at=scene.now, earliest=scene.now, likely=scene.now, latest=scene.now, held=True
    )
    Forecast.objects.create(job=job, at=scene.now, why_not="no-run-times")
    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")
    expect(page.get_by_text("cannot tell")).to_be_visible()
    expect(page.get_by_text("Too many of the jobs that run or come before declare no run time.")).to_be_visible()

    later = {
        "earliest": scene.now.replace(hour=1),
        "likely": scene.now.replace(hour=2),
        "latest": scene.now.replace(hour=3),
    }
    Forecast.objects.create(job=job, at=scene.now, **later)
    next_cycle(scene)
    page.reload()

    expect(page.get_by_text("100% of 1 earlier ranges held")).to_be_visible()
    expect(page.locator(".b-range")).to_have_text(re.compile(r"09:\d\d–11:\d\d$"))


def test_cancelling_asks_first_with_the_sum_and_keeps_by_default(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "mistake")
    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")
    page.get_by_role("button", name="Cancel…").click()
    expect(page.get_by_role("dialog")).to_contain_text("nothing was spent")
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()

    page.get_by_role("button", name="Cancel the job").click()

    expect(page.get_by_role("status").get_by_text("cancelled")).to_be_visible()
    assert Job.objects.get(pk=job.pk).state == "cancelled"


def test_a_waiting_job_is_parked_and_put_back(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "later")
    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_role("status").get_by_text("suspended")).to_be_visible()
    page.get_by_role("button", name="Resume").click()

    expect(page.get_by_role("status").get_by_text("queued")).to_be_visible()


def test_a_loan_says_whose_cards_they_are_and_until_when(scene: Scene, sign_in: SignIn) -> None:
    """Q05."""
    job = add_job(scene, "algo-b", "sft-qwen", pods=2, state="running", ago=140)
    add_run(scene, job, borrowed=8)

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    expect(page.get_by_text("8 own, 8 borrowed")).to_be_visible()
    loans = page.locator("section", has=page.get_by_role("heading", name="Borrowed"))
    expect(loans).to_contain_text("lent by data-c 8")
    expect(loans).to_contain_text("else 5 min notice")


def test_a_failed_job_says_how_it_ended_and_what_it_cost(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(
        scene,
        "algo-b",
        "rm-train",
        cards=4,
        state="failed",
        end_reason="gpu-oom",
        cost_amount="125",
        cost_currency="CNY",
        cost_final=True,
    )
    add_run(scene, job, minutes=150, ended="gpu-oom")

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    expect(
        page.get_by_role("heading", name=re.compile("A card ran out of memory; 4 cards given back."))
    ).to_be_visible()
    expect(page.locator(".b-tenses .b-now")).to_have_text("125.00")


def test_after_a_lost_node_only_time_on_cards_counts_as_running(scene: Scene, sign_in: SignIn) -> None:
    """Badge and fact tell the present run alone; what the runs before it took is added beside it."""
    job = add_job(scene, "algo-b", "sft-qwen", cards=4, state="running", ago=300)
    lost = add_run(scene, job, minutes=280, ended="node-lost")
    lost.ended_at = scene.now - timedelta(minutes=200)
    lost.save(update_fields=["ended_at"])
    job.refresh_from_db()
    add_run(scene, job, minutes=90)

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    expect(page.locator(".b-head__title")).to_contain_text("for 1 h 29 min")
    runs = page.locator(".b-facts > div", has=page.get_by_role("heading", name="Runs"))
    expect(runs.locator(".b-figure")).to_have_text("1 h 29 min")
    expect(runs).to_contain_text("run r2; all runs together 2 h 48 min")


def test_a_job_that_saves_itself_shows_what_it_reported_last(scene: Scene, sign_in: SignIn) -> None:
    job = add_job(scene, "algo-b", "sft-qwen", state="running", ago=140, checkpoint_path="/ckpt")
    run = add_run(scene, job)
    run.progress_ppm, run.step, run.checkpoint_state = 420_000, 12_000, "writing"
    run.checkpoint_at, run.checkpoint_path = scene.now - timedelta(minutes=6), "/ckpt/r1/step-11000"
    run.reported_at = scene.now
    run.save()

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    saved = page.locator(".b-facts > div", has=page.get_by_role("heading", name="Last checkpoint"))
    expect(saved.locator(".b-figure")).to_have_text(re.compile(r"^[6-9] min ago$"))
    expect(saved).to_contain_text("/ckpt/r1/step-11000")
    expect(saved).to_contain_text("the next one is being written")
    expect(saved).to_contain_text("reported progress 42% · step 12,000")
    timeline = page.locator("section", has=page.get_by_role("heading", name="Timeline"))
    expect(timeline).to_contain_text("the last that run r1 reported as saved")


def test_header_and_timeline_tell_the_end_by_the_clusters_clock(scene: Scene, sign_in: SignIn) -> None:
    """The loop saw it three minutes later: that instant is the record's, not the job's."""
    ended = scene.now - timedelta(minutes=3)
    job = add_job(scene, "algo-b", "rm-train", cards=4, state="succeeded", ago=300, ended_at=ended)
    add_run(scene, job, minutes=150, ended="succeeded")
    Transition.objects.create(
        at=scene.now,
        job_id=job.pk,
        tenant=job.tenant,
        subject="job",
        old="running",
        new="succeeded",
        reason="succeeded",
    )

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    seen = ended.astimezone(ZoneInfo("Asia/Shanghai"))
    expect(page.locator(".b-head__title")).to_contain_text(f"{seen:%H:%M}")
    timeline = page.locator("section", has=page.get_by_role("heading", name="Timeline"))
    expect(timeline.locator("tbody tr").first).to_contain_text(f"{seen:%H:%M:%S}")
    expect(timeline.locator("tbody tr").first).to_contain_text("succeeded")


def test_a_job_just_submitted_is_not_shown_as_of_a_time_before_it(scene: Scene, sign_in: SignIn) -> None:
    scene.cycle.at = scene.now - timedelta(minutes=2)
    scene.cycle.save(update_fields=["at"])
    job = add_job(scene, "algo-b", "fresh", ago=1)

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    at = job.submitted_at.astimezone(ZoneInfo("Asia/Shanghai"))
    expect(page.locator(".b-asof")).to_contain_text(f"as of {at:%H:%M:%S}")
    expect(page.locator(".b-asof")).not_to_contain_text("cycle")


def test_a_job_of_a_strange_tenant_is_not_found(scene: Scene, sign_in: SignIn, site: str) -> None:
    job = add_job(scene, "algo-a", "secret-plan")
    page = sign_in("algo-b-member")

    answer = page.request.get(f"{site}/jobs/{job.pk}/")

    assert answer.status == 404
    assert "secret-plan" not in answer.text()
    assert "not visible to you" in answer.text()
