"""The lists that the placement benchmark meets are drawn as the published runs drew them (METHODS A1)."""

import random

import pytest

from benchmarks.openb import TRACES
from benchmarks.openb_lists import PUBLISHED_FGD, read_contest, tune
from scheduling.engine.units import CARD


def pods(*cards: int) -> list[dict[str, str]]:
    return [{"name": f"p{at}", "num_gpu": str(count), "gpu_milli": "1000"} for at, count in enumerate(cards)]


CASES = {
    "filled up to 130 % of 10 cards": (pods(*[1] * 9), [13]),
    "the check of one more pod counts one card of it, as published": (pods(*[2] * 5), [14]),
    "cut down to 130 %": (pods(*[1] * 20), [13]),
    "cut below it where a whole pod has to go": (pods(*[8] * 2), [8]),
}


@pytest.mark.parametrize(("listed", "want"), CASES.values(), ids=CASES.keys())
def test_a_list_is_tuned_to_130_per_cent(listed: list[dict[str, str]], want: list[int]) -> None:
    order = tune(listed, 10 * CARD, random.Random(1))

    assert [sum(int(pod["num_gpu"]) for pod in order)] == want


def test_an_order_is_the_same_every_time_and_another_for_another_seed() -> None:
    one, same, other = (tune(pods(*[1] * 9), 10 * CARD, random.Random(seed)) for seed in (1, 1, 2))

    assert one == same
    assert one != other


@pytest.mark.parametrize("name", ["default", "multigpu50"])
def test_a_public_list_is_read_whole(name: str) -> None:
    """1,213 nodes with 6,212 cards; requests end at 130 % of them, but for one last pod."""
    contest = read_contest(TRACES, name, 1)

    assert (len(contest.cluster.nodes), len(contest.cluster.cards.node)) == (1213, 6212)
    assert 6212 * 1300 - 8000 < int(contest.trace.cards_m.sum()) <= 6212 * 1300 + 7000
    assert name in PUBLISHED_FGD
