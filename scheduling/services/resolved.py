"""A body's ask joined with the queue it names: flavors as rows, CPU and memory by default the card's part of a node (SCH-02)."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from berth.common.errors import Problems
from berth.common.units import MIB_PER_GIB, MILLI, PPM, from_ppm
from scheduling.engine.card_modes import MIG_RANKS, find_mismatch, is_share
from scheduling.engine.snapshot import Flavor, Shape
from scheduling.engine.snapshot import Pool as EnginePool
from scheduling.engine.snapshot import RoleAsk as EngineRole
from scheduling.engine.vocabulary import CardMode, TopologyMode
from scheduling.selectors.configured import Configured, NodeShape
from scheduling.services.job_body import JobAsk, RoleAsk
from tenants.models import Queue

MS_PER_S: Final = 1000
DEFAULT_COOLDOWN_S: Final = 600
CPU_ONLY_CPU_M: Final = 1 * MILLI
CPU_ONLY_MEMORY_MIB: Final = 1 * MIB_PER_GIB
"""What a pod without cards gets where its role says nothing: it has no card to take a part by."""


@dataclass(frozen=True, slots=True)
class ResolvedRole:
    """`flavors` index `Configured.flavors`, in the order the role prefers them; none for CPU only."""

    ask: RoleAsk
    flavors: tuple[int, ...]
    cpu_m: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class ResolvedJob:
    """What will be stored and planned. `tier` is the queue's default where the body names none."""

    ask: JobAsk
    queue: Queue
    tier: str
    roles: tuple[ResolvedRole, ...]

    @property
    def shape(self) -> Shape:
        """The engine's view of it."""
        ask = self.ask
        return Shape(
            roles=tuple(_engine_role(role) for role in self.roles),
            topology=TopologyMode(ask.topology_mode),
            level=ask.topology_level,
            elastic_step=ask.elastic_step or 0,
            elastic_cooldown_ms=(DEFAULT_COOLDOWN_S if ask.elastic_cooldown_s is None else ask.elastic_cooldown_s)
            * MS_PER_S,
            objective=ask.objective,
            datasets=frozenset(ask.datasets),
        )


def _engine_role(role: ResolvedRole) -> EngineRole:
    return EngineRole(
        name=role.ask.name,
        replicas=role.ask.replicas,
        minimum=role.ask.minimum,
        cards_m=role.ask.cards_m,
        flavors=role.flavors,
        cpu_m=role.cpu_m,
        memory_mib=role.memory_mib,
        vram_mib=role.ask.vram_mib,
        in_gang=role.ask.in_gang,
    )


def resolve_job(ask: JobAsk, queue: Queue, config: Configured, problems: Problems) -> ResolvedJob:
    """Join `ask` with the queue's pool; flavors that do not exist there or need later rules are noted by name."""
    roles = tuple(
        _resolve_role(role, queue, config, problems, f"roles[{number}]") for number, role in enumerate(ask.roles)
    )
    levels = config.levels_of(config.pool_index[queue.pool_id])
    if ask.topology_level and ask.topology_level not in levels:
        problems.add(
            "topology.level",
            _("No such level; the nodes of pool %(pool)s have: %(levels)s.")
            % {"pool": queue.pool.name, "levels": ", ".join(levels)},
            code="unknown",
        )
    return ResolvedJob(ask, queue, ask.tier or queue.default_tier, roles)


def shape_key(shape: Shape, config: Configured) -> str:
    """Digest of everything that decides where a job fits. Jobs of one key are planned as one class."""
    document = [
        [
            [
                *(role.name, role.replicas, role.minimum, role.cards_m, role.cpu_m, role.memory_mib, role.vram_mib),
                role.in_gang,
                [config.flavors[flavor].id for flavor in role.flavors],
            ]
            for role in shape.roles
        ],
        *(str(shape.topology), shape.level, shape.elastic_step, shape.elastic_cooldown_ms, shape.objective),
        sorted(shape.datasets),
    ]
    return hashlib.sha256(json.dumps(document, separators=(",", ":")).encode()).hexdigest()


def _resolve_role(role: RoleAsk, queue: Queue, config: Configured, problems: Problems, where: str) -> ResolvedRole:
    pool = config.pool_index[queue.pool_id]
    flavors = (
        _flavors(role, pool, config, problems, f"{where}.resources.flavors") if role.cards_m or role.flavors else ()
    )
    cpu_m, memory_mib = _parts(role, flavors, pool, config)
    cpu_m = _request(role.cpu_m, cpu_m, role.cpu_limit_m)
    memory_mib = _request(role.memory_mib, memory_mib, role.memory_limit_mib)
    for key, request, limit in (
        ("cpu", cpu_m, role.cpu_limit_m),
        ("memory", memory_mib, role.memory_limit_mib),
    ):
        if limit is not None and limit > request * queue.pool.limit_ratio_ppm // PPM:
            problems.add(
                f"{where}.limits.{key}",
                _("At most %s times what the role asks for.") % from_ppm(queue.pool.limit_ratio_ppm),
                code="range",
            )
    return ResolvedRole(role, flavors, cpu_m, memory_mib)


def _request(asked: int | None, default: int, limit: int | None) -> int:
    if asked is not None:
        return asked
    return default if limit is None else min(default, limit)


def _flavors(role: RoleAsk, pool: int, config: Configured, problems: Problems, where: str) -> tuple[int, ...]:
    """As named, else all of the pool that can serve the role; MIG instances are meant where named, or where there is nothing else."""
    own = [index for index, flavor in enumerate(config.flavors) if flavor.pool == pool]
    if not role.flavors:
        able = [index for index in own if not find_mismatch(config.flavors[index], role.cards_m, role.replicas)]
        others = [index for index in able if config.flavors[index].mode is not CardMode.MIG]
        return tuple(others or able)
    found: list[int] = []
    for position, name in enumerate(role.flavors):
        index = _named(name, own, pool, config)
        wrong = (
            _unknown_flavor(own, pool, config) if index is None else _mode_problem(name, config.flavors[index], role)
        )
        if wrong is not None:
            problems.add(f"{where}[{position}]", wrong[1], code=wrong[0])
        elif index is not None and index not in found:
            found.append(index)
    return tuple(found)


def _mode_problem(name: str, flavor: Flavor, role: RoleAsk) -> tuple[str, Any] | None:
    """Why such cards cannot come from this flavor: (code, sentence)."""
    if flavor.mode is CardMode.NONE:
        return "invalid", _("%s has no cards: leave gpu out.") % name
    mismatch = find_mismatch(flavor, role.cards_m, role.replicas)
    if not mismatch:
        return None
    if mismatch == MIG_RANKS:
        return "mig-ranks", _(
            "%(flavor)s gives MIG instances, which do not talk to each other: 1 replica at most, %(replicas)d asked."
        ) % {"flavor": name, "replicas": role.replicas}
    if flavor.mode is CardMode.MIG:
        return "invalid", _("%s gives MIG instances: ask for a whole number of them, from 1 up.") % name
    if is_share(role.cards_m):
        return "invalid", _(
            "%s gives whole cards only: ask for a whole number, or name a flavor of shared cards."
        ) % name
    return "invalid", _("%s gives shares of a card: ask for a part of one, below 1.") % name


def _named(name: str, own: Iterable[int], pool: int, config: Configured) -> int | None:
    """A name without @ means the queue's own pool: `a100-80g` also finds that pool's `a100-80g@ext-d`."""
    short, at, suffix = name.partition("@")
    for index in own:
        flavor = config.flavors[index].name
        if flavor == name or (not at and flavor.partition("@")[0] == name):
            return index
        if at and flavor == short and suffix == config.pools[pool].name:
            return index
    return None


def _unknown_flavor(own: Sequence[int], pool: int, config: Configured) -> tuple[str, Any]:
    return "unknown", _("Unknown in pool %(pool)s; it has: %(flavors)s.") % {
        "pool": config.pools[pool].name,
        "flavors": ", ".join(sorted(config.flavors[index].name for index in own)) or "-",
    }


def _parts(role: RoleAsk, flavors: Sequence[int], pool: int, config: Configured) -> tuple[int, int]:
    """Millicores and MiB of one pod: its cards' part of the node, the smallest of the nodes that its flavors may mean."""
    shapes = [shape for shape in config.shapes.get(pool, ()) if shape.flavor in flavors and shape.gpus]
    if not role.cards_m or not shapes:
        return CPU_ONLY_CPU_M, CPU_ONLY_MEMORY_MIB
    rules = config.pools[pool]
    cpu_m = min(_cpu_part(shape, rules) for shape in shapes) * role.cards_m // MILLI
    memory_mib = min(_memory_part(shape, rules) for shape in shapes) * role.cards_m // MILLI
    return cpu_m, memory_mib


def _cpu_part(shape: NodeShape, pool: EnginePool) -> int:
    if pool.cpu_per_card_m is not None:
        return pool.cpu_per_card_m // shape.per_card
    return max(0, shape.cpu_m - pool.cpu_headroom_m) // shape.gpus


def _memory_part(shape: NodeShape, pool: EnginePool) -> int:
    if pool.memory_per_card_mib is not None:
        return pool.memory_per_card_mib // shape.per_card
    return shape.memory_mib // shape.gpus
