"""SCH-12: which node and card a pod gets by each placement rule; published formulas worked by hand on three nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pytest

from scheduling.engine.fleet import NOBODY, Fleet, OnePod, Options, Spot
from scheduling.engine.fragmentation import DemandMix, Pictures, PodKind
from scheduling.engine.packing import Cost, Packer, Random
from scheduling.engine.packing_costs import BestFit, FragmentationGradient, Views, Worth, scarcity

A, B, C = 0, 1, 2
KINDS = {PodKind(400, 0, 0, (0,)): 3, PodKind(1000, 0, 0, (0,)): 1}
"""Of four pods three ask for 0.4 of a card and one for a whole card, all of flavor 0."""


def fleet(cards: list[list[int]], *, cpu: list[int] | None = None, flavors: list[int] | None = None) -> Fleet:
    """Nodes with these free milli-cards, 32 cores and plenty of memory each."""
    size = len(cards)
    return Fleet(
        flavor=np.array(flavors or [0] * size),
        pool=np.zeros(size, dtype=np.int64),
        cpu_m=np.array(cpu or [32_000] * size),
        memory_mib=np.full(size, 1_000_000),
        pods=np.full(size, 100),
        cards_m=np.array(cards),
    )


def three() -> Fleet:
    """A has two free cards, B one and a half, C half a card."""
    return fleet([[1000, 1000], [1000, 500], [500, 0]])


def pod(cards_m: int, *, cpu_m: int = 2000, flavors: tuple[int, ...] = (0,), tenant: int = 0) -> OnePod:
    return OnePod(cards_m, cpu_m, memory_mib=0, flavors=flavors, pool=0, tenant=tenant)


def mix(kinds: dict[PodKind, int] | None = None, flavors: int = 1) -> DemandMix:
    return DemandMix(kinds or KINDS, flavors, 1_000_000)


def costs(cost: Cost, on: Fleet, asked: OnePod) -> dict[tuple[int, int], int]:
    """The cost of each (node, card)."""
    options = on.find_room(asked, np.arange(len(on)))
    found = cost.of(asked, options).tolist()
    return dict(zip(zip(options.node.tolist(), options.card.tolist(), strict=True), found, strict=True))


def test_fragmentation_counts_free_cards_that_a_kind_cannot_use_by_how_often_it_is_asked_for() -> None:
    """A: all of use. B: 0.5 is lost on the quarter that wants a whole card. C: that quarter cannot run there at all."""
    everywhere = np.arange(3)
    measured = mix().fragmented(Views(three(), mix()).before(everywhere))

    assert (measured / 4).tolist() == [0, 125, 125]


NO_CPU = {PodKind(0, 1000, 0, ()): 1, PodKind(500, 4000, 0, (0,)): 1}


@pytest.mark.parametrize(
    ("cpu_m", "flavor", "want"),
    [(4000, 0, 500), (3999, 0, 1000), (4000, -1, 1000)],
    ids=["enough CPU: lost only on pods without cards", "too little CPU: all lost", "the wrong model: all lost"],
)
def test_fragmentation_counts_all_that_is_free_where_a_kind_cannot_run(cpu_m: int, flavor: int, want: int) -> None:
    kinds = mix(NO_CPU)
    one = fleet([[1000]], cpu=[cpu_m], flavors=[flavor])

    assert kinds.fragmented(Views(one, kinds).before(np.array([0]))).tolist() == [2 * want]


def test_the_mix_is_the_kinds_asked_for_most_until_they_cover_95_per_cent() -> None:
    asked = {PodKind(size, 0, 0, (0,)): count for size, count in ((100, 80), (200, 15), (300, 4), (400, 1))}

    kinds = DemandMix(asked, 1)

    assert (kinds.pods, kinds.asked_m.tolist(), kinds.counts.tolist()) == (95, [100, 200], [80, 15])


def test_the_gradient_scores_each_card_as_published() -> None:
    """Fragmentation grows by 0.150 on A and on B's free card and shrinks by 0.025 on the halves: floor(100 x sigmoid)."""
    on = three()

    assert costs(FragmentationGradient(on, mix()), on, pod(400)) == {
        (A, 0): -46, (B, 0): -46, (B, 1): -50, (C, 0): -50,
    }  # fmt: skip


def test_best_fit_scores_nodes_by_what_cpu_and_cards_are_left() -> None:
    """100 x (1 - (30/128 + left/8)/2) for 1.6, 1.1 and 0.1 cards left: 78.28, 81.41 and 87.66, rounded down."""
    on = three()
    found = costs(BestFit(on), on, pod(400))

    assert {option: -(cost // 2000) for option, cost in found.items()} == {
        (A, 0): 78,
        (B, 0): 81,
        (B, 1): 81,
        (C, 0): 87,
    }


@dataclass(frozen=True)
class Case:
    name: str
    rule: str
    asked: OnePod
    want: Spot | None
    on: tuple[tuple[int, ...], ...] = ((1000, 1000), (1000, 500), (500, 0))


CASES = [
    Case("the gradient is the same on two halves: the first name", "fgd", pod(400), Spot(B, (1,))),
    Case("best fit takes the fullest node", "bestfit", pod(400), Spot(C, (0,))),
    Case("Berth's own is the same on two halves: the first name", "default", pod(400), Spot(B, (1,))),
    Case("whole cards are the lowest free ones", "fgd", pod(2000), Spot(A, (0, 1))),
    Case("half a card is no whole card", "default", pod(1000), Spot(B, (1,)), ((500, 500), (500, 1000))),
    Case("more cards than any node has free", "default", pod(3000), None),
    Case("more CPU than any node has", "bestfit", pod(0, cpu_m=33_000), None),
    Case("another flavor", "fgd", pod(400, flavors=(1,)), None),
    Case("best fit takes the tightest card of its node", "bestfit", pod(300), Spot(A, (2,)), ((900, 1000, 400), (0, 0, 0))),
    Case("equal nodes by name", "bestfit", pod(1000), Spot(A, (0,)), ((1000, 0), (1000, 0))),
    Case("equal cards by index", "fgd", pod(400), Spot(A, (0,)), ((500, 500), (0, 0))),
]  # fmt: skip


def packer(rule: str, on: Fleet) -> Packer:
    supply_m = np.array([on.cards_m.sum()])
    rules: dict[str, Cost] = {
        "fgd": FragmentationGradient(on, mix()), "bestfit": BestFit(on), "default": Worth(on, mix(), supply_m),
    }  # fmt: skip
    return Packer(on, rules[rule])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_place(case: Case) -> None:
    assert packer(case.rule, fleet([list(cards) for cards in case.on])).find(case.asked) == case.want


@pytest.mark.parametrize("rule", ["fgd", "bestfit", "default"])
def test_a_changed_fleet_is_seen_as_a_new_one_is(rule: str) -> None:
    """Nodes are looked at again only where something changed; the answers are those of a packer that looks at all of them."""
    on = fleet([[1000] * 4 for _ in range(20)])
    kept = packer(rule, on)
    held = []
    for step in range(60):
        asked = (pod(400), pod(1000), pod(2000), pod(250), pod(0))[step % 5]
        found = kept.find(asked)
        assert found == packer(rule, on).find(asked)
        if found is not None:
            on.take(asked, found)
            held.append((asked, found))
        if step % 7 == 6:
            on.give_back(*held.pop(step % len(held)))


def test_two_tenants_never_share_a_card_until_it_is_empty_again() -> None:
    """SCH-13."""
    on = fleet([[1000]])
    place = packer("default", on)
    mine, theirs = pod(400, tenant=1), pod(400, tenant=2)
    spot = place.find(mine)
    assert spot == Spot(0, (0,))
    on.take(mine, spot)

    assert (place.find(theirs), place.find(mine)) == (None, spot)
    on.give_back(mine, spot)
    assert on.tenant.tolist() == [[NOBODY]]
    assert place.find(theirs) == spot


def test_cpu_goes_where_it_leaves_the_cards_of_use() -> None:
    """A pod without cards spoils A's two free cards for pods that want 16 cores a card; on B no card is free."""
    kinds = mix({PodKind(1000, 16_000, 0, (0,)): 1})
    on = fleet([[1000, 1000], [0, 0]])
    place = Packer(on, Worth(on, kinds, np.array([4000])))

    assert place.find(pod(0, cpu_m=8000)) == Spot(B, ())


def test_a_flavor_that_others_depend_on_is_kept_for_them() -> None:
    """Two kinds, equally often: one takes either flavor, one only the second, of which there is as much as of the first."""
    kinds = mix({PodKind(1000, 0, 0, (0, 1)): 1, PodKind(1000, 0, 0, (1,)): 1}, flavors=2)
    on = fleet([[1000], [1000]], flavors=[1, 0])
    supply_m = np.array([1000, 1000])

    assert scarcity(kinds, supply_m).tolist() == [1000, 3000, 0]
    assert Packer(on, Worth(on, kinds, supply_m)).find(pod(1000, flavors=(0, 1))) == Spot(1, (0,))


@pytest.mark.parametrize(
    ("draws", "want"),
    [((0, 0), Spot(A, (0,))), ((1, 0), Spot(B, (0,))), ((1, 1), Spot(B, (1,))), ((5, 7), Spot(C, (0,)))],
)
def test_random_reads_node_and_card_from_the_table_it_is_given(draws: tuple[int, int], want: Spot) -> None:
    table: Iterator[int] = cycle(draws)

    assert Random(three(), table).find(pod(400)) == want


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        (PodKind(2000, 0, 0, (0,)), (3000, 2000)),
        (PodKind(1000, 4000, 0, (0,)), (3000, 2500)),
        (PodKind(300, 0, 512, (0,)), (3500, 600)),
        (PodKind(300, 0, 1025, (0,)), (0, 299)),
        (PodKind(300, 0, 0, (1,)), (0, 0)),
    ],
    ids=["cards end it", "CPU ends it", "memory ends it", "no memory for one: less than one", "another flavor"],
)
def test_what_a_kind_could_start_on_and_fill(kind: PodKind, want: tuple[int, int]) -> None:
    """Three and a half cards, 10 cores and 1 GiB."""
    kinds = mix({kind: 1}, flavors=2)
    views = Views(fleet([[1000, 1000, 1000, 500]], cpu=[10_000]), kinds).before(np.array([0]))

    reached, filled = kinds.reach_and_fill(views._replace(memory_mib=np.array([1024])))

    assert (int(reached[0]), int(filled[0])) == want


def test_a_node_of_unknown_cpu_is_bound_by_cards_only_for_pods_that_ask_for_none() -> None:
    kinds = mix({PodKind(1000, 0, 0, (0,)): 1})
    views = Views(fleet([[1000, 1000]], cpu=[0]), kinds).before(np.array([0]))

    assert [int(each[0]) for each in kinds.reach_and_fill(views)] == [2000, 2000]


def test_an_option_is_pictured_as_the_node_would_be() -> None:
    on, kinds = three(), mix()
    views = Views(on, kinds)
    asked, spot = pod(400), Spot(B, (1,))
    promised = views.after(asked, Options(np.array([B]), np.array([1])))
    on.take(asked, spot)
    views.refresh()

    assert _rows(promised) == _rows(views.before(np.array([B])))


def _rows(pictures: Pictures) -> list[list[int]]:
    return [column.ravel().tolist() for column in pictures]
