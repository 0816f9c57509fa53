"""One job of a plan file, with every field of docs/api-jobs.md -> `JobEntry`. What the engine does not decide by is checked and dropped."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from berth.common.shown import cut, shown
from scheduling.engine.card_modes import is_share
from scheduling.engine.snapshot import RoleAsk, Shape
from scheduling.engine.topology import HOST
from scheduling.engine.units import CARD, NEVER
from scheduling.engine.vocabulary import Tier, TopologyMode
from scheduling.simulator import quantities
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.documents import Fields
from scheduling.simulator.problems import WrongValueError
from scheduling.simulator.tree_section import TIERS

DEFAULT_PRIORITY = 500
DEFAULT_COOLDOWN_MS = 600_000
LARGEST_REPLICAS = 100_000
UNUSED_JOB_KEYS = ("name", "user", "labels", "project", "callback_url", "output", "max_restarts")
UNUSED_ROLE_KEYS = (
    *("image", "command", "args", "env", "env_from", "image_pull", "volumes", "ports", "limits", "period"),
    *("shm_gib", "run_as_user", "run_as_group", "fs_group"),
)


@dataclass(frozen=True, slots=True)
class RolePlaces:
    """The nodes of a running role's pods, by rank."""

    role: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JobEntry:
    """A job as the engine will see it; times in ms, NEVER = not given. `queue` is -1 for an unknown queue."""

    id: str
    queue: int
    tier: Tier
    priority: int
    submit_ms: int
    shape: Shape
    limit_ms: int
    expected_ms: int
    eligible_ms: int
    deadline_ms: int
    checkpoints: bool
    attained_card_ms: int
    after: tuple[str, ...]
    places: tuple[RolePlaces, ...] = ()


def read_job(fields: Fields, cluster: Cluster, now_ms: int, *, running: bool) -> JobEntry:
    """One entry of `pending` or `running`; problems are noted. The caller closes the mapping."""
    tenant = fields.take("tenant", quantities.word, "")
    queue = cluster.queue_index.get(f"{tenant}/{fields.take('queue', quantities.word, '')}", -1)
    default_tier = cluster.default_tiers[queue] if queue >= 0 else Tier.DEVELOPMENT
    name = fields.need("job", quantities.word, "")
    topology, level = _topology(fields.below("topology"), cluster)
    step, cooldown = _elastic(fields.below("elastic"))
    roles, places = _roles(fields, cluster, queue, running=running)
    _unused(fields)
    return JobEntry(
        id=name,
        queue=queue,
        tier=TIERS[fields.take("tier", quantities.one_of(*TIERS), default_tier.label)],
        priority=fields.take("priority", quantities.between(0, 1000), DEFAULT_PRIORITY),
        submit_ms=fields.take("submitted", quantities.instant, now_ms),
        shape=Shape(
            roles=roles,
            topology=topology,
            level=level,
            elastic_step=step,
            elastic_cooldown_ms=cooldown,
            objective=fields.take("objective", quantities.one_of("fastest", "cheapest"), "fastest"),
            datasets=frozenset(fields.words("datasets", quantities.word)),
        ),
        limit_ms=fields.take("max_runtime", quantities.milliseconds, NEVER),
        expected_ms=fields.take("expected_runtime", quantities.milliseconds, NEVER),
        eligible_ms=fields.take("not_before", quantities.instant, 0),
        deadline_ms=fields.take("deadline", quantities.instant, NEVER),
        checkpoints=_checkpoint(fields),
        attained_card_ms=0 if running else fields.take("attained_card_hours", quantities.card_hours_ms, 0),
        after=_after(fields),
        places=places,
    )


def _unused(fields: Fields) -> None:
    fields.take("kind", quantities.one_of("training", "service", "interactive"), "training")
    array = fields.below("array")
    size = array.take("size", quantities.between(1, 100_000), 1)
    array.take("limit", quantities.between(1, 100_000), 1)
    array.close()
    if size > 1:
        fields.problem("array", "write the members of an array as jobs of their own")
    fields.ignore(*UNUSED_JOB_KEYS)


def _checkpoint(fields: Fields) -> bool:
    given = fields.value("checkpoint") is not None
    checkpoint = fields.below("checkpoint")
    checkpoint.take("path", quantities.word, "")
    checkpoint.take("interval", quantities.milliseconds, 0)
    checkpoint.close()
    return given


def _after(fields: Fields) -> tuple[str, ...]:
    jobs = []
    for entry in fields.each("after"):
        jobs.append(entry.need("job", quantities.word, ""))
        entry.take("on", quantities.one_of("success", "any"), "success")
        entry.close()
    return tuple(jobs)


def _topology(fields: Fields, cluster: Cluster) -> tuple[TopologyMode, str]:
    mode = TopologyMode(fields.take("mode", quantities.one_of(*(m.value for m in TopologyMode)), "none"))
    level = fields.take("level", level_of(cluster), "")
    if mode is TopologyMode.REQUIRED and not level:
        fields.problem("", "a required topology needs a level")
    fields.close()
    return (mode, level) if mode is not TopologyMode.NONE else (mode, "")


def level_of(cluster: Cluster) -> Callable[[str], str]:
    """A parser for the topology levels that this cluster's nodes have."""
    known = dict.fromkeys((*cluster.nodes.levels, HOST))

    def parse(text: str) -> str:
        if text not in known:
            raise WrongValueError(f"unknown level {shown(text)}; the nodes have: {', '.join(known)}")
        return text

    return parse


def _elastic(fields: Fields) -> tuple[int, int]:
    step = fields.take("step", quantities.between(1, LARGEST_REPLICAS), 0)
    cooldown = fields.take("cooldown", quantities.milliseconds, DEFAULT_COOLDOWN_MS)
    fields.close()
    return step, cooldown


def _roles(
    fields: Fields, cluster: Cluster, queue: int, *, running: bool
) -> tuple[tuple[RoleAsk, ...], tuple[RolePlaces, ...]]:
    roles: list[RoleAsk] = []
    places: list[RolePlaces] = []
    for entry in fields.each("roles"):
        role = _role(entry, cluster, queue)
        if any(other.name == role.name for other in roles):
            entry.problem("name", f"role {shown(role.name)} is there twice")
        if running:
            places.append(RolePlaces(len(roles), _nodes(entry, cluster, role)))
        entry.close()
        roles.append(role)
    if not roles:
        fields.problem("", "roles: at least one role is required")
    return tuple(roles), tuple(places)


def _role(fields: Fields, cluster: Cluster, queue: int) -> RoleAsk:
    replicas = fields.take("replicas", quantities.between(1, LARGEST_REPLICAS), 1)
    minimum = fields.take("min_replicas", quantities.between(1, LARGEST_REPLICAS), replicas)
    for wrong in elastic_problems(minimum, replicas):
        fields.problem("min_replicas", wrong)
    resources = fields.below("resources")
    cards_m = resources.take("gpu", cards_or_share, 0)
    vram = resources.take("vram_per_gpu", quantities.mebibytes, 0)
    names = resources.words("flavors", quantities.word)
    ask = RoleAsk(
        name=fields.take("name", quantities.word, "worker"),
        replicas=replicas,
        minimum=min(minimum, replicas),
        cards_m=cards_m,
        flavors=(),
        cpu_m=resources.take("cpu", quantities.millicores, 0),
        memory_mib=resources.take("memory", quantities.mebibytes, 0),
        vram_mib=vram if is_share(cards_m) else 0,
        in_gang=fields.take("gang", quantities.flag, default=True),
    )
    fields.ignore(*UNUSED_ROLE_KEYS)
    try:
        flavors = ask_flavors(cluster, names, queue, cards_m, vram)
    except WrongValueError as wrong:
        resources.problem("flavors", str(wrong))
        flavors = ()
    resources.close()
    return replace(ask, flavors=flavors)


def ask_flavors(cluster: Cluster, names: list[str], queue: int, cards_m: int, vram_mib: int) -> tuple[int, ...]:
    """Flavors that an ask accepts: none for CPU only; cards of too little VRAM drop out. Raises `WrongValueError` for unknown names."""
    if not cards_m:
        for name in names:
            cluster.resolve_flavor(name, cluster.pool_of(queue))
        return ()
    found = cluster.flavors_for(names, queue, cards_m)
    return tuple(i for i in found if not cluster.flavors[i].vram_mib or cluster.flavors[i].vram_mib >= vram_mib)


def cards_or_share(text: str) -> int:
    """Cards of one pod -> milli-cards: a whole number (of MIG: of instances), or a share of one card (SCH-13)."""
    cards_m = quantities.milli_cards(text)
    if cards_m > CARD and cards_m % CARD:
        raise WrongValueError(f"must be a whole number of cards or a share below 1, is {cut(text)}")
    return cards_m


def elastic_problems(minimum: int, replicas: int) -> list[str]:
    """What is wrong with a minimum, if anything."""
    if minimum > replicas:
        return [f"must be at most replicas ({replicas}), is {minimum}"]
    return []


def _nodes(fields: Fields, cluster: Cluster, role: RoleAsk) -> tuple[int, ...]:
    names = fields.words("nodes", quantities.word)
    unknown = [name for name in names if name not in cluster.node_index]
    for name in dict.fromkeys(unknown):
        fields.problem("nodes", f"unknown node {shown(name)}")
    if not role.minimum <= len(names) <= role.replicas:
        pods = str(role.replicas) if role.minimum == role.replicas else f"{role.minimum} to {role.replicas}"
        fields.problem("nodes", f"names {len(names)} nodes for {pods} pods; one entry a pod is needed")
    return tuple(cluster.node_index[name] for name in names if name not in unknown)
