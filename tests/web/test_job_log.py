"""The logs on a job's page: which run and rank, live or kept, and a sentence where there are none."""

import re

import pytest
from playwright.sync_api import expect

from scheduling.cluster.port import LogTail
from scheduling.models import Job, Pod, Run
from scheduling.services.pod_logs import ReadLog, keep_logs
from tests.web.conftest import PHONE, SignIn
from tests.web.scene import Scene, add_job, add_run

HOSTILE = "epoch 1 <script>document.title='taken'</script> \x1b[31mred\x1b[0m \x1b]0;title\x07 10%\r 20%\rdone 训练\n"


def keep(run: Run, rank: int, text: str, *, cut: bool = False, whole: bool = True) -> None:
    pod = Pod.objects.select_related("run__job").get(run=run, rank=rank)
    keep_logs([ReadLog(pod, LogTail(text, available=True, truncated=cut), whole=whole)])


def a_failed_job(scene: Scene) -> Job:
    """Two runs of two pods; rank 1 failed by itself, rank 0 was stopped after it."""
    job = add_job(scene, "algo-b", "sft-qwen", cards=4, pods=2, state="failed", ago=300, end_reason="failed")
    first = add_run(scene, job, minutes=280, ended="preempted")
    job.refresh_from_db()
    second = add_run(scene, job, minutes=60, ended="failed")
    Pod.objects.filter(run=second, rank=0).update(phase="failed", exit_code=143)
    Pod.objects.filter(run=second, rank=1).update(phase="failed", exit_code=1)
    keep(first, 0, "first run\nsaved /ckpt/r1/step-100\n", whole=False)
    keep(second, 0, "rank zero\nasked to stop\n")
    lines = "".join(f"step {number} loss {1 / number:.4f}\n" for number in range(1, 400))
    keep(second, 1, lines + HOSTILE + "RuntimeError: NCCL timeout\n", cut=True)
    return job


def test_a_failed_job_opens_at_the_last_lines_of_the_rank_that_failed_first(scene: Scene, sign_in: SignIn) -> None:
    job = a_failed_job(scene)

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    log = page.locator("#log")
    expect(log.locator("pre")).to_contain_text("RuntimeError: NCCL timeout")
    expect(log.locator("pre")).not_to_contain_text("step 1 loss")
    expect(log.locator("#job-log-state")).to_contain_text("kept copy")
    expect(log.locator("#job-log-state")).to_contain_text("r2 · worker-1")
    expect(log.locator("#job-log-state")).to_contain_text("complete to its end; older lines are left out")
    expect(page.locator(".b-why .b-last-words")).to_contain_text("RuntimeError: NCCL timeout")
    end = page.evaluate(
        "(() => { const b = document.querySelector('.b-log'); return b.scrollHeight - b.scrollTop - b.clientHeight })()"
    )
    assert end < 24


def test_what_a_pod_wrote_is_shown_and_does_nothing(scene: Scene, sign_in: SignIn) -> None:
    """W18: markup, terminal sequences and lines drawn over themselves."""
    job = a_failed_job(scene)

    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    expect(page.locator("#log pre")).to_contain_text("done 训练")
    text = page.locator("#log pre").inner_text()
    assert "\x1b" not in text
    assert "10%" not in text
    assert page.title().startswith("sft-qwen")


def test_run_and_rank_are_chosen_by_address_and_the_page_says_what_is_missing(scene: Scene, sign_in: SignIn) -> None:
    job = a_failed_job(scene)
    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")

    page.get_by_label("rank", exact=True).select_option("0")
    expect(page.locator("#log pre")).to_have_text("rank zero\nasked to stop\n")
    page.get_by_label("run", exact=True).select_option("1")

    expect(page).to_have_url(re.compile(r"run=1&rank=0"))
    expect(page.locator("#log pre")).to_contain_text("saved /ckpt/r1/step-100")
    expect(page.locator("#job-log-state")).to_contain_text("the pod was gone before its end could be read")
    page.get_by_label("rank", exact=True).select_option("1")
    expect(page.locator("#log")).to_contain_text("No log was collected for this pod.")


def test_the_whole_log_is_downloaded_under_its_pods_name(scene: Scene, sign_in: SignIn) -> None:
    job = a_failed_job(scene)
    page = sign_in("algo-b-member", f"/jobs/{job.pk}/")
    expect(page.locator("#log pre")).to_be_visible()

    with page.expect_download() as started:
        page.get_by_role("link", name="Download").click()

    assert started.value.suggested_filename == f"j{job.pk}-r2-worker-1.log"
    assert started.value.path().read_text().startswith("step 1 loss 1.0000\n")


def test_a_job_that_waits_or_whose_cluster_keeps_nothing_says_so(scene: Scene, sign_in: SignIn) -> None:
    waiting = add_job(scene, "algo-b", "dpo-mix")
    running = add_job(scene, "algo-b", "sft", state="running", ago=140)
    Pod.objects.filter(run=add_run(scene, running)).update(uid="u")

    page = sign_in("algo-b-member", f"/jobs/{waiting.pk}/")
    expect(page.locator("#log")).to_contain_text("The job has not started yet: nothing was written.")
    page = sign_in("algo-b-member", f"/jobs/{running.pk}/")
    expect(page.locator("#log")).to_contain_text("The cluster has no log of this pod.")


def test_finance_reads_the_job_and_not_its_logs(scene: Scene, sign_in: SignIn, site: str) -> None:
    job = a_failed_job(scene)

    page = sign_in("finance", f"/jobs/{job.pk}/")

    expect(page.locator("#log")).to_contain_text("your role does not open them")
    expect(page.locator("body")).not_to_contain_text("NCCL timeout")
    assert page.request.get(f"{site}/jobs/{job.pk}/log/").status == 403


def test_a_strangers_log_is_not_found(scene: Scene, sign_in: SignIn, site: str) -> None:
    """W02."""
    job = a_failed_job(scene)
    page = sign_in("data-c-member")

    answer = page.request.get(f"{site}/jobs/{job.pk}/log/?run=2&rank=1")

    assert answer.status == 404
    assert "NCCL" not in answer.text()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_on_a_phone_nothing_runs_off_the_screen(scene: Scene, sign_in: SignIn, language: str) -> None:
    job = a_failed_job(scene)
    scene.users["algo-b-member"].language = language
    scene.users["algo-b-member"].save(update_fields=["language"])
    page = sign_in("algo-b-member")
    page.set_viewport_size(PHONE)

    page.goto(f"{page.url.rstrip('/')}/jobs/{job.pk}/")

    expect(page.locator("#log pre")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    for target in page.locator("#log :is(a.btn, button.btn, select)").all():
        box = target.bounding_box()
        assert box is not None
        assert box["height"] >= 44
