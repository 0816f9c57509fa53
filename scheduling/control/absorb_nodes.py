"""What observed nodes lead to: lost ones fence and requeue their runs, bad cards stop theirs, those that return wait until clean.

"Lost" is bounded: at most a share of a cluster's nodes per minute of wall time, since many at once are our own network (F27).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Q

from berth.common import clock
from scheduling.control.absorb_cards import absorb_cards
from scheduling.control.adopting import adopt_nodes
from scheduling.control.ending import RunEnd, end_runs
from scheduling.control.flapping import gone_at, quarantine_of
from scheduling.control.loose_pods import drop_loose_pods
from scheduling.control.observed import SeenNode
from scheduling.engine.data_near import data_labels
from scheduling.models import Node, Pod, Run
from scheduling.services.supply import record_nodes
from scheduling.services.telling import tell_node_lost
from scheduling.states import EndReason, RunState
from scheduling.transitions import Cause
from tenants.models import Cluster

LOSS_WINDOW_WALL = timedelta(seconds=60)
LOSS_SHARE_PERCENT = 30
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)


@dataclass(slots=True)
class NodeOutcome:
    """Names of nodes lost now and of those over the limit, runs ended and stopped."""

    lost: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    changed: set[int] = field(default_factory=set)
    """Ids of nodes whose state, cards or cordon are not what they were."""


def absorb_nodes(cluster: Cluster, observations: Sequence[SeenNode], *, now: datetime, epoch: int) -> NodeOutcome:
    """Take in observations of nodes, oldest first; only the latest word on each counts.

    Nodes over the limit start nothing new and keep what they run. They are told of again while they show no life (F27).
    """
    outcome = NodeOutcome()
    latest = {seen.name: seen for seen in observations}
    if not latest:
        return outcome
    outcome.changed |= adopt_nodes(cluster, [seen for seen in latest.values() if seen.shape is not None], now=now)
    nodes = {node.name: node for node in Node.objects.filter(cluster=cluster, name__in=latest).order_by("pk")}
    room = _room_for_losses(cluster, now)
    for name in sorted(nodes):
        seen, node = latest[name], nodes[name]
        if not seen.lost:
            _update(node, seen, outcome, now=now, epoch=epoch)
        elif node.state != Node.State.LOST and room > 0:
            room -= 1
            _lose(node, seen, outcome, now=now, epoch=epoch)
        elif node.state != Node.State.LOST:
            outcome.held.append(name)
            _update(node, seen, outcome, now=now, epoch=epoch)
    if outcome.changed:
        record_nodes(outcome.changed, at=now)
    return outcome


def _room_for_losses(cluster: Cluster, now: datetime) -> int:
    """How many more nodes may be taken for lost now: max(1, 30 %) of the cluster per 60 s of wall time, those that returned counted."""
    total = Node.objects.filter(cluster=cluster).count()
    since = now - LOSS_WINDOW_WALL * clock.scale()
    recent = Node.objects.filter(cluster=cluster, lost_at__gt=since).count()
    return max(1, total * LOSS_SHARE_PERCENT // 100) - recent


def _lose(node: Node, seen: SeenNode, outcome: NodeOutcome, *, now: datetime, epoch: int) -> None:
    """Its runs end at the node's last sign of life and go back to their places; pods elsewhere keep their cards until gone."""
    last_sign = min(seen.last_sign_at or node.last_sign_at or now, now)
    went = gone_at(node, now) if node.state == Node.State.READY else {}
    Node.objects.filter(pk=node.pk).update(state=Node.State.LOST, lost_at=now, last_sign_at=last_sign, **went)
    outcome.lost.append(node.name)
    outcome.changed.add(node.pk)
    drop_loose_pods(node, last_sign=last_sign, now=now)
    runs = Run.objects.filter(leases__node=node, leases__closed_at__isnull=True).exclude(state=RunState.ENDED.value)
    cause = Cause(reason=EndReason.NODE_LOST.value, at=now, message=f"{node.name}: {seen.lost}", epoch=epoch)
    ends: list[tuple[RunEnd, Cause]] = []
    for run in runs.order_by("job_id").distinct():
        left = Pod.objects.filter(run=run, phase__in=OPEN_PHASES).exclude(uid="").exclude(node__state=Node.State.LOST)
        still_there = frozenset(left.values_list("pk", flat=True))
        end = RunEnd(run.pk, EndReason.NODE_LOST, cause.message, last_sign=last_sign, still_there=still_there)
        ends.append((end, cause))
    ended = end_runs(ends, now=now)
    tell_node_lost(ended, node=node.name)
    outcome.ended += ended


def _update(node: Node, seen: SeenNode, outcome: NodeOutcome, *, now: datetime, epoch: int) -> None:
    """A node that is not lost. One that was comes back when no fenced or released pod of ours is left on it (F25)."""
    state = Node.State.READY if seen.ready else Node.State.NOT_READY
    if node.state == Node.State.LOST and _is_unclean(node):
        return
    sign = now if seen.ready else min(seen.last_sign_at or now, now)
    changes: dict[str, object] = {"uid": seen.uid, "barred_by": seen.barred_by[:200], "last_sign_at": sign}
    changes["cordoned"] = seen.cordoned
    if seen.caches is not None:
        others = {key: value for key, value in node.labels.items() if key not in data_labels(node.labels)}
        changes["labels"] = others | dict(seen.caches)
    if node.cordoned and not seen.cordoned:
        changes["draining"] = False
    if node.state != state:
        changes["state"] = state
        if state == Node.State.READY:
            changes |= {"ready_since": now, **quarantine_of(node, now)}
        elif node.state == Node.State.READY:
            changes |= gone_at(node, now)
    if node.state != state or node.cordoned != seen.cordoned:
        outcome.changed.add(node.pk)
    Node.objects.filter(pk=node.pk).update(**changes)
    if not seen.lost:
        cards_changed, stopped = absorb_cards(node, seen, now=now, epoch=epoch)
        outcome.changed |= {node.pk} if cards_changed else set()
        outcome.stopped += stopped


def _is_unclean(node: Node) -> bool:
    """Pods that were never made are none: only what has a uid can still be there."""
    left = Q(run__fenced=True) | Q(released_at__isnull=False)
    return Pod.objects.filter(left, node=node, phase__in=OPEN_PHASES).exclude(uid="").exists()
