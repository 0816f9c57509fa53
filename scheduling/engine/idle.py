"""What is free at the end of a cycle, added up once per question, for the numbers in wait reasons."""

from scheduling.engine.asks import PodAsk, Share
from scheduling.engine.state import State
from scheduling.engine.units import CARD

CARDS, CPU, MEMORY = 0, 1, 2


class IdleBook:
    """Totals over open nodes of a flavor (or, for CPU-only asks, of a pool). Valid while nothing more is decided."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._nodes: dict[tuple[int, int], list[int]] = {}
        self._totals: dict[tuple[int, int, int], int] = {}
        self._largest: dict[tuple[int, int], int] = {}
        self._kinds: dict[tuple[int, int], list[int]] = {}
        self._slots: dict[tuple[int | Share | None, ...], tuple[int, int]] = {}

    def nodes(self, pool: int, flavor: int) -> list[int]:
        """Open nodes by name. Flavor -1: all of the pool."""
        key = (-1, flavor) if flavor >= 0 else (pool, -1)
        found = self._nodes.get(key)
        if found is None:
            table = self._state.table
            member = table.flavor if flavor >= 0 else table.pool
            wanted = flavor if flavor >= 0 else pool
            found = self._nodes[key] = [node for node in table.by_rank if table.open[node] and member[node] == wanted]
        return found

    def total(self, pool: int, flavor: int, resource: int) -> int:
        """Free milli-cards, millicores or MiB, reserved or not. What SCH-02 keeps beside idle cards is not free to CPU-only jobs."""
        key = (pool if flavor < 0 else -1, flavor, resource)
        found = self._totals.get(key)
        if found is None:
            amounts = (
                self._state.free.free_to(node, cpu_only=flavor < 0)[resource] for node in self.nodes(pool, flavor)
            )
            found = self._totals[key] = sum(amount for amount in amounts if amount > 0)
        return found

    def has_room_beside_cards(self, pool: int, ask: PodAsk) -> bool:
        """Whether an ask without cards fits into what SCH-02 keeps beside idle cards and what is free together."""
        free, left = self._state.free, ask.count
        for node in self.nodes(pool, -1):
            _, cpu_m, memory_mib, pods = free.free(node)
            rooms = ((cpu_m, ask.cpu_m), (memory_mib, ask.memory_mib), (pods, 1))
            left -= max(0, min(have // need for have, need in rooms if need))
        return left <= 0

    def has_nodes(self, pool: int, ask: PodAsk) -> bool:
        """Whether open nodes would hold all of the ask's pods if nothing else were on them."""
        left, table = ask.count, self._state.table
        for node in self.nodes(pool, ask.flavor):
            left -= max(0, table.pods_when_empty(node, ask))
            if left <= 0:
                return True
        return False

    def largest(self, pool: int, flavor: int) -> int:
        """Most milli-cards free on one node that takes another pod."""
        key = (pool if flavor < 0 else -1, flavor)
        found = self._largest.get(key)
        if found is None:
            free = self._state.free
            cards = (free.cards[node] for node in self.nodes(pool, flavor) if free.pods[node] > 0)
            found = self._largest[key] = max(cards, default=0)
        return found

    def best_domain(self, flavor: int, level: str) -> int:
        """Most milli-cards free in one domain of a level (`host`: on one node)."""
        table, free = self._state.table, self._state.free
        if level not in table.levels:
            return self.largest(-1, flavor)
        domain_of = table.domain[table.levels.index(level)]
        totals: dict[int, int] = {}
        for node in self.nodes(-1, flavor):
            totals[domain_of[node]] = totals.get(domain_of[node], 0) + max(0, free.cards[node])
        return max((total for domain, total in totals.items() if domain >= 0), default=0)

    def _one_of_each(self, pool: int, flavor: int) -> list[int]:
        """Of nodes that are alike when empty, one speaks for all."""
        key = (-1, flavor) if flavor >= 0 else (pool, -1)
        found = self._kinds.get(key)
        if found is None:
            table = self._state.table
            kinds = {
                (table.cards_m[node], table.cpu_m[node], table.memory_mib[node], table.max_pods[node]): node
                for node in self.nodes(pool, flavor)
            }
            found = self._kinds[key] = list(kinds.values())
        return found

    def slots(self, pool: int, ask: PodAsk) -> tuple[int, int]:
        """(pods that fit now, pods that fit on the best node when it is empty)."""
        key = (pool, ask.flavor, ask.cards_m, ask.cpu_m, ask.memory_mib, ask.share, ask.count if ask.share else 0)
        found = self._slots.get(key)
        if found is None:
            table = self._state.table
            now = sum(room for _, room in self._state.free.hosts(ask, pool))
            best = max((table.pods_when_empty(node, ask) for node in self._one_of_each(pool, ask.flavor)), default=0)
            found = self._slots[key] = (now, best)
        return found

    def parts(self, ask: PodAsk) -> list[tuple[int, int]]:
        """(milli-cards, MiB of VRAM) free on each single card that the ask's tenant may share, cards that nobody uses included."""
        share, state, found = ask.share, self._state, list[tuple[int, int]]()
        if share is None:
            return found
        for node in self.nodes(-1, ask.flavor):
            for cards_m, vram_mib, tenant in state.free.slots.get(node, {}).values():
                if tenant == share.tenant:
                    found.append((CARD - cards_m, share.card_vram_mib - vram_mib))
            found += [(CARD, share.card_vram_mib)] * (max(0, state.free.cards[node]) // CARD)
        return found
