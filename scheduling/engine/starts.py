"""Starts as the plan states them: every pod with its node and cards, own before borrowed in rank order (SCH-03), loans (SCH-16)."""

from collections.abc import Iterator, Mapping, Sequence

from scheduling.engine.asks import PodAsk
from scheduling.engine.card_modes import is_share
from scheduling.engine.cards import CardBook
from scheduling.engine.loans import Lenders
from scheduling.engine.placement import Placed, nodes_of
from scheduling.engine.plan import LoanOpen, Placement, Start
from scheduling.engine.snapshot import CPU, MEMORY, Id, Snapshot
from scheduling.engine.state import Started, State
from scheduling.engine.topology import levels_crossed, slowdown_ppm
from scheduling.engine.units import CARD, ceil_div


def print_starts(state: State, cards: CardBook, lenders: Lenders) -> tuple[Start, ...]:
    """In decision order."""
    in_parts = state.deals_in_parts()
    return tuple(_start(state, cards, lenders, started, in_parts=in_parts) for started in state.started)


def _start(state: State, cards: CardBook, lenders: Lenders, started: Started, *, in_parts: bool) -> Start:
    snapshot = state.snapshot
    crossed = levels_crossed(state.table, nodes_of(started.placed))
    own, borrowed = _split(snapshot, started)
    pods = tuple(_pods(snapshot, cards, started, in_parts=in_parts))
    return Start(
        job=snapshot.pending.ids[started.job],
        pods=pods,
        own=own,
        borrowed=borrowed,
        loans=_loans(state, lenders, started, pods),
        levels_crossed=crossed,
        slowdown_ppm=slowdown_ppm(crossed, state.policy.level_slowdown_ppm),
        backfilled=started.backfilled,
    )


def _split(snapshot: Snapshot, started: Started) -> tuple[dict[str, int], dict[str, int]]:
    """Cards under `gpu`; a CPU-only job shows its CPU and memory instead of nothing."""
    flavors = len(snapshot.flavors)
    own, borrowed = {"gpu": 0}, {"gpu": 0}
    has_cards = any(column < flavors for column, _ in started.amounts)
    for column, amount in started.amounts:
        part = started.borrowed.get(column, 0)
        if column < flavors:
            own["gpu"] += amount - part
            borrowed["gpu"] += part
        elif not has_cards and column < flavors + 2:
            key = (CPU, f"{MEMORY}_gib")[column - flavors]
            own[key], borrowed[key] = amount - part, part
    return own, borrowed


def _pods(snapshot: Snapshot, cards: CardBook, started: Started, *, in_parts: bool) -> Iterator[Placement]:
    """Pods in rank order: roles as asked, each role's pods node by node. What is own is handed out first.

    `in_parts`: nominal may end inside of a card or share, which is then borrowed whole (`borrowed_whole`).
    """
    flavors = len(snapshot.flavors)
    own_left = {
        column: amount - started.borrowed.get(column, 0) for column, amount in started.amounts if column < flavors
    }
    for ask, node, index in each_pod(started.placed):
        borrowed_m = ask.cards_m - min(ask.cards_m, own_left.get(ask.flavor, 0))
        if in_parts:
            borrowed_m = borrowed_whole(borrowed_m, ask.cards_m)
        if ask.cards_m:
            own_left[ask.flavor] -= ask.cards_m - borrowed_m
        yield _placement(snapshot, cards, ask, index, node, borrowed_m)


def each_pod(placed: Placed) -> Iterator[tuple[PodAsk, int, int]]:
    """(ask, node, rank within the role) of every pod; a role of shares has several entries, one for each card."""
    count: dict[str, int] = {}
    for ask, counts in placed:
        for node, pods in counts.items():
            for _ in range(pods):
                count[ask.role] = index = count.get(ask.role, -1) + 1
                yield ask, node, index


def placed_as(gang: Sequence[PodAsk], pods: Sequence[Placement], node_at: Mapping[Id, int]) -> Placed:
    """The gang of a start as it was placed: pods by node, of shares by card as well; `node_at` is index by id."""
    on: dict[tuple[str, int], dict[int, int]] = {}
    for pod in pods:
        card = pod.cards[0] if pod.cards and is_share(pod.cards_m) else -1
        counts = on.setdefault((pod.role, card), {})
        counts[node_at[pod.node]] = counts.get(node_at[pod.node], 0) + 1
    return tuple((ask.on_card(card), counts) for ask in gang for (role, card), counts in on.items() if role == ask.role)


def print_pods(snapshot: Snapshot, cards: CardBook, placed: Placed) -> tuple[Placement, ...]:
    """Pods that join a running job, all of them own unless who asks says otherwise."""
    return tuple(_placement(snapshot, cards, ask, index, node, 0) for ask, node, index in each_pod(placed))


def _placement(snapshot: Snapshot, cards: CardBook, ask: PodAsk, index: int, node: int, borrowed_m: int) -> Placement:
    return Placement(
        role=ask.role, index=index, node=snapshot.nodes.ids[node],
        flavor=snapshot.flavors[ask.flavor].id if ask.flavor >= 0 else None,
        cards_m=ask.cards_m, borrowed_m=borrowed_m, cpu_m=ask.cpu_m, memory_mib=ask.memory_mib, vram_mib=ask.vram_mib,
        cards=cards.take(node, ask),
    )  # fmt: skip


def _loans(state: State, lenders: Lenders, started: Started, pods: Sequence[Placement]) -> tuple[LoanOpen, ...]:
    """Of what the pods are marked to borrow, so that loans and leases say one amount."""
    expires = state.now_ms + state.snapshot.queues[started.job_class.queue].loan_period_ms
    amounts = [
        (column, sum(pod.borrowed_m for pod in pods if pod.flavor == state.snapshot.flavors[column].id))
        for column, part in sorted(started.borrowed.items())
        if column < len(state.snapshot.flavors) and part > 0
    ]
    return tuple(lenders.open_loan(started.job_class.tenant, column, amount, expires) for column, amount in amounts)


def borrowed_whole(borrowed_m: int, cards_m: int) -> int:
    """Of a pod's cards, those borrowed at least in part: a card, or a share of one, is marked own or borrowed as a whole."""
    unit = min(cards_m, CARD)
    return min(cards_m, ceil_div(borrowed_m, unit) * unit) if borrowed_m else 0
