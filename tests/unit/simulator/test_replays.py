"""Replays small enough to calculate by hand: start and end of each job, what is measured, what preemption costs."""

import csv
import io
from typing import Any

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.policy_file import parse_policy
from scheduling.simulator.simulation import Replay, Tools, replay
from scheduling.simulator.summary import jobs_csv, summarise
from tests.unit.simulator.files import cluster

HEADER = "job_id,tenant,queue,submit_s,duration_s,pods,gpus_per_pod"
LIMITED = HEADER + ",max_runtime_s"


def one_pool(*, nodes: int = 1, gpus: int = 8, a: int = 8, b: int = 8) -> str:
    return f"""\
flavors: {{g: {{cards: any}}}}
nodes: [{{count: {nodes}, name: "n{{i}}", flavor: g, gpus: {gpus}, cpu: 100, memory_gib: 100}}]
cohorts: [{{name: root}}]
tenants:
  - {{name: a, cohort: root, queues: [{{name: q, quota: {{gpu: {{g: {{nominal: {a}}}}}}}}}]}}
  - {{name: b, cohort: root, queues: [{{name: q, quota: {{gpu: {{g: {{nominal: {b}}}}}}}}}]}}
"""


def run(cluster_text: str, rows: list[str], *, policy: str = "default", header: str = HEADER) -> Replay:
    known = cluster(cluster_text)
    trace = parse_jobs("\n".join((header, *rows)) + "\n", "jobs.csv", known)
    return replay(known, trace, parse_policy(policy, "policy.yaml"), Tools(run_cycle))


def jobs_of(result: Replay) -> dict[str, dict[str, str]]:
    return {row["job_id"]: row for row in csv.DictReader(io.StringIO(jobs_csv(result)))}


def times(result: Replay) -> dict[str, tuple[str, str]]:
    return {job: (row["start_s"], row["end_s"]) for job, row in jobs_of(result).items()}


def test_two_jobs_in_turn_give_the_figures_calculated_by_hand() -> None:
    summary = summarise(run(one_pool(), ["j1,a,q,0,100,1,8", "j2,b,q,10,50,1,8"]))

    want: dict[str, Any] = {
        "jobs": 2, "finished": 2, "makespan_s": 150,
        "mean_jct_s": 120, "p50_jct_s": 120, "p99_jct_s": 139.6,
        "mean_queue_s": 45, "p50_queue_s": 45, "p90_queue_s": 81, "p99_queue_s": 89.1,
        "mean_bounded_slowdown": 1.9, "worst_ftf": 11.2, "unfair_pct": 100, "jain_tenants": 0.816742,
        "utilisation": 1, "unallocated_pct": 0, "fragmented_pct": 0, "preemptions": 0, "borrowed_card_s": 0,
        "worst_tenant_mean_queue_s": 90, "cycles": 3,
    }  # fmt: skip
    assert {key: summary[key] for key in want} == want
    assert list(summary) == [*want, "plan_ms"]
    assert list(summary["plan_ms"]) == ["p50", "p99", "max"]


def test_jobs_csv_has_the_contracts_columns_and_nodes() -> None:
    text = jobs_csv(run(one_pool(nodes=2, a=16), ["j1,a,q,0.5,100,2,8", "j2,b,q,10,,1,9"]))

    assert text == (
        "job_id,start_s,end_s,queue_s,jct_s,preemptions,nodes\n"
        "j1,0.5,100.5,0,100,0,n0|n1\n"
        "j2,,,,,0,\n"
    )  # fmt: skip


def test_a_job_of_a_second_that_waits_nine_is_not_slowed_down() -> None:
    summary = summarise(run(one_pool(), ["j1,a,q,0,10,1,8", "j2,a,q,1,1,1,8"]))

    assert summary["mean_bounded_slowdown"] == 1


def test_idle_cards_count_as_unallocated_and_those_that_no_job_fits_on_as_fragmented() -> None:
    """One job of 4 of the 8 cards for 100 s, then one of 8 for 100 s: a quarter idle; half of the mix cannot use it."""
    summary = summarise(run(one_pool(), ["j1,a,q,0,100,1,4", "j2,a,q,0,100,1,8"], policy="fifo"))

    assert summary["utilisation"] == 0.75
    assert summary["unallocated_pct"] == 25
    assert summary["fragmented_pct"] == 12.5


LENDING = ["lent,b,q,0,1000,1,8", "owner,a,q,100,50,1,8"]


def test_a_stopped_job_leaves_at_once_and_keeps_its_progress() -> None:
    result = run(one_pool(b=0), LENDING)

    assert times(result) == {"lent": ("0", "1050"), "owner": ("100", "150")}
    assert jobs_of(result)["lent"]["preemptions"] == "1"
    assert summarise(result)["borrowed_card_s"] == 8 * 1000


def test_stopping_preemption_and_restart_cost_what_the_policy_says() -> None:
    """Told at 100, gone at 110 with 80 s of progress; starts again at 160, 5 s of restart and 920 s of work: ends at 1085."""
    result = run(one_pool(b=0), LENDING, policy="{stop_s: 10, preemption_cost_s: 20, restart_cost_s: 5}")

    assert times(result) == {"lent": ("0", "1085"), "owner": ("110", "160")}
    assert jobs_of(result)["lent"]["queue_s"] == "50"
    assert summarise(result)["borrowed_card_s"] == 8 * (110 + 925)


def test_static_quota_lends_nothing() -> None:
    result = run(one_pool(b=0), LENDING, policy="static-quota")

    assert times(result) == {"lent": ("", ""), "owner": ("100", "150")}


FIFO = ["j1,a,q,0,100,1,6", "j2,a,q,1,100,1,8", "j3,a,q,2,100,1,2"]


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        ("fifo", {"j1": ("0", "100"), "j2": ("100", "200"), "j3": ("200", "300")}),
        ("fifo-skip", {"j1": ("0", "100"), "j2": ("102", "202"), "j3": ("2", "102")}),
    ],
)
def test_the_head_of_fifo_blocks_and_fifo_skip_passes_it(policy: str, want: dict[str, tuple[str, str]]) -> None:
    assert times(run(one_pool(), FIFO, policy=policy)) == want


def test_a_job_that_reaches_its_declared_run_time_ends_there() -> None:
    assert times(run(one_pool(), ["j1,a,q,0,100,1,8,60"], header=LIMITED)) == {"j1": ("0", "60")}


def test_a_list_without_departures_gives_the_unallocated_share_by_requests() -> None:
    """Two nodes of 5; jobs of 3, 3, 4 ask for all 10 cards, but 4 fit nowhere; then 3 more."""
    rows = ["j1,a,q,0,,1,3", "j2,a,q,1,,1,3", "j3,a,q,2,,1,4", "j4,a,q,3,,1,3"]

    summary = summarise(run(one_pool(nodes=2, gpus=5, a=20), rows, policy="fifo-skip"))

    assert summary["unallocated_pct_at"] == {"100": 40, "130": 40}
    assert summary["unallocated_pct"] == 40
    assert summary["finished"] == 0


def test_the_order_of_rows_changes_nothing() -> None:
    rows = [f"j{i:02d},{'ab'[i % 2]},q,{i * 7 % 40},{20 + i * 13 % 50},{1 + i % 2},{1 + i % 4}" for i in range(40)]

    there, back = run(one_pool(nodes=2), rows), run(one_pool(nodes=2), rows[::-1])

    assert jobs_csv(there) == jobs_csv(back)
    assert {**summarise(there), "plan_ms": 0} == {**summarise(back), "plan_ms": 0}


@pytest.mark.parametrize(("keeps", "first"), [("true", "old"), ("false", "other")])
def test_case_38_an_evicted_job_comes_back_by_its_submit_or_by_its_eviction(keeps: str, first: str) -> None:
    """`old` leaves for `high` at 700 s, when `other` of the same priority has waited since 650 s."""
    header = HEADER + ",priority"
    rows = ["old,a,q,0,1000,1,8,500", "other,a,q,650,100,1,8,500", "high,a,q,700,100,1,8,800"]
    policy = f"{{preset: default, evicted_keep_place: {keeps}}}"

    found = jobs_of(run(one_pool(), rows, policy=policy, header=header))

    assert found["high"]["start_s"] == "700"
    assert found["other"]["start_s"] == ("1100" if first == "old" else "800")
    assert found["old"]["end_s"] == ("1100" if first == "old" else "1200")


def test_a_borrower_gives_way_as_soon_as_it_has_run_its_minimum_time() -> None:
    """b holds all 16 of a pool nobody owns from 0 s; a asks at 100 s and has its half when ten minutes are over; at 3,600 s b has its own back."""
    text = one_pool(gpus=16, a=0, b=0).replace("[{name: root}]", "[{name: root, quota: {gpu: {g: {nominal: 16}}}}]")
    rows = [f"b{n},b,q,0,3600,1,4" for n in range(4)] + [f"a{n},a,q,100,3600,1,4" for n in range(4)]

    starts = {job: row["start_s"] for job, row in jobs_of(run(text, rows)).items()}

    assert [starts[f"b{n}"] for n in range(4)] == ["0"] * 4
    assert sorted(starts[f"a{n}"] for n in range(4)) == ["4200", "4200", "600", "600"]


SHORTEST = ["long,a,q,0,100,1,8", "middle,a,q,1,60,1,8", "short,b,q,2,30,1,8", "narrow,b,q,3,200,1,1"]


def test_sjf_known_starts_the_shortest_that_fits_and_stops_nobody() -> None:
    result = run(one_pool(), SHORTEST, policy="sjf-known")

    assert times(result) == {
        "long": ("0", "100"),
        "short": ("100", "130"),
        "middle": ("130", "190"),
        "narrow": ("190", "390"),
    }
    assert summarise(result)["preemptions"] == 0
