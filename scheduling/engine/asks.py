"""SCH-02: what a job asks for, worked out once per shape and pool. Each role takes one flavor for all its pods."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from scheduling.engine.quota import Amount
from scheduling.engine.snapshot import Flavor, RoleAsk, Shape
from scheduling.engine.units import CARD

MOST_OPTIONS = 64
"""Flavor choices tried per job; roles that accept many flavors each would multiply without end."""


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


def list_options(shape: Shape, pool: int, flavors: Sequence[Flavor]) -> tuple[Option, ...]:
    """The ways the shape can run in the pool, in the order its roles name flavors; empty where a role has no flavor there."""
    choices = [_choices(role, pool, flavors) for role in shape.roles]
    return tuple(_option(shape, picks, flavors) for picks in islice(product(*choices), MOST_OPTIONS))


def _choices(role: RoleAsk, pool: int, flavors: Sequence[Flavor]) -> tuple[int, ...]:
    if not role.cards_m:
        return (-1,)
    return tuple(flavor for flavor in role.flavors if flavors[flavor].pool == pool)


def _option(shape: Shape, picks: Sequence[int], flavors: Sequence[Flavor]) -> Option:
    pods = [_pod_ask(role, flavor, flavors) for role, flavor in zip(shape.roles, picks, strict=True)]
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


def _pod_ask(role: RoleAsk, flavor: int, flavors: Sequence[Flavor]) -> PodAsk:
    """Whole cards charge the flavor's VRAM, whatever cap the role names (SCH-02)."""
    vram = role.cards_m // CARD * flavors[flavor].vram_mib if flavor >= 0 else 0
    return PodAsk(
        role=role.name,
        count=role.replicas,
        flavor=flavor,
        cards_m=role.cards_m,
        cpu_m=role.cpu_m,
        memory_mib=role.memory_mib,
        vram_mib=vram,
        in_gang=role.in_gang,
    )


def charges(ask: PodAsk, flavor_count: int) -> Iterator[Amount]:
    """What one pod is charged, by column: its flavor's cards, then CPU, memory and VRAM (`Snapshot.columns`)."""
    if ask.flavor >= 0:
        yield ask.flavor, ask.cards_m
    yield flavor_count, ask.cpu_m
    yield flavor_count + 1, ask.memory_mib
    yield flavor_count + 2, ask.vram_mib
