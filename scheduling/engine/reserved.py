"""SCH-08 as a wait reason (SCH-21): what is left beside the places that cards are kept or reserved for, and whose they are."""

from dataclasses import dataclass, field
from heapq import nsmallest

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.classes import JobClass
from scheduling.engine.idle import IdleBook
from scheduling.engine.parts import only_share
from scheduling.engine.placement import Placed
from scheduling.engine.plan import Holder
from scheduling.engine.quota import QuotaUse
from scheduling.engine.state import Head, IdleFor, Kept, State
from scheduling.engine.tiers import TierRules
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier

MOST_HOLDERS = 5


@dataclass(slots=True)
class PromisedBook:
    """Answers about the end of a cycle; what nodes leave is added up once a flavor."""

    state: State
    rules: TierRules
    idle: IdleBook
    _on_nodes: dict[tuple[int, int], int] = field(default_factory=dict)
    _holders: dict[tuple[int, frozenset[int]], tuple[Holder, ...]] = field(default_factory=dict)

    def left_m(self, job_class: JobClass, option: Option) -> int:
        """Milli-cards that a job of unknown length could take without touching a kept or reserved place, in nodes and in quota."""
        if only_share(option):
            return self._left_for_shares(job_class, option.gang[0])
        flavors = sorted({ask.flavor for ask in option.gang if ask.flavor >= 0})
        uses = [self.state.quota_after, *(head.quota for head in self.state.heads)]
        return sum(
            max(
                0,
                min(self._left_on_nodes(job_class.pool, flavor), *(self._room(job_class, use, flavor) for use in uses)),
            )
            for flavor in flavors
        )

    def _left_for_shares(self, job_class: JobClass, ask: PodAsk) -> int:
        """The same for shares of cards, whole shares only."""
        state = self.state
        pods = sum(room for _, room in state.usable.hosts(ask, job_class.pool, state.limits(NEVER)))
        uses = [state.quota_after, *(head.quota for head in state.heads)]
        return max(0, min(pods * ask.cards_m, *(self._room(job_class, use, ask.flavor) for use in uses)))

    def first_start_ms(self, job_class: JobClass, but: int = -1) -> int | None:
        """When the first reserved place that the class could use is to be taken; None where none is, or it is now.

        `but` is the waiting job whose own place does not count. None also where cards stay idle for an aged job: no run is short
        enough to pass that (SCH-07).
        """
        flavors = _flavors(job_class)
        if self._idle_for(job_class.pool, flavors):
            return None
        heads = (head for head in self.state.heads if head.job != but)
        starts = [head.at_ms for head in heads if _concerns(head, job_class.pool, flavors)]
        return min(starts) if starts and min(starts) > self.state.now_ms else None

    def holders(self, job_class: JobClass) -> tuple[Holder, ...]:
        """The jobs that places the class could use are kept or reserved for, the soonest first, with their cards.

        A job of the class may be among them: whoever tells that job leaves its own place out.
        """
        pool, flavors = job_class.pool, _flavors(job_class)
        found = self._holders.get((pool, flavors))
        if found is None:
            ids = self.state.snapshot.pending.ids
            places: list[tuple[int, Kept | Head]] = [(each.from_ms, each) for each in self.state.kept.values()]
            places += [(each.at_ms, each) for each in self.state.heads]
            here = (entry for entry in places if _concerns(entry[1], pool, flavors))
            soonest = nsmallest(MOST_HOLDERS, here, key=lambda entry: (entry[0], str(ids[entry[1].job])))
            named = [self._holder(place.job, cards_of(place.placed)) for _, place in soonest]
            named += [self._holder(each.job, each.cards_m) for each in self._idle_for(pool, flavors)]
            found = self._holders[pool, flavors] = tuple(named[:MOST_HOLDERS])
        return found

    def _idle_for(self, pool: int, flavors: frozenset[int]) -> list[IdleFor]:
        """Aged jobs for whom cards that the class could use stay idle."""
        idle = (each for each in self.state.idle_for if each.job_class.pool == pool and each.cards_m)
        return [each for each in idle if not flavors or flavors & _flavors(each.job_class)]

    def _holder(self, job: int, cards_m: int) -> Holder:
        snapshot = self.state.snapshot
        queue = snapshot.queues[int(snapshot.pending.queue[job])]
        return Holder(queue.tenant, queue.name, snapshot.pending.ids[job], {"gpu": cards_m} if cards_m else {})

    def _left_on_nodes(self, pool: int, flavor: int) -> int:
        found = self._on_nodes.get((pool, flavor))
        if found is None:
            cards, limits = self.state.usable.cards, self.state.limits(NEVER)
            found = self._on_nodes[pool, flavor] = sum(
                max(0, min([cards[node], *(head[node][0] for head in limits if node in head)]))
                for node in self.idle.nodes(pool, flavor)
            )
        return found

    def _room(self, job_class: JobClass, use: QuotaUse, flavor: int) -> int:
        if job_class.tier == Tier.PRODUCTION or not self.state.policy.borrowing:
            return self.rules.nominal_room(use, job_class, flavor)
        return use.available(job_class.leaf, flavor, job_class.tier)


def cards_of(placed: Placed) -> int:
    """Milli-cards of all pods of a place."""
    return sum(ask.cards_m * sum(counts.values()) for ask, counts in placed)


def _flavors(job_class: JobClass) -> frozenset[int]:
    """What a job of the class may run on; empty for CPU only."""
    return frozenset(ask.flavor for option in job_class.options for ask in option.gang if ask.flavor >= 0)


def _concerns(place: Kept | Head, pool: int, flavors: frozenset[int]) -> bool:
    """A place of the pool; for a job with cards, one of a flavor that it may use."""
    if place.job_class.pool != pool:
        return False
    return not flavors or any(ask.flavor in flavors for ask, _counts in place.placed)
