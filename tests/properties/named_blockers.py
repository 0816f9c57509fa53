"""What a wait reason names, taken out of the way (SCH-21): by code, the change that the reason says would help."""

from dataclasses import replace
from typing import Any

from scheduling.engine.plan import Plan, Wait
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import NodeState, WaitCode
from tests.properties.drawn_clusters import Row
from tests.properties.drawn_scenes import Drawn
from tests.unit.engine.assembly import GIB, NOW_MS

QUOTA = frozenset({WaitCode.QUOTA_NOMINAL, WaitCode.QUOTA_BORROW_LIMIT})
BUSY = frozenset({WaitCode.CARDS_BUSY, WaitCode.CPU_BUSY, WaitCode.MEMORY_BUSY, WaitCode.FRAGMENTED})
HELD: dict[WaitCode, dict[str, Any]] = {
    WaitCode.SUSPENDED: {"hold": ""}, WaitCode.DEPENDENCY: {"hold": ""}, WaitCode.BUDGET: {"hold": ""}, WaitCode.NODE_LOST: {"hold": ""},
    WaitCode.NOT_BEFORE: {"eligible_in": -5}, WaitCode.BACKOFF: {"backoff_in": -5},
}  # fmt: skip


def row_of(scene: Drawn, call: str, name: Any) -> Row:
    return next(row for row in scene.rows if (row.call, row.args[0]) == (call, name))


def alone(scene: Drawn, job: Any) -> Drawn:
    """Without the other waiting jobs: they are ahead of it, named by its position."""
    return scene.without(set(scene.ids("pending")) - {job})


def unblocked(scene: Drawn, plan: Plan, wait: Wait) -> Drawn | None:
    """The scene without what the reason names, and without the jobs ahead; None where the reason names nothing one could remove."""
    rest = _without_detail(alone(scene, wait.job), wait)
    if wait.code in HELD:
        return rest.changed("pending", wait.job, **HELD[wait.code])
    if wait.code in {WaitCode.MAINTENANCE, WaitCode.CLUSTER_UNREACHABLE}:
        return _open_pools(rest)
    if wait.code in QUOTA and (wait.holders or wait.detail in {"watermark", "idle-penalty"}):
        return _without_quota_held(scene, rest, wait)
    if wait.code in BUSY:
        return rest.without({holder.job for holder in wait.holders} - {None})
    if wait.code == WaitCode.KEPT_FOR_PREEMPTED:
        return _left(scene, plan, wait)
    if wait.code == WaitCode.RESERVED:
        return _unreserved(rest)
    if wait.code == WaitCode.TOPOLOGY:
        return rest.changed("pending", wait.job, topology=("none", ""))
    return rest if wait.code == WaitCode.FAIR_SHARE else None


def _without_detail(scene: Drawn, wait: Wait) -> Drawn:
    """What the reason's detail names: closed nodes open, what idle cards keep beside them, idle cards of the past, a watermark."""
    if wait.detail == "nodes-closed":
        for node in scene.ids("node"):
            scene = scene.changed("node", node, state=NodeState.READY)
    if wait.detail == "beside-cards":
        for pool in scene.ids("pool"):
            scene = scene.changed("pool", pool, cpu_per_card_m=0, memory_per_card_mib=0)
    if wait.detail == "watermark":
        for pool in scene.ids("pool"):
            scene = scene.changed("pool", pool, samples_above=0, relieved_ms=-1)
    return replace(scene, weighed={}) if wait.detail == "idle-penalty" else scene


def _open_pools(scene: Drawn) -> Drawn:
    for pool in scene.ids("pool"):
        scene = scene.changed("pool", pool, maintenance=(), reachable=True, draining=False)
    return scene


def _without_quota_held(scene: Drawn, rest: Drawn, wait: Wait) -> Drawn:
    """Nothing runs in the queues named."""
    named = {f"{holder.tenant}/{holder.queue}" for holder in wait.holders}
    return rest.without({row.args[0] for row in scene.rows if row.call == "running" and row.args[1] in named})


def _left(scene: Drawn, plan: Plan, wait: Wait) -> Drawn:
    """Those who were told to leave, or to become smaller, have left; the job's place is kept as the plan says."""
    gone = {evict.job for evict in plan.evicts} | {move.job for move in plan.moves}
    gone |= {resize.job for resize in plan.resizes if resize.removed}
    gone |= {row.args[0] for row in scene.rows if row.call == "running" and "leaving_in" in row.fields}
    left = alone(scene, wait.job).without(gone)
    kept = [row for row in plan.reserves if row.job == wait.job]
    if kept:
        left = replace(left, rows=tuple(row for row in left.rows if row.call != "kept"))
        left = replace(
            left, rows=(*left.rows, *(Row("kept", ("place", wait.job, row.nodes, row.pods)) for row in kept))
        )
    return left


def _unreserved(scene: Drawn) -> Drawn:
    """No window, no fraction, and no place of anybody else."""
    scene = replace(scene, rows=tuple(row for row in scene.rows if row.call != "reserved"))
    for pool in scene.ids("pool"):
        scene = scene.changed("pool", pool, priority_share_ppm=0)
    return scene


def advised(scene: Drawn, wait: Wait) -> Drawn | None:
    """The scene in which the reason's suggestion was followed, without the jobs ahead; None where it asks for patience."""
    rest, row = alone(scene, wait.job), row_of(scene, "pending", wait.job)
    roles = row.fields["roles"]
    if wait.suggestion == "ask-quota":
        return _granted(rest, wait, row.args[1])
    if wait.suggestion == "relax-topology":
        return rest.changed("pending", wait.job, topology=("none", ""))
    if wait.suggestion == "declare-runtime":
        return rest_with_limit(scene, wait)
    if len(roles) > 1:
        return None
    if wait.suggestion == "other-flavor":
        names = [key.removeprefix("gpu:") for key in wait.hint]
        return rest.changed("pending", wait.job, roles=[replace(roles[0], flavors=names)])
    if wait.suggestion in {"fewer-cards", "smaller-pods"} and wait.hint.get("gpu"):
        return rest.changed("pending", wait.job, roles=[_smaller(roles[0], wait.hint["gpu"], wait.suggestion)])
    return None


def rest_with_limit(scene: Drawn, wait: Wait) -> Drawn:
    """The job declares a run time that ends before the first reserved place is taken; others stay where they are."""
    return scene.changed("pending", wait.job, limit=(wait.hint["before"] - NOW_MS) / 1000)


def _granted(scene: Drawn, wait: Wait, path: str) -> Drawn:
    """The queue's nominal is as much larger as the reason says is short."""
    fields = dict(row_of(scene, "queue", path).fields)
    nominal = dict(fields["nominal"])
    for key, amount in wait.hint.items():
        if key.startswith("gpu:"):
            nominal[key.removeprefix("gpu:")] = nominal.get(key.removeprefix("gpu:"), 0) + amount / CARD
        elif key in {"cpu", "memory_gib"}:
            name, unit = ("cpu", 1000) if key == "cpu" else ("memory", GIB)
            line = fields.get(name, 0)
            more = amount / unit
            fields[name] = (line[0] + more, *line[1:]) if isinstance(line, tuple) else line + more
    return scene.changed("queue", path, **{**fields, "nominal": nominal})


def _smaller(role: Any, cards_m: int, suggestion: str) -> Any:
    """As many pods as so many cards are, or one pod of as many cards."""
    each_m = round(role.gpu * CARD)
    if suggestion == "fewer-cards" and cards_m >= each_m and cards_m % each_m == 0:
        return replace(role, replicas=cards_m // each_m, minimum=None)
    return replace(role, replicas=1 if suggestion == "fewer-cards" else role.replicas, gpu=cards_m / CARD, minimum=None)
