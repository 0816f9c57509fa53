"""Runs taken out of the picture of *after* while a claim looks for a place, and put back again (SCH-17).

Ideally every change is made on the nodes at once. But most runs that a claim tries leave too little on their node for even one pod
of it, and are put back: on the nodes their leaving is put off until it could make room. Quota changes at once, since whom the claim
may ask next hangs on it.
"""

from scheduling.engine.asks import PodAsk
from scheduling.engine.candidates import Candidate
from scheduling.engine.free import Limits
from scheduling.engine.room import RoomCount
from scheduling.engine.state import State


class Departures:
    """Who is `gone`, and for how many of the claim's largest pods that leaves room.

    With `put_off` the picture's nodes lack those whose leaving makes no room: right for a search that looks only where a largest
    pod fits. `settle` makes up for it.
    """

    def __init__(self, state: State, largest: PodAsk, pool: int, limits: Limits, *, put_off: bool) -> None:
        self._state, self._largest, self._pool, self._limits = state, largest, pool, limits
        self._counted: RoomCount | None = None
        self._puts_off = put_off and largest.cards_m > 0 and largest.share is None and not state.runs.shares
        self._freed_m: dict[int, int] = {}
        self._waiting: dict[int, list[Candidate]] = {}
        """By node, those whose leaving is put off."""
        self._unmade: set[Candidate] = set()
        self.gone: dict[Candidate, None] = {}
        """In the order in which they were taken out."""

    @property
    def room(self) -> RoomCount:
        """Counted when the first candidate goes: most claims find a place without, or nobody whom they may ask."""
        if self._counted is None:
            self._counted = RoomCount(self._state.after, self._largest, self._pool, self._limits)
        return self._counted

    def lacks_room(self) -> bool:
        """True where fewer of the largest pods have room than the claim has, as far as anybody counted."""
        return self._counted is not None and self._counted.total < self._largest.count

    def take_out(self, candidate: Candidate) -> None:
        runs, room = self._state.runs, self.room
        run = candidate.run
        self._state.quota_after.refund(candidate.leaf, runs.held(run), candidate.tier)
        self.gone[candidate] = None
        if not self._puts_off:
            self._make(candidate, 1)
            room.recount([node for node, _ in runs.footprint(run)])
            return
        self._unmade.add(candidate)
        cards, freed, need = self._state.after.cards, self._freed_m, self._largest.cards_m
        ripe = []
        for node, held in runs.footprint(run):
            freed[node] = freed.get(node, 0) + held[0]
            self._waiting.setdefault(node, []).append(candidate)
            if cards[node] + freed[node] >= need:
                ripe.append(node)
        for node in ripe:
            self._make_up_for(node)

    def put_back(self, candidate: Candidate) -> None:
        runs, run = self._state.runs, candidate.run
        self._state.quota_after.charge(candidate.leaf, runs.held(run), candidate.tier)
        del self.gone[candidate]
        if candidate in self._unmade:
            self._forget(candidate)
        else:
            self._make(candidate, -1)
            self.room.recount([node for node, _ in runs.footprint(run)])

    def settle(self) -> None:
        """From now on every leaving is made on the nodes at once."""
        self._puts_off = False
        for node in list(self._waiting):
            self._make_up_for(node)

    def put_back_idle(self, last: Candidate) -> list[Candidate]:
        """All but `last` without whom no node has less room for a largest pod; who that is."""
        runs, roomy = self._state.runs, self.room.roomy()
        idle = []
        for candidate in self.gone:
            unmade = candidate in self._unmade
            if candidate is not last and (
                unmade or roomy.isdisjoint([node for node, _ in runs.footprint(candidate.run)])
            ):
                idle.append(candidate)
        for candidate in idle:
            self.put_back(candidate)
        return idle

    def _make_up_for(self, node: int) -> None:
        for candidate in self._waiting.get(node, [])[:]:
            self._forget(candidate)
            self._make(candidate, 1)
            self.room.recount([on for on, _ in self._state.runs.footprint(candidate.run)])

    def _forget(self, candidate: Candidate) -> None:
        self._unmade.discard(candidate)
        for node, held in self._state.runs.footprint(candidate.run):
            self._freed_m[node] -= held[0]
            self._waiting[node].remove(candidate)

    def _make(self, candidate: Candidate, sign: int) -> None:
        state = self._state
        state.vacate_nodes(candidate.run, state.after, sign)
        if state.heads:
            state.vacate_head_nodes(candidate.run, sign)
