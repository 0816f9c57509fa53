"""A cluster of processors alone, with no kind of card at all: jobs run there like anywhere (SCH-02, SCH-23)."""

from scheduling.engine.cycle import run_cycle
from scheduling.engine.invariants import check
from scheduling.simulator.plan_file import parse_plan
from tests.unit.simulator.files import no_files

SCENE = """\
now: "2026-11-29T10:00:00Z"
cluster:
  flavors: {}
  nodes: [{name: n0, gpus: 0, cpu: 8, memory_gib: 64}]
  tenants: [{name: a, queues: [{name: q, quota: {cpu: {nominal: 8}}}]}]
running:
  - {job: r, tenant: a, queue: q, started: "2026-11-29T09:00:00Z", roles: [{replicas: 1, nodes: [n0], resources: {cpu: 4}}]}
pending:
  - {job: fits, tenant: a, queue: q, submitted: "2026-11-29T09:00:00Z", roles: [{replicas: 1, resources: {cpu: 3}}]}
  - {job: waits, tenant: a, queue: q, submitted: "2026-11-29T09:30:00Z", roles: [{replicas: 1, resources: {cpu: 2}}]}
"""


def test_jobs_start_and_wait_by_processors_alone_and_the_plan_is_sound() -> None:
    question = parse_plan(SCENE, "plan.yaml", no_files)

    plan = run_cycle(question.snapshot, question.policy, question.now_ms)

    assert [start.job for start in plan.starts] == ["fits"]
    assert [(wait.job, dict(wait.short)) for wait in plan.waits] == [("waits", {"cpu": 1000})]
    assert check(question.snapshot, plan, question.now_ms) == ()
