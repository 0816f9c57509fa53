"""Plan files that ask for too much of the reader: one clear line each that names the field, and no more work than the file is long."""

import pytest

from berth.common.shown import shown
from scheduling.engine.cycle import run_cycle
from scheduling.simulator.plan_file import parse_plan
from scheduling.simulator.plan_json import plan_document
from scheduling.simulator.problems import InvalidFileError

PLAN = """
now: "2026-11-29T10:00:00Z"
cluster:
  flavors: {a100: {cards: any, vram_gib: 80}}
  nodes: [{name: n0, flavor: a100, gpus: 8, cpu: 128, memory_gib: 1024}]
  tenants: [{name: a, weight: 1, queues: [{name: main, quota: {gpu: {a100: {nominal: 64}}}}]}]
running:
  - {job: r, tenant: a, queue: main, started: "2026-11-29T09:00:00Z", roles: [{nodes: [n0], resources: {gpu: 8, cpu: 1, memory: 1}}]}
pending:
  - {job: p, tenant: a, queue: main, max_runtime: 3600, roles: [{resources: {gpu: 1}}]}
"""
LEVELS = "".join(f"  - &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 10))
BOMB = f"now: x\npending:\n  - &l0 [a]\n{LEVELS}"
LONG = "9" * 5000


def refusal(text: str) -> list[str]:
    with pytest.raises(InvalidFileError) as caught:
        parse_plan(text, "plan.yaml", lambda name: name)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        ("2026-11-29T10:00:00Z", "9999-12-31T23:59:59-23:59", ": now: must be from 2000"),
        ("2026-11-29T09:00:00Z", "0001-01-01T00:00:00+23:59", ": running[0].started: must be from 2000"),
        ("{gpu: 8, cpu", "{gpu: 1e15, cpu", ": running[0].roles[0].resources.gpu: must be at most 1000000000"),
        ("{gpu: 8, cpu", "{gpu: 1e9, cpu", "more are held with this job"),
        ("cpu: 1,", "cpu: 1e15,", ": running[0].roles[0].resources.cpu: must be at most 1000000000"),
        ("memory: 1}", "memory: 1e15}", ": running[0].roles[0].resources.memory: must be at most"),
        ("weight: 1,", "weight: 1e15,", ".weight: must be at most 1000000000"),
        ("nominal: 64", "nominal: 1e16", ".nominal: must be at most 1000000000000000"),
        ("vram_gib: 80", "vram_gib: 1e15", ".vram_gib: must be at most"),
        ("max_runtime: 3600", "max_runtime: 1e15", ": pending[0].max_runtime: must be at most 1000000000"),
        ("gpu: 1}", f"gpu: {LONG}}}", ": pending[0].roles[0].resources.gpu: must be at most"),
        ("gpus: 8", f"gpus: {LONG}", ".gpus: must be a whole number"),
        ("job: p", f"{LONG[:900]}: p, job: p", ": unknown key"),
    ],
)
def test_what_is_too_much_is_told_by_field_on_a_line_that_can_be_read(before: str, after: str, want: str) -> None:
    assert before in PLAN

    lines = refusal(PLAN.replace(before, after, 1))

    assert any(want in line for line in lines), lines
    assert max(map(len, lines)) < 600


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (BOMB, "aliases repeat too many values"),
        ("a: &a [*a]", "is nested in more than 32 levels"),
        ("a: &a {b: *a}", "is nested in more than 32 levels"),
        ("[" * 900 + "]" * 900, "is nested in more than 32 levels"),
        ("[" * 100_000, "not valid YAML"),
        ("- " * 800 + "a", "is nested in more than 32 levels"),
    ],
)
def test_what_unfolds_without_end_is_refused_at_once(text: str, want: str) -> None:
    assert any(want in line for line in refusal(text))


def test_an_alias_that_saves_a_line_is_still_read() -> None:
    text = PLAN.replace(
        "[{resources: {gpu: 1}}]}", "&one [{resources: {gpu: 1}}]}\n  - {job: q, tenant: a, queue: main, roles: *one}"
    )

    question = parse_plan(text, "plan.yaml", lambda name: name)

    assert len(question.snapshot.pending.ids) == 2


@pytest.mark.parametrize(("length", "amount"), [("1e9", "1e9"), ("999999999", "1")])
def test_the_largest_values_that_are_allowed_are_decided_on(length: str, amount: str) -> None:
    text = PLAN.replace("max_runtime: 3600", f"max_runtime: {length}").replace(
        "{gpu: 1}", f"{{gpu: {amount}, memory: 9e8}}"
    )
    text = text.replace("started:", f"max_runtime: {length}, started:").replace("2026-11-29T09", "2000-01-01T00")
    question = parse_plan(text.replace("2026-11-29T10:00:00Z", "2199-12-31T23:00:00Z"), "plan.yaml", lambda name: name)

    plan = run_cycle(question.snapshot, question.policy, question.now_ms)

    assert plan_document(plan, question.snapshot, lambda _wait: "")["waits"]


def test_a_long_value_is_shown_by_its_beginning_and_length() -> None:
    assert shown("x") == "'x'"
    assert shown("9" * 5000) == f"'{'9' * 80}'… (5000 characters)"
