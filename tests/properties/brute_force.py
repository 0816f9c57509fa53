"""Quota and places of tiny clusters by the rules and by brute force: nothing of the engine is used, and nothing is clever.

Everything is in whole cards of one flavor. Quota is counted by hand (SCH-01, SCH-03, SCH-05), and places are found by trying every node
for every pod (SCH-09, SCH-11).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from scheduling.engine.units import ONE_PPM
from tests.properties.tiny_scenes import BATCH, PRODUCTION, Tenant, Tiny, Work


@dataclass(frozen=True)
class Holding:
    """Cards by node that a tenant's work has, or will have."""

    tenant: str
    tier: int
    cards: tuple[tuple[str, int], ...]


def holding(work: Work, nodes: Sequence[str]) -> Holding:
    return Holding(work.tenant, work.tier, tuple(zip(nodes, work.pods, strict=True)))


class Picture:
    """Who holds what at one moment: `free` cards by node, and `held` by tenant and tier."""

    def __init__(self, scene: Tiny, holdings: Sequence[Holding]) -> None:
        self.scene, self.free = scene, dict(scene.nodes)
        self.held = {name: [0, 0, 0] for name in scene.tenants}
        for each in holdings:
            for node, cards in each.cards:
                self.free[node] -= cards
                self.held[each.tenant][each.tier] += cards

    def use(self, tenant: str, tier: int = BATCH) -> int:
        """Of this tier and those above it (SCH-01: nominal fills from the highest tier down)."""
        return sum(self.held[tenant][tier:])

    def has_quota(self, work: Work, *, borrowing: bool = True) -> bool:
        """Whether the tree and the tier would let the work start."""
        return work.cards <= self.available(work.tenant) and self.is_due(work, borrowing=borrowing)

    def is_due(self, work: Work, *, borrowing: bool = True) -> bool:
        """SCH-01: inside nominal, or of a tier that may borrow."""
        return self.is_own(work) or (borrowing and work.tier != PRODUCTION)

    def available(self, name: str) -> int:
        """SCH-03, as Kueue's: what the tenant keeps back and does not use, and what the cohort has left, up to its borrowing limit."""
        tenant, use = self.scene.tenants[name], self.use(name)
        if not tenant.cohort:
            return tenant.nominal - use
        inside = max(0, kept_back(tenant) - use)
        left = lendable(self.scene) - sum(max(0, self.use(each.name) - kept_back(each)) for each in members(self.scene))
        most = inside + left
        return most if tenant.borrowing is None else min(most, tenant.nominal + tenant.borrowing - use)

    def is_own(self, work: Work) -> bool:
        """Inside its tenant's nominal as its tier sees it; production inside the part of it that is backed by cards (SCH-15)."""
        nominal = self.scene.tenants[work.tenant].nominal
        if work.tier == PRODUCTION:
            nominal = nominal * ONE_PPM // max(ONE_PPM, self.scene.factor_ppm)
        return self.use(work.tenant, work.tier) + work.cards <= nominal

    def within_pool_share(self, work: Work) -> bool:
        """The queue's most of its pool."""
        share = self.scene.tenants[work.tenant].share_ppm
        return share is None or (self.use(work.tenant) + work.cards) * ONE_PPM <= sum(self.scene.nodes.values()) * share

    def stands_above(self, name: str, tier: int, ask: int = 0) -> bool:
        return self.use(name, tier) + ask > self.scene.tenants[name].nominal

    def over_share(self, name: str, ask: int = 0) -> tuple[bool, Fraction]:
        """SCH-05, over what the cohort could lend, which is the same for all: weight 0 while borrowing is above everybody else."""
        tenant = self.scene.tenants[name]
        over = max(0, self.use(name) + ask - tenant.nominal)
        if not over or not lendable(self.scene):
            return False, Fraction(0)
        return not tenant.weight, Fraction(over) / Fraction(tenant.weight or 1)


def members(scene: Tiny) -> list[Tenant]:
    """Tenants of the one cohort."""
    return [tenant for tenant in scene.tenants.values() if tenant.cohort]


def kept_back(tenant: Tenant) -> int:
    """Of its nominal, what its lending limit keeps from the others."""
    return 0 if tenant.lending is None else max(0, tenant.nominal - tenant.lending)


def lendable(scene: Tiny) -> int:
    """What the cohort has for all of its members, its own nominal included."""
    return scene.pool_nominal + sum(tenant.nominal - kept_back(tenant) for tenant in members(scene))


def has_place(scene: Tiny, free: Mapping[str, int], work: Work) -> bool:
    """Every node for every pod, inside one domain where the work asks for that."""
    domains = {"": [list(scene.nodes)], "host": [[name] for name in scene.nodes]}
    inside = domains.get(work.together) or [
        [name for name in scene.nodes if scene.racks[name] == rack] for rack in sorted(set(scene.racks.values()))
    ]
    return any(_seats([free[name] for name in nodes], work.pods) for nodes in inside)


def _seats(free: list[int], pods: tuple[int, ...]) -> bool:
    if not pods:
        return True
    for node, cards in enumerate(free):
        if cards >= pods[0] and _seats([*free[:node], cards - pods[0], *free[node + 1 :]], pods[1:]):
            return True
    return False
