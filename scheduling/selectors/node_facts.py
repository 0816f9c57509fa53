"""Nodes as answers show them: cards with their holders' side of things, what is free, where they sit; four queries a page."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Case, DateTimeField, Sum, When
from django.db.models.functions import Greatest

from berth.common import clock
from berth.common.units import UNITS_PER_CARD
from scheduling.models import Card, Lease, Node, NodeDomain
from scheduling.selectors.asked_cards import asked_m, per_card

CARD = 1000


@dataclass(frozen=True, slots=True)
class CardFacts:
    """`units` of 1/7000 of the card are held; by whom is not told here."""

    card: Card
    units: int

    @property
    def held_m(self) -> int:
        """Thousandths of the card, rounded."""
        return (self.units * CARD + UNITS_PER_CARD // 2) // UNITS_PER_CARD


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Free amounts of a node that starts nothing (lost, not ready, cordoned, in quarantine) are 0. `now` is business time.

    `usable_m` and `free_m` count cards as asks do: a MIG card as its instances.
    """

    node: Node
    cards: tuple[CardFacts, ...]
    topology: dict[str, str]
    cpu_held_m: int
    memory_held_mib: int
    now: datetime

    @property
    def state(self) -> str:
        if self.node.state != Node.State.READY:
            return self.node.state
        if self.node.cordoned or self.node.draining:
            return "cordoned"
        return self.node.state if self.quarantined_until is None else "quarantined"

    @property
    def quarantined_until(self) -> datetime | None:
        """None where none is in force."""
        until = self.node.quarantined_until
        return until if until is not None and until > self.now else None

    @property
    def last_sign_at(self) -> datetime | None:
        return last_sign(self.node)

    @property
    def is_open(self) -> bool:
        return self.state == Node.State.READY

    @property
    def usable_m(self) -> int:
        return CARD * per_card(self._profile) * len(self._healthy)

    @property
    def free_m(self) -> int:
        free = self.usable_m - sum(asked_m(facts.units, self._profile) for facts in self._healthy)
        return max(0, free) if self.is_open else 0

    @property
    def _healthy(self) -> list[CardFacts]:
        return [facts for facts in self.cards if facts.card.health == Card.Health.OK]

    @property
    def _profile(self) -> str:
        return self.node.flavor.mig_profile if self.node.flavor is not None else ""

    @property
    def cpu_free_m(self) -> int:
        return max(0, self.node.cpu_m - self.cpu_held_m) if self.is_open else 0

    @property
    def memory_free_mib(self) -> int:
        return max(0, self.node.memory_mib - self.memory_held_mib) if self.is_open else 0


def last_sign(node: Node) -> datetime | None:
    """A node's row is written when something about it changes. One in service was there at its cluster's last full list."""
    signs = [node.last_sign_at]
    if node.state == Node.State.READY:
        signs.append(node.cluster.last_listed_at)
    return max((sign for sign in signs if sign is not None), default=None)


LAST_SIGN: Final = Greatest(
    "last_sign_at", Case(When(state=Node.State.READY, then="cluster__last_listed_at"), output_field=DateTimeField())
)
"""`last_sign` for the database to sort by: PostgreSQL's greatest leaves out what is not known."""


def node_facts(nodes: Sequence[Node]) -> list[NodeFacts]:
    """In the order of `nodes`."""
    now, ids = clock.now(), [node.pk for node in nodes]
    cards: dict[int, list[Card]] = defaultdict(list)
    for card in Card.objects.filter(node_id__in=ids).order_by("node_id", "index"):
        cards[card.node_id].append(card)
    topology: dict[int, dict[str, str]] = defaultdict(dict)
    for node_id, level, domain in (
        NodeDomain.objects.filter(node_id__in=ids).order_by("rank", "level").values_list("node_id", "level", "domain")
    ):
        topology[node_id][level] = domain
    held: dict[int | None, int] = {}
    used: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for node_id, card_id, units, cpu_m, memory_mib in _open_leases(ids):
        held[card_id] = units
        used[node_id][0] += cpu_m
        used[node_id][1] += memory_mib
    return [
        NodeFacts(
            node=node,
            cards=tuple(CardFacts(card, held.get(card.pk, 0)) for card in cards[node.pk]),
            topology=topology[node.pk],
            cpu_held_m=used[node.pk][0],
            memory_held_mib=used[node.pk][1],
            now=now,
        )
        for node in nodes
    ]


def _open_leases(nodes: Sequence[int]) -> list[tuple[int, int | None, int, int, int]]:
    rows = Lease.objects.filter(node_id__in=nodes, closed_at__isnull=True).values_list("node_id", "card_id")
    sums = rows.annotate(units=Sum("quantity"), cpu=Sum("cpu_m"), memory=Sum("memory_mib")).order_by()
    return list(sums.values_list("node_id", "card_id", "units", "cpu", "memory"))
