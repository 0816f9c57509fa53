"""SCH-12: placement contests. Arrivals one at a time, no queue; what fits nowhere is dropped and counts as arrived all the same."""

import csv
import io
import random
from dataclasses import dataclass
from typing import Any

import pytest

from scheduling.simulator.cluster import Cluster
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.placing import place_arrivals
from scheduling.simulator.policy_file import parse_policy
from scheduling.simulator.simulation import Replay
from scheduling.simulator.summary import jobs_csv, summarise
from tests.unit.simulator.files import no_files, policy_problems

HEADER = "job_id,tenant,queue,submit_s,duration_s,pods,gpus_per_pod,flavors,cpu_per_pod,memory_gib_per_pod"
PRESETS = ("placement", "placement-fgd", "placement-bestfit", "placement-random")


def nodes(*given: str, cards: str = "any") -> str:
    """A cluster of these node entries, two tenants and no quota: nothing is limited."""
    listed = "".join(f"  - {{flavor: g, {node}}}\n" for node in given)
    tenants = "".join(f"  - {{name: {name}, queues: [{{name: q}}]}}\n" for name in ("a", "b"))
    return f"flavors: {{g: {{cards: {cards}}}}}\nnodes:\n{listed}tenants:\n{tenants}"


ONE_CARD = nodes("name: n0, gpus: 1, cpu: 8, memory_gib: 64")
TWO_CARDS = nodes("name: n0, gpus: 2, cpu: 8, memory_gib: 64")


def place(cluster: str | Cluster, rows: list[str], *, preset: str = "placement", seed: int = 0) -> Replay:
    known = parse_cluster(cluster, "cluster.yaml", no_files) if isinstance(cluster, str) else cluster
    trace = parse_jobs("\n".join((HEADER, *rows)) + "\n", "jobs.csv", known)
    draws = random.Random(seed)
    return place_arrivals(known, trace, parse_policy(preset, "p"), iter(lambda: draws.getrandbits(62), -1))


def places(result: Replay) -> dict[str, str]:
    return {row["job_id"]: row["nodes"] for row in csv.DictReader(io.StringIO(jobs_csv(result)))}


@dataclass(frozen=True)
class Case:
    name: str
    rows: tuple[str, ...]
    want: dict[str, Any]
    cluster: str = TWO_CARDS


CASES = [
    Case(
        "what is dropped counts as arrived", ("j1,a,q,0,,1,1,,,", "j2,a,q,1,,1,1,,9,", "j3,a,q,2,,1,1,,,"),
        {"dropped": 1, "unallocated_pct_at": {"100": 50, "130": None}, "unallocated_pct": 0},
    ),
    Case(
        "99.5 % rounds to 100", ("j1,a,q,0,,1,0.995,,,",),
        {"dropped": 0, "unallocated_pct_at": {"100": 0.5, "130": None}}, ONE_CARD,
    ),
    Case("99.4 % does not", ("j1,a,q,0,,1,0.994,,,",), {"unallocated_pct_at": {"100": None, "130": None}}, ONE_CARD),
    Case(
        "the mean of the steps that round to 130 %", ("j1,a,q,0,,1,0.8,,,", "j2,a,q,0,,1,0.499,,,", "j3,a,q,0,,1,0.002,,,"),
        {"dropped": 1, "unallocated_pct_at": {"100": None, "130": 19.9}}, ONE_CARD,
    ),
    Case("a pod without cards counts in none of them", ("j1,a,q,0,,1,0,,8,",), {"dropped": 0, "unallocated_pct": 100}),
    Case("too little memory", ("j1,a,q,0,,1,1,,,65",), {"dropped": 1}),
    Case("two shares of 0.6 are two cards", ("j1,a,q,0,,2,0.6,,,",), {"dropped": 0, "unallocated_pct": 40}),
    Case("three are a card too many", ("j1,a,q,0,,3,0.6,,,",), {"dropped": 1, "unallocated_pct": 100}),
    Case("two tenants do not share a card", ("j1,a,q,0,,1,0.4,,,", "j2,b,q,1,,1,0.4,,,"), {"dropped": 1}, ONE_CARD),
    Case("who left makes room", ("j1,a,q,0,10,1,1,,,", "j2,a,q,10,10,1,1,,,"), {"dropped": 0, "makespan_s": 20}, ONE_CARD),
    Case("who has not left does not", ("j1,a,q,0,10,1,1,,,", "j2,a,q,9,10,1,1,,,"), {"dropped": 1, "makespan_s": 10}, ONE_CARD),
    Case(
        "idle cards keep no CPU for themselves", ("j1,a,q,0,,1,0,,8,", "j2,a,q,1,,1,1,,1,"),
        {"dropped": 1, "fragmented_pct": 100},
    ),
    Case(
        "a flavor of whole cards takes no shares", ("j1,a,q,0,,1,0.5,,,", "j2,a,q,1,,1,1,,,"), {"dropped": 1},
        nodes("name: n0, gpus: 2, cpu: 8, memory_gib: 64", cards="whole"),
    ),
    Case(
        "a cordoned node takes nothing", ("j1,a,q,0,,1,1,,,",), {"dropped": 1},
        nodes("name: n0, gpus: 2, cpu: 8, memory_gib: 64, state: cordoned"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contest(case: Case, preset: str) -> None:
    summary = summarise(place(case.cluster, list(case.rows), preset=preset))

    assert {key: summary[key] for key in case.want} == case.want


def test_what_was_dropped_has_no_start_and_no_end() -> None:
    result = place(ONE_CARD, ["j1,a,q,0,,1,1,,,", "j2,a,q,1,,1,1,,,"])

    assert jobs_csv(result) == "job_id,start_s,end_s,queue_s,jct_s,preemptions,nodes\nj1,0,,,,0,n0\nj2,,,,,0,\n"


EIGHT = [f"name: n{i}, gpus: 4, cpu: {16 + i % 3}, memory_gib: 64" for i in range(8)]


def many(seed: int, count: int = 80) -> list[str]:
    draw = random.Random(seed)
    sizes = ("0", "0.16", "0.32", "0.47", "0.81", "1", "1", "2")
    return [
        f"j{i:03d},a,q,{i},,1,{draw.choice(sizes)},,{draw.randrange(1, 6)},{draw.randrange(8)}" for i in range(count)
    ]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_order_of_node_rows_changes_nothing(preset: str) -> None:
    one, other = (place(nodes(*order), many(1), preset=preset) for order in (EIGHT, EIGHT[::-1]))

    assert jobs_csv(one) == jobs_csv(other)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_seed_changes_random_placement_only(preset: str) -> None:
    one, same, other = (jobs_csv(place(nodes(*EIGHT), many(2), preset=preset, seed=seed)) for seed in (1, 1, 2))

    assert one == same
    assert (one != other) == (preset == "placement-random")


@pytest.mark.parametrize("preset", PRESETS)
def test_no_card_and_no_node_ever_gives_more_than_it_has(preset: str) -> None:
    """What is held in the end adds up to what was placed, and every node has enough CPU for those it got."""
    rows = many(3, 200)
    result = place(nodes(*EIGHT), rows, preset=preset)
    asked = {row.split(",")[0]: row.split(",") for row in rows}
    where = places(result)
    held = sum(float(asked[job][6]) for job, node in where.items() if node)

    assert result.meters.held_m == round(1000 * held) == 32_000 - result.meters.parts.free_m
    for number in range(8):
        assert sum(int(asked[job][8]) for job, node in where.items() if node == f"n{number}") <= 16 + number % 3


def test_berths_own_score_leaves_less_than_first_come_first_fit() -> None:
    """Half of the pods want 0.47 of a card, half 0.53: only pairs of both fill a card."""
    rows = [f"j{i},a,q,{i},,1,{'0.47' if i % 4 < 2 else '0.53'},,," for i in range(64)]
    free = {preset: summarise(place(nodes(*EIGHT), rows, preset=preset))["unallocated_pct"] for preset in PRESETS}

    assert free["placement"] == 0
    assert free["placement-random"] > 0


def test_a_placement_of_its_own_needs_a_list_that_does_not_queue() -> None:
    assert policy_problems("{placement: fgd}") == [
        "policy.yaml:1: placement: a placement of its own needs queueing: false"
    ]
    assert parse_policy("{placement: fgd, queueing: false}", "p").placement == "fgd"
