"""Gangs of real containers that meet through the environment the platform gives them."""

import json

from testplane.real.images import PYTHON

from scheduling.models import LeaseSegment
from scheduling.services.submit import submit_job
from tests.factories import a_member_of
from tests.kubernetes.real.scene import PROGRAMS, OnNodes

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


def test_parameter_servers_workers_and_the_evaluator_find_each_other_by_tf_config(real: OnNodes) -> None:
    """The evaluator reads it and is no member of the cluster; it starts on its own beside the gang."""
    command = ["python3", "-c", (PROGRAMS / "parameter_server.py").read_text()]
    common = {"image": PYTHON, "command": command}
    small = {"cpu": 0.2, "memory": 0.25}
    # Workers take whole nodes: an idle card keeps its part of its node's processors from pods without cards (SCH-02).
    with_cards = {**small, "gpu": 8, "flavors": [real.flavor.name]}
    body = {
        "tenant": real.lender.tenant.slug,
        "queue": real.lender.name,
        "name": "parameter servers",
        "max_restarts": 0,
        "roles": [
            {**common, "name": "ps", "replicas": 1, "resources": small},
            {**common, "name": "worker", "replicas": 2, "resources": with_cards},
            {**common, "name": "evaluator", "replicas": 1, "gang": False, "resources": small},
        ],
    }
    job = submit_job(a_member_of(real.lender.tenant), body)

    run = real.until_state(job, "succeeded", "failed")

    assert (run.end_reason, run.end_message) == ("succeeded", "Completed")
    pods = list(run.pods.order_by("role_name", "index"))
    told = [json.loads(real.log_of(job, pod=pod.name).text) for pod in pods]
    members = {"ps": 1, "worker": 2}
    tasks = [["evaluator", 0], ["ps", 0], ["worker", 0], ["worker", 1]]
    assert [each["task"] for each in told] == tasks
    assert all(each["members"] == members for each in told)
    assert told[0]["total"] == "11"
