"""Replays of shares of cards and of MIG instances, small enough to calculate by hand (SCH-13)."""

import pytest

from scheduling.simulator.summary import summarise
from tests.unit.simulator.test_replays import HEADER, LIMITED, jobs_of, one_pool, run, times

ROWS = {
    "two halves run side by side": (["j1,a,q,0,100,1,0.5", "j2,a,q,0,100,1,0.5"], {"j1": ("0", "100"), "j2": ("0", "100")}),
    "0.6 and 0.6 run in turn": (["j1,a,q,0,100,1,0.6", "j2,a,q,1,100,1,0.6"], {"j1": ("0", "100"), "j2": ("100", "200")}),
    "another tenant waits until the card is empty": (
        ["j1,a,q,0,100,1,0.5", "j2,a,q,0,50,1,0.5", "j3,b,q,1,10,1,0.5"],
        {"j1": ("0", "100"), "j2": ("0", "50"), "j3": ("100", "110")},
    ),
    "the card turns back to a whole one": (
        ["j1,a,q,0,100,1,0.1", "j2,a,q,1,50,1,1", "j3,a,q,2,50,1,0.1"],
        {"j1": ("0", "100"), "j2": ("100", "150"), "j3": ("2", "52")},
    ),
    "a whole card turns to shares": (["j1,a,q,0,100,1,1", "j2,b,q,1,50,1,0.3"], {"j1": ("0", "100"), "j2": ("100", "150")}),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "want"), ROWS.values(), ids=ROWS.keys())
def test_shares_of_one_card_run_when_they_fit_on_it(rows: list[str], want: dict[str, tuple[str, str]]) -> None:
    got = times(run(one_pool(gpus=1, a=2, b=2), rows, policy="fifo-skip"))

    assert got == want


def test_shares_are_measured_in_parts_of_cards() -> None:
    summary = summarise(run(one_pool(gpus=2, a=2, b=2), ["j1,a,q,0,100,1,0.5", "j2,a,q,0,100,2,0.25"]))

    assert summary["utilisation"] == 0.5
    assert summary["unallocated_pct"] == 50


def test_borrowed_shares_count_as_borrowed_card_time() -> None:
    summary = summarise(run(one_pool(gpus=1, a=0, b=1), ["j1,a,q,0,100,1,0.5", "j2,a,q,0,100,1,0.5"]))

    assert summary["borrowed_card_s"] == 100


def test_an_owner_of_a_part_takes_the_borrowed_shares_back() -> None:
    """Both sharers leave for the owner's whole card, and come back when it is free."""
    result = run(
        one_pool(gpus=1, a=0, b=1), ["j1,a,q,0,100,1,0.5", "j2,a,q,0,100,1,0.5", "own,b,q,50,30,1,1"], policy="default"
    )

    assert times(result) == {"j1": ("0", "130"), "j2": ("0", "130"), "own": ("50", "80")}
    assert summarise(result)["preemptions"] == 2


def test_a_backfilled_share_leaves_in_time_for_the_whole_card() -> None:
    rows = ["j1,a,q,0,100,1,0.5,100", "whole,a,q,1,50,1,1,50", "short,a,q,2,90,1,0.5,90", "long,a,q,3,90,1,0.5,120"]

    got = times(run(one_pool(gpus=1, a=2, b=2), rows, header=LIMITED))

    assert got == {"j1": ("0", "100"), "short": ("2", "92"), "whole": ("100", "150"), "long": ("150", "240")}


def test_mig_instances_are_what_cards_are_cut_into() -> None:
    text = one_pool(gpus=1, a=9, b=9).replace("cards: any", "cards: 'mig:3g.40gb'")

    result = run(text, [f"j{number},a,q,{number},100,1,1" for number in range(3)], header=HEADER)

    assert times(result) == {"j0": ("0", "100"), "j1": ("1", "101"), "j2": ("100", "200")}
    assert jobs_of(result)["j2"]["nodes"] == "n0"


def test_a_gang_on_mig_instances_never_starts_and_holds_nobody_up() -> None:
    text = one_pool(gpus=2, a=20, b=9).replace("cards: any", "cards: 'mig:1g.10gb'")

    result = run(text, ["gang,a,q,0,100,2,1", "j,a,q,1,100,1,1"])

    assert times(result) == {"gang": ("", ""), "j": ("1", "101")}
