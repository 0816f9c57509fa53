"""What the simulated cluster's API server says about its state: observations, heartbeats, card readings, log lines. PURE."""

from datetime import datetime, timedelta

from scheduling.cluster import names
from scheduling.cluster.port import CardUse, LogTail, NodeLease, NodeObservation, PodObservation, PodPhase
from scheduling.cluster.virtual import WHOLE_CARD_M, VirtualNode, VirtualPod

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
        proof=pod.annotations.get(names.RUN_PROOF, ""),
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
        allocatable_cards=node.card_count - len(node.unhealthy_cards),
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
    vram = node.vram_mib * pod.card_share_m // WHOLE_CARD_M * BUSY_VRAM_PPM // 1_000_000
    return CardUse(pod.key, pod.uid, pod.node, now, pod.utilisation_ppm, vram)


def tell_log(pod: VirtualPod, *, tail_lines: int, most_bytes: int) -> LogTail:
    """What happened to a simulated pod, line by line, and that nothing more is to be expected: no program runs in it."""
    what = "no program runs in this simulated pod, these lines are its events"
    lines = [f"{_stamp(pod.created_at)} pod {pod.key.name} created on {pod.node}; {what}"]
    if pod.start_at is not None:
        cards = ", ".join(str(card) for card in pod.cards) or "none"
        lines.append(f"{_stamp(pod.start_at)} started, cards: {cards}")
    if pod.deletion_asked is not None:
        grace = int((pod.deletion_grace or timedelta(0)).total_seconds())
        lines.append(f"{_stamp(pod.deletion_asked)} asked to stop within {grace} s")
    if pod.finished_at is not None:
        text = f": {pod.message}" if pod.message else ""
        lines.append(f"{_stamp(pod.finished_at)} ended, exit code {pod.exit_code}{text}")
    elif pod.phase is PodPhase.FAILED:
        lines.append(f"refused by its node: {pod.reason}: {pod.message}")
    text = "\n".join(lines[-tail_lines:]) + "\n"
    cut = text.encode()[-most_bytes:].decode(errors="ignore")
    return LogTail(cut, available=True, truncated=len(lines) > tail_lines or cut != text)


def _stamp(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
