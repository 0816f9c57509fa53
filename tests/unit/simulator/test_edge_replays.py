"""Replays of nothing, of no cards, of a gang that can never run: figures stay finite and the command comes to an end."""

import json

from scheduling.simulator.summary import jobs_csv, summarise
from tests.unit.simulator.test_replays import HEADER, one_pool, run, times

CPU_HEADER = HEADER + ",cpu_per_pod"


def test_no_jobs_at_all() -> None:
    result = run(one_pool(), [])

    summary = summarise(result)
    assert (summary["jobs"], summary["finished"], summary["makespan_s"], summary["utilisation"]) == (0, 0, 0, 0)
    assert jobs_csv(result).count("\n") == 1
    assert "NaN" not in json.dumps(summary)


def test_a_cluster_without_cards_runs_cpu_jobs() -> None:
    text = one_pool().replace("flavor: g, gpus: 8, ", "")

    result = run(text, ["j1,a,q,0,10,1,0,60", "j2,a,q,0,10,1,0,60"], header=CPU_HEADER)

    assert times(result) == {"j1": ("0", "10"), "j2": ("10", "20")}
    assert "NaN" not in json.dumps(summarise(result))
    assert summarise(result)["utilisation"] == 0


def test_a_job_that_never_ends_and_one_that_can_never_start_do_not_hold_the_replay_up() -> None:
    result = run(one_pool(), ["j1,a,q,0,,1,4", "j2,a,q,5,10,2,8", "j3,a,q,6,10,1,4"])

    assert times(result) == {"j1": ("0", ""), "j2": ("", ""), "j3": ("6", "16")}
    assert summarise(result)["utilisation"] == round((4 * 16 + 4 * 10) / (8 * 16), 6)


def test_a_job_of_no_length_ends_when_it_starts() -> None:
    result = run(one_pool(), ["j1,a,q,0,0,1,8", "j2,a,q,0,10,1,8"])

    assert times(result) == {"j1": ("0", "0"), "j2": ("0", "10")}
