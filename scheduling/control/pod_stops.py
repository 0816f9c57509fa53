"""Reads the pods of runs that have to go and asks them to leave, many side by side. Calls clusters and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from berth.common import clock
from berth.common.crash_points import pass_point
from scheduling.cluster import names
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError, PodObservation, ResultKind, WriteResult
from scheduling.control.side_by_side import run_by_port
from scheduling.models import Run

CALL_TIMEOUT_S = 2.0
ANSWERED = (ResultKind.ACCEPTED, ResultKind.GONE, ResultKind.CREATED)


@dataclass(frozen=True, slots=True)
class Found:
    """The pods of one run as its cluster has them; None where it did not answer, with its `error`."""

    run: Run
    there: tuple[PodObservation, ...] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class PodStop:
    """One pod to be asked. `notice` is written on it first, if given; a grace of 0 removes it by force."""

    pod: PodObservation
    grace_s: int
    notice: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be asked of one run's cluster: these pods and then, if so, their owner."""

    run: Run
    stops: tuple[PodStop, ...]
    with_owner: bool = False


def find_pods(runs: Sequence[tuple[Run, ClusterPort]], *, until: float) -> list[Found]:
    """The runs' pods, read past every cache; those for which there was no time are left out."""
    found = run_by_port([(port, partial(_read, run, port)) for run, port in runs], until=until)
    return [each for each in found if each is not None]


def run_errands(errands: Sequence[tuple[Errand, ClusterPort]], *, until: float) -> set[int]:
    """Returns the ids of runs of which everything was asked and answered."""
    stops = [(errand, port, stop) for errand, port in errands for stop in errand.stops]
    answers = run_by_port([(port, partial(_stop, port, stop)) for _errand, port, stop in stops], until=until)
    undone = {errand.run.pk for (errand, _port, _stop), answer in zip(stops, answers, strict=True) if not answer}
    owners = [(errand, port) for errand, port in errands if errand.with_owner and errand.run.pk not in undone]
    answers = run_by_port([(port, partial(_delete_owner, port, errand.run)) for errand, port in owners], until=until)
    undone |= {errand.run.pk for (errand, _port), answer in zip(owners, answers, strict=True) if not answer}
    return {errand.run.pk for errand, _port in errands} - undone


def _read(run: Run, port: ClusterPort) -> Found:
    name = names.run_name(run.job_id, run.number)
    try:
        return Found(run, port.read_run(run.namespace, name, timeout_s=CALL_TIMEOUT_S))
    except ClusterUnreachableError as error:
        return Found(run, None, error.message)


def _stop(port: ClusterPort, stop: PodStop) -> bool:
    pod, deadline = stop.pod, clock.monotonic() + CALL_TIMEOUT_S
    if stop.grace_s == 0:
        return _is_answered(port.force_delete_pod(pod.key, uid=pod.uid, timeout_s=CALL_TIMEOUT_S))
    if stop.notice is not None:
        condition = names.EVICTED_CONDITION
        port.annotate_pod(
            pod.key, uid=pod.uid, annotations=stop.notice, condition=condition, timeout_s=CALL_TIMEOUT_S / 2
        )
    pass_point("warned")
    left = max(CALL_TIMEOUT_S / 2, deadline - clock.monotonic())
    result = port.delete_pod(pod.key, uid=pod.uid, grace_s=stop.grace_s, timeout_s=left)
    pass_point("stop-asked")
    return _is_answered(result)


def _delete_owner(port: ClusterPort, run: Run) -> bool:
    pass_point("owner-deleting")
    name = names.run_name(run.job_id, run.number)
    return _is_answered(port.delete_run(run.namespace, name, timeout_s=CALL_TIMEOUT_S))


def _is_answered(result: WriteResult) -> bool:
    return result.kind in ANSWERED
