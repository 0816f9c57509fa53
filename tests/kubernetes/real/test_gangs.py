"""Gangs of real containers that meet through the environment the platform gives them."""

import json

from scheduling.models import LeaseSegment
from tests.kubernetes.real.scene import OnNodes

SIX_TIMES_THE_LAST = 6 * 999


def test_three_pods_of_eight_cards_meet_and_sum_a_vector_across_ranks(real: OnNodes) -> None:
    """An all-reduce over TCP, met through MASTER_ADDR; its bill is the pods' own times; its logs are there by rank afterwards."""
    job = real.submit("all_reduce.py", cards=8, replicas=3)

    run = real.until_state(job, "succeeded", "failed")

    assert (run.end_reason, run.exit_code) == ("succeeded", 0)
    pods = list(run.pods.order_by("rank"))
    assert len({pod.node.name for pod in pods}) == 3
    told = [json.loads(real.log_of(job, rank=rank).text.splitlines()[-1]) for rank in range(3)]
    assert told == [{"rank": rank, "last": SIX_TIMES_THE_LAST, "cards": 8} for rank in range(3)]
    times = {pod.pk: (pod.started_at, pod.finished_at) for pod in pods}
    segments = list(LeaseSegment.objects.filter(lease__run=run, kind="billable").select_related("lease"))
    assert len(segments) == 24
    assert all((each.during.lower, each.during.upper) == times[each.lease.pod_id] for each in segments)
    real.until(lambda: not real.pods_of(real.lender), lambda: "every pod to be gone")
