"""Snapshots at random, wide: all that a snapshot can carry. Drawn of one number, so that ten thousand take a minute."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import ONE_PPM
from tests.properties.drawn_clusters import Card, Ground, Kind, Row, Spot, draw_ground
from tests.unit.engine.builders import Role, World

TIERS = ("production", "development", "development", "batch")
AGES = (30, 300, 3000, 20_000, 100_000)


@dataclass(frozen=True)
class Drawn:
    """A scene: rows of a `World`, and what idle cards and past use made of the weights (SCH-06), by tree node."""

    rows: tuple[Row, ...]
    weighed: dict[str, tuple[int, int]]

    def world(self, shuffle: Callable[[list[Row]], None] | None = None) -> World:
        """`shuffle` reorders the rows in place; rows of one kind only, since a queue needs no tenant above it."""
        rows = list(self.rows)
        if shuffle is not None:
            shuffle(rows)
        world = World()
        for row in rows:
            getattr(world, row.call)(*row.args, **_copied(row.fields))
        return world

    def snapshot(self, shuffle: Callable[[list[Row]], None] | None = None) -> Snapshot:
        found = self.world(shuffle).snapshot()
        tree = tuple(
            replace(node, effective_weight_ppm=node.weight_ppm * part // ONE_PPM, borrow_scale_ppm=scale)
            for node in found.tree
            for part, scale in (self.weighed.get(str(node.id), (ONE_PPM, ONE_PPM)),)
        )
        return replace(found, tree=tree)

    def without(self, jobs: Collection[Any]) -> "Drawn":
        """As if these jobs, running or waiting, had never been: with their loans, and the places kept for them."""
        rows = tuple(row for row in self.rows if _job_of(row) not in jobs)
        return replace(self, rows=rows)

    def ids(self, call: str) -> tuple[Any, ...]:
        """Of `running` or `pending` jobs."""
        return tuple(row.args[0] for row in self.rows if row.call == call)

    def changed(self, call: str, name: Any, **fields: Any) -> "Drawn":
        """With other fields in one row."""
        return replace(
            self,
            rows=tuple(
                replace(row, fields={**row.fields, **fields}) if (row.call, row.args[0]) == (call, name) else row
                for row in self.rows
            ),
        )


def _copied(fields: dict[str, Any]) -> dict[str, Any]:
    """The builder fills roles in: every world gets its own."""
    if "roles" not in fields:
        return fields
    return {**fields, "roles": [replace(role) for role in fields["roles"]]}


def _job_of(row: Row) -> Any:
    place = {"pending": 0, "running": 0, "loan": 1, "kept": 1}.get(row.call)
    return None if place is None else row.args[place]


def draw_scene(seed: int) -> Drawn:
    """The scene of a number."""
    random = Random(seed)
    ground = draw_ground(random)
    rows = ground.rows
    for index in range(random.choice((0, 3, 6, 9, 12))):
        _draw_running(random, ground, f"r{index:02d}")
    for index in range(random.randint(1, 8)):
        rows.append(_pending(random, ground, f"j{index:02d}"))
    paths = list(ground.queues)
    for index in range(random.choice((0, 0, 0, 1, 2))):
        rows.append(_reserved(random, ground, f"s{index}"))
    for index in range(random.choice((0, 0, 0, 1, 2))):
        names = random.sample([spot.name for spot in ground.spots] or ["n0"], 1)
        rows.append(Row("kept", (f"k{index}", f"j{random.randint(0, 8):02d}", names)))
    for _ in range(random.choice((0, 0, 1, 2))):
        pair = [path.split("/")[0] for path in random.sample(paths, min(2, len(paths)))]
        if all(f"{name}/main" in ground.queues for name in pair):
            rows.append(Row("evicted", (pair[0], pair[-1], "gone"), {"ago": random.choice((60, 500, 5000))}))
    return Drawn(tuple(rows), _weighed(random, rows))


def _weighed(random: Random, rows: list[Row]) -> dict[str, tuple[int, int]]:
    names = [row.args[0] for row in rows if row.call in {"tenant", "queue", "cohort"}]
    return {
        name: (random.choice((700_000, 850_000, ONE_PPM)), random.choice((ONE_PPM, ONE_PPM, 500_000)))
        for name in names
        if random.random() < 0.25
    }


def _reserved(random: Random, ground: Ground, name: str) -> Row:
    kind = random.choice(ground.kinds)
    paths = [path for path, pool in ground.queues.items() if pool == kind.pool]
    whole = [spot.name for spot in ground.spots if spot.flavor == kind.name]
    place: dict[str, Any] = {"gpu": random.randint(1, 6), "flavor": kind.name}
    if whole and random.random() < 0.3:
        place = {"nodes": whole[:1]}
    return Row("reserved", (name,), {
        "queue": random.choice(paths) if paths and random.random() < 0.8 else "", "tier": random.choice(("", "", "production", "development")),
        "kind": random.choice(("manual", "forecast")), "ago": random.choice((-60, 60, 1000)), **place,
    })  # fmt: skip


def _job(random: Random) -> dict[str, Any]:
    return {
        "tier": random.choice(TIERS), "priority": random.choice((100, 500, 500, 950)), "submitted": random.choice(AGES) + random.randint(0, 20),
        "limit": random.choice((None, None, 300, 5000, 250_000)), "attained": random.choice((0, 0, 1, 50)),
    }  # fmt: skip


def _size(random: Random, kinds: list[Kind]) -> tuple[float, int]:
    """(cards a pod, VRAM cap of a share), as the first flavor hands them out."""
    kind = kinds[0]
    if kind.per_card > 1:
        return random.randint(1, 3), 0
    shares = kind.mode == "shared" or (kind.mode == "any" and random.random() < 0.25)
    if shares:
        return random.choice((0.2, 0.5, 0.5, 0.7)), random.choice((0, 0, 10)) if kind.vram else 0
    return random.choice((1, 1, 2, 4)), 0


def _role(random: Random, ground: Ground, kinds: list[Kind]) -> Role:
    gpu, vram = _size(random, kinds)
    one_rank = kinds[0].per_card > 1
    role = Role(
        replicas=1 if one_rank else random.choice((1, 1, 1, 2, 3)), gpu=gpu, vram=vram, flavors=[kind.name for kind in kinds],
        **_beside(random, ground),
    )  # fmt: skip
    if gpu >= 1 and role.replicas > 1 and random.random() < 0.4:
        role.minimum = 1
    return role


def _beside(random: Random, ground: Ground) -> dict[str, Any]:
    if not ground.with_cpu:
        return {}
    return {"cpu": random.choice((0, 1, 4)), "memory": random.choice((0, 4, 16))}


def _roles(random: Random, ground: Ground, pool: str) -> list[Role]:
    """One role; or a CPU-only one; or two, of which the second may be outside the gang."""
    kinds = [kind for kind in ground.kinds if kind.pool == pool]
    random.shuffle(kinds)
    alike = [kind for kind in kinds if kind.per_card == kinds[0].per_card]
    if ground.with_cpu and random.random() < 0.15:
        return [Role(replicas=random.choice((1, 2)), cpu=random.choice((1, 4, 8)), memory=random.choice((0, 8)))]
    roles = [_role(random, ground, alike[: random.choice((1, 2))])]
    if random.random() < 0.15:
        second = _role(random, ground, alike[:1])
        second.name, second.in_gang, second.minimum = "second", random.random() < 0.4, None
        roles.append(second)
    return roles


def _pending(random: Random, ground: Ground, name: str) -> Row:
    path = random.choice([*ground.queues] * 30 + ["nobody/main"])
    levels = (*ground.levels, "host")
    fields = _job(random) | {
        "roles": _roles(random, ground, ground.queues.get(path, "main")),
        "topology": random.choice((("none", ""),) * 5 + (("preferred", random.choice(levels)), ("required", random.choice(levels)))),
        "step": random.choice((0, 1, 2)),
    }  # fmt: skip
    if random.random() < 0.04:
        fields["hold"] = random.choice(("suspended", "dependency", "budget", "node-lost"))
    if random.random() < 0.04:
        fields["eligible_in"] = random.choice((-5, 500))
    if random.random() < 0.04:
        fields["backoff_in"] = random.choice((-5, 500))
    return Row("pending", (name, path), fields)


def _draw_running(random: Random, ground: Ground, name: str) -> None:
    """A job on cards that are free, if there are such: own, borrowing in part, or of a split that nobody knows."""
    path = random.choice([*ground.queues] * 12 + ["nobody/main"])
    tenant, pool = path.split("/")[0], ground.queues.get(path, "main")
    roles = _roles(random, ground, pool)
    if not all(_seat(random, ground, role, tenant, pool, gang=role.in_gang) for role in roles):
        return
    cards = int(sum(role.gpu * len(role.nodes) for role in roles))
    fields = _job(random) | {"roles": roles, "started": random.choice(AGES), "step": random.choice((0, 1, 2))}
    if random.random() < 0.12:
        fields["leaving_in"] = random.choice((20, 200))
    if random.random() < 0.4:
        fields["checkpoint"] = random.randint(10, 1000)
    if random.random() < 0.2:
        fields["resized"] = random.choice((60, 6000))
    if random.random() < 0.2:
        fields["wanted"] = random.randint(1, 3)
    ground.rows.append(Row("running", (name, path), fields))
    if path in ground.queues and random.random() < 0.7:
        _draw_loan(random, ground, name, fields, cards)


def _draw_loan(random: Random, ground: Ground, name: str, fields: dict[str, Any], cards: int) -> None:
    """The split is known; of one role of whole cards some may be borrowed, and a loan says so."""
    (role, *others) = fields["roles"]
    whole = not others and role.gpu >= 1 and len(role.nodes) == role.replicas
    fields["borrowed"] = borrowed = random.choice((0, 1, cards)) if whole else 0
    if borrowed and fields["tier"] != "production":
        expires = fields["loan_expires_in"] = random.choice((-60, 600, 9000))
        sides = {random.choice(list(ground.queues)).split("/")[0]: borrowed}
        ground.rows.append(
            Row("loan", (f"loan-{name}", name, borrowed), {"expires_in": expires, "flavor": role.flavors[0], "sides": sides})
        )  # fmt: skip
    else:
        fields["borrowed"] = 0


def _seat(random: Random, ground: Ground, role: Role, tenant: str, pool: str, *, gang: bool) -> bool:
    """Put the role's pods on nodes of one flavor. A role outside the gang may have none yet."""
    if not gang and random.random() < 0.5:
        role.nodes = ()
        return True
    for flavor in role.flavors or [""]:
        wanted = role.replicas if role.minimum is None else random.randint(role.minimum, role.replicas)
        spots = [spot for spot in ground.spots if spot.pool == pool and flavor in ("", spot.flavor)]
        at = [found for _ in range(wanted) if (found := _sit(role, tenant, spots, flavor, ground.kinds)) is not None]
        if at and wanted == len(at):
            role.nodes, role.cards = [name for name, _ in at], [cards for _, cards in at] if role.gpu else ()
            role.flavors = [flavor, *(each for each in role.flavors if each != flavor)] if flavor else ()
            return True
    return False


def _sit(
    role: Role, tenant: str, spots: list[Spot], flavor: str, kinds: list[Kind]
) -> tuple[str, tuple[int, ...]] | None:
    """The first node with room for a pod, which takes it. Room that a gang took in vain stays empty."""
    kind = next((each for each in kinds if each.name == flavor), None)
    for spot in spots:
        cards = _cards(spot, role, tenant, kind)
        if spot.cpu >= role.cpu and spot.memory >= role.memory and cards is not None:
            spot.cpu, spot.memory = spot.cpu - int(role.cpu), spot.memory - int(role.memory)
            return spot.name, cards
    return None


def _cards(spot: Spot, role: Role, tenant: str, kind: Kind | None) -> tuple[int, ...] | None:
    """Cards of the node for one pod, marked as taken; None where it has too few."""
    if kind is None:
        return ()
    if kind.per_card > 1:
        free = [index for index, card in spot.cards.items() for _ in range(kind.per_card - card.instances)]
    elif role.gpu < 1:
        free = [index for index, card in spot.cards.items() if _shares(card, role, tenant, kind)]
    else:
        free = [index for index, card in spot.cards.items() if card.unused]
    count = max(1, int(role.gpu))
    if len(free) < count:
        return None
    for index in free[:count]:
        card = spot.cards[index]
        if kind.per_card > 1:
            card.instances += 1
        elif role.gpu < 1:
            card.tenant, card.shares_m = tenant, card.shares_m + round(role.gpu * 1000)
            card.vram += _cap(role, kind)
        else:
            card.whole = True
    return tuple(free[:count])


def _cap(role: Role, kind: Kind) -> int:
    """MiB of VRAM that a share holds."""
    return int(role.vram * 1024) or round(role.gpu * 1000) * kind.vram * 1024 // 1000


def _shares(card: Card, role: Role, tenant: str, kind: Kind) -> bool:
    if card.whole or (card.shares_m and card.tenant != tenant):
        return False
    fits = card.shares_m + round(role.gpu * 1000) <= 1000
    return fits and (not kind.vram or card.vram + _cap(role, kind) <= kind.vram * 1024)
