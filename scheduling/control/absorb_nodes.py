"""What observed nodes lead to: lost ones fence and requeue their runs, bad cards stop theirs, those that return wait until clean.

"Lost" is bounded: at most a share of a cluster's nodes per minute of wall time, since many at once are our own network (F27).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from berth.common import clock
from scheduling.control.adopting import adopt_nodes
from scheduling.control.ending import RunEnd, end_run
from scheduling.control.observed import SeenNode
from scheduling.models import Card, Lease, Node, Pod, Run
from scheduling.services.supply import record_nodes
from scheduling.services.telling import tell_card_failed, tell_node_lost
from scheduling.states import EndReason, RunState
from scheduling.transitions import CANCEL_GRACE, Cause, begin_stops
from tenants.models import Cluster

LOSS_WINDOW_WALL = timedelta(seconds=60)
LOSS_SHARE_PERCENT = 30
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)


@dataclass(slots=True)
class NodeOutcome:
    """Names of nodes lost now, runs ended and stopped, and observations to look at again (over the limit, or not clean yet)."""

    lost: list[str] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    postponed: set[int] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    """Ids of nodes whose state, cards or cordon are not what they were."""


def absorb_nodes(
    cluster: Cluster, observations: Sequence[tuple[int, SeenNode]], *, now: datetime, epoch: int
) -> NodeOutcome:
    """Take in (observation id, node) pairs, oldest first; only the latest word on each node counts."""
    outcome = NodeOutcome()
    latest = {seen.name: (pk, seen) for pk, seen in observations}
    if not latest:
        return outcome
    outcome.changed |= adopt_nodes(cluster, [seen for _pk, seen in latest.values() if seen.shape is not None], now=now)
    nodes = {node.name: node for node in Node.objects.filter(cluster=cluster, name__in=latest).order_by("pk")}
    room = _room_for_losses(cluster, now)
    for name in sorted(nodes):
        pk, seen = latest[name]
        node = nodes[name]
        if seen.lost and node.state != Node.State.LOST:
            if room <= 0:
                outcome.postponed.add(pk)
                continue
            room -= 1
            _lose(node, seen, outcome, now=now, epoch=epoch)
        elif not seen.lost:
            _update(node, seen, outcome, now=now, epoch=epoch)
    if outcome.changed:
        record_nodes(outcome.changed, at=now)
    return outcome


def _room_for_losses(cluster: Cluster, now: datetime) -> int:
    """How many more nodes may be taken for lost now: max(1, 30 %) of the cluster per 60 s of wall time."""
    total = Node.objects.filter(cluster=cluster).count()
    since = now - LOSS_WINDOW_WALL * clock.scale()
    recent = Node.objects.filter(cluster=cluster, state=Node.State.LOST, lost_at__gt=since).count()
    return max(1, total * LOSS_SHARE_PERCENT // 100) - recent


def _lose(node: Node, seen: SeenNode, outcome: NodeOutcome, *, now: datetime, epoch: int) -> None:
    """Its runs end at the node's last sign of life and go back to their places; pods elsewhere keep their cards until gone."""
    last_sign = min(seen.last_sign_at or node.last_sign_at or now, now)
    Node.objects.filter(pk=node.pk).update(state=Node.State.LOST, lost_at=now, last_sign_at=last_sign)
    outcome.lost.append(node.name)
    outcome.changed.add(node.pk)
    runs = Run.objects.filter(leases__node=node, leases__closed_at__isnull=True).exclude(state=RunState.ENDED.value)
    cause = Cause(reason=EndReason.NODE_LOST.value, at=now, message=f"{node.name}: {seen.lost}", epoch=epoch)
    ended: list[int] = []
    for run in runs.order_by("job_id").distinct():
        left = Pod.objects.filter(run=run, phase__in=OPEN_PHASES).exclude(node__state=Node.State.LOST)
        still_there = frozenset(left.values_list("pk", flat=True))
        end = RunEnd(run.pk, EndReason.NODE_LOST, cause.message, last_sign=last_sign, still_there=still_there)
        if end_run(end, now=now, cause=cause):
            ended.append(run.pk)
    tell_node_lost(ended, node=node.name)
    outcome.ended += ended


def _update(node: Node, seen: SeenNode, outcome: NodeOutcome, *, now: datetime, epoch: int) -> None:
    """A node that shows life. One that was lost comes back when no fenced pod of ours is left on it (F25)."""
    state = Node.State.READY if seen.ready else Node.State.NOT_READY
    changes: dict[str, object] = {"uid": seen.uid, "cordoned": seen.cordoned, "last_sign_at": now}
    if node.state == Node.State.LOST and _is_unclean(node):
        return
    if node.state != state:
        changes |= {"state": state, "ready_since": now if state == Node.State.READY else node.ready_since}
    if node.state != state or node.cordoned != seen.cordoned:
        outcome.changed.add(node.pk)
    Node.objects.filter(pk=node.pk).update(**changes)
    _update_cards(node, frozenset(seen.bad_cards), outcome, now=now, epoch=epoch)


def _is_unclean(node: Node) -> bool:
    return Pod.objects.filter(node=node, run__fenced=True, phase__in=OPEN_PHASES).exists()


def _update_cards(node: Node, bad: frozenset[int], outcome: NodeOutcome, *, now: datetime, epoch: int) -> None:
    """A bad card takes itself out and stops who holds it; the rest of the node goes on."""
    back = Card.objects.filter(node=node, health=Card.Health.FAILED).exclude(index__in=bad)
    if back.update(health=Card.Health.OK, failed_at=None):
        outcome.changed.add(node.pk)
    failed = list(Card.objects.filter(node=node, index__in=bad, health=Card.Health.OK))
    if not failed:
        return
    outcome.changed.add(node.pk)
    Card.objects.filter(pk__in=[card.pk for card in failed]).update(health=Card.Health.FAILED, failed_at=now)
    runs = Lease.objects.filter(card__in=failed, closed_at__isnull=True).values_list("run_id", flat=True)
    names = ", ".join(f"{node.name}/{card.index}" for card in failed)
    cause = Cause(reason=EndReason.CARD_FAILED.value, at=now, message=names, epoch=epoch)
    stopped = begin_stops(sorted(set(runs)), stop_reason=EndReason.CARD_FAILED, grace=CANCEL_GRACE, cause=cause)
    tell_card_failed(stopped, cards=names)
    outcome.stopped += stopped
