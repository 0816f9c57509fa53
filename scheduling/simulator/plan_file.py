"""The file of `plan` (docs/simulator.md) -> snapshot, policy and now of one decision."""

from dataclasses import dataclass

from berth.common.shown import shown
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.vocabulary import WaitCode
from scheduling.engine.weights import Usage, weigh
from scheduling.simulator import quantities
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.cluster_file import Read, read_cluster
from scheduling.simulator.documents import Fields, parse_yaml
from scheduling.simulator.extra_sections import read_budgets, read_evictions, read_reservations, read_transfers
from scheduling.simulator.job_fields import JobEntry, read_job
from scheduling.simulator.policy_file import read_policy
from scheduling.simulator.problems import Problems
from scheduling.simulator.running_section import read_running
from scheduling.simulator.tables import ShapeBook, pending_columns, pod_columns, running_columns

HOLDS = ("", WaitCode.DEPENDENCY.value)


@dataclass(frozen=True, slots=True)
class Question:
    """One decision to make."""

    snapshot: Snapshot
    policy: Policy
    now_ms: int


def parse_plan(text: str, file: str, read: Read) -> Question:
    """What a plan file asks. Raises `InvalidFileError` with all problems."""
    problems = Problems(file)
    document = Fields(parse_yaml(text, problems), "", problems)
    now_ms = document.need("now", quantities.instant, 0)
    policy = read_policy(document.value("policy"), "policy", problems)
    if document.value("cluster") is None:
        document.problem("", "cluster is required")
    section = document.below("cluster")
    cluster = read_cluster(section, read, document.below("pools"))
    section.close()
    try:
        snapshot = _read_snapshot(document, cluster, policy, now_ms)
    except (LookupError, ValueError, OverflowError):
        problems.raise_if_any()
        raise
    document.close()
    problems.raise_if_any()
    return Question(snapshot, policy, now_ms)


def _read_snapshot(document: Fields, cluster: Cluster, policy: Policy, now_ms: int) -> Snapshot:
    running = sorted(read_running(document, cluster, now_ms), key=lambda run: run.job.id)
    pending = sorted(_read_pending(document, cluster, now_ms), key=lambda job: job.id)
    _unique(document, [run.job for run in running] + pending)
    known = {run.job.id for run in running} | {job.id for job in pending}
    book = ShapeBook()
    holds = [1 if known.intersection(job.after) else 0 for job in pending]
    pending_table = pending_columns(pending, book, holds)
    running_table = running_columns(running, book)
    usage = _read_usage(document, cluster)
    tree = weigh(cluster.tree, usage, policy) if usage is not None else cluster.tree
    return Snapshot(
        flavors=cluster.flavors,
        pools=cluster.pools,
        nodes=cluster.nodes,
        cards=cluster.cards,
        tree=read_transfers(document, cluster, tree, now_ms),
        queues=read_budgets(document, cluster),
        shapes=tuple(book.shapes),
        pending=pending_table,
        running=running_table,
        pods=pod_columns(running),
        reservations=read_reservations(document, cluster, now_ms),
        evictions=read_evictions(document, cluster, now_ms),
        holds=HOLDS,
    )


def _read_pending(document: Fields, cluster: Cluster, now_ms: int) -> list[JobEntry]:
    jobs = []
    for fields in document.each("pending"):
        jobs.append(read_job(fields, cluster, now_ms, running=False))
        fields.close()
    return jobs


def _unique(document: Fields, jobs: list[JobEntry]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.id in seen:
            document.problem(
                "", f"job {shown(job.id)} is there twice; every job of running and pending needs its own id"
            )
        seen.add(job.id)


def _read_usage(document: Fields, cluster: Cluster) -> dict[int, Usage] | None:
    """Past use by tree index of the queue; None where the file has no `usage`."""
    if document.value("usage") is None:
        return None
    section = document.below("usage")
    found: dict[int, Usage] = {}
    for name, _ in section.named():
        entry = section.below(name)
        queue = cluster.queue_index.get(name)
        if queue is None:
            section.problem(name, f"unknown queue; known: {', '.join(cluster.queue_index) or 'none'}")
        past = Usage(
            decayed_card_ms=entry.take("decayed_card_hours", quantities.card_hours_ms, 0),
            utilisation_ppm=entry.take("utilisation_7d", quantities.fraction_ppm, None),
            coverage_ppm=entry.take("coverage", quantities.fraction_ppm, 0),
        )
        entry.close()
        if queue is not None:
            found[cluster.queues[queue].node] = past
    return found
