"""SCH-07: no job waits for ever while later ones take what it could use.

A job that waited longer than its tier's limit becomes a head. Idle cards it could use are kept for it in the picture of
*after*, where every later start has to fit too. An aged batch head goes ahead of development that would borrow, within a bound.
"""

import numpy as np

from scheduling.engine.asks import PodAsk
from scheduling.engine.classes import JobClass
from scheduling.engine.nodes import NodeTable
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Flags, Pending
from scheduling.engine.state import IdleFor, State
from scheduling.engine.tiers import TierRules
from scheduling.engine.units import CARD, NEVER, ONE_PPM, ceil_div
from scheduling.engine.vocabulary import Tier, TopologyMode


def limit_ms(policy: Policy, tier: int) -> int:
    """How long a job of the tier waits before it becomes a head."""
    limits = (policy.starve_batch_ms, policy.starve_development_ms, policy.starve_production_ms)
    return limits[tier]


def find_starved(pending: Pending, policy: Policy, now_ms: int) -> Flags:
    """Which waiting jobs have waited longer than their tier's limit, counted from when they could first have started."""
    since = np.maximum(pending.submit_ms, pending.eligible_ms)
    limits = np.asarray([limit_ms(policy, tier) for tier in sorted(Tier)], dtype=np.int64)
    starved: Flags = now_ms - since > limits[pending.tier]
    return starved


class AgedBatch:
    """What aged batch heads may take of each pool ahead of development that would borrow (`aged_batch_pool_ppm`)."""

    def __init__(self, table: NodeTable, policy: Policy) -> None:
        self._left = [cards_m * policy.aged_batch_pool_ppm // ONE_PPM for cards_m in table.pool_cards_m]

    def goes_ahead(self, job_class: JobClass) -> bool:
        """True for a batch job that the pool's bound still covers."""
        if job_class.tier != Tier.BATCH or not job_class.options:
            return False
        return job_class.options[0].cards_m <= self._left[job_class.pool]

    def spend(self, job_class: JobClass) -> None:
        """A start or a reservation of an aged batch head, out of the bound."""
        self._left[job_class.pool] -= job_class.options[0].cards_m


def keep_idle(state: State, rules: TierRules, job: int, job_class: JobClass) -> None:
    """Keep, for a starved head that has no finite time, the idle cards it could use: as far as its quota has room for them."""
    option = job_class.options[0]
    granted = []
    for column, amount in option.amounts:
        room = min(amount, rules.room(state.quota_after, job_class, column))
        if room <= 0:
            return
        granted.append((column, room))
    state.quota_after.charge(job_class.leaf, granted, job_class.tier)
    by_column, kept_m = dict(granted), 0
    for ask in option.gang:
        most = by_column[ask.flavor] if ask.flavor >= 0 and ask.cards_m and ask.share is None else NEVER
        kept_m += _keep_on_nodes(state, job_class, ask, most)
    state.idle_for.append(IdleFor(job, job_class, kept_m))


def _keep_on_nodes(state: State, job_class: JobClass, ask: PodAsk, most_cards_m: int) -> int:
    """On as many nodes as the pods could need, those nearest to room for one first; how many milli-cards that are."""
    table, left, total_m = state.table, ask.count, 0
    for node in _fullest_of_idle(state, job_class, ask):
        size = table.pods_when_empty(node, ask)
        pods = min(left, size)
        left -= pods
        cards, cpu, memory, slots = state.after.free(node)
        kept_cards = min(max(0, cards), _cards_for(ask, pods), most_cards_m)
        most_cards_m, total_m = most_cards_m - kept_cards, total_m + kept_cards
        kept_cpu, kept_memory = min(max(0, cpu), ask.cpu_m * pods), min(max(0, memory), ask.memory_mib * pods)
        state.after.put(
            node, (cards - kept_cards, cpu - kept_cpu, memory - kept_memory, slots - min(max(0, slots), pods))
        )
        state.settle(node)
        if left <= 0 or most_cards_m <= 0:
            break
    return total_m


def _cards_for(ask: PodAsk, pods: int) -> int:
    """Milli-cards free as a whole that the pods take, or open for their shares."""
    return ask.cards_m * pods if ask.share is None else ceil_div(pods, max(1, ask.share.per_card)) * CARD


def _fullest_of_idle(state: State, job_class: JobClass, ask: PodAsk) -> list[int]:
    """Nodes that could hold the pod when empty, most idle cards (CPU) first; of a required level the most idle domain's only."""
    table, free = state.table, state.after
    amount = free.cards if ask.cards_m else free.cpu
    nodes = [
        node
        for node in table.by_rank
        if table.open[node]
        and table.pool[node] == job_class.pool
        and ask.flavor in (-1, table.flavor[node])
        and table.pods_when_empty(node, ask)
    ]
    if job_class.shape.topology == TopologyMode.REQUIRED and job_class.shape.level in table.levels:
        nodes = _most_idle_domain(table, nodes, amount, ask, table.levels.index(job_class.shape.level))
    return sorted(nodes, key=lambda node: (-amount[node], table.rank[node]))


def _most_idle_domain(table: NodeTable, nodes: list[int], amount: list[int], ask: PodAsk, level: int) -> list[int]:
    domains: dict[int, list[int]] = {}
    for node in nodes:
        domains.setdefault(table.domain[level][node], []).append(node)
    fitting = [
        (-sum(max(0, amount[node]) for node in inside), domain)
        for domain, inside in domains.items()
        if domain >= 0 and sum(table.pods_when_empty(node, ask) for node in inside) >= ask.count
    ]
    return domains[min(fitting)[1]] if fitting else []
