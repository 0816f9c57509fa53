"""How real containers end, each told apart by the platform's end reasons."""

from datetime import timedelta

import pytest

from scheduling.control.limits import STARTUP_LIMIT
from scheduling.models import Pod, Run
from tests.kubernetes.real.scene import OnNodes


@pytest.mark.parametrize(("code", "want"), [("0", ("succeeded", 0)), ("3", ("failed", 3))])
def test_an_exit_code_is_the_programs_own_and_its_last_words_are_kept(real: OnNodes, code: str, want: object) -> None:
    job = real.submit("exiting.py", code, cards=1)

    run = real.until_state(job, "succeeded", "failed")

    assert (run.end_reason, run.exit_code) == want
    assert real.log_of(job).text == "the last line\n"
    assert ("the last line" in run.end_message) is (code != "0")


def test_a_program_that_takes_more_memory_than_it_may_is_told_as_out_of_memory(real: OnNodes) -> None:
    job = real.submit("greedy.py", cards=1, role={"memory_mib": 64})

    run = real.until_state(job, "failed")

    assert (run.end_reason, run.exit_code) == ("oom", 137)


def test_an_image_that_does_not_exist_is_told_as_that_when_the_gang_is_not_whole_in_time(real: OnNodes) -> None:
    job = real.submit("waiting.py", cards=1, role={"image": "localhost/berth/nowhere:1"})
    real.until(
        lambda: Pod.objects.filter(run__job=job, reason__in=("ErrImagePull", "ImagePullBackOff")).exists(),
        lambda: f"the refused image: {[pod['status'] for pod in real.pods_of(real.lender)]}",
    )

    # As ten minutes later, which nobody waits for here.
    run = Run.objects.get(job=job)
    Run.objects.filter(pk=run.pk).update(admitted_wall=run.admitted_wall - STARTUP_LIMIT - timedelta(seconds=1))
    real.until(lambda: Run.objects.get(pk=run.pk).state == "ended", lambda: "the end of the run")

    run.refresh_from_db()
    assert run.end_reason == "image-pull"
    assert "localhost/berth/nowhere:1" in run.end_message
