"""What a jobs CSV and a policy file say, and what is told about wrong ones."""

from dataclasses import replace

import pytest

from scheduling.engine.policy import PRESETS
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier, TopologyMode
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.policy_file import parse_policy
from tests.unit.simulator.files import cluster, jobs, jobs_problems, policy_problems

GOOD = "j1,a,main,production,700,1.5,3600,2,2,8,a100,4,32,7200,required,rack"


def test_a_row_is_read_into_integers() -> None:
    trace = parse_jobs(jobs(GOOD), "jobs.csv", cluster())

    role = trace.shapes[0].roles[0]
    assert (trace.ids, trace.tier.tolist(), trace.priority.tolist()) == (("j1",), [Tier.PRODUCTION], [700])
    assert (trace.submit_ms[0], trace.duration_ms[0], trace.limit_ms[0]) == (1500, 3_600_000, 7_200_000)
    assert (role.replicas, role.minimum, role.cards_m, role.cpu_m, role.memory_mib) == (2, 2, 8000, 4000, 32768)
    assert (trace.shapes[0].topology, trace.shapes[0].level) == (TopologyMode.REQUIRED, "rack")


def test_empty_cells_take_the_defaults() -> None:
    trace = parse_jobs(jobs("j1,b,main,,,0,,1,,0,,,,,,"), "jobs.csv", cluster())

    assert trace.tier.tolist() == [Tier.BATCH]
    assert trace.priority.tolist() == [500]
    assert (trace.duration_ms[0], trace.limit_ms[0]) == (NEVER, NEVER)
    assert trace.endless


def test_a_pod_may_ask_for_a_share_of_a_card() -> None:
    """SCH-13: a share is below one card; more than a card is a whole number of them."""
    trace = parse_jobs(jobs(GOOD.replace(",2,2,8", ",1,,0.475")), "jobs.csv", cluster())

    assert trace.shapes[0].roles[0].cards_m == 475


def test_columns_may_come_in_any_order_and_optional_ones_may_be_left_out() -> None:
    text = "pods,job_id,submit_s,duration_s,queue,tenant,gpus_per_pod\n1,j1,0,60,main,a,1\n"

    assert parse_jobs(text, "jobs.csv", cluster()).ids == ("j1",)


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [GOOD, "j0,b,main,,,0,60,1,,1,,,,,,", "j2,a,main,,,9,60,1,,2,,,,,,"]

    there = parse_jobs(jobs(*rows), "jobs.csv", cluster())
    back = parse_jobs(jobs(*rows[::-1]), "jobs.csv", cluster())

    assert there.ids == back.ids
    assert there.shapes == back.shapes
    assert there.shape.tolist() == back.shape.tolist()


WRONG = {
    "an unknown tenant": ("j1,a,", "j1,z,", "jobs.csv:2: tenant: unknown tenant 'z'; known: a, b"),
    "an unknown queue": (",main,", ",other,", "jobs.csv:2: queue: unknown queue 'other' of tenant a; known: main"),
    "an unknown tier": ("production", "gold", "jobs.csv:2: tier: must be one of batch, development, production, is 'gold'"),
    "a priority out of range": (",700,", ",1001,", "jobs.csv:2: priority: must be between 0 and 1000, is 1001"),
    "a negative time": ("1.5", "-1", "jobs.csv:2: submit_s: must be 0 or more, is -1"),
    "no pods": (",2,2,8", ",0,,8", "jobs.csv:2: pods: must be between 1 and 100000, is 0"),
    "one and a half cards": (",2,2,8", ",2,2,1.5", "jobs.csv:2: gpus_per_pod: must be a whole number of cards or a share below 1, is 1.5"),
    "a minimum above the full size": (",2,2,8", ",2,3,8", "jobs.csv:2: min_pods: must be at most pods (2), is 3"),
    "a minimum above the pods": (",2,2,8", ",2,3,8", "jobs.csv:2: min_pods: must be at most pods (2), is 3"),
    "an unknown flavor": (",a100,", ",h100,", "jobs.csv:2: flavors: unknown flavor 'h100'; known: a100"),
    "an unknown level": ("required,rack", "required,row", "jobs.csv:2: topology_level: unknown level 'row'"),
    "a required topology without level": ("required,rack", "required,", "jobs.csv:2: topology_level: a required topology needs"),
    "too few cells": (",required,rack", "", "jobs.csv:2: has 14 cells, the header has 16"),
    "no id": ("j1,a", ",a", "jobs.csv:2: job_id: is required"),
    "infinity": (",3600,", ",inf,", "jobs.csv:2: duration_s: must be a finite number, is 'inf'"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "want"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_row_is_refused_with_line_column_and_cause(old: str, new: str, want: str) -> None:
    assert old in GOOD

    found = jobs_problems(jobs(GOOD.replace(old, new, 1)))

    assert any(problem.startswith(want) for problem in found), found


def test_every_bad_row_is_listed() -> None:
    found = jobs_problems(jobs(GOOD, GOOD, "j2,z,main,,,x,60,1,,1,,,,,,"))

    assert found == [
        "jobs.csv:3: job_id: 'j1' is there twice, first on line 2",
        "jobs.csv:4: submit_s: must be a number, is 'x'",
        "jobs.csv:4: tenant: unknown tenant 'z'; known: a, b",
    ]


def test_a_wrong_header_says_which_columns() -> None:
    assert jobs_problems("job_id,tenant,queue,submit,duration_s,pods,gpus_per_pod\n") == [
        "jobs.csv:1: submit: unknown column; known: " + ", ".join(jobs().strip().split(",")),
        "jobs.csv:1: submit_s: column is missing",
    ]


def test_a_policy_is_a_preset_or_overrides_of_one() -> None:
    assert parse_policy("fifo-skip\n", "p") == PRESETS["fifo-skip"]
    assert parse_policy("", "p") == PRESETS["default"]
    levels = parse_policy("{preset: time-shared, attained_levels: [2, 0.5], running_edge: 2}", "p")
    assert (levels.attained_levels, levels.running_edge_ppm) == ((1_800_000, 7_200_000), 2_000_000)
    policy = parse_policy("{preset: static-quota, stop_s: 2.5, durations: known}", "p")
    assert (policy.borrowing, policy.stop_ms, policy.durations) == (False, 2500, "known")
    assert parse_policy("{order: shortest, block: none}", "p") == replace(
        PRESETS["default"], order="shortest", block="none"
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("tetris", "policy.yaml:1: unknown preset 'tetris'; supported: default, fifo, fifo-skip, "),
        ("{attained_levels: [1, x]}", "policy.yaml:1: attained_levels[1]: must be a number"),
        (
            "{preset: tetris}",
            "policy.yaml:1: preset: unknown preset 'tetris'; supported: default, fifo, fifo-skip, ",
        ),
        ("{stop: 3}", "policy.yaml:1: stop: unknown key; known here: preset, "),
        ("{stop_s: soon}", "policy.yaml:1: stop_s: must be a number, is 'soon'"),
    ],
)
def test_a_wrong_policy_is_refused(text: str, want: str) -> None:
    assert policy_problems(text)[0].startswith(want)
