"""What a virtual node's kubelet does to a pod: admit or refuse it, end its work, let it leave. PURE."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from scheduling.cluster import names
from scheduling.cluster.port import PodPhase
from scheduling.cluster.virtual import WHOLE_CARD_M, VirtualNode, VirtualPod

EXIT_SIGKILL = 137
EXIT_SIGTERM = 143
GPU_OOM_MESSAGE = "torch.OutOfMemoryError: CUDA out of memory."

_ENDS = {
    "succeeded": (PodPhase.SUCCEEDED, 0, "Completed", ""),
    "failed": (PodPhase.FAILED, 1, "Error", "simulated failure"),
    "oom": (PodPhase.FAILED, EXIT_SIGKILL, "OOMKilled", ""),
    "gpu-oom": (PodPhase.FAILED, 1, "Error", GPU_OOM_MESSAGE),
}
OUTCOMES = frozenset(_ENDS)


def admit(pod: VirtualPod, node: VirtualNode, present: Sequence[VirtualPod], *, at: datetime) -> VirtualPod:
    """Start `pod` on `node` beside the running pods `present`, or fail it as a kubelet does (`OutOf…`), never over-allocating."""
    used_m = Counter[int]()
    for other in present:
        for index in other.cards:
            used_m[index] += other.card_share_m
    healthy = [index for index in range(node.card_count) if index not in node.unhealthy_cards]
    each_m = WHOLE_CARD_M * node.per_card
    free = [index for index in healthy for _ in range(max(0, each_m - used_m[index]) // pod.card_share_m)]
    asks = (
        ("pods", 1, len(present), node.max_pods),
        ("cpu", pod.cpu_millicores, sum(other.cpu_millicores for other in present), node.cpu_millicores),
        ("memory", pod.memory_mib, sum(other.memory_mib for other in present), node.memory_mib),
    )
    for resource, asked, used, capacity in asks:
        if asked + used > capacity:
            return _refused(pod, resource, asked, used, capacity)
    if pod.card_count > len(free):
        used = sum(len(other.cards) for other in present)
        return _refused(pod, node.resource_name, pod.card_count, used, len(healthy) * node.per_card)
    return replace(pod, phase=PodPhase.RUNNING, start_at=at, start_due=None, cards=_choose(pod, free))


def end_of_work(pod: VirtualPod, *, at: datetime) -> VirtualPod:
    """The pod's own end, by its outcome. One that was being deleted anyway is removed with it, unless it is stuck."""
    phase, exit_code, reason, message = _ENDS[pod.outcome]
    removed = pod.deletion_asked is not None and pod.stop_delay is not None
    return replace(
        pod,
        phase=phase,
        exit_code=exit_code,
        reason=reason,
        message=message,
        finished_at=at,
        removed=removed,
        stop_at=None,
    )


def leave(pod: VirtualPod, *, at: datetime) -> VirtualPod:
    """The end of a stop: by the pod itself on SIGTERM, or killed when its grace ran out. Its object goes with it."""
    by_itself = pod.stop_delay is not None and pod.stop_delay < (pod.deletion_grace or timedelta(0))
    return replace(
        pod,
        phase=PodPhase.FAILED,
        exit_code=EXIT_SIGTERM if by_itself else EXIT_SIGKILL,
        reason="Error",
        finished_at=at,
        removed=True,
        stop_at=None,
    )


def _refused(pod: VirtualPod, resource: str, asked: int, used: int, capacity: int) -> VirtualPod:
    return replace(
        pod,
        phase=PodPhase.FAILED,
        start_due=None,
        reason=f"OutOf{resource}",
        message=(
            f"Node didn't have enough resource: {resource}, requested: {asked}, used: {used}, capacity: {capacity}"
        ),
    )


def _choose(pod: VirtualPod, free: Sequence[int]) -> tuple[int, ...]:
    """The slots the plan named where they are free, else the lowest free ones, as a device plugin may choose."""
    wanted = tuple(int(part) for part in pod.annotations.get(names.CARDS, "").split(",") if part.isdigit())
    if len(wanted) == pod.card_count and Counter(wanted) <= Counter(free):
        return wanted
    return tuple(free[: pod.card_count])
