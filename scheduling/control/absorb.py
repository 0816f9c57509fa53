"""Turns observations into transitions, under the epoch: runs that began, ended, vanished; what their pods give back.

One transaction for one batch of observations. A repeat changes nothing: pods' ends are latched and every move is guarded (F11, F19).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from berth.common.updating import update_rows
from scheduling.cluster.names import parse_pod_name
from scheduling.control.absorb_nodes import absorb_nodes
from scheduling.control.closing import close_pod_leases
from scheduling.control.ending import RUN_LIVE, RunEnd, end_runs
from scheduling.control.lock import Leadership
from scheduling.control.loose_pods import give_up_joins
from scheduling.control.observed import LISTED, NODE, POD, SeenPod, read_node_document, read_pod_document
from scheduling.control.verdict import DELETED, ENDED_BY_SIGNAL, PodFacts, Verdict, VerdictKind, judge
from scheduling.models import Job, Lease, Observation, Pod, Run
from scheduling.states import EndReason, JobState, RunState
from scheduling.transitions import CANCEL_GRACE, Cause, begin_stops, hold_epoch, lock_jobs, move_jobs, move_runs
from tenants.models import Cluster

BATCH = 5_000
ENDED_PHASES = (Pod.Phase.SUCCEEDED, Pod.Phase.FAILED, Pod.Phase.GONE)
_POD_CHANGES = [
    "uid", "phase", "created_at", "started_at", "finished_at", "exit_code", "reason", "message", "last_sign_at"
]  # fmt: skip


@dataclass(slots=True)
class Absorbed:
    """What one batch led to."""

    observations: int = 0
    started: list[int] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    lost_nodes: list[str] = field(default_factory=list)
    held_nodes: list[str] = field(default_factory=list)
    """Nodes that show no life and are not lost, since too many would be at once (F27)."""


def absorb_observations(leadership: Leadership, now: datetime) -> Absorbed:
    """Take in what was observed and not yet handled, oldest first. Raises StaleEpochError when another leads by now."""
    absorbed = Absorbed()
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        rows = list(Observation.objects.filter(handled_at__isnull=True).order_by("id")[:BATCH])
        absorbed.observations = len(rows)
        for cluster in Cluster.objects.filter(pk__in={row.cluster_id for row in rows}).order_by("pk"):
            mine = [row for row in rows if row.cluster_id == cluster.pk]
            _absorb_listings(cluster, mine)
            _absorb_pods(cluster, mine, absorbed, now, leadership)
            nodes = [read_node_document(row.name, row.uid, row.document) for row in mine if row.kind == NODE]
            outcome = absorb_nodes(cluster, nodes, now=now, epoch=leadership.epoch)
            absorbed.lost_nodes += outcome.lost
            absorbed.held_nodes += outcome.held
            absorbed.ended += outcome.ended
            absorbed.stopped += outcome.stopped
        Observation.objects.filter(pk__in=[row.pk for row in rows], handled_at__isnull=True).update(handled_at=now)
    return absorbed


def judge_runs(run_ids: Iterable[int], absorbed: Absorbed, *, now: datetime, epoch: int) -> None:
    """Draw the consequence of what is stored about these runs' pods. The caller's transaction holds the epoch."""
    runs = list(Run.objects.filter(pk__in=sorted(set(run_ids)), state__in=RUN_LIVE).order_by("job_id"))
    lock_jobs(run.job_id for run in runs)
    pods: dict[int, list[Pod]] = {run.pk: [] for run in runs}
    for pod in Pod.objects.filter(run__in=runs).order_by("run_id", "rank", "pk"):
        pods[pod.run_id].append(pod)
    verdicts = []
    for run in runs:
        _let_go_of_failed_joins(run, pods[run.pk], now)
        verdicts.append((run, judge(RunState(run.state), run.stop_reason, [_facts(pod) for pod in pods[run.pk]])))
    _carry_out(verdicts, absorbed, now=now, epoch=epoch)


def _let_go_of_failed_joins(run: Run, pods: Sequence[Pod], now: datetime) -> None:
    """What joined a run and was never taken in by its node does not end it (SCH-10)."""
    failed = [
        pod
        for pod in pods
        if pod.joined_at is not None
        and pod.in_gang
        and pod.released_at is None
        and pod.phase in ENDED_PHASES
        and pod.started_at is None
    ]
    if failed and run.state != RunState.STOPPING.value:
        give_up_joins(failed, reason=EndReason.PLATFORM_FAULT, now=now)


def _absorb_listings(cluster: Cluster, rows: Sequence[Observation]) -> None:
    """The latest word on whether the cluster answers; nobody is ended by silence (F27)."""
    latest = next((row for row in reversed(rows) if row.kind == LISTED), None)
    if latest is None:
        return
    if latest.document["reachable"]:
        as_of = datetime.fromisoformat(latest.document["as_of"])
        Cluster.objects.filter(pk=cluster.pk).update(reachable=True, last_error="", last_listed_at=as_of)
    else:
        Cluster.objects.filter(pk=cluster.pk).update(reachable=False, last_error=latest.document["error"])


def _absorb_pods(
    cluster: Cluster, rows: Sequence[Observation], absorbed: Absorbed, now: datetime, leadership: Leadership
) -> None:
    seen = [read_pod_document(row.name, row.uid, row.document) for row in rows if row.kind == POD]
    if not seen:
        return
    known = _known_pods(cluster, seen)
    changed: dict[int, Pod] = {}
    for one in seen:
        pod = _meant(known.get((one.namespace, one.name), ()), one)
        if pod is not None and _take_in(pod, one):
            changed[pod.pk] = pod
    update_rows(changed.values(), _POD_CHANGES)
    judge_runs((pod.run_id for pod in changed.values()), absorbed, now=now, epoch=leadership.epoch)
    give_back_leases([pod for pod in changed.values() if pod.phase in ENDED_PHASES], now=now)


def give_back_leases(pods: Sequence[Pod], *, now: datetime) -> None:
    """Leases of pods that ended while their run goes on are closed and cut; those left open by a fenced run are only closed."""
    if not pods:
        return
    open_leases = Lease.objects.filter(pod__in=pods, closed_at__isnull=True)
    holding = set(open_leases.values_list("pod_id", flat=True))
    ended_runs = set(
        Run.objects.filter(pk__in={pod.run_id for pod in pods}, state=RunState.ENDED.value).values_list("pk", flat=True)
    )
    close_pod_leases([pod for pod in pods if pod.pk in holding and pod.run_id not in ended_runs], now=now)
    for pod in pods:
        if pod.pk in holding and pod.run_id in ended_runs:
            at = pod.finished_at or pod.last_sign_at or now
            for lease in open_leases.filter(pod=pod):
                Lease.objects.filter(pk=lease.pk).update(closed_at=max(at, lease.opened_at))


def _known_pods(cluster: Cluster, seen: Sequence[SeenPod]) -> dict[tuple[str, str], list[Pod]]:
    """By namespace and name, oldest first: of an elastic run several may have had one name, one after the other."""
    names = {one.name: parsed for one in seen if (parsed := parse_pod_name(one.name)) is not None}
    found = Pod.objects.filter(
        name__in=names, run__cluster=cluster, run__job_id__in={parsed.job for parsed in names.values()}
    ).select_related("run")
    known: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in found.order_by("pk"):
        known[pod.run.namespace, pod.name].append(pod)
    return known


def _meant(pods: Sequence[Pod], one: SeenPod) -> Pod | None:
    """The pod of that uid, else the newest of that name."""
    return next((pod for pod in pods if pod.uid and pod.uid == one.uid), pods[-1] if pods else None)


def _take_in(pod: Pod, one: SeenPod) -> bool:
    """Update a pod from an observation. False for a stranger under its name and for what would change a latched end."""
    if pod.phase in ENDED_PHASES or (pod.uid and one.uid and pod.uid != one.uid):
        return False
    phase = one.phase if one.phase != "unknown" else pod.phase
    if one.gone and phase not in (Pod.Phase.SUCCEEDED, Pod.Phase.FAILED):
        phase = Pod.Phase.GONE
    pod.uid = pod.uid or one.uid
    pod.phase = phase
    pod.created_at = one.created_at or pod.created_at
    pod.started_at = one.started_at or pod.started_at
    pod.finished_at = one.finished_at
    pod.exit_code = one.exit_code
    pod.reason, pod.message = DELETED if _was_deleted(pod, one) else one.reason[:60], one.message[:1000]
    pod.last_sign_at = one.finished_at or one.last_sign_at or pod.last_sign_at
    return True


def _was_deleted(pod: Pod, one: SeenPod) -> bool:
    """Ended by a signal after somebody else asked it to stop: whoever deleted it, it did not fail by itself (K15, K40)."""
    by_signal = one.exit_code in ENDED_BY_SIGNAL and one.reason in ("", "Error")
    by_us = pod.released_at is not None or pod.run.state == RunState.STOPPING.value
    return one.asked_to_stop and by_signal and not by_us


def _facts(pod: Pod) -> PodFacts:
    return PodFacts(
        name=pod.name,
        in_gang=pod.in_gang,
        phase=pod.phase,
        started_at=pod.started_at,
        finished_at=pod.finished_at or (pod.last_sign_at if pod.phase == Pod.Phase.GONE else None),
        exit_code=pod.exit_code,
        reason=pod.reason,
        message=pod.message,
        gone=pod.phase == Pod.Phase.GONE,
        released=pod.released_at is not None,
    )


def _carry_out(verdicts: Sequence[tuple[Run, Verdict]], absorbed: Absorbed, *, now: datetime, epoch: int) -> None:
    """Runs that begin and runs that end are written together; a stop is rare and has a cause of its own."""
    begun: dict[int, tuple[Run, datetime]] = {}
    ends: list[tuple[RunEnd, Cause]] = []
    for run, verdict in verdicts:
        reason = verdict.reason or EndReason.PLATFORM_FAULT
        cause = Cause(reason=reason.value, at=now, message=verdict.message, epoch=epoch)
        match verdict.kind:
            case VerdictKind.RUNS:
                begun[run.pk] = run, verdict.at or now
            case VerdictKind.STOP:
                _note_end(run, verdict)
                absorbed.stopped += begin_stops([run.pk], stop_reason=reason, grace=CANCEL_GRACE, cause=cause)
            case VerdictKind.END:
                ends.append((RunEnd(run.pk, reason, verdict.message, verdict.exit_code), cause))
            case VerdictKind.KEEP:
                pass
    _begin(begun, Cause(reason="started", at=now, epoch=epoch))
    absorbed.started += begun
    absorbed.ended += end_runs(ends, now=now)


def _begin(begun: Mapping[int, tuple[Run, datetime]], cause: Cause) -> None:
    """These gangs are whole: from the instant the last pod of each started."""
    if not begun:
        return
    starting = (RunState.ADMITTED, RunState.STARTING)
    each_run = {pk: (cause, {"started_at": at}) for pk, (_run, at) in begun.items()}
    move_runs(sorted(begun), old=starting, new=RunState.RUNNING, cause=cause, each=each_run)
    at_of = {run.job_id: at for run, at in begun.values()}
    first = Job.objects.filter(pk__in=at_of, started_at__isnull=True).values_list("pk", flat=True)
    move_jobs(
        sorted(at_of),
        old=(JobState.STARTING,),
        new=JobState.RUNNING,
        cause=cause,
        changes={"backoff_count": 0, "backoff_until": None, "backoff_message": ""},
        each={pk: (cause, {"started_at": at_of[pk]}) for pk in first},
    )


def _note_end(run: Run, verdict: Verdict) -> None:
    """The pod that failed first says why; the others are stopped after it and must not overwrite that."""
    Run.objects.filter(pk=run.pk).update(end_message=verdict.message[:1000], exit_code=verdict.exit_code)
