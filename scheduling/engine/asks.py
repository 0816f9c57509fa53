"""SCH-02: what a job asks for, worked out once per shape and pool. Each role takes one flavor for all its pods."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import NamedTuple

from scheduling.engine.card_modes import find_mismatch, is_share
from scheduling.engine.quota import Amount
from scheduling.engine.snapshot import Flavor, RoleAsk, Shape
from scheduling.engine.units import CARD

MOST_OPTIONS = 64
"""Flavor choices tried per job; roles that accept many flavors each would multiply without end."""


NOBODY = -1
"""The tenant of an ask that is weighed against empty nodes only."""


class ShareHold(NamedTuple):
    """What one pod holds of one card. `tenant` is a node of the quota tree, below 0 for foreign occupation."""

    node: int
    slot: int
    cards_m: int
    vram_mib: int
    tenant: int


@dataclass(frozen=True, slots=True)
class Share:
    """What makes a pod's ask a share of a card (SCH-13): whose it is, its VRAM cap, and how many such shares one card holds.

    `slot` is the card on the node once it is placed, -1 before. `card_vram_mib` 0: nobody knows, so caps bound nothing.
    """

    tenant: int
    vram_mib: int
    card_vram_mib: int
    per_card: int
    slot: int = -1


@dataclass(frozen=True, slots=True)
class PodAsk:
    """`count` equal pods of one role on one flavor (-1 = CPU only). `vram_mib` is per pod and charged to quota, not to nodes."""

    role: str
    count: int
    flavor: int
    cards_m: int
    cpu_m: int
    memory_mib: int
    vram_mib: int
    in_gang: bool
    share: Share | None = None

    def on_card(self, slot: int) -> "PodAsk":
        """The same share on a card of its node."""
        return self if self.share is None else replace(self, share=replace(self.share, slot=slot))

    def hold_on(self, node: int) -> ShareHold:
        """What one pod of a placed share takes of its card."""
        if self.share is None:
            raise ValueError("no share of a card")
        return ShareHold(node, self.share.slot, self.cards_m, self.share.vram_mib, self.share.tenant)


@dataclass(frozen=True, slots=True)
class Option:
    """One way to meet a job's ask: a flavor per role. Amounts are what the queue is charged, by column, zeros left out.

    `gang` are the roles that must start together, `later` those outside the gang: they start when they fit, in the same bucket
    (SCH-09). `amounts` and `cards_m` are the gang's.
    """

    gang: tuple[PodAsk, ...]
    later: tuple[PodAsk, ...]
    amounts: tuple[Amount, ...]
    cards_m: int


def list_options(shape: Shape, pool: int, flavors: Sequence[Flavor], tenant: int = NOBODY) -> tuple[Option, ...]:
    """The ways the shape can run in the pool, in the order its roles name flavors; empty where a role has no flavor there.

    `tenant` is whose shares of cards they are.
    """
    choices = [_choices(role, pool, flavors) for role in shape.roles]
    return tuple(_option(shape, picks, flavors, tenant) for picks in islice(product(*choices), MOST_OPTIONS))


def _choices(role: RoleAsk, pool: int, flavors: Sequence[Flavor]) -> tuple[int, ...]:
    if not role.cards_m:
        return (-1,)
    return tuple(
        flavor
        for flavor in role.flavors
        if flavors[flavor].pool == pool and not find_mismatch(flavors[flavor], role.cards_m, role.replicas)
    )


def _option(shape: Shape, picks: Sequence[int], flavors: Sequence[Flavor], tenant: int) -> Option:
    pods = [_pod_ask(role, flavor, flavors, tenant) for role, flavor in zip(shape.roles, picks, strict=True)]
    gang = tuple(ask for ask in pods if ask.in_gang) or tuple(pods)
    return Option(
        gang=gang,
        later=tuple(ask for ask in pods if ask not in gang),
        amounts=total_charge([(ask, ask.count) for ask in gang], len(flavors)),
        cards_m=sum(ask.cards_m * ask.count for ask in gang),
    )


def total_charge(pods: Iterable[tuple[PodAsk, int]], flavor_count: int) -> tuple[Amount, ...]:
    """What (ask, number of pods) pairs are charged together, in column order."""
    totals: dict[int, int] = {}
    for ask, count in pods:
        for column, amount in charges(ask, flavor_count):
            totals[column] = totals.get(column, 0) + amount * count
    return tuple((column, totals[column]) for column in sorted(totals) if totals[column])


def _pod_ask(role: RoleAsk, flavor: int, flavors: Sequence[Flavor], tenant: int) -> PodAsk:
    """Whole cards charge the flavor's VRAM, whatever cap the role names; shares their cap (SCH-02)."""
    vram = role.cards_m // CARD * flavors[flavor].vram_mib if flavor >= 0 else 0
    share = _share(role, flavors[flavor], tenant) if is_share(role.cards_m) else None
    return PodAsk(
        role=role.name,
        count=role.replicas,
        flavor=flavor,
        cards_m=role.cards_m,
        cpu_m=role.cpu_m,
        memory_mib=role.memory_mib,
        vram_mib=vram if share is None else share.vram_mib,
        in_gang=role.in_gang,
        share=share,
    )


def _share(role: RoleAsk, flavor: Flavor, tenant: int) -> Share:
    """Without a cap of its own a share has the same part of the card's VRAM as of the card."""
    cap_mib, per_card = role.vram_mib or role.cards_m * flavor.vram_mib // CARD, CARD // role.cards_m
    if cap_mib and flavor.vram_mib:
        per_card = min(per_card, flavor.vram_mib // cap_mib)
    return Share(tenant, cap_mib, flavor.vram_mib, per_card)


def charges(ask: PodAsk, flavor_count: int) -> Iterator[Amount]:
    """What one pod is charged, by column: its flavor's cards, then CPU, memory and VRAM (`Snapshot.columns`)."""
    if ask.flavor >= 0:
        yield ask.flavor, ask.cards_m
    yield flavor_count, ask.cpu_m
    yield flavor_count + 1, ask.memory_mib
    yield flavor_count + 2, ask.vram_mib
