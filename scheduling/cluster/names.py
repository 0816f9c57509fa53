"""Names, labels and annotations of what Berth puts into a cluster. PURE: words only, no manifests."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "berth.dev/"
TENANT = "berth.dev/tenant"
QUEUE = "berth.dev/queue"
ENVIRONMENT = "berth.dev/environment"
FLAVOR = "berth.dev/flavor"
POOL = "berth.dev/pool"
RACK = "topology.berth.dev/rack"
ZONE = "topology.kubernetes.io/zone"
JOB = "berth.dev/job"
RUN = "berth.dev/run"
ROLE = "berth.dev/role"
TIER = "berth.dev/tier"
INDEX = "berth.dev/index"
RANK = "berth.dev/rank"
MANAGED_BY = "app.kubernetes.io/managed-by"
FIELD_MANAGER = "berth"

CARDS = "berth.dev/cards"
CARD_SHARE = "berth.dev/card-share"
"""Thousandths of its one card that a pod may use; not there where its cards are whole."""
RUN_PROOF = "berth.dev/run-proof"
EXPECTED_RUNTIME = "berth.dev/expected-runtime"
"""Seconds that the job's owner expects a run to take."""
JOINED_AFTER = "berth.dev/joined-after"
"""Seconds that the run had been running when the pod joined it (SCH-10)."""
EVICT_REASON = "berth.dev/evict-reason"
EVICT_UNTIL = "berth.dev/evict-until"
EVICTED_CONDITION = "DisruptionTarget"

SIM_PREFIX = "berth.dev/sim-"
SIM_DURATION = "berth.dev/sim-duration"
SIM_OUTCOME = "berth.dev/sim-outcome"
SIM_UTILISATION = "berth.dev/sim-utilisation"
SIM_STOP_DELAY = "berth.dev/sim-stop-delay"
JOB_LABEL_PREFIX = "label.berth.dev/"

_POD_NAME = re.compile(r"^j(?P<job>\d+)-r(?P<run>\d+)-(?P<role>[a-z](?:[-a-z0-9]*[a-z0-9])?)-(?P<index>\d+)$")


@dataclass(frozen=True, slots=True)
class PodName:
    """The four parts of a pod's name."""

    job: int
    run: int
    role: str
    index: int


def is_ours(labels: Mapping[str, str]) -> bool:
    """Whether a node was given to Berth: it bears the name of its flavor."""
    return FLAVOR in labels


def run_name(job_id: int, run_number: int) -> str:
    """The name of a run's Service: the stem of all its pods' names."""
    return f"j{job_id}-r{run_number}"


def pod_name(job_id: int, run_number: int, role: str, index: int) -> str:
    """The deterministic name of one pod (section 7): the same decision always makes the same names."""
    return f"{run_name(job_id, run_number)}-{role}-{index}"


def parse_pod_name(name: str) -> PodName | None:
    """The parts of a pod's name, or None when Berth cannot have given it."""
    match = _POD_NAME.match(name)
    if match is None:
        return None
    return PodName(int(match["job"]), int(match["run"]), match["role"], int(match["index"]))


def token_secret_name(job_id: int, run_number: int) -> str:
    """The name of the Secret that holds a run's token."""
    return f"{run_name(job_id, run_number)}-token"
