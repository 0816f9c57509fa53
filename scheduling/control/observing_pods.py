"""Compares a cluster's pods with our rows, and writes down those that are not as the rows say. One look's worth.

What a list lacks is read once more before it is called gone, so a stale list never ends a run (F20). Between two lists only pods
that something was told of are compared, and those that were not as their rows say: with thousands, the rest would cost the most.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from scheduling.cluster.port import ClusterPort, PodObservation
from scheduling.control.observed import gone_document, pod_document
from scheduling.control.picture import LIST_TIMEOUT_S, Seen
from scheduling.models import Pod
from scheduling.states import RunState
from tenants.models import Cluster

Agreed = Mapping[str, PodObservation]
"""What was seen of each pod, by uid, when its row said the same (or nothing of it can be said any more)."""
Changed = tuple[str, str, dict[str, Any]]
"""A pod's name, uid and document."""
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)
_FACTS = ("uid", "phase", "started_at", "finished_at", "exit_code", "reason")


def changed_pods(
    cluster: Cluster, port: ClusterPort, look: Seen, last_list: datetime | None, agreed: Agreed
) -> tuple[list[Changed], Agreed]:
    """Pods of ours that are not as our rows say, and which agree now; strangers are left to `reconcile`."""
    seen = {(pod.key.namespace, pod.key.name): pod for pod in look.pods.items}
    news = {key: pod for key, pod in seen.items() if agreed.get(pod.uid) is not pod}
    rows = _open_pods(cluster)
    if not look.listed:
        rows = rows.filter(name__in={pod.key.name for pod in (*news.values(), *look.deleted.values())})
    known = {(row["run__namespace"], row["name"]): row for row in rows}
    differing = {key: pod for key, pod in news.items() if key in known and _differs(known[key], pod)}
    changed = [(key[1], pod.uid, pod_document(pod, gone=False)) for key, pod in sorted(differing.items())]
    for pod in sorted(look.deleted.values(), key=lambda pod: pod.key):
        row = known.get((pod.key.namespace, pod.key.name))
        still = seen.get((pod.key.namespace, pod.key.name))
        if row is not None and row["uid"] in ("", pod.uid) and (still is None or still.uid != pod.uid):
            changed.append((pod.key.name, pod.uid, pod_document(pod, gone=True)))
    if look.listed:
        told = {uid for _name, uid, _document in changed}
        missing = [
            row
            for key, row in sorted(known.items())
            if key not in seen and row["uid"] and row["uid"] not in told and not _younger(row, look.pods.as_of)
        ]
        changed += _confirmed_gone(port, missing, last_list)
    return changed, {pod.uid: pod for key, pod in seen.items() if key not in differing}


def _open_pods(cluster: Cluster) -> "QuerySet[Pod, dict[str, Any]]":
    """Pods that a cluster may still say something new about: of live runs, and of ended ones that are not gone yet."""
    live = ~Q(run__state=RunState.ENDED.value)
    left = Q(run__state=RunState.ENDED.value, phase__in=OPEN_PHASES)
    return (
        Pod.objects.filter(live | left, run__cluster=cluster)
        .exclude(phase=Pod.Phase.GONE)
        .values("name", "created_at", "run__namespace", "run__job_id", "run__number", "last_sign_at", *_FACTS)
    )


def _differs(row: dict[str, Any], pod: PodObservation) -> bool:
    if row["uid"] not in ("", pod.uid):
        return False
    facts = (pod.uid, pod.phase.value.lower(), pod.start_at, pod.finished_at, pod.exit_code, pod.reason[:60])
    return facts != tuple(row[name] for name in _FACTS)


def _younger(row: dict[str, Any], as_of: datetime) -> bool:
    """Made after the list was: its absence means nothing (F20)."""
    return row["created_at"] is not None and row["created_at"] > as_of


def _confirmed_gone(port: ClusterPort, missing: Sequence[dict[str, Any]], last_list: datetime | None) -> list[Changed]:
    """A list may be stale: only a read of the run itself makes an absence a fact."""
    gone: list[Changed] = []
    read: dict[tuple[str, str], set[str]] = {}
    for row in missing:
        run = (row["run__namespace"], f"j{row['run__job_id']}-r{row['run__number']}")
        if run not in read:
            read[run] = {pod.uid for pod in port.read_run(*run, timeout_s=LIST_TIMEOUT_S)}
        if row["uid"] not in read[run] and row["phase"] not in (Pod.Phase.SUCCEEDED, Pod.Phase.FAILED):
            # Of an end that nobody told: it was there with the last list, or with what was told of it since.
            there = max((at for at in (last_list, row["last_sign_at"]) if at is not None), default=None)
            gone.append((row["name"], row["uid"], gone_document(row["run__namespace"], there)))
    return gone
