"""SCH-10 over virtual time: what a smaller size costs, and when a job grows."""

import pytest

from tests.unit.simulator.test_replays import HEADER, jobs_of, one_pool, run, times

ELASTIC = HEADER.replace("pods,", "pods,min_pods,") + ",max_runtime_s"


@pytest.mark.parametrize(
    ("duration", "want"),
    [
        pytest.param(100, "200", id="half the pods take twice as long"),
        pytest.param(1000, "1300", id="full size from the end of its cooldown on: 300 s done by then, 700 to go"),
        pytest.param(300, "600", id="done at the instant at which its cooldown ends"),
    ],
)
def test_a_job_that_starts_small(duration: int, want: str) -> None:
    """Four of eight cards are held for the first 100 s."""
    rows = ["j1,a,q,0,100,1,,4,", f"j2,b,q,0,{duration},8,2,1,"]

    result = run(one_pool(), rows, header=ELASTIC)

    assert times(result) == {"j1": ("0", "100"), "j2": ("0", want)}


def test_the_cards_of_a_job_that_grew_are_held_as_long_as_it_holds_them() -> None:
    """4 cards for 600 s and 8 for 700 s, beside 4 for 100 s, of 8 for 1,300 s."""
    result = run(one_pool(), ["j1,a,q,0,100,1,,4,", "j2,b,q,0,1000,8,2,1,"], header=ELASTIC)

    assert result.meters.held_integral == (4 * 600 + 8 * 700 + 4 * 100) * 1000 * 1000
    assert jobs_of(result)["j2"]["preemptions"] == "0"


def test_a_run_time_limit_counts_time_and_not_progress() -> None:
    result = run(one_pool(), ["j1,a,q,0,100,1,,4,", "j2,b,q,0,100,8,2,1,150"], header=ELASTIC)

    assert times(result)["j2"] == ("0", "150")


def test_a_job_grows_no_further_than_waiting_jobs_leave_it() -> None:
    """j3 has the four cards that come free at 100 s; j2 grows when it has ended."""
    rows = ["j1,a,q,0,100,1,,4,", "j2,b,q,0,2000,8,2,1,", "j3,a,q,50,600,1,,4,"]

    result = run(one_pool(), rows, header=ELASTIC)

    assert times(result)["j3"] == ("100", "700")
    assert times(result)["j2"] == ("0", "2350"), "350 s of its 2,000 done by 700 s, the rest at full size"


def test_evicted_it_keeps_the_progress_of_its_size_and_starts_anew_at_the_largest_that_fits() -> None:
    """b borrows half of the node; at 100 s a wants all of it. 50 s are done, the other 50 take 50 s at full size."""
    rows = ["j0,a,q,0,50,1,,4,", "j1,b,q,0,100,8,4,1,", "j2,a,q,50,200,1,,8,"]

    result = run(one_pool(a=8, b=0), rows, header=ELASTIC)

    assert times(result) == {"j0": ("0", "50"), "j2": ("50", "250"), "j1": ("0", "325")}


def test_it_becomes_smaller_for_a_lender_and_nobody_is_stopped() -> None:
    """b borrows the whole node; from 100 s to 200 s a has three of its cards: b makes 62.5 s of progress in that time, and then, in
    its cooldown, goes on with five until 700 s."""
    rows = ["j1,b,q,0,1000,8,2,1,", "j2,a,q,100,100,1,,3,"]

    result = run(one_pool(a=8, b=0), rows, header=ELASTIC)

    assert times(result)["j2"] == ("100", "200")
    assert jobs_of(result)["j1"]["preemptions"] == "0"
    assert times(result)["j1"] == ("0", "1225"), "100 s, then 600 s at five eighths, then the rest at full size"
