"""Compares whole clusters with the rows, both ways: what nobody owns any more is removed, what nobody knows is reported (F04, F22).

Ownership is decided by (namespace, name) against the database, never by a label alone. Outside any transaction.
"""

import logging
from dataclasses import dataclass, field

from scheduling.cluster.names import PodName, parse_pod_name, run_name
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError
from scheduling.control.clusters import port_of
from scheduling.control.log_keeping import keep_run_logs
from scheduling.models import Run
from scheduling.states import RunState
from tenants.models import Cluster

logger = logging.getLogger(__name__)
LIST_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 2.0


@dataclass(slots=True)
class Drift:
    """Names of runs removed because they had ended, and of pods that bear our names and that we do not know."""

    removed: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


def reconcile_clusters() -> Drift:
    """One pass over every cluster that answers."""
    drift = Drift()
    for cluster in Cluster.objects.filter(reachable=True).order_by("pk"):
        try:
            _reconcile(cluster, port_of(cluster), drift)
        except ClusterUnreachableError as error:
            logger.info("not reconciled cluster=%s error=%s", cluster.name, error.message)
    if drift.strangers:
        logger.warning("pods that nobody knows names=%s", ",".join(sorted(drift.strangers)))
    return drift


def _reconcile(cluster: Cluster, port: ClusterPort, drift: Drift) -> None:
    there: dict[tuple[str, str], PodName] = {}
    for pod in port.list_pods(timeout_s=LIST_TIMEOUT_S).items:
        parsed = parse_pod_name(pod.key.name)
        if parsed is None:
            drift.strangers.append(pod.key.name)
        else:
            there[pod.key.namespace, run_name(parsed.job, parsed.run)] = parsed
    for owner in port.list_managed(kinds=["Service"], timeout_s=LIST_TIMEOUT_S).items:
        parsed = parse_pod_name(f"{owner.name}-x-0")
        if parsed is not None:
            there.setdefault((owner.namespace, owner.name), parsed)
    runs = {
        (run.namespace, run_name(run.job_id, run.number)): run
        for run in Run.objects.select_related("cluster").filter(
            cluster=cluster, job_id__in={parsed.job for parsed in there.values()}
        )
    }
    for key in sorted(there):
        run = runs.get(key)
        if run is None:
            drift.strangers.append(f"{key[0]}/{key[1]}")
        elif run.state == RunState.ENDED:
            keep_run_logs([run])
            port.delete_run(*key, timeout_s=CALL_TIMEOUT_S)
            drift.removed.append(f"{key[0]}/{key[1]}")
