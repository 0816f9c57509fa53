"""When waiting jobs will start, as calculated by hand from declared limits, and when that cannot be told (SCH-21)."""

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.simulator.eta import CannotTell, Estimate, StartRange, estimate_starts
from scheduling.simulator.plan_file import parse_plan
from tests.unit.simulator.files import no_files

MINUTE = 60_000
HEAD = """\
now: "2026-11-29T10:00:00Z"
cluster:
  flavors: {g: {cards: any}}
  nodes: [{count: 2, name: "n{i}", flavor: g, gpus: 8, cpu: 100}]
  tenants: [{name: a, queues: [{name: q, quota: {gpu: {g: {nominal: 16}}}}]}]
"""


def entry(job: str, gpus: int, extra: str = "", *, pods: int = 1, nodes: str = "") -> str:
    places = f", nodes: [{nodes}]" if nodes else ""
    submitted = 'submitted: "2026-11-29T09:00:00Z"'
    return (
        f"  - {{job: {job}, tenant: a, queue: q, {submitted}{extra}, "
        f"roles: [{{replicas: {pods}{places}, resources: {{gpu: {gpus}}}}}]}}\n"
    )


def ranges(running: list[str], pending: list[str]) -> dict[str, Estimate]:
    text = HEAD + "running:\n" + "".join(running) + "pending:\n" + "".join(pending)
    question = parse_plan(text, "plan.yaml", no_files)
    plan = run_cycle(question.snapshot, question.policy, question.now_ms)
    found = estimate_starts(question.snapshot, plan, question.policy, question.now_ms)
    return {str(job): _from_now(estimate, question.now_ms) for job, estimate in found.items()}


def _from_now(estimate: Estimate, now_ms: int) -> Estimate:
    if isinstance(estimate, CannotTell):
        return estimate
    return StartRange(*(at - now_ms for at in (estimate.earliest_ms, estimate.likely_ms, estimate.latest_ms)))


LIMITED = ', started: "2026-11-29T09:20:00Z", max_runtime: 6000, priority: 600'
"""60 of its 100 minutes are left at 10:00."""


def test_a_job_that_starts_now_starts_now() -> None:
    assert ranges([], [entry("j", 8)]) == {"j": StartRange(0, 0, 0)}


def test_a_job_behind_a_limited_one_starts_between_a_part_and_all_of_what_is_left_of_the_limit() -> None:
    found = ranges([entry("r", 8, LIMITED, pods=2, nodes="n0, n1")], [entry("j", 8)])

    assert found == {"j": StartRange(9 * MINUTE, 30 * MINUTE, 60 * MINUTE)}


def test_the_line_moves_up_one_after_another() -> None:
    """j2 needs both nodes: it starts when j1, limited to 100 minutes, has left as well."""
    found = ranges(
        [entry("r", 8, LIMITED, pods=2, nodes="n0, n1")],
        [entry("j1", 8, ", priority: 600, max_runtime: 6000"), entry("j2", 8, pods=2)],
    )

    assert found["j1"] == StartRange(9 * MINUTE, 30 * MINUTE, 60 * MINUTE)
    assert found["j2"] == StartRange(24 * MINUTE, 80 * MINUTE, 160 * MINUTE)


def test_a_gang_whose_pods_are_apart_is_expected_to_take_as_much_longer_as_its_levels_say() -> None:
    """SCH-11: 50 minutes and 18 % for leaving the node are 59; at the earliest and likeliest, since the limit is twice that."""
    found = ranges(
        [entry("r", 8, LIMITED, pods=2, nodes="n0, n1")],
        [entry("j1", 8, ", priority: 600, expected_runtime: 3000, max_runtime: 6000", pods=2), entry("j2", 8, pods=2)],
    )

    assert found["j2"] == StartRange((9 + 59) * MINUTE, (30 + 59) * MINUTE, 160 * MINUTE)


def test_it_cannot_be_told_where_those_who_hold_the_cards_declare_no_run_time() -> None:
    found = ranges([entry("r0", 8, nodes="n0"), entry("r1", 8, LIMITED, nodes="n1")], [entry("j", 8, pods=2)])

    assert found == {"j": CannotTell("no-run-times", 1)}


@pytest.mark.parametrize(
    ("extra", "want"), [(', not_before: "2026-11-30T00:00:00Z"', "not-before"), (", after: [{job: r}]", "dependency")]
)
def test_a_job_that_may_not_start_yet_says_so(extra: str, want: str) -> None:
    assert ranges([entry("r", 1, nodes="n0")], [entry("j", 8, extra)]) == {"j": CannotTell(want)}


def test_an_impossible_job_has_no_range() -> None:
    assert ranges([], [entry("j", 9)]) == {"j": CannotTell("impossible")}


def test_nobody_is_told_to_start_on_a_place_that_an_earlier_job_is_promised() -> None:
    """One node is free; the head needs both. The short job passes before the head's time, the long one starts after it."""
    running = [entry("r", 8, LIMITED, nodes="n0")]
    head = entry("head", 8, ", priority: 600, max_runtime: 6000", pods=2)

    found = ranges(running, [head, entry("long", 8, ", max_runtime: 36000"), entry("short", 4, ", max_runtime: 3600")])

    assert found["head"] == StartRange(9 * MINUTE, 30 * MINUTE, 60 * MINUTE)
    assert found["short"] == StartRange(0, 0, 0)
    assert found["long"] == StartRange(24 * MINUTE, 80 * MINUTE, 160 * MINUTE)
