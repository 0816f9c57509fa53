"""In which order claims on nominal take one tenant's runs, and where the tenant stands before each: kept from claim to claim (SCH-17).

Whom such a claim takes of a tenant outside hangs on that tenant's own use alone, as long as it stands right below the root. So one
claim after another goes down the same ladder, until a decision touches the tenant.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scheduling.engine.share import over_quota_rank
from scheduling.engine.state import State
from scheduling.engine.vocabulary import PreemptReason, Tier

if TYPE_CHECKING:
    from scheduling.engine.candidates import Candidate, Rank

Kind = tuple[frozenset[int], int, tuple[int, ...]]
"""(flavors asked for, pool, columns asked for): claims that go down the same ladders."""
Rung = tuple["Rank", "Candidate", PreemptReason | None]
"""(rank before the run is taken, the run, why it may be taken); None where its tenant stands inside its quota by then."""


@dataclass(slots=True)
class Ladder:
    """The rungs looked at so far. The next is read from the picture of *after*, where those of the rungs above have gone by then."""

    state: State
    tenant: int
    kind: Kind
    line: "Sequence[Candidate]"
    _rungs: list[Rung] = field(default_factory=list)
    _next: int = 0

    def rung(self, at: int) -> Rung | None:
        """None past the last run that is of use. All runs of the rungs above `at` are gone, and none below."""
        if at < len(self._rungs):
            return self._rungs[at]
        line = self.line
        while self._next < len(line):
            candidate = line[self._next]
            self._next += 1
            if is_useful(candidate, self.kind[0], self.kind[1]):
                use, tenant = self.state.quota_after, self.tenant
                rank = (not candidate.expired, (-over_quota_rank(use, tenant),), candidate.key)
                subtree = use.tree.subtree[tenant]
                above = any(use.at(tenant, column, candidate.tier) > subtree[column] for column in self.kind[2])
                self._rungs.append((rank, candidate, of_nominal(candidate) if above else None))
                return self._rungs[-1]
        return None


class Ladders:
    """By tenant and kind of claim."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._of: dict[int, dict[Kind, Ladder]] = {}

    def of(self, tenant: int, kind: Kind, line: "Sequence[Candidate]") -> Ladder:
        """`line` is who may be asked of the tenant, in its order."""
        ladders = self._of.setdefault(tenant, {})
        ladder = ladders.get(kind)
        if ladder is None:
            ladder = ladders[kind] = Ladder(self._state, tenant, kind, line)
        return ladder

    def forget(self, tenant: int) -> None:
        """The tenant's use or its runs have changed."""
        self._of.pop(tenant, None)


def is_useful(candidate: "Candidate", flavors: frozenset[int], pool: int) -> bool:
    """Whether the run holds anything a claim could use: a card of its flavors; for CPU-only claims, anything of the pool."""
    return not flavors.isdisjoint(candidate.flavors) if flavors else pool in candidate.pools


def of_nominal(candidate: "Candidate") -> PreemptReason:
    """Why a claim on nominal says it takes the run."""
    if candidate.tier == Tier.BATCH:
        return PreemptReason.YIELD
    return PreemptReason.LOAN_EXPIRED if candidate.expired else PreemptReason.RECLAIM_NOMINAL
