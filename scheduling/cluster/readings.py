"""What the simulated cluster's API server says about its state: observations, heartbeats, card readings, log lines. PURE."""

from datetime import datetime, timedelta

from scheduling.cluster import names
from scheduling.cluster.port import CardUse, LogTail, NodeLease, NodeObservation, PodObservation, PodPhase
from scheduling.cluster.virtual import VirtualNode, VirtualPod

HEARTBEAT = timedelta(seconds=10)
BUSY_VRAM_PPM = 800_000


def observe_pod(pod: VirtualPod, node: VirtualNode | None, *, now: datetime) -> PodObservation:
    """The pod as listed at `now`; on a silent node it is as its kubelet last said."""
    silent = node.silent_since if node is not None else None
    return PodObservation(
        key=pod.key,
        uid=pod.uid,
        labels=pod.labels,
        node=pod.node,
        phase=pod.phase,
        created_at=pod.created_at,
        last_sign=pod.finished_at or (now if silent is None else max(silent, pod.created_at)),
        start_at=pod.start_at,
        finished_at=pod.finished_at,
        exit_code=pod.exit_code,
        reason=pod.reason,
        message=pod.message,
        deletion_at=None if pod.deletion_asked is None else pod.deletion_asked + (pod.deletion_grace or timedelta(0)),
    )


def observe_node(node: VirtualNode) -> NodeObservation:
    """The node as listed. A silent one still says what it said last: only its lease tells."""
    return NodeObservation(
        name=node.name,
        uid=node.uid,
        ready=node.ready,
        ready_since=node.ready_since,
        unschedulable=node.cordoned,
        labels=node.labels,
        resource_name=node.resource_name,
        card_count=node.card_count,
        unhealthy_cards=tuple(sorted(node.unhealthy_cards)),
        cpu_millicores=node.cpu_millicores,
        memory_mib=node.memory_mib,
        max_pods=node.max_pods,
    )


def heartbeat(node: VirtualNode, *, wall: datetime) -> NodeLease:
    """The node's lease: renewed every ten wall seconds, or stopped where the node fell silent."""
    at = node.silent_since_wall or wall
    seconds = int(HEARTBEAT.total_seconds())
    return NodeLease(node.name, at.replace(second=at.second - at.second % seconds, microsecond=0))


def read_cards(pod: VirtualPod, node: VirtualNode | None, *, now: datetime) -> CardUse | None:
    """What a running pod's cards report, or None when nothing does: no cards, not running, node silent, no such label."""
    reports = names.SIM_UTILISATION in pod.labels
    if node is None or node.silent_since is not None or not pod.cards or not pod.live or not reports:
        return None
    vram = node.vram_mib * BUSY_VRAM_PPM // 1_000_000
    return CardUse(pod.key, pod.uid, pod.node, now, pod.utilisation_ppm, vram)


def tell_log(pod: VirtualPod, *, tail_lines: int) -> LogTail:
    """The few lines a simulated pod would have written."""
    lines = [f"{pod.created_at:%Y-%m-%dT%H:%M:%SZ} simulated pod {pod.key.name} on {pod.node}"]
    if pod.start_at is not None:
        cards = ", ".join(str(card) for card in pod.cards) or "none"
        lines.append(f"{pod.start_at:%Y-%m-%dT%H:%M:%SZ} started, cards: {cards}")
    if pod.deletion_asked is not None:
        lines.append(f"{pod.deletion_asked:%Y-%m-%dT%H:%M:%SZ} asked to stop")
    if pod.finished_at is not None:
        text = f" {pod.message}" if pod.message else ""
        lines.append(f"{pod.finished_at:%Y-%m-%dT%H:%M:%SZ} ended, exit code {pod.exit_code}{text}")
    elif pod.phase is PodPhase.FAILED:
        lines.append(f"refused by its node: {pod.reason}: {pod.message}")
    return LogTail("\n".join(lines[-tail_lines:]), available=True, truncated=len(lines) > tail_lines)
