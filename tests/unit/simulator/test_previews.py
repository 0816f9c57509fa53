"""What a person is told before submitting: start, place, which quota pays, cost."""

from dataclasses import replace
from decimal import Decimal

from scheduling.engine.cycle import run_cycle
from scheduling.engine.snapshot import RoleAsk, Shape
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier, WaitCode
from scheduling.simulator.eta import CannotTell, StartRange
from scheduling.simulator.plan_file import parse_plan
from scheduling.simulator.preview import Candidate, Preview, preview_job
from tests.unit.simulator.files import no_files

PLAN = """\
now: "2026-11-29T10:00:00Z"
cluster:
  flavors: {g: {cards: any, price_per_card_hour: "12.50", currency: CNY}}
  nodes: [{count: 2, name: "n{i}", flavor: g, gpus: 8, cpu: 100}]
  cohorts: [{name: root}]
  tenants:
    - {name: a, cohort: root, queues: [{name: q, quota: {gpu: {g: {nominal: 4}}}}]}
    - {name: b, cohort: root, queues: [{name: q, quota: {gpu: {g: {nominal: 12}}}}]}
running:
  - {job: r, tenant: b, queue: q, started: "2026-11-29T09:00:00Z", max_runtime: 7200, roles: [{nodes: [n0], resources: {gpu: 8}}]}
"""


def candidate(gpus: int, *, pods: int = 1, limit_ms: int = NEVER, tier: Tier = Tier.DEVELOPMENT) -> Candidate:
    role = RoleAsk("worker", pods, pods, gpus * 1000, (0,))
    return Candidate(queue=0, shape=Shape((role,)), tier=tier, priority=500, limit_ms=limit_ms)


def preview(job: Candidate) -> Preview:
    question = parse_plan(PLAN, "plan.yaml", no_files)
    return preview_job(question.snapshot, job, question.policy, question.now_ms, decide=run_cycle)


def test_a_job_that_fits_starts_now_and_its_split_and_place_are_shown() -> None:
    found = preview(candidate(6))

    assert found.admissible
    assert isinstance(found.estimate, StartRange)
    assert found.estimate.earliest_ms == found.estimate.latest_ms
    assert (found.own_m, found.borrowed_m) == (4000, 2000)
    assert found.spot is not None
    assert [(pod.node, pod.cards_m) for pod in found.spot.pods] == [("n1", 6000)]
    assert (found.spot.broken_nodes, found.spot.stranded_m) == (1, 2000)


def test_a_job_that_waits_has_its_reason_and_a_range() -> None:
    found = preview(candidate(4, pods=2, tier=Tier.DEVELOPMENT, limit_ms=3_600_000))

    assert found.spot is not None or found.wait is not None
    assert (found.own_m, found.borrowed_m) == (4000, 4000)


def test_a_job_that_can_never_run_is_not_admissible() -> None:
    found = preview(candidate(9))

    assert not found.admissible
    assert found.wait is not None
    assert found.wait.code is WaitCode.IMPOSSIBLE
    assert found.estimate == CannotTell("impossible")


def test_the_cost_follows_the_declared_run_time_and_the_list_price() -> None:
    found = preview(candidate(4, limit_ms=2 * 3_600_000))

    assert found.cost is not None
    assert (found.cost.low, found.cost.likely, found.cost.high) == (Decimal(15), Decimal(50), Decimal(100))
    assert found.cost.currency == "CNY"


def test_an_expected_run_time_makes_the_likely_cost() -> None:
    found = preview(replace(candidate(4, limit_ms=2 * 3_600_000), expected_ms=1_800_000))

    assert found.cost is not None
    assert (found.cost.likely, found.cost.high) == (Decimal(25), Decimal(100))


def test_without_any_run_time_there_is_no_cost() -> None:
    assert preview(candidate(4)).cost is None
