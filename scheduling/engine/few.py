"""SCH-17 where only few may be asked: every set of them is tried, the smallest first.

Ideally every claim did so: taking in order may end with a tenant at its nominal before the run that would have made room was asked, and
among runs of one rank it may take two where another one alone would do. But sets double with each run, so only few are tried.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from scheduling.engine.asking import Asking
from scheduling.engine.candidates import Candidate
from scheduling.engine.placement import Placed

MOST_TRIED: Final = 6
"""How many runs count as few: 63 sets at most."""


class Search(Protocol):
    """A claim's search in the picture of *after*."""

    asking: Asking

    def take_out(self, candidate: Candidate) -> None: ...
    def put_back(self, chosen: list[Candidate]) -> None: ...
    def place(self) -> Placed | None: ...


def find_fewest(search: Search, candidates: Sequence[Candidate], most: int) -> tuple[list[Candidate], Placed] | None:
    """The fewest runs, `most` at most, whose leaving makes a place, in an order in which each may be taken; of equal numbers the first in order.

    They are out of the picture then; else nobody is.
    """
    if not _helps(search, candidates):
        return None
    sets: list[tuple[Candidate, ...]] = [()]
    seen: set[tuple[frozenset[Candidate], frozenset[int]]] = set()
    for _ in range(most):
        longer = []
        for chosen in sets:
            for candidate in candidates:
                more = (*chosen, candidate)
                if candidate in chosen or not _take(search, more):
                    continue
                placed = search.place()
                if placed is not None:
                    return list(more), placed
                kind = (frozenset(more), search.asking.took_from)
                search.put_back(list(more))
                if kind not in seen:
                    seen.add(kind)
                    longer.append(more)
        sets = longer
    return None


def drop_unjustified(search: Search, chosen: Sequence[Candidate], placed: Placed) -> tuple[list[Candidate], Placed]:
    """The reverse pass of a claim that shares fairly with others and has runs of its own tenant leave too.

    These lower its share. So whoever can stay stays only if the others may still be taken then: all are weighed anew.
    """
    search.put_back(list(chosen))
    left = list(chosen)
    for candidate in reversed(chosen):
        rest = [each for each in left if each is not candidate]
        if _take(search, rest):
            found = search.place()
            search.put_back(list(rest))
            if found is not None:
                left, placed = rest, found
    if not _take(search, left):
        for candidate in left:
            search.take_out(candidate)
    return left, placed


def are_alike(candidates: Sequence[Candidate]) -> bool:
    """True where only the id tells them apart (SCH-17)."""
    return len({(each.tenant, each.expired, each.key[:-1]) for each in candidates}) == 1


def _helps(search: Search, candidates: Sequence[Candidate]) -> bool:
    """Whether there is a place when all of them leave, allowed or not."""
    for candidate in candidates:
        search.take_out(candidate)
    placed = search.place()
    search.put_back(list(candidates))
    return placed is not None


def _take(search: Search, chosen: Sequence[Candidate]) -> bool:
    """Take them out one by one; False, and nobody is out, where one of them may not be taken."""
    taken: list[Candidate] = []
    for candidate in chosen:
        if not search.asking.may_take(candidate):
            search.put_back(taken)
            return False
        search.take_out(candidate)
        taken.append(candidate)
    return True
