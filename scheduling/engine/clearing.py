"""Which nodes cost least to clear for a claim (SCH-17): where taking borrowers one by one in order leads nowhere, node by node may.

A first estimate by amounts alone, so that only nodes worth it are tried for real.
"""

from collections.abc import Mapping, Sequence

from scheduling.engine.asks import PodAsk
from scheduling.engine.candidates import Candidate
from scheduling.engine.state import State

Leaver = tuple[Candidate, int, int]
"""What its leaving frees on one node, and in all: the whole gang is taken from its tenant."""

NodePlan = tuple[int, list[Candidate]]
"""A node and who would leave it, in order."""


def cheapest_nodes(
    state: State, ask: PodAsk, candidates: Sequence[Candidate], excess: Mapping[int, int]
) -> list[NodePlan]:
    """Nodes where the candidates (in taking order) could make room for one more pod, the least to lose first.

    `excess` is how much each tenant may be taken from, in the ask's own unit (milli-cards, or millicores of CPU-only asks);
    a tenant that is not in it may be taken from freely.
    """
    on_node: dict[int, list[Leaver]] = {}
    for candidate in candidates:
        if ask.cards_m:
            amounts = list(state.runs.cards_on(candidate.run))
        else:
            amounts = [(node, held[1]) for node, held in state.runs.footprint(candidate.run)]
        total = sum(amount for _, amount in amounts)
        for node, amount in amounts:
            on_node.setdefault(node, []).append((candidate, amount, total))
    need = ask.cards_m or ask.cpu_m
    free = state.after.cards if ask.cards_m else state.after.cpu
    plans = []
    for node, leavers in on_node.items():
        if state.table.open[node] and ask.flavor in (-1, state.table.flavor[node]):
            chosen = _enough(need - max(0, free[node]) % need if need else 0, leavers, excess)
            if chosen:
                lost = sum(state.runs.total_cards_m(candidate.run) for candidate in chosen)
                plans.append((lost, len(chosen), state.table.rank[node], node, chosen))
    return [(node, chosen) for _, _, _, node, chosen in sorted(plans, key=lambda plan: plan[:3])]


def _enough(short: int, leavers: Sequence[Leaver], excess: Mapping[int, int]) -> list[Candidate]:
    """The first leavers that free what is short, no tenant taken from beyond its excess; empty where no such are found.

    One whole gang may carry its tenant beyond. Where taking in order uses an excess up too soon, one after another is tried as that gang.
    """
    chosen: list[Candidate] = []
    taken: dict[int, int] = {}
    left = short
    for candidate, amount, total in leavers:
        already = taken.get(candidate.tenant, 0)
        if candidate.tenant not in excess or already < excess[candidate.tenant]:
            chosen.append(candidate)
            taken[candidate.tenant] = already + total
            left -= amount
            if left <= 0:
                return chosen
    if len(chosen) == len(leavers) or sum(amount for _, amount, _ in leavers) < short:
        return []
    return next((found for last in leavers if (found := _with_last(short, leavers, excess, last))), [])


def _with_last(short: int, leavers: Sequence[Leaver], excess: Mapping[int, int], last: Leaver) -> list[Candidate]:
    """The same with one of them at the end, for whom its tenant stays above its quota until then."""
    chosen: list[Candidate] = []
    taken: dict[int, int] = {}
    for leaver in (*(each for each in leavers if each is not last), last):
        candidate, amount, total = leaver
        already, most = taken.get(candidate.tenant, 0), excess.get(candidate.tenant)
        spared = leaver is not last and candidate.tenant == last[0].tenant
        if most is None or already + (total if spared else 0) < most:
            chosen.append(candidate)
            taken[candidate.tenant] = already + total
            short -= amount
            if short <= 0:
                return chosen
    return []
