"""What a run's pods say about the run. No database, no clock: the pods' facts in, one verdict out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from scheduling.states import EndReason, RunState

GPU_OOM_MARKS = ("CUDA out of memory", "CUDA error: out of memory", "OutOfMemoryError", "NPU out of memory")
IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
DELETED = "Deleted"
"""Our own word for a pod that somebody else removed while it ran."""
ENDED_BY_SIGNAL = (137, 143)
"""Exit codes of SIGKILL and SIGTERM."""
_REASONS = {
    "OOMKilled": EndReason.OOM,
    DELETED: EndReason.PLATFORM_FAULT,
    "Evicted": EndReason.EVICTED,
    "DeadlineExceeded": EndReason.TIMEOUT,
    **dict.fromkeys(IMAGE_REASONS, EndReason.IMAGE_PULL),
}
NOT_RUNNING = frozenset({"planned", "pending"})
"""A pod has a start, and is charged from it, while its image is still being pulled; it does not run yet."""
ADMISSION_REASONS = ("OutOf", "UnexpectedAdmissionError", "NodeAffinity", "NodeShutdown", "Terminated")


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is known of one pod. `gone` means its object is there no more; `released`: the run goes on without it (SCH-10)."""

    name: str
    in_gang: bool
    phase: str
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    gone: bool = False
    released: bool = False

    @property
    def ended(self) -> bool:
        return self.gone or self.phase in ("succeeded", "failed")


class VerdictKind(StrEnum):
    """`KEEP`: nothing new. `RUNS`: the gang is whole. `STOP`: take the rest down. `END`: no pod is left that holds anything."""

    KEEP = "keep"
    RUNS = "runs"
    STOP = "stop"
    END = "end"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict, the end reason it leads to, and the pod that decided it."""

    kind: VerdictKind
    reason: EndReason | None = None
    message: str = ""
    exit_code: int | None = None
    at: datetime | None = None


def judge(state: RunState, stop_reason: str, pods: Sequence[PodFacts]) -> Verdict:
    """What to do with a run whose pods are `pods`. A stop that was asked for is not undone, except that work which finished by
    itself inside its grace has succeeded (F32)."""
    gang = [pod for pod in pods if pod.in_gang and not pod.released]
    failed = sorted((pod for pod in gang if pod.ended and pod.phase != "succeeded"), key=_end_order)
    if state is RunState.STOPPING:
        return _judge_stopping(stop_reason, pods, gang)
    if failed:
        return _end_or_stop(pods, classify(failed[0]), failed[0])
    if gang and all(pod.phase == "succeeded" for pod in gang):
        return _end_or_stop(pods, EndReason.SUCCEEDED, max(gang, key=_end_order))
    started = [pod.started_at for pod in gang if pod.started_at is not None and pod.phase not in NOT_RUNNING]
    whole = bool(gang) and len(started) == len(gang)
    if whole and state in (RunState.ADMITTED, RunState.STARTING):
        return Verdict(VerdictKind.RUNS, at=max(started))
    return Verdict(VerdictKind.KEEP)


def classify(pod: PodFacts) -> EndReason:
    """The end reason of a pod that ended badly or is gone without an end (docs/reasons.md)."""
    if any(mark in pod.message for mark in GPU_OOM_MARKS):
        return EndReason.GPU_OOM
    if pod.reason in _REASONS:
        return _REASONS[pod.reason]
    refused_by_node = pod.started_at is None and pod.reason.startswith(ADMISSION_REASONS)
    vanished = pod.gone and pod.phase not in ("succeeded", "failed")
    return EndReason.PLATFORM_FAULT if refused_by_node or vanished else EndReason.FAILED


def _judge_stopping(stop_reason: str, pods: Sequence[PodFacts], gang: Sequence[PodFacts]) -> Verdict:
    if not all(pod.ended for pod in pods):
        return Verdict(VerdictKind.KEEP)
    if gang and all(pod.phase == "succeeded" for pod in gang):
        return Verdict(VerdictKind.END, EndReason.SUCCEEDED, exit_code=0)
    return Verdict(VerdictKind.END, EndReason(stop_reason or EndReason.PLATFORM_FAULT))


def _end_or_stop(pods: Sequence[PodFacts], reason: EndReason, decisive: PodFacts) -> Verdict:
    kind = VerdictKind.END if all(pod.ended for pod in pods) else VerdictKind.STOP
    text = decisive.message or decisive.reason
    return Verdict(kind, reason, message=text, exit_code=decisive.exit_code)


def _end_order(pod: PodFacts) -> tuple[bool, float, str]:
    """The first pod to end decides: the others die of it."""
    at = pod.finished_at.timestamp() if pod.finished_at is not None else 0.0
    return (pod.finished_at is None, at, pod.name)
