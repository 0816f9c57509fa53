"""SCH-01 and the physically backed part of SCH-15: what each tier may use of its tenant's nominal and of others'."""

from collections.abc import Sequence
from enum import IntEnum

from scheduling.engine.classes import JobClass
from scheduling.engine.policy import Policy
from scheduling.engine.quota import Amount, QuotaTree, QuotaUse
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import CARD, ONE_PPM, UNLIMITED, ceil_div, subtract
from scheduling.engine.vocabulary import Tier


class Standing(IntEnum):
    """How an ask stands to its tenant's nominal. The smaller value goes first (SCH-04)."""

    OWN = 0
    BORROW = 1
    BARRED = 2


class TierRules:
    """Answers for one cycle's quota tree. Every answer is about an ask on top of a given use, which is not changed."""

    def __init__(self, snapshot: Snapshot, policy: Policy, tree: QuotaTree) -> None:
        self._policy, self._tree = policy, tree
        flavors = len(snapshot.flavors)
        self._flavor_factor = [snapshot.pools[flavor.pool].factor_ppm for flavor in snapshot.flavors]
        self._pool_factor = [pool.factor_ppm for pool in snapshot.pools]
        self._flavors = flavors

    def standing(self, use: QuotaUse, job_class: JobClass, amounts: Sequence[Amount]) -> Standing:
        """Own: inside the tenant's nominal as its tier sees it. Barred: the tier (or the policy) lets it have nominal only."""
        if self._fits_nominal(use, job_class, amounts):
            return Standing.OWN
        if job_class.tier == Tier.PRODUCTION or not self._policy.borrowing:
            return Standing.BARRED
        return Standing.BORROW

    def _fits_nominal(self, use: QuotaUse, job_class: JobClass, amounts: Sequence[Amount]) -> bool:
        """Nominal fills from the highest tier down, so a tier sees only itself and those above it."""
        if not use.within(job_class.leaf, job_class.tenant, amounts, job_class.tier):
            return False
        if job_class.tier != Tier.PRODUCTION:
            return True
        for column, amount in amounts:
            if amount > 0 and self._tree.limited[column] and self.backed_room(use, job_class, column) < amount:
                return False
        return True

    def room(self, use: QuotaUse, job_class: JobClass, column: int) -> int:
        """What the class may still take of a column, nominal and, where its tier may borrow, others' together."""
        available = use.available(job_class.leaf, column)
        if job_class.tier == Tier.PRODUCTION or not self._policy.borrowing:
            return min(available, self.nominal_room(use, job_class, column))
        return available

    def backed_room(self, use: QuotaUse, job_class: JobClass, column: int) -> int:
        """What production may still take of its tenant's physically backed part, floor(nominal ÷ factor) (SCH-15)."""
        if not self._tree.limited[column]:
            return UNLIMITED
        backed = self.backed(job_class.tenant, column, job_class.pool)
        held = sum(use.at(queue, column, Tier.PRODUCTION) for queue in self._queues_of(job_class.tenant))
        return subtract(backed, held)

    def more_nominal(self, use: QuotaUse, job_class: JobClass, column: int, amount: int) -> int:
        """How much larger its tenant's nominal would have to be for an ask to stay inside of it: what backs it are whole cards (SCH-15)."""
        more = amount - self.nominal_room(use, job_class, column)
        if job_class.tier != Tier.PRODUCTION:
            return more
        tenant, cards = job_class.tenant, column < self._flavors
        factor = self._flavor_factor[column] if cards else self._pool_factor[job_class.pool]
        held = sum(use.at(queue, column, Tier.PRODUCTION) for queue in self._queues_of(tenant))
        backed = ceil_div(held + amount, CARD) * CARD if cards and factor > ONE_PPM else held + amount
        return max(more, ceil_div(backed * factor, ONE_PPM) - self._tree.own(tenant, column))

    def _queues_of(self, tenant: int) -> list[int]:
        return self._tree.children[tenant] or [tenant]

    def backed(self, tenant: int, column: int, pool: int) -> int:
        if not self._tree.limited[column]:
            return UNLIMITED
        factor = self._flavor_factor[column] if column < self._flavors else self._pool_factor[pool]
        nominal = self._tree.own(tenant, column)
        if nominal >= UNLIMITED or factor <= ONE_PPM:
            return nominal
        backed = nominal * ONE_PPM // factor
        # What backs a nominal are whole cards: nothing physical is two thirds of one.
        return backed // CARD * CARD if column < self._flavors else backed

    def over_backed(self, use: QuotaUse, tenant: int, column: int, pool: int, ask: int = 0) -> int:
        """What the tenant's queues hold of a column, all tiers and `ask` together, above its physically backed part (SCH-15)."""
        held = ask + sum(use.at(queue, column) for queue in self._queues_of(tenant))
        return max(0, subtract(held, self.backed(tenant, column, pool)))

    def nominal_room(self, use: QuotaUse, job_class: JobClass, column: int) -> int:
        """What the class's tier may still take inside its tenant's nominal; negative after a quota was lowered."""
        if not self._tree.limited[column]:
            return UNLIMITED
        level, tenant, leaf = job_class.tier, job_class.tenant, job_class.leaf
        room = subtract(self._tree.subtree[tenant][column], use.at(tenant, column, level))
        kept = self._tree.kept[leaf][column] - use.at(leaf, column, level) if leaf != tenant else 0
        room = subtract(room, -max(0, kept))
        if job_class.tier == Tier.PRODUCTION:
            return min(room, self.backed_room(use, job_class, column))
        return room


def borrowed_part(use: QuotaUse, job_class: JobClass, amounts: Sequence[Amount]) -> dict[int, int]:
    """By column, how much of an ask would cross its tenant's boundary: own first, as the job's tier sees nominal (SCH-03)."""
    tree, tenant, level = use.tree, job_class.tenant, job_class.tier
    parts = {}
    for column, amount in amounts:
        if not tree.limited[column]:
            parts[column] = 0
            continue
        arriving = use.arriving(job_class.leaf, tenant, column, amount, level)
        above = use.at(tenant, column, level) + arriving - tree.subtree[tenant][column]
        parts[column] = max(0, min(arriving, above))
    return parts


def best_standing(rules: TierRules, use: QuotaUse, job_class: JobClass) -> Standing:
    """Of the job's flavor choices, the one that stands best."""
    best = Standing.BARRED
    for option in job_class.options:
        standing = rules.standing(use, job_class, option.amounts)
        if standing is Standing.OWN:
            return standing
        if standing is Standing.BORROW:
            best = standing
    return best


def grace_ms(policy: Policy, tier: int) -> int:
    """From notice to end: 300 s for development, 30 s for batch (SCH-01)."""
    return policy.grace_batch_ms if tier == Tier.BATCH else policy.grace_development_ms
