"""Which pod's output is meant: of which run, by rank or name, and what of it is kept. Reads rows only, never the store or a cluster."""

from dataclasses import dataclass
from typing import Final

from berth.common.errors import NotFoundError
from scheduling.models import Job, Pod, PodLog, Run
from scheduling.states import EndReason

STOPPED_BY_OTHERS: Final = (137, 143)
"""Exit codes of pods that were stopped because another had failed, or killed; they come second."""


@dataclass(frozen=True, slots=True)
class LogChoice:
    """`runs` are the job's run numbers, newest first; `pods` those of the chosen run by rank. None and empty where it never ran."""

    runs: tuple[int, ...]
    run: Run | None
    pods: tuple[Pod, ...]
    pod: Pod | None
    kept: PodLog | None


def choose_log(job: Job, *, run: int | None = None, rank: int | None = None, pod: str = "") -> LogChoice:
    """The newest run unless a number is given; of it the pod of that name, else of that rank, else the first that failed, else the
    first. NotFoundError for a run, rank or pod that this job does not have; nothing is missed yet where it never ran. Four queries."""
    runs = tuple(job.runs.order_by("-number").values_list("number", flat=True))
    if run is None and not runs:
        return LogChoice((), None, (), None, None)
    number = run if run is not None else next(iter(runs), 0)
    chosen = job.runs.select_related("cluster").filter(number=number).first()
    if chosen is None:
        raise NotFoundError
    pods = tuple(Pod.objects.filter(run=chosen).select_related("node", "run__job").order_by("rank", "-pk"))
    found = _pod(pods, chosen, rank, pod)
    return LogChoice(runs, chosen, pods, found, PodLog.objects.filter(pod=found).first() if found else None)


def _pod(pods: tuple[Pod, ...], run: Run, rank: int | None, name: str) -> Pod | None:
    if name or rank is not None:
        for pod in pods:
            if (not name or pod.name == name) and (rank is None or pod.rank == rank):
                return pod
        raise NotFoundError
    return first_failing(pods) or next(iter(pods), None) if _failed(run) else next(iter(pods), None)


def first_failing(pods: tuple[Pod, ...]) -> Pod | None:
    """The pod that failed first and by itself; what was stopped because of it comes later. None where none failed."""
    failed = [pod for pod in pods if pod.phase == Pod.Phase.FAILED]
    latest = max((pod.finished_at for pod in failed if pod.finished_at is not None), default=None)
    return min(
        failed,
        key=lambda pod: (
            pod.exit_code in STOPPED_BY_OTHERS,
            pod.finished_at or latest or pod.run.admitted_at,
            pod.rank,
        ),
        default=None,
    )


def _failed(run: Run) -> bool:
    return run.end_reason in (EndReason.FAILED, EndReason.OOM, EndReason.GPU_OOM, EndReason.IMAGE_PULL)
