"""Whether a job could ever run on what is configured: node shapes, domains, quota and limits (SCH-21). Only what is certain is refused.

Every refusal says which flavor, node shape or quota, and by how much. What merely has to wait is not judged here.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from berth.common.errors import Problems
from berth.common.reasons import amounts_text
from berth.common.units import PPM
from scheduling.engine.asks import Option, list_options
from scheduling.engine.card_modes import MIG_RANKS, find_mismatch, is_share
from scheduling.engine.elastic import list_sizes
from scheduling.engine.snapshot import Pool
from scheduling.engine.units import CARD, UNLIMITED
from scheduling.selectors.configured import HOST, Configured, NodeShape
from scheduling.services.resolved import ResolvedJob, ResolvedRole

IMPOSSIBLE: Final = "impossible"
_SIZE_FIELD: Final = {False: "replicas", True: "min_replicas"}
"""Which field to lower: a job with a range is possible if its smallest size is (SCH-10)."""


def note_impossible(job: ResolvedJob, config: Configured, problems: Problems) -> None:
    """Note every reason why no amount of waiting would help."""
    before = len(problems.found)
    for number, role in enumerate(job.roles):
        _check_role(role, job, config, problems, f"roles[{number}]")
    if len(problems.found) == before:
        _check_quota(job, config, problems)


def able_flavors(role: ResolvedRole, job: ResolvedJob, config: Configured) -> tuple[int, ...]:
    """Those of the role's flavors whose nodes, and the queue's quota of them, could ever hold the pods of its minimum; in its order."""
    asked = role.ask.cards_m * role.ask.minimum
    return tuple(
        flavor
        for flavor in role.flavors
        if _flavor_problem(role, flavor, job, config) is None and asked <= _most(flavor, job, config)
    )


def _check_role(role: ResolvedRole, job: ResolvedJob, config: Configured, problems: Problems, where: str) -> None:
    at = config.pool_index[job.queue.pool_id]
    pool, shapes = config.pools[at], config.shapes.get(at, ())
    if not role.ask.cards_m:
        wrong = _shape_problem(role, shapes, pool) or _count_problem(role, shapes, config, job)
        if wrong is not None:
            problems.add(f"{where}.{wrong[0]}", wrong[1], code=IMPOSSIBLE)
        return
    found: list[tuple[str, Any]] = []
    for flavor in role.flavors:
        wrong = _flavor_problem(role, flavor, job, config)
        if wrong is None:
            return
        found.append((wrong[0], f"{config.flavors[flavor].name}: {wrong[1]}"))
    if not found:
        found.append(("resources.gpu", _no_flavor(role, at, config) % pool.name))
    problems.add(f"{where}.{found[0][0]}", " ".join(str(text) for _field, text in found), code=IMPOSSIBLE)


def _no_flavor(role: ResolvedRole, pool: int, config: Configured) -> Any:
    """Why no flavor of the pool hands out cards the way the role asks for them."""
    if is_share(role.ask.cards_m):
        return _("Pool %s has no cards to share.")
    own = [flavor for flavor in config.flavors if flavor.pool == pool]
    if any(find_mismatch(flavor, role.ask.cards_m, role.ask.replicas) == MIG_RANKS for flavor in own):
        return _("Pool %s has MIG instances only, which do not talk to each other: a role on them has 1 replica.")
    return _("Pool %s has no whole cards.")


def _flavor_problem(role: ResolvedRole, flavor: int, job: ResolvedJob, config: Configured) -> tuple[str, Any] | None:
    at, row = config.pool_index[job.queue.pool_id], config.flavors[flavor]
    if row.vram_mib and role.ask.vram_mib > row.vram_mib:
        return "resources.vram_per_gpu", _too_much(
            {"vram_gib": role.ask.vram_mib}, {"vram_gib": row.vram_mib}, _("a card")
        )
    shapes = [shape for shape in config.shapes.get(at, ()) if shape.flavor == flavor]
    return _shape_problem(role, shapes, config.pools[at]) or _count_problem(role, shapes, config, job)


def _shape_problem(role: ResolvedRole, shapes: Sequence[NodeShape], pool: Pool) -> tuple[str, Any] | None:
    """Why no single node can hold one pod, the narrowest resource first."""
    if any(_pods_on(shape, role, pool) for shape in shapes):
        return None
    asks = (
        ("resources.gpu", "gpu", role.ask.cards_m, max((shape.gpus * CARD for shape in shapes), default=0)),
        ("resources.cpu", "cpu", role.cpu_m, max((_cpu_of(shape, role, pool) for shape in shapes), default=0)),
        ("resources.memory", "memory_gib", role.memory_mib, max((shape.memory_mib for shape in shapes), default=0)),
    )
    for field, key, asked, largest in asks:
        if asked > largest:
            return field, _too_much({key: asked}, {key: largest}, _("the largest node"))
    asked_all = {key: asked for _field, key, asked, _largest in asks if asked}
    return "resources", _("No single node has %s together.") % amounts_text(asked_all)


def _count_problem(
    role: ResolvedRole, shapes: Sequence[NodeShape], config: Configured, job: ResolvedJob
) -> tuple[str, Any] | None:
    """Why all nodes together, or any one domain that is required, cannot hold the pods of its smallest size even when empty."""
    pool = config.pools[config.pool_index[job.queue.pool_id]]
    room = sum(_pods_on(shape, role, pool) * shape.count for shape in shapes)
    if room < role.ask.minimum:
        return _SIZE_FIELD[role.ask.minimum < role.ask.replicas], _(
            "All nodes together have room for %(room)d of its %(pods)d pods: %(short)d too many."
        ) % {
            "room": room,
            "pods": role.ask.minimum,
            "short": role.ask.minimum - room,
        }
    if job.ask.topology_mode != "required" or not role.ask.in_gang:
        return None
    best = _best_domain(role, shapes, config, job)
    if best < role.ask.minimum:
        return _SIZE_FIELD[role.ask.minimum < role.ask.replicas], _(
            "No single %(level)s has room for its %(pods)d pods: at most %(room)d, %(short)d too many."
        ) % {
            "level": job.ask.topology_level,
            "pods": role.ask.minimum,
            "room": best,
            "short": role.ask.minimum - best,
        }
    return None


def _best_domain(role: ResolvedRole, shapes: Sequence[NodeShape], config: Configured, job: ResolvedJob) -> int:
    pool = config.pools[config.pool_index[job.queue.pool_id]]
    if job.ask.topology_level == HOST:
        return max((_pods_on(shape, role, pool) for shape in shapes), default=0)
    if job.ask.topology_level not in config.levels:
        return role.ask.minimum
    level = config.levels.index(job.ask.topology_level)
    room: dict[str, int] = defaultdict(int)
    for shape in shapes:
        if shape.domains[level]:
            room[shape.domains[level]] += _pods_on(shape, role, pool) * shape.count
    return max(room.values(), default=0)


def _cpu_of(shape: NodeShape, role: ResolvedRole, pool: Pool) -> int:
    """Card jobs leave the pool's headroom to CPU jobs."""
    return shape.cpu_m - (pool.cpu_headroom_m if role.ask.cards_m else 0)


def _pods_on(shape: NodeShape, role: ResolvedRole, pool: Pool) -> int:
    """How many pods of the role an empty node of this shape takes."""
    room = shape.max_pods
    if is_share(role.ask.cards_m):
        room = min(room, shape.gpus * _shares_a_card(shape, role))
    for asked, there in (
        (0 if is_share(role.ask.cards_m) else role.ask.cards_m, shape.gpus * CARD),
        (role.cpu_m, _cpu_of(shape, role, pool)),
        (role.memory_mib, shape.memory_mib),
    ):
        if asked:
            room = min(room, max(0, there) // asked)
    return room


def _shares_a_card(shape: NodeShape, role: ResolvedRole) -> int:
    """How many such shares one card holds: by its parts, and by their caps on its memory (SCH-13)."""
    by_parts, cap_mib = CARD // role.ask.cards_m, role.ask.vram_mib
    return min(by_parts, shape.vram_mib // cap_mib) if cap_mib and shape.vram_mib else by_parts


def _check_quota(job: ResolvedJob, config: Configured, problems: Problems) -> None:
    """Refused only if no choice of flavors stays within what the queue could hold with everybody else idle."""
    excess: dict[str, tuple[int, int]] | None = None
    options = list_options(job.shape, config.pool_index[job.queue.pool_id], config.flavors)
    for option in list_sizes(job.shape, options, len(config.flavors))[-1]:
        found = _excess(option, job, config)
        if not found:
            return
        excess = excess or found
    holder = _("%(tier)s work of queue %(queue)s, by quota and limits,") % {
        "tier": job.tier,
        "queue": f"{job.queue.tenant.slug}/{job.queue.name}",
    }
    for key, (asked, most) in (excess or {}).items():
        problems.add("queue", _too_much({key: asked}, {key: most}, holder), code=IMPOSSIBLE)


def _excess(option: Option, job: ResolvedJob, config: Configured) -> dict[str, tuple[int, int]]:
    """By resource key: asked and the most there can ever be, where asked is more."""
    most = {column: _most(column, job, config) for column, _amount in option.amounts}
    return {
        config.columns[column]: (amount, most[column]) for column, amount in option.amounts if amount > most[column]
    }


def _most(column: int, job: ResolvedJob, config: Configured) -> int:
    """What the queue could hold of a column: production only its tenant's physically backed nominal (SCH-01, SCH-15)."""
    queue, pool = job.queue, config.pool_index[job.queue.pool_id]
    most = config.tree.potential(config.tree_index["queue", queue.pk], column)
    if job.tier == "production":
        own = config.tree.own(config.tree_index["tenant", queue.tenant_id], column)
        most = min(most, own if own >= UNLIMITED else own * PPM // config.pools[pool].factor_ppm)
    if queue.max_pool_share_ppm is not None and column < len(config.flavors):
        most = min(most, config.cards(pool, column) * CARD * queue.max_pool_share_ppm // PPM)
    return most


def _too_much(asked: dict[str, int], most: dict[str, int], holder: Any) -> Any:
    over = {key: asked[key] - most[key] for key in asked}
    return _("%(asked)s asked; %(holder)s can have at most %(most)s: %(over)s too many.") % {
        "asked": amounts_text(asked),
        "holder": holder,
        "most": amounts_text(most) or "0",
        "over": amounts_text(over),
    }
