"""The pods that a run holds in a simulation, as one small block of columns, so that a cycle only has to join blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduling.engine.plan import Placement, Resize, Start
from scheduling.engine.snapshot import I64, Loan, Pods
from scheduling.simulator.frozen import frozen

ROLE, RANK, NODE, FLAVOR, CARDS, BORROWED, CPU, MEMORY, VRAM = range(9)
"""Rows of a block, one column a pod."""


@dataclass(frozen=True, slots=True)
class Held:
    """One run's pods, sorted by (role, rank), and its open loans. Change by copy."""

    block: I64
    cards: tuple[tuple[int, ...], ...]
    loans: tuple[Loan, ...] = ()

    @property
    def nodes(self) -> I64:
        nodes: I64 = self.block[NODE]
        return nodes

    @property
    def cards_m(self) -> int:
        return int(self.block[CARDS].sum())

    @property
    def borrowed_m(self) -> int:
        return int(self.block[BORROWED].sum())


def hold(start: Start, roles: Sequence[str], node_index: Mapping[Any, int], flavor_index: Mapping[Any, int]) -> Held:
    """What a start takes. Ids become indexes; loans come apart."""
    return hold_pods(start.pods, roles, node_index, flavor_index)


def hold_pods(
    pods: Sequence[Placement], roles: Sequence[str], node_index: Mapping[Any, int], flavor_index: Mapping[Any, int]
) -> Held:
    """What these pods take, without loans."""
    rows = sorted(
        (
            (
                roles.index(pod.role),
                pod.index,
                node_index[pod.node],
                -1 if pod.flavor is None else flavor_index[pod.flavor],
                pod.cards_m,
                pod.borrowed_m,
                pod.cpu_m,
                pod.memory_mib,
                pod.vram_mib,
            ),
            pod.cards,
        )
        for pod in pods
    )
    block = np.array([row for row, _ in rows], dtype=np.int64).reshape(-1, 9).T
    return Held(block=frozen(np.ascontiguousarray(block)), cards=tuple(cards for _, cards in rows))


def resized(
    held: Held, resize: Resize, roles: Sequence[str], node_index: Mapping[Any, int], flavor_index: Mapping[Any, int]
) -> Held:
    """The run with the pods of a resize added or taken away."""
    role = roles.index(resize.role)
    stay = [
        pod
        for pod in range(held.block.shape[1])
        if held.block[ROLE, pod] != role or int(held.block[RANK, pod]) not in resize.removed
    ]
    more = hold_pods(resize.added, roles, node_index, flavor_index)
    block = np.concatenate([held.block[:, stay], more.block], axis=1)
    cards = [*(held.cards[pod] for pod in stay), *more.cards]
    order = np.lexsort((block[RANK], block[ROLE])).tolist()
    return Held(
        block=frozen(np.ascontiguousarray(block[:, order])),
        cards=tuple(cards[pod] for pod in order),
        loans=held.loans,
    )


def with_borrowed(held: Held, amounts: Mapping[tuple[int, int], int]) -> Held:
    """The same pods with another own/borrowed split; `amounts` by (role, rank)."""
    block = held.block.copy()
    for pod in range(block.shape[1]):
        key = (int(block[ROLE, pod]), int(block[RANK, pod]))
        block[BORROWED, pod] = amounts.get(key, int(block[BORROWED, pod]))
    return Held(frozen(block), held.cards, held.loans)


def with_moved(held: Held, places: Mapping[tuple[int, int], tuple[int, tuple[int, ...]]]) -> Held:
    """The same pods with some of them on other nodes; `places` are (node, card indexes) by (role, rank)."""
    block, cards = held.block.copy(), list(held.cards)
    for pod in range(block.shape[1]):
        place = places.get((int(block[ROLE, pod]), int(block[RANK, pod])))
        if place is not None:
            block[NODE, pod], cards[pod] = place
    return Held(frozen(block), tuple(cards), held.loans)


def join_pods(runs: Sequence[Held]) -> Pods:
    """The engine's pod columns over the runs, in the order given."""
    blocks = [run.block for run in runs]
    sizes = [block.shape[1] for block in blocks]
    joined = np.concatenate(blocks, axis=1) if blocks else np.zeros((9, 0), dtype=np.int64)
    narrow = frozen(joined[:CARDS].astype(np.int32))
    frozen(joined)
    return Pods(
        run=frozen(np.repeat(np.arange(len(blocks), dtype=np.int32), sizes)),
        role=narrow[ROLE],
        rank=narrow[RANK],
        node=narrow[NODE],
        flavor=narrow[FLAVOR],
        cards_m=joined[CARDS],
        borrowed_m=joined[BORROWED],
        cpu_m=joined[CPU],
        memory_mib=joined[MEMORY],
        vram_mib=joined[VRAM],
        cards=tuple(cards for run in runs for cards in run.cards),
    )


def number_loans(runs: Sequence[Held]) -> tuple[Loan, ...]:
    """The engine's loans over the runs, each pointing at its run's place, sorted by id."""
    loans = [
        Loan(loan.id, place, loan.flavor, loan.amount_m, loan.opened_ms, loan.expires_ms, loan.sides)
        for place, run in enumerate(runs)
        for loan in run.loans
    ]
    return tuple(sorted(loans, key=lambda loan: str(loan.id)))
