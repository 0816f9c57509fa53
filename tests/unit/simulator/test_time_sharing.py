"""SCH-27 on the virtual clock: when turns end, what a restart costs, that replays end and come out the same."""

import pytest

from scheduling.simulator.simulation import Replay
from scheduling.simulator.summary import jobs_csv, summarise
from tests.unit.simulator.test_replays import jobs_of, run, times

ONE_QUEUE = """\
flavors: {{g: {{cards: whole}}}}
nodes: [{{count: {nodes}, name: "n{{i}}", flavor: g, gpus: {gpus}}}]
cohorts: [{{name: root}}]
tenants:
  - {{name: a, cohort: root, queues: [{{name: q}}]}}
  - {{name: b, cohort: root, queues: [{{name: q}}]}}
"""
SHARED = "{preset: time-shared, quantum_s: 600, attained_levels: [0.25, 32], running_edge: 1.25"


def share(rows: list[str], *, more: str = "", nodes: int = 1, gpus: int = 1, policy: str = SHARED) -> Replay:
    return run(ONE_QUEUE.format(nodes=nodes, gpus=gpus), rows, policy=f"{policy}{more}}}")


def test_the_younger_takes_the_card_once_the_older_leaves_the_first_level() -> None:
    """Level 0 is the first 900 s on one card. The quantum alone (600 s) ends nobody's turn on an equal level."""
    result = share(["old,a,q,0,5000,1,1", "new,a,q,100,300,1,1"])

    assert times(result) == {"old": ("0", "5300"), "new": ("1200", "1500")}
    assert [jobs_of(result)[job]["preemptions"] for job in ("old", "new")] == ["1", "0"]


def test_not_before_its_quantum_is_over() -> None:
    result = share(["old,a,q,0,5000,1,1", "new,a,q,100,300,1,1"], policy=SHARED.replace("600", "2000"))

    assert times(result)["new"] == ("2000", "2300")


def test_equal_service_takes_nobodys_turn() -> None:
    result = share(["one,a,q,0,800,1,1", "two,a,q,0,800,1,1"])

    assert times(result) == {"one": ("0", "800"), "two": ("800", "1600")}


def test_each_restart_is_paid_once() -> None:
    """Stopped once at 1200 with 1200 s done: 3800 s and one restart are left at 1500."""
    result = share(["old,a,q,0,5000,1,1", "new,a,q,100,300,1,1"], more=", restart_cost_s: 40")

    assert times(result)["old"] == ("0", str(1200 + 300 + 40 + 3800))


def test_a_small_job_goes_on_elsewhere_and_pays_a_restart() -> None:
    """`one` and `two` keep a card each of two nodes once `x` and `y` have ended; `wide` needs a node."""
    rows = ["one,a,q,0,2000,1,1", "x,a,q,0,100,1,1", "two,a,q,1,2000,1,1", "y,a,q,1,100,1,1", "wide,a,q,2,500,1,2"]

    new = SHARED.replace("[0.25, 32]", "[99]") + ", restart_cost_s: 40"

    moved, stayed = (share(rows, nodes=2, gpus=2, policy=new, more=more) for more in ("", ", moves: false"))

    assert times(moved) == {**times(stayed), "wide": ("640", "1140"), "one": ("0", "2040")}
    assert times(stayed)["wide"] == ("2000", "2500")
    assert [jobs_of(moved)["one"][key] for key in ("preemptions", "nodes", "queue_s")] == ["1", "n1", "0"]
    assert summarise(moved)["preemptions"] == 1


POOL = ONE_QUEUE + "pools: {{shared: {{time_sharing: {on}, quantum_s: 600}}}}\n"


@pytest.mark.parametrize(("on", "want"), [("true", ("600", "900")), ("false", ("5000", "5300"))])
def test_a_pool_may_take_turns_by_itself_under_the_default_policy(on: str, want: tuple[str, str]) -> None:
    """No levels: `old` loses its turn as soon as its quantum is over, and has it back when `new` has ended."""
    result = run(POOL.format(nodes=1, gpus=1, on=on), ["old,a,q,0,5000,1,1", "new,a,q,100,300,1,1"])

    assert times(result)["new"] == want
    assert times(result)["old"][1] == ("5300" if on == "true" else "5000")


def test_two_jobs_of_a_pool_alternate_by_its_quantum() -> None:
    """At 1200 and 2400 both have had 600 s and 1200 s, and who runs stays for another quantum of the clock: it is not ahead yet."""
    result = run(POOL.format(nodes=1, gpus=1, on="true"), ["one,a,q,0,2000,1,1", "two,a,q,0,1800,1,1"])

    assert times(result) == {"one": ("0", "3800"), "two": ("600", "3600")}
    assert [jobs_of(result)[job]["preemptions"] for job in ("one", "two")] == ["2", "1"]


MANY = [f"j{i:02d},{'ab'[i % 2]},q,{37 * i % 400},{900 + 700 * (i % 7)},1,{1 + i % 2}" for i in range(14)]


@pytest.mark.parametrize(
    "policy", ["{preset: las", "{preset: time-shared", SHARED, "{preset: time-shared, durations: known"]
)
def test_a_replay_ends_with_everybody_done_and_comes_out_the_same_whatever_the_order_of_rows(policy: str) -> None:
    """No circle of evictions: `replay` raises where the engine does not settle."""
    result = share(MANY, nodes=2, gpus=2, policy=policy, more=", restart_cost_s: 20")

    assert summarise(result)["finished"] == len(MANY)
    assert jobs_csv(result) == jobs_csv(share(MANY[::-1], nodes=2, gpus=2, policy=policy, more=", restart_cost_s: 20"))


@pytest.mark.parametrize("policy", ["{preset: las", "{preset: time-shared"])
def test_the_true_durations_leak_into_nothing(policy: str) -> None:
    """Up to the first end everything is decided as if the jobs were twice as long."""
    rows = MANY[:8]
    longer = [",".join((*row.split(",")[:4], str(2 * int(row.split(",")[4])), *row.split(",")[5:])) for row in rows]

    def first_starts(rows: list[str]) -> dict[str, str]:
        starts = {job: start for job, (start, _) in times(share(rows, nodes=2, gpus=2, policy=policy)).items()}
        return {job: start for job, start in starts.items() if start and float(start) < 900}

    assert first_starts(rows) == first_starts(longer)
    assert len(first_starts(rows)) >= 3
