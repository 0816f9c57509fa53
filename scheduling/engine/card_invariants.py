"""SCH-13 as invariants (SCH-23): what holds of every single card after a plan, counted from the snapshot and the plan anew."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scheduling.engine.opening import tenants_by_queue
from scheduling.engine.plan import Placement, Violation
from scheduling.engine.snapshot import Flavor, Id, Snapshot
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import CardMode

Holder = tuple[Id | None, int]
"""(job of the plan, None for a running one; its tenant in the quota tree)"""


@dataclass(slots=True)
class CardUse:
    """Who holds a card: `cards_m` and `vram_mib` of shares, pods that hold all of it, MIG instances."""

    holders: list[Holder] = field(default_factory=list)
    cards_m: int = 0
    vram_mib: int = 0
    whole: int = 0
    instances: int = 0

    def add(self, holder: Holder, flavor: Flavor, cards_m: int, vram_mib: int) -> None:
        self.holders.append(holder)
        if cards_m % CARD:
            self.cards_m, self.vram_mib = self.cards_m + cards_m, self.vram_mib + vram_mib
        elif flavor.mode is CardMode.MIG:
            self.instances += 1
        else:
            self.whole += 1

    def broken(self, flavor: Flavor) -> str:
        """The rule that the card's holders break together, or nothing."""
        kinds = (bool(self.whole) + bool(self.cards_m) + bool(self.instances), self.whole)
        if kinds > (1, 1) or self.instances > flavor.per_card:
            return "card-one-holder"
        if self.cards_m > CARD or (flavor.vram_mib and self.vram_mib > flavor.vram_mib):
            return "card-share-sum"
        return "card-share-tenant" if self.cards_m and len({tenant for _, tenant in self.holders}) > 1 else ""


def check_cards(snapshot: Snapshot, added: Iterable[tuple[Id, Placement]]) -> Iterator[Violation]:
    """A whole card has one holder; shares of a card fit on it with their VRAM caps and are of one tenant; new pods get cards in service."""
    flavors = {flavor.id: flavor for flavor in snapshot.flavors}
    uses, tenant_of = _running(snapshot), tenants_by_queue(snapshot)
    queue_of = dict(zip(snapshot.pending.ids, snapshot.pending.queue.tolist(), strict=True))
    queue_of.update(zip(snapshot.running.ids, snapshot.running.queue.tolist(), strict=True))
    cards = snapshot.cards
    bad = {
        (snapshot.nodes.ids[int(cards.node[row])], int(cards.index[row]))
        for row in (~cards.healthy).nonzero()[0].tolist()
    }
    for job, pod in added:
        if pod.flavor is None:
            continue
        for card in pod.cards:
            use, flavor = uses.setdefault((pod.node, card), CardUse()), flavors[pod.flavor]
            use.add((job, tenant_of[queue_of.get(job, -1)]), flavor, pod.cards_m, pod.vram_mib)
            rule = "card-one-holder" if (pod.node, card) in bad else use.broken(flavor)
            if rule:
                jobs = tuple(dict.fromkeys(holder for holder, _ in use.holders if holder is not None))
                yield Violation(rule, jobs, f"{pod.node}/{card}")


def check_ranks(snapshot: Snapshot, added: Iterable[tuple[Id, Placement]]) -> Iterator[Violation]:
    """No role of more than one rank runs on MIG instances."""
    mig = {flavor.id for flavor in snapshot.flavors if flavor.mode is CardMode.MIG}
    seen: set[tuple[Id, str]] = set()
    for job, pod in added:
        if pod.flavor in mig:
            if (job, pod.role) in seen:
                yield Violation("mig-ranks", (job,), f"{pod.role}: several ranks on {pod.flavor}")
            seen.add((job, pod.role))


def _running(snapshot: Snapshot) -> dict[tuple[Id, int], CardUse]:
    pods, tenant_of, uses = snapshot.pods, tenants_by_queue(snapshot), dict[tuple[Id, int], CardUse]()
    queue_of = snapshot.running.queue.tolist()
    for row, indexes in enumerate(pods.cards):
        if not indexes:
            continue
        node = snapshot.nodes.ids[int(pods.node[row])]
        flavor = snapshot.flavors[int(pods.flavor[row])]
        queue = queue_of[int(pods.run[row])]
        tenant = tenant_of[queue] if queue >= 0 else -2 - int(pods.run[row])
        for card in indexes:
            use = uses.setdefault((node, card), CardUse())
            use.add((None, tenant), flavor, int(pods.cards_m[row]), int(pods.vram_mib[row]))
    return uses
