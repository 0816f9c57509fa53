"""SCH-15 in files: pools that grant more than they have, in one decision and over virtual time."""

import json
from typing import Any

from berth.common.reasons import wait_message
from scheduling.engine.cycle import run_cycle
from scheduling.simulator.plan_file import parse_plan
from scheduling.simulator.plan_json import plan_document
from tests.unit.simulator.files import no_files
from tests.unit.simulator.test_replays import jobs_of, one_pool, run, times

PLAN = """\
now: "2026-11-29T10:00:00Z"
cluster:
  flavors: {{g: {{cards: any}}}}
  nodes: [{{count: 2, name: "n{{i}}", flavor: g, gpus: 8{measured}}}]
  tenants:
    - {{name: a, cohort: root, queues: [{{name: q, quota: {{gpu: {{g: {{nominal: 10}}}}}}}}]}}
    - {{name: b, cohort: root, queues: [{{name: q, quota: {{gpu: {{g: {{nominal: 10}}}}}}}}]}}
pools: {{shared: {{factor: 1.25, high: 0.85, low: 0.75{samples}}}}}
running:
  - {{job: b1, tenant: b, queue: q, started: "2026-11-29T05:00:00Z", roles: [{{nodes: [n0], resources: {{gpu: 6}}}}]}}
  - {{job: b2, tenant: b, queue: q, tier: batch, started: "2026-11-29T05:00:00Z", roles: [{{nodes: [n1], resources: {{gpu: 4}}}}]}}
  - {{job: a1, tenant: a, queue: q, tier: production, started: "2026-11-29T05:00:00Z", roles: [{{nodes: [n1], resources: {{gpu: 4}}}}]}}
pending:
  - {{job: p, tenant: a, queue: q, tier: production, roles: [{{resources: {{gpu: {asked}}}}}]}}
"""


def decide(*, measured: str = "", samples: str = "", asked: int = 5) -> dict[str, Any]:
    question = parse_plan(PLAN.format(measured=measured, samples=samples, asked=asked), "plan.yaml", no_files)
    plan = run_cycle(question.snapshot, question.policy, question.now_ms)
    document: dict[str, Any] = json.loads(json.dumps(plan_document(plan, question.snapshot, wait_message)))
    return document


def preempts(document: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    return {entry["job"]: (entry["for"], entry["reason"]) for entry in document["preempts"]}


def test_a_files_measured_use_counts_as_sustained() -> None:
    """SCH-15."""
    assert preempts(decide(measured=", measured_use: 0.9")) == {"b2": (None, "watermark")}


def test_one_sample_does_not_do_it() -> None:
    """Section 4.9."""
    assert preempts(decide(measured=", measured_use: 0.9", samples=", samples: 1")) == {}


def test_without_samples_what_is_allocated_counts() -> None:
    assert preempts(decide()) == {"b2": (None, "watermark")}


def test_production_may_use_the_backed_part_of_its_nominal_only() -> None:
    """10 at 1.25 are 8 cards, 4 of them held."""
    wait = decide(measured=", measured_use: 0.1")["waits"][0]

    assert (wait["code"], wait["have"]["gpu"], wait["short"]["gpu"]) == ("quota-nominal", 4, 1)


def test_two_samples_in_a_row_evict_and_the_job_comes_back_by_itself() -> None:
    """b's 5 are one above the 4 that back it. Full from 100 s on; at 160 s that has been seen twice. It starts anew when a has
    ended, the first moment at which the pool has it below the high watermark."""
    cluster = one_pool(a=5, b=5) + "pools: {shared: {factor: 1.25}}\n"

    result = run(cluster, ["b1,b,q,0,1000,1,5", "a1,a,q,100,500,1,3"])

    assert times(result) == {"b1": ("0", "1440"), "a1": ("100", "600")}
    assert jobs_of(result)["b1"]["preemptions"] == "1"


def test_a_peak_between_two_samples_evicts_nobody() -> None:
    cluster = one_pool(a=5, b=5) + "pools: {shared: {factor: 1.25}}\n"

    result = run(cluster, ["b1,b,q,0,1000,1,5", "a1,a,q,100,59,1,3"])

    assert times(result) == {"b1": ("0", "1000"), "a1": ("100", "159")}


def test_work_inside_what_backs_it_fills_the_pool() -> None:
    cluster = one_pool(a=5, b=5) + "pools: {shared: {factor: 1.25}}\n"

    result = run(cluster, ["b1,b,q,0,1000,1,4", "a1,a,q,100,500,1,4"])

    assert times(result) == {"b1": ("0", "1000"), "a1": ("100", "600")}
